//! Reads a search. What is wrong is told with its place and with what would be right.

use super::{Ask, Field, Search, Term, Than, is_pattern};

/// A search that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchError {
    /// Where it goes wrong: so many characters stand before.
    pub at: usize,
    /// The part that is wrong.
    pub part: String,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// What is wrong with a part of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Nothing stands behind the field.
    NoValue(Field),
    /// The field has no such word.
    NoSuchWord(Field),
    /// It is no span of time.
    NoSpan(Field),
    /// The field is compared with `<` or `>`.
    Compared(Field),
    /// The field is not compared.
    NotCompared(Field),
    /// A quotation mark that opens and never closes.
    NotClosed,
    /// It has more bytes than [`Search::MAX_BYTES`].
    TooLong,
    /// It has more terms than [`Search::MAX_TERMS`].
    TooManyTerms,
}

impl std::str::FromStr for Search {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let mut reader = Reader { text, at: 0 };
        let mut terms = Vec::new();
        if text.len() > Self::MAX_BYTES {
            return Err(reader.error(within_bounds(text).len(), "", Wrong::TooLong));
        }
        loop {
            let from = reader.at;
            let Some(term) = reader.term()? else {
                return Ok(Self { terms });
            };
            if terms.len() == Self::MAX_TERMS {
                let part = text[from..reader.at].trim();
                return Err(reader.error(reader.at - part.len(), part, Wrong::TooManyTerms));
            }
            terms.push(term);
        }
    }
}

impl Search {
    /// The longest search, in bytes.
    pub const MAX_BYTES: usize = 1_024;
    /// The most terms of a search. Each of them is asked of every lock: without a bound, one search of 50 kB kept a
    /// processor busy for half a minute where there were 100,000 locks.
    pub const MAX_TERMS: usize = 32;

    /// What can be understood of a text that is still being written: a term that cannot narrows nothing, and neither does
    /// what is beyond the bounds.
    pub fn understood(text: &str) -> Self {
        let text = within_bounds(text);
        let mut reader = Reader { text, at: 0 };
        let mut terms = Vec::new();
        while terms.len() < Self::MAX_TERMS {
            match reader.term() {
                Ok(Some(term)) => terms.push(term),
                Ok(None) => break,
                Err(_) => reader.skip(|c| !c.is_whitespace()),
            }
        }
        Self { terms }
    }
}

/// As much of a search as is read.
fn within_bounds(text: &str) -> &str {
    &text[..text.floor_char_boundary(Search::MAX_BYTES)]
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that were read.
    at: usize,
}

/// A value as it was written: in quotation marks it means itself.
enum Value {
    Quoted(String),
    Bare(String),
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self, while_so: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !while_so(c)).unwrap_or(rest.len());
    }

    fn error(&self, from: usize, part: &str, wrong: Wrong) -> SearchError {
        SearchError {
            at: self.text[..from].chars().count(),
            part: part.to_owned(),
            wrong,
        }
    }

    fn term(&mut self) -> Result<Option<Term>, SearchError> {
        self.skip(char::is_whitespace);
        if self.rest().is_empty() {
            return Ok(None);
        }
        let mut behind = self.rest().chars();
        let not = behind.next() == Some('-') && behind.next().is_some_and(|c| !c.is_whitespace());
        self.at += usize::from(not);
        let ask = match self.field() {
            Some((field, by)) => self.asked(field, by)?,
            None => match self.value()? {
                Value::Bare(word) if is_pattern(&word) && !word.starts_with('-') => Ask::Like(word),
                Value::Bare(word) | Value::Quoted(word) => Ask::Text(word),
            },
        };
        Ok(Some(Term { not, ask }))
    }

    /// The field at this place, and what follows its name. Names of locks have colons: what is no field is a word.
    fn field(&mut self) -> Option<(Field, char)> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic())?;
        let by = rest[end..].chars().next()?;
        let field = Field::named(&rest[..end]).filter(|_| matches!(by, ':' | '<' | '>' | '='))?;
        self.at += end + 1;
        Some((field, by))
    }

    fn value(&mut self) -> Result<Value, SearchError> {
        let from = self.at;
        if !self.rest().starts_with('"') {
            self.skip(|c| !c.is_whitespace());
            return Ok(Value::Bare(self.text[from..self.at].to_owned()));
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
                    return Ok(Value::Quoted(value));
                }
                c => value.push(c),
            }
        }
        Err(self.error(from, self.rest(), Wrong::NotClosed))
    }

    fn asked(&mut self, field: Field, by: char) -> Result<Ask, SearchError> {
        if by != ':' && by != '=' {
            // `>=` means what `>` does: no span is met to the millisecond.
            self.skip(|c| c == '=');
        }
        let from = self.at;
        let value = self.value()?;
        let (text, is_bare) = match &value {
            Value::Bare(text) => (text.as_str(), true),
            Value::Quoted(text) => (text.as_str(), false),
        };
        let wrong = |reader: &Self, wrong| Err(reader.error(from, text, wrong));
        let may_be_nothing = !is_bare && matches!(field, Field::Prefix | Field::Host);
        if text.is_empty() && !may_be_nothing {
            return wrong(self, Wrong::NoValue(field));
        }
        let is_compared = matches!(by, '<' | '>');
        match field {
            Field::Lease if !is_compared && text.eq_ignore_ascii_case("none") => Ok(Ask::NoLease),
            Field::Held | Field::Lease if !is_compared => wrong(self, Wrong::Compared(field)),
            Field::Held | Field::Lease => {
                let than = if by == '>' {
                    Than::Longer
                } else {
                    Than::Shorter
                };
                match (span_ms(text), field) {
                    (Some(ms), Field::Held) => Ok(Ask::Held(than, ms)),
                    (Some(ms), _) => Ok(Ask::Lease(than, ms)),
                    (None, _) => wrong(self, Wrong::NoSpan(field)),
                }
            }
            _ if is_compared => wrong(self, Wrong::NotCompared(field)),
            Field::Owner => Ok(Ask::Owner(text.to_owned())),
            Field::Key => Ok(Ask::Key(text.to_owned())),
            Field::Prefix => Ok(Ask::Prefix(text.to_owned())),
            Field::Host => Ok(Ask::Host(text.to_owned())),
            Field::Node => Ok(Ask::Node(text.to_owned())),
            Field::Group if !is_bare => Ok(Ask::Group(vec![text.to_owned()])),
            Field::Group => self
                .each(from, text, field, |word| Some(word.to_owned()))
                .map(Ask::Group),
            Field::Verdict => self
                .each(from, text, field, |word| word.parse().ok())
                .map(Ask::Verdict),
            Field::Flag => self
                .each(from, text, field, |word| word.parse().ok())
                .map(Ask::Flag),
            Field::Format => self
                .each(from, text, field, |word| word.parse().ok())
                .map(Ask::Format),
            Field::Confidence => self
                .each(from, text, field, |word| word.parse().ok())
                .map(Ask::Confidence),
            Field::Is => {
                let is_it = |word: &str| (word == "attention").then_some(Ask::Attention);
                let words = self.each(from, text, field, is_it)?;
                Ok(words.into_iter().next().unwrap_or(Ask::Attention))
            }
        }
    }

    /// One word or several with commas between them: any of them will do.
    fn each<T>(
        &self,
        from: usize,
        text: &str,
        field: Field,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, SearchError> {
        let mut at = from;
        let mut all = Vec::new();
        for word in text.split(',') {
            if word.is_empty() {
                return Err(self.error(at, word, Wrong::NoValue(field)));
            }
            // Group names keep their case.
            let known = read(word).or_else(|| read(&word.to_ascii_lowercase()));
            all.push(known.ok_or_else(|| self.error(at, word, Wrong::NoSuchWord(field)))?);
            at += word.len() + 1;
        }
        Ok(all)
    }
}

/// `10m`, `1h30m`, `250ms`; a bare number means seconds.
fn span_ms(text: &str) -> Option<u64> {
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
