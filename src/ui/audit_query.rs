//! What the audit page shows, as the URL says it.

use crate::domain::{AuditFilter, LockId, LockKey, Timestamp};

use super::paths;

/// The state of the page, all of it from the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Which acts.
    pub filter: AuditFilter,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl AuditQuery {
    /// Everything about one lock.
    pub fn of_lock(id: &LockId) -> Self {
        Self {
            filter: AuditFilter {
                group: Some(id.group.clone()),
                key: Some(id.key.clone()),
                ..AuditFilter::default()
            },
            cursor: None,
        }
    }

    /// Reads the query of a URL. What it does not know it leaves out: an old bookmark still opens.
    pub fn parse(search: &str) -> Self {
        let mut query = Self::default();
        let filter = &mut query.filter;
        for (name, value) in paths::fields(search) {
            let value = value.trim().to_owned();
            if value.is_empty() {
                continue;
            }
            match name {
                "group" => filter.group = Some(value),
                "key_encoded" => filter.key = LockKey::decode(&value),
                "act" => filter.act = value.parse().ok(),
                "who" => filter.who = Some(value),
                "end" => filter.end = value.parse().ok(),
                "q" => filter.text = Some(value),
                "from" => filter.from = moment(&value),
                "until" => filter.until = moment(&value),
                "cursor" => query.cursor = Some(value),
                _ => {}
            }
        }
        query
    }

    /// The fields that say something, for a URL.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let filter = &self.filter;
        let fields = [
            ("group", filter.group.clone()),
            ("key_encoded", filter.key.as_ref().map(LockKey::encoded)),
            ("act", filter.act.map(|act| act.slug().to_owned())),
            ("who", filter.who.clone()),
            ("end", filter.end.map(|end| end.slug().to_owned())),
            ("q", filter.text.clone()),
            ("from", filter.from.map(String::from)),
            ("until", filter.until.map(String::from)),
            ("cursor", self.cursor.clone()),
        ];
        let given = |(name, value): (&'static str, Option<String>)| Some((name, value?));
        fields.into_iter().filter_map(given).collect()
    }

    /// How many filters are set, beside the search and the one lock.
    pub fn given(&self) -> usize {
        let others = ["q", "key_encoded", "cursor"];
        let fields = self.fields().into_iter();
        fields.filter(|(name, _)| !others.contains(name)).count()
    }

    /// The page that shows this.
    pub fn path(&self) -> String {
        paths::with_fields(paths::AUDIT, self.fields())
    }

    /// All of it as a file, whatever page is shown: `jsonl` or `csv`.
    pub fn export(&self, kind: &str) -> String {
        let all = Self {
            cursor: None,
            ..self.clone()
        };
        let fields = all.fields().into_iter().chain([("as", kind.to_owned())]);
        paths::with_fields(paths::AUDIT_EXPORT, fields)
    }

    /// The same, further back.
    pub fn from_cursor(&self, cursor: Option<String>) -> Self {
        Self {
            cursor,
            ..self.clone()
        }
    }

    /// The query of the URL.
    pub fn search(&self) -> String {
        paths::search_of(&self.path())
    }
}

/// A moment as a form writes it, in UTC: with minutes, with seconds, or whole.
fn moment(text: &str) -> Option<Timestamp> {
    let whole = match text.len() {
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    };
    Timestamp::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ActEnd, ActKind};

    #[test]
    fn the_state_survives_the_address_bar() {
        let query = AuditQuery {
            filter: AuditFilter {
                group: Some("orders".into()),
                key: Some(LockKey::new([0xff, b'&', b'%', b'+'])),
                act: Some(ActKind::ForceRelease),
                who: Some("alice & bob".into()),
                end: Some(ActEnd::Refused),
                text: Some("a+b=c".into()),
                from: Some(Timestamp::from_millis(1_795_200_485_556)),
                until: None,
            },
            cursor: Some("17".into()),
        };
        let path = query.path();
        let (_, search) = path.split_once('?').unwrap();
        assert_eq!(AuditQuery::parse(search), query);
        assert_eq!(AuditQuery::parse(&query.search()), query);
        assert_eq!(AuditQuery::default().path(), "/audit");
        // Group, act, who, end and from; the search and the one lock stand for themselves.
        assert_eq!(query.given(), 5);
    }

    #[test]
    fn what_a_form_sends_is_understood() {
        let query = AuditQuery::parse("?group=&q=web-2+is+dead&act=&from=2026-11-20T18%3A48&x=y");
        assert_eq!(query.filter.group, None);
        assert_eq!(query.filter.text.as_deref(), Some("web-2 is dead"));
        let from = query.filter.from.unwrap().to_string();
        assert_eq!(from, "2026-11-20T18:48:00.000Z");
    }

    #[test]
    fn an_export_has_the_filter_and_no_page() {
        let mut query = AuditQuery::default().from_cursor(Some("17".into()));
        assert_eq!(query.export("csv"), "/api/v1/audit/export?as=csv");
        query.filter.who = Some("alice".into());
        assert_eq!(query.export("csv"), "/api/v1/audit/export?who=alice&as=csv");
    }
}
