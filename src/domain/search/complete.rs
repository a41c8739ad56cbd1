//! Completion of a partial search term.

use strum::VariantArray as _;

use super::SearchField;

/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 8;

/// Observed names to suggest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionSource {
    /// Names of groups.
    pub groups: Vec<String>,
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// Slugs of formats.
    pub formats: Vec<String>,
    /// Hosts or labels of owners.
    pub owners: Vec<String>,
}

/// Suggestions for the word at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchCompletion {
    /// The start of the word that a suggestion replaces, as a byte offset.
    pub from: usize,
    /// The end of the word, as a byte offset.
    pub to: usize,
    /// The suggestions, the most likely first. A suggestion that ends with an operator needs a
    /// value.
    pub suggestions: Vec<String>,
}

impl SearchCompletion {
    /// Applies a suggestion. Returns the new text and the cursor position in bytes.
    pub fn apply(&self, text: &str, suggestion: &str) -> (String, usize) {
        let is_open = suggestion.ends_with([':', '<', '>']);
        let rest = text[self.to..].trim_start();
        let gap = if is_open { "" } else { " " };
        let head = format!("{}{suggestion}{gap}", &text[..self.from]);
        let at = head.len();
        (head + rest, at)
    }
}

/// Completes the word before `cursor`, a byte offset at a character boundary.
pub fn complete(text: &str, cursor: usize, source: &CompletionSource) -> SearchCompletion {
    let before = text.get(..cursor).unwrap_or(text);
    let is_quoted = !before.matches('"').count().is_multiple_of(2);
    if is_quoted {
        return SearchCompletion::default();
    }
    let blank = before.rfind(char::is_whitespace);
    let start = blank.map_or(0, |at| {
        at + before[at..].chars().next().map_or(0, char::len_utf8)
    });
    let word = &before[start..];
    let (minus, word) = word
        .strip_prefix('-')
        .map_or(("", word), |word| ("-", word));
    let suggestions = match word.split_once(':') {
        Some((name, part)) => SearchField::from_name(name).map_or_else(Vec::new, |field| {
            let (done, part) = part.rsplit_once(',').map_or(("", part), |(done, part)| {
                (&word[name.len() + 1..][..=done.len()], part)
            });
            let values = values(field, source);
            let matching = values
                .into_iter()
                .filter(|value| matches(value, part) && *value != part);
            matching
                .map(|value| format!("{}:{done}{}", field.name(), quote_if_needed(&value)))
                .collect()
        }),
        None => field_suggestions(word, source),
    };
    SearchCompletion {
        from: start,
        to: before.len(),
        suggestions: suggestions
            .into_iter()
            .take(MAX_SUGGESTIONS)
            .map(|suggestion| format!("{minus}{suggestion}"))
            .collect(),
    }
}

/// Suggests fields, then values that start with the word.
fn field_suggestions(word: &str, source: &CompletionSource) -> Vec<String> {
    let starts_with_word = |field: &SearchField| starts_with_ignore_case(field.name(), word);
    let to_suggestion = |field: SearchField| match field {
        SearchField::Held => "held>".to_owned(),
        SearchField::Lease => "lease<".to_owned(),
        SearchField::Is => "is:attention".to_owned(),
        other => format!("{}:", other.name()),
    };
    let mut suggestions: Vec<String> = SearchField::VARIANTS
        .iter()
        .copied()
        .filter(starts_with_word)
        .map(to_suggestion)
        .collect();
    if word.len() > 1 {
        for field in [
            SearchField::Verdict,
            SearchField::Flag,
            SearchField::Format,
            SearchField::Group,
            SearchField::Owner,
        ] {
            let values = values(field, source)
                .into_iter()
                .filter(|value| starts_with_ignore_case(value, word));
            suggestions.extend(
                values.map(|value| format!("{}:{}", field.name(), quote_if_needed(&value))),
            );
        }
    }
    suggestions
}

fn values(field: SearchField, source: &CompletionSource) -> Vec<String> {
    let words = || field.values().into_iter().map(str::to_owned).collect();
    match field {
        SearchField::Group => source.groups.clone(),
        SearchField::Node => source.nodes.clone(),
        SearchField::Owner | SearchField::Host => source.owners.clone(),
        SearchField::Format => source.formats.clone(),
        SearchField::Verdict
        | SearchField::Flag
        | SearchField::Confidence
        | SearchField::Is
        | SearchField::Lease => words(),
        SearchField::Key | SearchField::Prefix | SearchField::Held => Vec::new(),
    }
}

fn starts_with_ignore_case(text: &str, beginning: &str) -> bool {
    let (text, beginning) = (text.as_bytes(), beginning.as_bytes());
    text.len() >= beginning.len() && text[..beginning.len()].eq_ignore_ascii_case(beginning)
}

fn matches(value: &str, part: &str) -> bool {
    crate::domain::text::contains(value, part)
}

fn quote_if_needed(value: &str) -> String {
    if value.contains(|c: char| c.is_whitespace() || c == '"' || c == ',') {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}
