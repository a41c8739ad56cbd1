//! The state of the audit log page in the URL.

use crate::domain::{AuditFilter, LockId, LockKey, Timestamp};

use super::paths;

/// The state of the page. All of it is kept in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// The filter for entries.
    pub filter: AuditFilter,
    /// The cursor at which the previous page ended.
    pub cursor: Option<String>,
}

impl AuditQuery {
    /// The entries of one lock.
    pub fn for_lock(id: &LockId) -> Self {
        Self {
            filter: AuditFilter {
                group: Some(id.group.clone()),
                key: Some(id.key.clone()),
                ..AuditFilter::default()
            },
            cursor: None,
        }
    }

    /// Parses the query string of a URL. Unknown fields and values are ignored, so that old
    /// bookmarks still open.
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
                "action" => filter.action = value.parse().ok(),
                "actor" => filter.actor = Some(value),
                "result" => filter.result = value.parse().ok(),
                "q" => filter.text = Some(value),
                "from" => filter.from = parse_datetime(&value),
                "until" => filter.until = parse_datetime(&value),
                "cursor" => query.cursor = Some(value),
                _ => {}
            }
        }
        query
    }

    /// The fields that are set, for a URL.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let filter = &self.filter;
        let fields = [
            ("group", filter.group.clone()),
            ("key_encoded", filter.key.as_ref().map(LockKey::encoded)),
            ("action", filter.action.map(|act| act.slug().to_owned())),
            ("actor", filter.actor.clone()),
            ("result", filter.result.map(|end| end.slug().to_owned())),
            ("q", filter.text.clone()),
            ("from", filter.from.map(String::from)),
            ("until", filter.until.map(String::from)),
            ("cursor", self.cursor.clone()),
        ];
        let given = |(name, value): (&'static str, Option<String>)| Some((name, value?));
        fields.into_iter().filter_map(given).collect()
    }

    /// The number of active filters, without the search text and the lock.
    pub fn active_filter_count(&self) -> usize {
        let others = ["q", "key_encoded", "cursor"];
        let fields = self.fields().into_iter();
        fields.filter(|(name, _)| !others.contains(name)).count()
    }

    /// The URL of the page in this state.
    pub fn path(&self) -> String {
        paths::with_fields(paths::AUDIT, self.fields())
    }

    /// The URL of the export of all pages: `jsonl` or `csv`.
    pub fn export_path(&self, kind: &str) -> String {
        let all = Self {
            cursor: None,
            ..self.clone()
        };
        let fields = all.fields().into_iter().chain([("as", kind.to_owned())]);
        paths::with_fields(paths::AUDIT_EXPORT, fields)
    }

    /// The state with another cursor.
    pub fn with_cursor(&self, cursor: Option<String>) -> Self {
        Self {
            cursor,
            ..self.clone()
        }
    }

    /// The state with another filter.
    pub fn with_filter(&self, change: impl FnOnce(&mut AuditFilter)) -> Self {
        let mut filter = self.filter.clone();
        change(&mut filter);
        Self {
            filter,
            cursor: None,
        }
    }

    /// The state with the entries of a range of time.
    pub fn between(&self, from: Timestamp, until: Timestamp) -> Self {
        self.with_filter(|filter| (filter.from, filter.until) = (Some(from), Some(until)))
    }

    /// The state with the entries since a time.
    pub fn since(&self, from: Timestamp) -> Self {
        self.with_filter(|filter| (filter.from, filter.until) = (Some(from), None))
    }

    /// The query string of the page.
    pub fn query_string(&self) -> String {
        paths::query_string(&self.path())
    }
}

/// Parses a date and time of a `datetime-local` input as UTC: with minutes, with seconds, or a full
/// RFC 3339 timestamp.
fn parse_datetime(text: &str) -> Option<Timestamp> {
    let timestamp = match text.len() {
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    };
    Timestamp::try_from(timestamp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{OperationKind, OperationResult};

    #[test]
    fn the_state_round_trips_through_the_url() {
        let query = AuditQuery {
            filter: AuditFilter {
                group: Some("orders".into()),
                key: Some(LockKey::new([0xff, b'&', b'%', b'+'])),
                action: Some(OperationKind::ForceRelease),
                actor: Some("alice & bob".into()),
                result: Some(OperationResult::Refused),
                text: Some("a+b=c".into()),
                from: Some(Timestamp::from_millis(1_795_200_485_556)),
                until: None,
            },
            cursor: Some("17".into()),
        };
        let path = query.path();
        let (_, search) = path.split_once('?').unwrap();
        assert_eq!(AuditQuery::parse(search), query);
        assert_eq!(AuditQuery::parse(&query.query_string()), query);
        assert_eq!(AuditQuery::default().path(), "/audit");
        // Group, action, actor, result and from. The search text and the lock are not counted.
        assert_eq!(query.active_filter_count(), 5);
    }

    #[test]
    fn form_values_are_parsed() {
        let query =
            AuditQuery::parse("?group=&q=web-2+is+dead&action=&from=2026-11-20T18%3A48&x=y");
        assert_eq!(query.filter.group, None);
        assert_eq!(query.filter.text.as_deref(), Some("web-2 is dead"));
        let from = query.filter.from.unwrap().to_string();
        assert_eq!(from, "2026-11-20T18:48:00.000Z");
    }

    #[test]
    fn an_export_uses_the_filter_without_the_cursor() {
        let mut query = AuditQuery::default().with_cursor(Some("17".into()));
        assert_eq!(query.export_path("csv"), "/api/v1/audit/export?as=csv");
        query.filter.actor = Some("alice".into());
        assert_eq!(
            query.export_path("csv"),
            "/api/v1/audit/export?actor=alice&as=csv"
        );
    }
}
