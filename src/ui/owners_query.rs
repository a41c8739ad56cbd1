//! Which owners their page shows, as its URL says it.

use crate::domain::{OwnersAsked, OwnersBy, OwnersSort};

use super::paths;

/// Reads the query of a URL. What it does not know it leaves out: an old bookmark still opens.
pub fn parse(search: &str) -> OwnersAsked {
    let sort = paths::field(search, "sort").and_then(|slug| slug.parse().ok());
    OwnersAsked {
        by: match paths::field(search, "by").as_deref() {
            Some("label") => OwnersBy::Label,
            _ => OwnersBy::Host,
        },
        text: paths::field(search, "q").unwrap_or_default(),
        sort: sort.unwrap_or_default(),
    }
}

/// The page that shows this.
pub fn path(asked: &OwnersAsked) -> String {
    let by = (asked.by == OwnersBy::Label).then(|| ("by", "label".to_owned()));
    let text = (!asked.text.is_empty()).then(|| ("q", asked.text.clone()));
    let is_sorted = asked.sort != OwnersSort::default();
    let sort = is_sorted.then(|| ("sort", asked.sort.slug().to_owned()));
    paths::with_fields(paths::OWNERS, [by, text, sort].into_iter().flatten())
}

/// The query of that URL.
pub fn search(asked: &OwnersAsked) -> String {
    paths::search_of(&path(asked))
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_state_survives_the_address_bar() {
        for &sort in OwnersSort::VARIANTS {
            let asked = OwnersAsked {
                by: OwnersBy::Label,
                text: "web-2 pid 7&x=ü".to_owned(),
                sort,
            };
            assert_eq!(parse(&search(&asked)), asked);
        }
        assert_eq!(path(&parse("?sort=nonsense&by=x")), "/owners");
        assert_eq!(parse("q=web+2").text, "web 2");
    }
}
