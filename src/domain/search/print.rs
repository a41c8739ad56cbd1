//! Formats searches and their errors.

use std::fmt::{self, Display, Formatter};

use super::{
    Comparison, Predicate, SearchError, SearchErrorKind, SearchField, SearchQuery, SearchTerm,
};

impl Display for SearchQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (nth, term) in self.terms.iter().enumerate() {
            if nth > 0 {
                f.write_str(" ")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for SearchTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_negated {
            f.write_str("-")?;
        }
        self.predicate.fmt(f)
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = |field: SearchField, value: String| format!("{}:{value}", field.name());
        let text = match self {
            Self::Text(text) if is_plain(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::Like(pattern) => pattern.clone(),
            Self::Group(names) => match names.as_slice() {
                [name] if name.contains(',') => of(SearchField::Group, quoted(name)),
                [name] => of(SearchField::Group, value(name)),
                names => of(SearchField::Group, names.join(",")),
            },
            Self::Verdict(values) => of(SearchField::Verdict, list(values, |word| word.slug())),
            Self::Flag(values) => of(SearchField::Flag, list(values, |word| word.slug())),
            Self::Format(values) => of(SearchField::Format, list(values, |word| word.slug())),
            Self::Confidence(values) => {
                of(SearchField::Confidence, list(values, |word| word.slug()))
            }
            Self::Attention => of(SearchField::Is, "attention".to_owned()),
            Self::Owner(part) => of(SearchField::Owner, value(part)),
            Self::Key(name) => of(SearchField::Key, value(name)),
            Self::Prefix(name) => of(SearchField::Prefix, value(name)),
            Self::Host(name) => of(SearchField::Host, value(name)),
            Self::Node(name) => of(SearchField::Node, value(name)),
            Self::Held(comparison, ms) => {
                format!("held{}{}", operator(*comparison), format_duration(*ms))
            }
            Self::Lease(comparison, ms) => {
                format!("lease{}{}", operator(*comparison), format_duration(*ms))
            }
            Self::NoLease => of(SearchField::Lease, "none".to_owned()),
        };
        f.write_str(&text)
    }
}

impl Display for SearchError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { at, part, kind } = self;
        let position = at + 1;
        match kind {
            SearchErrorKind::MissingValue(field) => write!(
                f,
                "at character {position}: `{}` has no value; write `{}`",
                field.name(),
                field.example()
            ),
            SearchErrorKind::UnknownValue(field) => write!(
                f,
                "at character {position}: `{part}` is not a valid {}; use one of {}",
                field.name(),
                field.values().join(", ")
            ),
            SearchErrorKind::InvalidDuration(field) => write!(
                f,
                "at character {position}: `{part}` is not a duration; write `{}`, with the unit ms, s, m, h or d",
                field.example()
            ),
            SearchErrorKind::ComparisonRequired(field) => write!(
                f,
                "at character {position}: `{}` needs `<` or `>`; write `{}`",
                field.name(),
                field.example()
            ),
            SearchErrorKind::ComparisonNotAllowed(field) => write!(
                f,
                "at character {position}: `{}` does not support `<` and `>`; write `{}`",
                field.name(),
                field.example()
            ),
            SearchErrorKind::UnterminatedQuote => write!(
                f,
                "at character {position}: the quotation mark is not closed"
            ),
            SearchErrorKind::TooLong => write!(
                f,
                "the search is longer than {} bytes; shorten it",
                SearchQuery::MAX_BYTES
            ),
            SearchErrorKind::TooManyTerms => write!(
                f,
                "at character {position}: `{part}` exceeds the maximum of {} terms",
                SearchQuery::MAX_TERMS
            ),
        }
    }
}

impl std::error::Error for SearchError {}

fn list<T: Copy>(values: &[T], slug: fn(T) -> &'static str) -> String {
    let values: Vec<&str> = values.iter().map(|word| slug(*word)).collect();
    values.join(",")
}

/// Whether the parser reads the word as plain text, without quotation marks.
fn is_plain(text: &str) -> bool {
    let bare =
        !text.is_empty() && !text.starts_with(['-', '"']) && !text.contains(char::is_whitespace);
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    let is_field = end.is_some_and(|end| SearchField::from_name(&text[..end]).is_some());
    bare && !is_field && !super::is_pattern(text)
}

fn value(text: &str) -> String {
    let bare = !text.is_empty() && !text.starts_with('"') && !text.contains(char::is_whitespace);
    if bare { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn operator(comparison: Comparison) -> char {
    match comparison {
        Comparison::GreaterThan => '>',
        Comparison::LessThan => '<',
    }
}

fn format_duration(ms: u64) -> String {
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
    ];
    let exact = units
        .into_iter()
        .find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit));
    match exact {
        Some((unit, name)) => format!("{}{name}", ms / unit),
        None => format!("{ms}ms"),
    }
}
