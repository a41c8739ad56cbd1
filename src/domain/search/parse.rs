//! The parser of the search language. Errors have a position and a suggestion.

use serde::{Deserialize, Serialize};

use super::{Comparison, Predicate, SearchField, SearchQuery, SearchTerm, is_pattern};

/// A syntax error in a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchError {
    /// The position of the error: the number of characters before it.
    pub at: usize,
    /// The invalid part.
    pub part: String,
    /// What is wrong with the part.
    pub kind: SearchErrorKind,
}

/// The kind of a syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchErrorKind {
    /// The field has no value.
    MissingValue(SearchField),
    /// The value is not one of the valid values of the field.
    UnknownValue(SearchField),
    /// The value is not a duration.
    InvalidDuration(SearchField),
    /// The field needs `<` or `>`.
    ComparisonRequired(SearchField),
    /// The field does not support `<` and `>`.
    ComparisonNotAllowed(SearchField),
    /// A quotation mark is not closed.
    UnterminatedQuote,
    /// The search is longer than [`SearchQuery::MAX_BYTES`].
    TooLong,
    /// The search has more terms than [`SearchQuery::MAX_TERMS`].
    TooManyTerms,
}

impl std::str::FromStr for SearchQuery {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let mut parser = Parser { text, at: 0 };
        let mut terms = Vec::new();
        if text.len() > Self::MAX_BYTES {
            return Err(parser.error(truncated(text).len(), "", SearchErrorKind::TooLong));
        }
        loop {
            let from = parser.at;
            let Some(term) = parser.term()? else {
                return Ok(Self { terms });
            };
            if terms.len() == Self::MAX_TERMS {
                let part = text[from..parser.at].trim();
                return Err(parser.error(
                    parser.at - part.len(),
                    part,
                    SearchErrorKind::TooManyTerms,
                ));
            }
            terms.push(term);
        }
    }
}

impl SearchQuery {
    /// The maximum length of a search in bytes.
    pub const MAX_BYTES: usize = 1_024;
    /// The maximum number of terms. Every term is evaluated for every lock: without a limit, a
    /// search of 50 kB took half a minute of CPU time with 100,000 locks.
    pub const MAX_TERMS: usize = 32;

    /// Parses a search that the user is still typing. Invalid terms and everything beyond the
    /// limits are ignored.
    pub fn parse_lenient(text: &str) -> Self {
        let text = truncated(text);
        let mut parser = Parser { text, at: 0 };
        let mut terms = Vec::new();
        while terms.len() < Self::MAX_TERMS {
            match parser.term() {
                Ok(Some(term)) => terms.push(term),
                Ok(None) => break,
                Err(_) => parser.skip(|c| !c.is_whitespace()),
            }
        }
        Self { terms }
    }
}

/// The part of a search within [`SearchQuery::MAX_BYTES`].
fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(SearchQuery::MAX_BYTES)]
}

struct Parser<'a> {
    text: &'a str,
    /// The position in bytes.
    at: usize,
}

/// A value in the source text. Quoted values are literal.
enum RawValue {
    Quoted(String),
    Bare(String),
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self, predicate: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !predicate(c)).unwrap_or(rest.len());
    }

    fn error(&self, from: usize, part: &str, kind: SearchErrorKind) -> SearchError {
        SearchError {
            at: self.text[..from].chars().count(),
            part: part.to_owned(),
            kind,
        }
    }

    fn term(&mut self) -> Result<Option<SearchTerm>, SearchError> {
        self.skip(char::is_whitespace);
        if self.rest().is_empty() {
            return Ok(None);
        }
        let mut chars = self.rest().chars();
        let is_negated =
            chars.next() == Some('-') && chars.next().is_some_and(|c| !c.is_whitespace());
        self.at += usize::from(is_negated);
        let predicate = match self.field() {
            Some((field, operator)) => self.predicate(field, operator)?,
            None => match self.value()? {
                RawValue::Bare(word) if is_pattern(&word) && !word.starts_with('-') => {
                    Predicate::Like(word)
                }
                RawValue::Bare(word) | RawValue::Quoted(word) => Predicate::Text(word),
            },
        };
        Ok(Some(SearchTerm {
            is_negated,
            predicate,
        }))
    }

    /// Parses a field name and its operator. An unknown name is part of a word, because lock names
    /// contain colons.
    fn field(&mut self) -> Option<(SearchField, char)> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic())?;
        let operator = rest[end..].chars().next()?;
        let field = SearchField::from_name(&rest[..end])
            .filter(|_| matches!(operator, ':' | '<' | '>' | '='))?;
        self.at += end + 1;
        Some((field, operator))
    }

    fn value(&mut self) -> Result<RawValue, SearchError> {
        let from = self.at;
        if !self.rest().starts_with('"') {
            self.skip(|c| !c.is_whitespace());
            return Ok(RawValue::Bare(self.text[from..self.at].to_owned()));
        }
        let mut value = String::new();
        let mut is_escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if is_escaped => {
                    value.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                '"' => {
                    self.at += at + 1;
                    return Ok(RawValue::Quoted(value));
                }
                c => value.push(c),
            }
        }
        Err(self.error(from, self.rest(), SearchErrorKind::UnterminatedQuote))
    }

    fn predicate(&mut self, field: SearchField, operator: char) -> Result<Predicate, SearchError> {
        if operator != ':' && operator != '=' {
            // `>=` is accepted as `>`: an exact match to the millisecond is not meaningful.
            self.skip(|c| c == '=');
        }
        let from = self.at;
        let value = self.value()?;
        let (text, is_bare) = match &value {
            RawValue::Bare(text) => (text.as_str(), true),
            RawValue::Quoted(text) => (text.as_str(), false),
        };
        let fail = |parser: &Self, kind| Err(parser.error(from, text, kind));
        let may_be_empty = !is_bare && matches!(field, SearchField::Prefix | SearchField::Host);
        if text.is_empty() && !may_be_empty {
            return fail(self, SearchErrorKind::MissingValue(field));
        }
        let is_compared = matches!(operator, '<' | '>');
        match field {
            SearchField::Lease if !is_compared && text.eq_ignore_ascii_case("none") => {
                Ok(Predicate::NoLease)
            }
            SearchField::Held | SearchField::Lease if !is_compared => {
                fail(self, SearchErrorKind::ComparisonRequired(field))
            }
            SearchField::Held | SearchField::Lease => {
                let comparison = if operator == '>' {
                    Comparison::GreaterThan
                } else {
                    Comparison::LessThan
                };
                match (parse_duration_ms(text), field) {
                    (Some(ms), SearchField::Held) => Ok(Predicate::Held(comparison, ms)),
                    (Some(ms), _) => Ok(Predicate::Lease(comparison, ms)),
                    (None, _) => fail(self, SearchErrorKind::InvalidDuration(field)),
                }
            }
            _ if is_compared => fail(self, SearchErrorKind::ComparisonNotAllowed(field)),
            SearchField::Owner => Ok(Predicate::Owner(text.to_owned())),
            SearchField::Key => Ok(Predicate::Key(text.to_owned())),
            SearchField::Prefix => Ok(Predicate::Prefix(text.to_owned())),
            SearchField::Host => Ok(Predicate::Host(text.to_owned())),
            SearchField::Node => Ok(Predicate::Node(text.to_owned())),
            SearchField::Group if !is_bare => Ok(Predicate::Group(vec![text.to_owned()])),
            SearchField::Group => self
                .parse_list(from, text, field, |word| Some(word.to_owned()))
                .map(Predicate::Group),
            SearchField::Verdict => self
                .parse_list(from, text, field, |word| word.parse().ok())
                .map(Predicate::Verdict),
            SearchField::Flag => self
                .parse_list(from, text, field, |word| word.parse().ok())
                .map(Predicate::Flag),
            SearchField::Format => self
                .parse_list(from, text, field, |word| word.parse().ok())
                .map(Predicate::Format),
            SearchField::Confidence => self
                .parse_list(from, text, field, |word| word.parse().ok())
                .map(Predicate::Confidence),
            SearchField::Is => {
                let is_it = |word: &str| (word == "attention").then_some(Predicate::Attention);
                let words = self.parse_list(from, text, field, is_it)?;
                Ok(words.into_iter().next().unwrap_or(Predicate::Attention))
            }
        }
    }

    /// Parses a comma-separated list of values.
    fn parse_list<T>(
        &self,
        from: usize,
        text: &str,
        field: SearchField,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, SearchError> {
        let mut at = from;
        let mut all = Vec::new();
        for word in text.split(',') {
            if word.is_empty() {
                return Err(self.error(at, word, SearchErrorKind::MissingValue(field)));
            }
            // The original case is tried first, because group names are case-sensitive.
            let known = read(word).or_else(|| read(&word.to_ascii_lowercase()));
            all.push(
                known.ok_or_else(|| self.error(at, word, SearchErrorKind::UnknownValue(field)))?,
            );
            at += word.len() + 1;
        }
        Ok(all)
    }
}

/// `10m`, `1h30m`, `250ms`; a bare number means seconds.
fn parse_duration_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit_ms = match &rest[..letters] {
            "ms" => 1,
            "" | "s" | "sec" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        rest = &rest[letters..];
        sum = sum.checked_add(number.checked_mul(unit_ms)?)?;
    }
    (!text.is_empty()).then_some(sum)
}
