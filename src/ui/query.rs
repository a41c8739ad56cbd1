//! What the table shows and in which order, as the URL says it: search, filter, group, sort.

use crate::domain::listing::{Filter, Order, Sort};
use crate::domain::search::Ask;
use crate::domain::{
    By, Confidence, Flag, Lock, LockId, Search, SearchError, Sight, Verdict, View,
};

use super::paths;

/// Locks with longer names are looked at once, not followed.
const LONGEST_FOLLOWED: usize = 8_192;

/// Which locks a tile lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// All of them.
    #[default]
    Everything,
    /// Those that a person should look at.
    Attention,
    /// Those with this verdict.
    Verdict(Verdict),
    /// Those with this flag.
    Flag(Flag),
    /// Those that may be locks and may be anything; no other tile lets them through.
    Possible,
}

/// The state of the table, all of it from the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What is searched for in names, owners and fingerprints.
    pub text: String,
    /// The only group to show.
    pub group: Option<String>,
    /// The tile that is pressed.
    pub only: Only,
    /// What it is sorted by.
    pub sort: Sort,
    /// Which end comes first, where it is not the usual one.
    pub order: Option<Order>,
    /// What its rows are bundled by.
    pub by: Option<By>,
    /// How many rows come before the first that is shown.
    pub from: usize,
}

impl Query {
    /// Reads the query of a URL. What it does not know it leaves out: an old bookmark still opens.
    pub fn parse(search: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in paths::fields(search) {
            match name {
                "q" => query.text = value,
                "group" => query.group = Some(value).filter(|group| !group.is_empty()),
                "show" if value == "attention" => query.only = Only::Attention,
                "show" if value == "possible" => query.only = Only::Possible,
                "verdict" => {
                    query.only = value.parse().map_or(query.only, Only::Verdict);
                }
                "flag" => query.only = value.parse().map_or(query.only, Only::Flag),
                "sort" => query.sort = value.parse().unwrap_or(query.sort),
                "order" => query.order = value.parse().ok(),
                "by" => query.by = value.parse().ok(),
                "from" => query.from = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        query.order = query
            .order
            .filter(|order| *order != query.sort.usual_order());
        query
    }

    /// The fields that differ from the usual, for a URL or a form's hidden fields.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if !self.text.is_empty() {
            fields.push(("q", self.text.clone()));
        }
        if let Some(group) = &self.group {
            fields.push(("group", group.clone()));
        }
        match self.only {
            Only::Everything => {}
            Only::Attention => fields.push(("show", "attention".to_owned())),
            Only::Verdict(verdict) => fields.push(("verdict", verdict.slug().to_owned())),
            Only::Flag(flag) => fields.push(("flag", flag.slug().to_owned())),
            Only::Possible => fields.push(("show", "possible".to_owned())),
        }
        if self.sort != Sort::default() {
            fields.push(("sort", self.sort.slug().to_owned()));
        }
        if let Some(order) = self.order {
            fields.push(("order", order.slug().to_owned()));
        }
        if let Some(by) = self.by {
            fields.push(("by", by.slug().to_owned()));
        }
        if self.from > 0 {
            fields.push(("from", self.from.to_string()));
        }
        fields
    }

    /// The page that shows this.
    pub fn path(&self) -> String {
        paths::with_fields(paths::LOCKS, self.fields())
    }

    /// Every lock of the list as a file, from the API: `csv` or `json`.
    pub fn export(&self, kind: &str) -> String {
        let kind = [("as", kind.to_owned())];
        paths::with_fields(paths::LOCKS_EXPORT, kind.into_iter().chain(self.asked()))
    }

    /// The stream of changes of so many locks of the list, from this row on, and of these locks wherever they stand.
    pub fn events<'a>(
        &self,
        from: usize,
        rows: usize,
        also: impl Iterator<Item = &'a LockId>,
    ) -> String {
        let lock = |id: &LockId| format!("{}/{}", paths::segment(&id.group), id.key.encoded());
        let mut also: Vec<String> = also.map(lock).collect();
        // What would make an address too long is not followed: its page says that it is not live.
        also.retain(|lock| lock.len() <= LONGEST_FOLLOWED);
        let mut fields = vec![("limit", rows.to_string())];
        if from > 0 {
            fields.push(("from", from.to_string()));
        }
        fields.extend(self.asked());
        fields.extend(self.by.map(|by| ("by", by.slug().to_owned())));
        if !also.is_empty() {
            fields.push(("also", also.join(",")));
        }
        paths::with_fields(paths::EVENTS, fields)
    }

    /// The same with another tile.
    pub fn with_only(&self, only: Only) -> Self {
        Self {
            only,
            ..self.begun()
        }
    }

    /// The same with another group.
    pub fn with_group(&self, group: Option<String>) -> Self {
        Self {
            group,
            ..self.begun()
        }
    }

    /// The same with another search.
    pub fn with_text(&self, text: String) -> Self {
        Self {
            text,
            ..self.begun()
        }
    }

    /// The same, bundled by something else.
    pub fn bundled(&self, by: Option<By>) -> Self {
        Self { by, ..self.begun() }
    }

    /// The locks of one bundle.
    pub fn opened(&self, by: By, name: &str) -> Self {
        let group = (by == By::Group).then(|| name.to_owned());
        let text = match Ask::for_bundle(by, name) {
            Some(ask) => Search::understood(&self.text).with(ask).to_string(),
            None => self.text.clone(),
        };
        Self {
            text,
            group: group.or_else(|| self.group.clone()),
            by: None,
            ..self.begun()
        }
    }

    /// The same from this row on.
    pub fn beginning_at(&self, from: usize) -> Self {
        Self {
            from,
            ..self.clone()
        }
    }

    /// The same from its first row on.
    fn begun(&self) -> Self {
        self.beginning_at(0)
    }

    /// The same sorted by another column; by the same column, the other way round.
    pub fn sorted(&self, sort: Sort) -> Self {
        let turned = match self.order() {
            Order::Asc => Order::Desc,
            Order::Desc => Order::Asc,
        };
        let order = (self.sort == sort && turned != sort.usual_order()).then_some(turned);
        Self {
            sort,
            order,
            ..self.begun()
        }
    }

    /// The same in this order, the usual way round.
    pub fn by_sort(&self, sort: Sort) -> Self {
        Self {
            sort,
            order: None,
            ..self.begun()
        }
    }

    /// The same with every filter taken off; order and bundles stay.
    pub fn unfiltered(&self) -> Self {
        Self {
            sort: self.sort,
            order: self.order,
            by: self.by,
            ..Self::default()
        }
    }

    /// The same as the API asks for it.
    pub fn asked(&self) -> Vec<(&'static str, String)> {
        let mut asked = vec![
            ("sort", self.sort.slug().to_owned()),
            ("order", self.order().slug().to_owned()),
        ];
        let search = Search::understood(&self.text);
        if !search.is_empty() {
            asked.push(("q", search.to_string()));
        }
        asked.extend(self.group.clone().map(|group| ("group", group)));
        asked.extend(match self.only {
            Only::Everything => None,
            Only::Attention => Some(("attention", "true".to_owned())),
            Only::Verdict(verdict) => Some(("verdict", verdict.slug().to_owned())),
            Only::Flag(flag) => Some(("flag", flag.slug().to_owned())),
            Only::Possible => Some(("confidence", Confidence::Possible.slug().to_owned())),
        });
        asked
    }

    /// What the search box asks for.
    pub fn search(&self) -> Result<Search, SearchError> {
        self.text.parse()
    }

    /// The same as the board is asked for it: so many rows at most. A term that cannot be understood narrows nothing; the page
    /// says what is wrong with it.
    pub fn view(&self, rows: usize) -> View {
        let mut filter = self.filter();
        match self.only {
            Only::Everything | Only::Possible => {}
            Only::Attention => filter.attention = true,
            Only::Verdict(verdict) => filter.verdict = Some(verdict),
            Only::Flag(flag) => filter.flag = Some(flag),
        }
        View {
            filter,
            sort: self.sort,
            order: self.order(),
            by: self.by,
            from: self.from,
            limit: rows,
        }
    }

    /// Which end of the order comes first.
    pub fn order(&self) -> Order {
        self.order.unwrap_or(self.sort.usual_order())
    }

    /// Whether anything is filtered out at all.
    pub fn is_filtered(&self) -> bool {
        !self.text.trim().is_empty() || self.group.is_some() || self.only != Only::Everything
    }

    /// What group and search let through, whatever tile is pressed: what the tiles count. Possible locks stand apart.
    pub fn filter(&self) -> Filter {
        Filter {
            sight: Sight::Everything,
            group: self.group.clone(),
            search: Search::understood(&self.text),
            confidence: (self.only == Only::Possible).then_some(Confidence::Possible),
            ..Filter::default()
        }
    }

    /// These locks, which the server has picked, in the order of the table.
    pub fn in_order<'a>(&self, locks: impl Iterator<Item = &'a Lock>) -> Vec<&'a Lock> {
        let mut ranked: Vec<_> = locks.map(|lock| (self.sort.rank(lock), lock)).collect();
        let order = self.order();
        ranked.sort_unstable_by(|(a, _), (b, _)| order.compare(a, b));
        ranked.into_iter().map(|(_, lock)| lock).collect()
    }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
