//! The state of the activity page in the URL.

use crate::domain::activity::events::EventFilter;
use crate::domain::activity::time_range::{Moment, RangeLength, RangeSelection, TimeRange};
use crate::domain::{ActivityQuery, Fingerprint, OwnerIdentity, Timestamp};

use super::paths;

/// The fields that name the owner in the query string of the data.
const HOST_FIELD: &str = "of_host";
const FINGERPRINT_FIELD: &str = "of_fingerprint";

/// The state of the page. All of it is kept in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityView {
    /// The range of time.
    pub range: RangeSelection,
    /// Show only this group.
    pub group: Option<String>,
    /// The search text for names of locks.
    pub text: String,
    /// The filter of the event list.
    pub filter: EventFilter,
    /// The owner whose page shows the history; `None` on the activity page.
    pub owner: Option<OwnerIdentity>,
}

impl ActivityView {
    /// Parses the query string of a URL.
    pub fn parse(search: &str) -> Self {
        let moment = |name| paths::field(search, name).and_then(|text| Moment::parse(&text));
        let word = |name| paths::field(search, name);
        let range = match (moment("from"), moment("to"), moment("at")) {
            (Some(from), Some(to), _) => RangeSelection::Between(from, to),
            (_, _, Some(at)) | (Some(at), None, None) | (None, Some(at), None) => {
                RangeSelection::Around(at)
            }
            (None, None, None) => {
                let length = word("range").and_then(|word| word.parse().ok());
                RangeSelection::Last(length.unwrap_or_default())
            }
        };
        Self {
            range,
            group: paths::field(search, "group"),
            text: paths::field(search, "q").unwrap_or_default(),
            filter: word("only")
                .and_then(|word| word.parse().ok())
                .unwrap_or_default(),
            owner: parse_owner(search),
        }
    }

    /// Parses the query string of the page of an owner.
    pub fn parse_for_owner(search: &str, owner: &OwnerIdentity) -> Self {
        Self {
            owner: Some(owner.clone()),
            ..Self::parse(search)
        }
    }

    /// The fields of the range.
    fn range_fields(&self) -> Vec<(&'static str, String)> {
        match self.range {
            RangeSelection::Last(length) if length == RangeLength::default() => Vec::new(),
            RangeSelection::Last(length) => vec![("range", length.slug().to_owned())],
            RangeSelection::Between(from, to) => {
                vec![("from", from.to_string()), ("to", to.to_string())]
            }
            RangeSelection::Around(at) => vec![("at", at.to_string())],
        }
    }

    /// The fields other than the range.
    pub fn filter_fields(&self) -> Vec<(&'static str, String)> {
        let group = self.group.clone().map(|group| ("group", group));
        let text = (!self.text.is_empty()).then(|| ("q", self.text.clone()));
        let is_narrowed = self.filter != EventFilter::All;
        let filter = is_narrowed.then(|| ("only", <&str>::from(self.filter).to_owned()));
        let fields = group.into_iter().chain(text).chain(filter);
        let of_owner = self.owner.iter().flat_map(paths::owner_fields);
        fields.chain(of_owner).collect()
    }

    /// The fields of the URL without the search text and the group.
    pub fn hidden_fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = self.range_fields();
        fields.extend(self.filter_fields());
        fields.retain(|(name, _)| !["q", "group"].contains(name));
        fields
    }

    /// The path of the page, without the query string.
    pub fn pathname(&self) -> String {
        match &self.owner {
            None => paths::ACTIVITY.to_owned(),
            Some(owner) => paths::owner_pathname(owner),
        }
    }

    /// The URL of the page in this state.
    pub fn path(&self) -> String {
        let fields = self.range_fields().into_iter().chain(self.filter_fields());
        paths::with_fields(&self.pathname(), fields)
    }

    /// The query string of the data. The filter of the event list is not part of it.
    pub fn data_query(&self) -> String {
        let everything = Self {
            filter: EventFilter::All,
            owner: None,
            ..self.clone()
        };
        let fields = everything.range_fields().into_iter();
        let fields = fields.chain(everything.filter_fields());
        let owner = self.owner.iter().map(|owner| match owner {
            OwnerIdentity::Host(name) => (HOST_FIELD, name.clone()),
            OwnerIdentity::Fingerprint(fingerprint) => {
                (FINGERPRINT_FIELD, fingerprint.as_str().to_owned())
            }
        });
        paths::query_string(&paths::with_fields("", fields.chain(owner)))
    }

    /// The page with another range.
    pub fn with_range(&self, range: TimeRange) -> Self {
        let range = range.bounded();
        Self {
            range: RangeSelection::Between(Moment::At(range.from), Moment::At(range.to)),
            ..self.clone()
        }
    }

    /// The range, if it does not depend on the current time.
    pub fn fixed_range(&self) -> Option<TimeRange> {
        match self.range {
            RangeSelection::Between(Moment::At(_), Moment::At(to)) => Some(self.range.resolve(to)),
            RangeSelection::Between(..) | RangeSelection::Last(_) | RangeSelection::Around(_) => {
                None
            }
        }
    }

    /// The part of the history that the page shows at the time `now`.
    pub fn activity_query(&self, now: Timestamp, limit: u32) -> ActivityQuery {
        let range = self.range.resolve(now);
        ActivityQuery {
            group: self.group.clone(),
            key: None,
            search: Some(self.text.trim().to_owned()).filter(|text| !text.is_empty()),
            owner: self.owner.clone(),
            from: range.from,
            to: range.to,
            limit,
        }
    }
}

/// The owner in the query string of the data.
fn parse_owner(search: &str) -> Option<OwnerIdentity> {
    let fingerprint = paths::field(search, FINGERPRINT_FIELD);
    let fingerprint = fingerprint.and_then(|text| Fingerprint::parse(&text));
    let host = || {
        let mut fields = paths::fields(search);
        fields.find_map(|(name, value)| (name == HOST_FIELD).then_some(value))
    };
    fingerprint
        .map(OwnerIdentity::Fingerprint)
        .or_else(|| host().map(OwnerIdentity::Host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_an_owner_requests_only_its_holds() {
        let fingerprint = Fingerprint::parse("d3c19a0b77e04fd2").unwrap();
        for (owner, path, data) in [
            (
                OwnerIdentity::Host("web 2/é&".into()),
                "/owners/web%202%2F%C3%A9%26?range=24h&only=problems",
                "range=24h&of_host=web%202%2F%C3%A9%26",
            ),
            (
                OwnerIdentity::Host("..".into()),
                "/owners/-?range=24h&only=problems&name=..",
                "range=24h&of_host=..",
            ),
            (
                OwnerIdentity::Fingerprint(fingerprint),
                "/owners/d3c19a0b77e04fd2?range=24h&only=problems&by=fingerprint",
                "range=24h&of_fingerprint=d3c19a0b77e04fd2",
            ),
        ] {
            let view = ActivityView::parse_for_owner("range=24h&only=problems", &owner);
            assert_eq!(view.path(), path);
            assert_eq!(view.data_query(), data);
            let requested = ActivityView::parse(data);
            assert_eq!(requested.owner.as_ref(), Some(&owner));
            let query = requested.activity_query(Timestamp::from_millis(0), 10);
            assert_eq!(query.owner, Some(owner));
        }
    }

    #[test]
    fn the_state_round_trips_through_the_url() {
        for path in [
            "/activity",
            "/activity?range=24h&group=orders%20%C3%A9&q=lock%26a&only=problems",
            "/activity?at=03%3A07&only=nodes",
            "/activity?from=2026-11-20T03%3A00%3A00.000Z&to=2026-11-20T03%3A15%3A00.000Z",
        ] {
            assert_eq!(ActivityView::parse(&paths::query_string(path)).path(), path);
        }
    }

    #[test]
    fn unknown_values_are_ignored() {
        let view = ActivityView::parse("range=7y&from=yesterday&only=nonsense&group=");
        assert_eq!(view, ActivityView::default());
    }

    #[test]
    fn the_filter_of_the_events_does_not_change_the_data() {
        let view = ActivityView::parse("at=03:07&only=problems&q=%20a%20");
        assert_eq!(view.data_query(), "at=03%3A07&q=%20a%20");
        let now = Timestamp::from_millis(1_795_200_485_556);
        let query = view.activity_query(now, 10);
        assert_eq!(query.search.as_deref(), Some("a"));
        assert_eq!(query.to.millis_since(query.from), 600_000);
    }

    #[test]
    fn a_zoomed_range_is_fixed() {
        let now = Timestamp::from_millis(1_795_200_485_556);
        let range = TimeRange::around(now, 60_000);
        let view = ActivityView::default();
        assert_eq!(view.fixed_range(), None);
        assert_eq!(view.with_range(range).fixed_range(), Some(range));
    }
}
