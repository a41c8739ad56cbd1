//! What the table shows and in which order, as the URL says it: search, filter, group, sort.

use std::cmp::Ordering;

use crate::domain::{Flag, Lock, LockKey, Verdict};

use super::paths;

/// Which locks a filter lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    #[default]
    All,
    /// Those that a person should look at.
    Attention,
    /// Those with this verdict.
    Verdict(Verdict),
    /// Those with this flag.
    Flag(Flag),
}

impl Filter {
    /// Whether the filter lets this lock through.
    pub fn admits(self, lock: &Lock) -> bool {
        match self {
            Self::All => true,
            Self::Attention => lock.needs_attention(),
            Self::Verdict(verdict) => lock.verdict == verdict,
            Self::Flag(flag) => lock.has(flag),
        }
    }

    /// The words on the tile.
    pub fn words(self) -> String {
        match self {
            Self::All => "All".to_owned(),
            Self::Attention => "Needs attention".to_owned(),
            Self::Verdict(verdict) => capital(verdict.slug()),
            Self::Flag(flag) => capital(&flag.slug().replace('-', " ")),
        }
    }
}

/// What the table is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// What needs a person first, then what has been held longest.
    #[default]
    Attention,
    /// The lock's name.
    Key,
    /// The lease that ends first.
    Lease,
    /// Held longest first.
    Held,
    /// The owner's name.
    Owner,
}

impl Sort {
    const ALL: [Self; 5] = [Self::Attention, Self::Key, Self::Lease, Self::Held, Self::Owner];

    /// The word in the URL, the same as in the API.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Key => "key",
            Self::Lease => "lease",
            Self::Held => "held",
            Self::Owner => "owner",
        }
    }

    /// Whether the order that people expect first is the descending one.
    pub fn starts_descending(self) -> bool {
        match self {
            Self::Attention | Self::Held => true,
            Self::Key | Self::Lease | Self::Owner => false,
        }
    }

    fn ascending(self, a: &Lock, b: &Lock) -> Ordering {
        match self {
            Self::Attention => a.attention().cmp(&b.attention()).then_with(|| b.acquired_at.cmp(&a.acquired_at)),
            Self::Key => a.id.cmp(&b.id),
            Self::Lease => a.lease.later(&b.lease),
            Self::Held => b.acquired_at.cmp(&a.acquired_at),
            Self::Owner => a.owners.first().map(|owner| owner.name()).cmp(&b.owners.first().map(|owner| owner.name())),
        }
    }
}

/// The state of the table, all of it from the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What is searched for in names, owners and fingerprints.
    pub text: String,
    /// The only group to show.
    pub group: Option<String>,
    /// The filter.
    pub show: Filter,
    /// What it is sorted by.
    pub sort: Sort,
    /// Whether the order is descending.
    pub descending: bool,
}

impl Default for Query {
    fn default() -> Self {
        let sort = Sort::default();
        Self { text: String::new(), group: None, show: Filter::default(), sort, descending: sort.starts_descending() }
    }
}

impl Query {
    /// Reads the query of a URL. What it does not know it leaves out: an old bookmark still opens.
    pub fn parse(search: &str) -> Self {
        let mut query = Self::default();
        let mut order = None;
        for (name, value) in search.trim_start_matches('?').split('&').filter_map(|pair| pair.split_once('=')) {
            // Forms write a space as `+`.
            let Some(value) = LockKey::decode(&value.replace('+', "%20")) else { continue };
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            match name {
                "q" => query.text = value,
                "group" => query.group = Some(value).filter(|group| !group.is_empty()),
                "show" if value == "attention" => query.show = Filter::Attention,
                "verdict" => query.show = Verdict::from_slug(&value).map_or(query.show, Filter::Verdict),
                "flag" => query.show = Flag::from_slug(&value).map_or(query.show, Filter::Flag),
                "sort" => query.sort = Sort::ALL.into_iter().find(|sort| sort.slug() == value).unwrap_or(query.sort),
                "order" => order = Some(value == "desc"),
                _ => {}
            }
        }
        query.descending = order.unwrap_or(query.sort.starts_descending());
        query
    }

    /// The fields that differ from the default, for a URL or a form's hidden fields.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if !self.text.is_empty() {
            fields.push(("q", self.text.clone()));
        }
        if let Some(group) = &self.group {
            fields.push(("group", group.clone()));
        }
        match self.show {
            Filter::All => {}
            Filter::Attention => fields.push(("show", "attention".to_owned())),
            Filter::Verdict(verdict) => fields.push(("verdict", verdict.slug().to_owned())),
            Filter::Flag(flag) => fields.push(("flag", flag.slug().to_owned())),
        }
        if self.sort != Sort::default() {
            fields.push(("sort", self.sort.slug().to_owned()));
        }
        if self.descending != self.sort.starts_descending() {
            fields.push(("order", if self.descending { "desc" } else { "asc" }.to_owned()));
        }
        fields
    }

    /// The page that shows this.
    pub fn path(&self) -> String {
        let fields: Vec<String> =
            self.fields().into_iter().map(|(name, value)| format!("{name}={}", paths::segment(&value))).collect();
        if fields.is_empty() { paths::LOCKS.to_owned() } else { format!("{}?{}", paths::LOCKS, fields.join("&")) }
    }

    /// The same with another filter.
    pub fn showing(&self, show: Filter) -> Self {
        Self { show, ..self.clone() }
    }

    /// The same with another group.
    pub fn within(&self, group: Option<String>) -> Self {
        Self { group, ..self.clone() }
    }

    /// The same with another search.
    pub fn searching(&self, text: String) -> Self {
        Self { text, ..self.clone() }
    }

    /// The same sorted by another column; by the same column, the other way round.
    pub fn sorted(&self, sort: Sort) -> Self {
        let descending = if self.sort == sort { !self.descending } else { sort.starts_descending() };
        Self { sort, descending, ..self.clone() }
    }

    /// Whether anything is filtered out at all.
    pub fn is_filtered(&self) -> bool {
        !self.text.is_empty() || self.group.is_some() || self.show != Filter::All
    }

    /// Whether group and search let this lock through, whatever the filter says: what the tiles count.
    pub fn is_about(&self, lock: &Lock) -> bool {
        self.group.as_ref().is_none_or(|group| *group == lock.id.group) && self.finds(lock)
    }

    /// Whether the table shows this lock.
    pub fn admits(&self, lock: &Lock) -> bool {
        self.show.admits(lock) && self.is_about(lock)
    }

    /// The order of the table. Locks that are equal otherwise go by name, so that nothing flickers.
    pub fn compare(&self, a: &Lock, b: &Lock) -> Ordering {
        let order = self.sort.ascending(a, b);
        if self.descending { order.reverse() } else { order }.then_with(|| a.id.cmp(&b.id))
    }

    fn finds(&self, lock: &Lock) -> bool {
        let wanted = self.text.trim().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        wanted.is_empty()
            || has(&lock.key().text())
            || lock.owners.iter().any(|owner| has(owner.fingerprint.as_str()) || owner.label.as_deref().is_some_and(has))
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
