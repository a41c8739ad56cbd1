//! Which owners their page shows, as its URL says it.

use crate::domain::{OwnersAsked, OwnersBy, OwnersSort};

use super::paths;

/// Reads the query of a URL. What it does not know it leaves out: an old bookmark still opens.
pub fn parse(search: &str) -> OwnersAsked {
    let text = |name| paths::value(search, name).map(|value| value.text().into_owned());
    let sort = text("sort").and_then(|slug| slug.parse().ok());
    OwnersAsked {
        by: match text("by").as_deref() {
            Some("label") => OwnersBy::Label,
            _ => OwnersBy::Host,
        },
        text: text("q").unwrap_or_default().replace('+', " "),
        sort: sort.unwrap_or_default(),
    }
}

/// The page that shows this.
pub fn path(asked: &OwnersAsked) -> String {
    let mut fields = Vec::new();
    if asked.by == OwnersBy::Label {
        fields.push("by=label".to_owned());
    }
    if !asked.text.is_empty() {
        fields.push(format!("q={}", paths::segment(&asked.text)));
    }
    if asked.sort != OwnersSort::default() {
        fields.push(format!("sort={}", asked.sort.slug()));
    }
    match fields.is_empty() {
        true => paths::OWNERS.to_owned(),
        false => format!("{}?{}", paths::OWNERS, fields.join("&")),
    }
}

/// The query of that URL.
pub fn search(asked: &OwnersAsked) -> String {
    let path = path(asked);
    let search = path.split_once('?').map(|(_, search)| search);
    search.unwrap_or_default().to_owned()
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
