//! Writes a search the way it is read, and says what is wrong with one that cannot be.

use std::fmt::{self, Display, Formatter};

use super::{Ask, Field, Search, SearchError, Term, Than, Wrong};

impl Display for Search {
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

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.not {
            f.write_str("-")?;
        }
        self.ask.fmt(f)
    }
}

impl Display for Ask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = |field: Field, value: String| format!("{}:{value}", field.name());
        let text = match self {
            Self::Text(text) if is_plain(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::Like(pattern) => pattern.clone(),
            Self::Group(names) => match names.as_slice() {
                [name] if name.contains(',') => of(Field::Group, quoted(name)),
                [name] => of(Field::Group, value(name)),
                names => of(Field::Group, names.join(",")),
            },
            Self::Verdict(words) => of(Field::Verdict, list(words, |word| word.slug())),
            Self::Flag(words) => of(Field::Flag, list(words, |word| word.slug())),
            Self::Format(words) => of(Field::Format, list(words, |word| word.slug())),
            Self::Confidence(words) => of(Field::Confidence, list(words, |word| word.slug())),
            Self::Attention => of(Field::Is, "attention".to_owned()),
            Self::Owner(part) => of(Field::Owner, value(part)),
            Self::Key(name) => of(Field::Key, value(name)),
            Self::Prefix(name) => of(Field::Prefix, value(name)),
            Self::Host(name) => of(Field::Host, value(name)),
            Self::Node(name) => of(Field::Node, value(name)),
            Self::Held(than, ms) => format!("held{}{}", sign(*than), span(*ms)),
            Self::Lease(than, ms) => format!("lease{}{}", sign(*than), span(*ms)),
            Self::NoLease => of(Field::Lease, "none".to_owned()),
        };
        f.write_str(&text)
    }
}

impl Display for SearchError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { at, part, wrong } = self;
        let place = at + 1;
        match wrong {
            Wrong::NoValue(field) => write!(
                f,
                "at character {place}: nothing stands behind `{}`; write `{}`",
                field.name(),
                field.example()
            ),
            Wrong::NoSuchWord(field) => write!(
                f,
                "at character {place}: `{part}` is no {}; it is one of {}",
                field.name(),
                field.words().join(", ")
            ),
            Wrong::NoSpan(field) => write!(
                f,
                "at character {place}: `{part}` is no span of time; write `{}`, with ms, s, m, h or d",
                field.example()
            ),
            Wrong::Compared(field) => write!(
                f,
                "at character {place}: `{}` is compared; write `{}`",
                field.name(),
                field.example()
            ),
            Wrong::NotCompared(field) => write!(
                f,
                "at character {place}: `{}` is not compared; write `{}`",
                field.name(),
                field.example()
            ),
            Wrong::NotClosed => write!(
                f,
                "at character {place}: a quotation mark opens here and is not closed"
            ),
            Wrong::TooLong => write!(
                f,
                "it is longer than {} bytes; search for less",
                Search::MAX_BYTES
            ),
            Wrong::TooManyTerms => write!(
                f,
                "at character {place}: `{part}` is one too many; a search has at most {} terms",
                Search::MAX_TERMS
            ),
        }
    }
}

impl std::error::Error for SearchError {}

fn list<T: Copy>(words: &[T], slug: fn(T) -> &'static str) -> String {
    let words: Vec<&str> = words.iter().map(|word| slug(*word)).collect();
    words.join(",")
}

/// Whether a word is read as itself.
fn is_plain(text: &str) -> bool {
    let bare =
        !text.is_empty() && !text.starts_with(['-', '"']) && !text.contains(char::is_whitespace);
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    let is_field = end.is_some_and(|end| Field::named(&text[..end]).is_some());
    bare && !is_field && !super::is_pattern(text)
}

fn value(text: &str) -> String {
    let bare = !text.is_empty() && !text.starts_with('"') && !text.contains(char::is_whitespace);
    if bare { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn sign(than: Than) -> char {
    match than {
        Than::Longer => '>',
        Than::Shorter => '<',
    }
}

fn span(ms: u64) -> String {
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
