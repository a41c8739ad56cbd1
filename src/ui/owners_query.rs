//! The state of the owners page in the URL.

use crate::domain::{OwnerGrouping, OwnerQuery, OwnerSort};

use super::paths;

/// Parses the query string of a URL. Unknown fields and values are ignored, so that old bookmarks
/// still open.
pub fn parse(search: &str) -> OwnerQuery {
    let sort = paths::field(search, "sort").and_then(|slug| slug.parse().ok());
    OwnerQuery {
        group_by: match paths::field(search, "group_by").as_deref() {
            Some("label") => OwnerGrouping::Label,
            _ => OwnerGrouping::Host,
        },
        text: paths::field(search, "q").unwrap_or_default(),
        sort: sort.unwrap_or_default(),
    }
}

/// The URL of the page in this state.
pub fn path(query: &OwnerQuery) -> String {
    let by = (query.group_by == OwnerGrouping::Label).then(|| ("group_by", "label".to_owned()));
    let text = (!query.text.is_empty()).then(|| ("q", query.text.clone()));
    let is_sorted = query.sort != OwnerSort::default();
    let sort = is_sorted.then(|| ("sort", query.sort.slug().to_owned()));
    paths::with_fields(paths::OWNERS, [by, text, sort].into_iter().flatten())
}

/// The query string of the page.
pub fn query_string(query: &OwnerQuery) -> String {
    paths::query_string(&path(query))
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_state_round_trips_through_the_url() {
        for &sort in OwnerSort::VARIANTS {
            let query = OwnerQuery {
                group_by: OwnerGrouping::Label,
                text: "web-2 pid 7&x=ü".to_owned(),
                sort,
            };
            assert_eq!(parse(&query_string(&query)), query);
        }
        assert_eq!(path(&parse("?sort=nonsense&group_by=x")), "/owners");
        assert_eq!(parse("q=web+2").text, "web 2");
    }
}
