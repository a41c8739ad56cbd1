//! What could be meant by a word that is not finished.

use strum::VariantArray as _;

use super::Field;

/// So many offers are made at most.
const MOST_OFFERS: usize = 8;

/// What was seen, and can therefore be offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Names of groups.
    pub groups: Vec<String>,
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// Slugs of layouts.
    pub formats: Vec<String>,
    /// Hosts or labels of owners.
    pub owners: Vec<String>,
}

/// What could stand in place of the word at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The bytes of the text that an offer replaces.
    pub from: usize,
    /// Up to here.
    pub to: usize,
    /// What could stand there, the likeliest first. One that ends with a sign wants a value.
    pub offers: Vec<String>,
}

impl Completion {
    /// The text with this offer in it, and where the cursor stands then (in bytes).
    pub fn take(&self, text: &str, offer: &str) -> (String, usize) {
        let is_open = offer.ends_with([':', '<', '>']);
        let behind = text[self.to..].trim_start();
        let gap = if is_open { "" } else { " " };
        let head = format!("{}{offer}{gap}", &text[..self.from]);
        let at = head.len();
        (head + behind, at)
    }
}

/// What could be meant by the word before `cursor` (in bytes; a place between two characters).
pub fn complete(text: &str, cursor: usize, known: &Known) -> Completion {
    let before = text.get(..cursor).unwrap_or(text);
    let is_quoted = !before.matches('"').count().is_multiple_of(2);
    if is_quoted {
        return Completion::default();
    }
    let blank = before.rfind(char::is_whitespace);
    let start = blank.map_or(0, |at| {
        at + before[at..].chars().next().map_or(0, char::len_utf8)
    });
    let word = &before[start..];
    let (minus, word) = word
        .strip_prefix('-')
        .map_or(("", word), |word| ("-", word));
    let offers = match word.split_once(':') {
        Some((name, part)) => Field::named(name).map_or_else(Vec::new, |field| {
            let (done, part) = part.rsplit_once(',').map_or(("", part), |(done, part)| {
                (&word[name.len() + 1..][..=done.len()], part)
            });
            let values = values(field, known);
            let fitting = values
                .into_iter()
                .filter(|value| fits(value, part) && *value != part);
            fitting
                .map(|value| format!("{}:{done}{}", field.name(), written(&value)))
                .collect()
        }),
        None => unnamed(word, known),
    };
    Completion {
        from: start,
        to: before.len(),
        offers: offers
            .into_iter()
            .take(MOST_OFFERS)
            .map(|offer| format!("{minus}{offer}"))
            .collect(),
    }
}

/// Fields that begin so, then values that do.
fn unnamed(word: &str, known: &Known) -> Vec<String> {
    let begins = |field: &Field| begins_with(field.name(), word);
    let open = |field: Field| match field {
        Field::Held => "held>".to_owned(),
        Field::Lease => "lease<".to_owned(),
        Field::Is => "is:attention".to_owned(),
        other => format!("{}:", other.name()),
    };
    let mut offers: Vec<String> = Field::VARIANTS
        .iter()
        .copied()
        .filter(begins)
        .map(open)
        .collect();
    if word.len() > 1 {
        for field in [
            Field::Verdict,
            Field::Flag,
            Field::Format,
            Field::Group,
            Field::Owner,
        ] {
            let values = values(field, known)
                .into_iter()
                .filter(|value| begins_with(value, word));
            offers.extend(values.map(|value| format!("{}:{}", field.name(), written(&value))));
        }
    }
    offers
}

fn values(field: Field, known: &Known) -> Vec<String> {
    let words = || field.words().into_iter().map(str::to_owned).collect();
    match field {
        Field::Group => known.groups.clone(),
        Field::Node => known.nodes.clone(),
        Field::Owner | Field::Host => known.owners.clone(),
        Field::Format => known.formats.clone(),
        Field::Verdict | Field::Flag | Field::Confidence | Field::Is | Field::Lease => words(),
        Field::Key | Field::Prefix | Field::Held => Vec::new(),
    }
}

fn begins_with(text: &str, beginning: &str) -> bool {
    let (text, beginning) = (text.as_bytes(), beginning.as_bytes());
    text.len() >= beginning.len() && text[..beginning.len()].eq_ignore_ascii_case(beginning)
}

fn fits(value: &str, part: &str) -> bool {
    crate::domain::text::contains(value, part)
}

fn written(value: &str) -> String {
    if value.contains(|c: char| c.is_whitespace() || c == '"' || c == ',') {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}
