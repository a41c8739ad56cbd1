//! The language of the search box: `group:orders verdict:held held>10m lock:invoice:*`. The same for page, API and command line.
//!
//! Terms stand beside each other and all of them must hold; a `-` before one turns it round. A word that is no field is searched
//! for in names, owner labels and fingerprints.

mod complete;
mod parse;
mod print;

pub use complete::{Completion, Known, complete};
pub use parse::{SearchError, Wrong};

use strum::{IntoStaticStr, VariantArray};

use super::text::contains;
use super::{By, Confidence, Flag, Format, Lock, Timestamp, Verdict, glob};

/// What is searched for: all of these terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Search {
    /// The terms, in the order in which they were written.
    pub terms: Vec<Term>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Whether it must not hold.
    pub not: bool,
    /// What is asked.
    pub ask: Ask,
}

/// What is asked of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Its name or an owner's label contains this, or an owner's fingerprint begins with it.
    Text(String),
    /// Its whole name matches this pattern.
    Like(String),
    /// It is of one of these groups; patterns are understood.
    Group(Vec<String>),
    /// It has one of these verdicts.
    Verdict(Vec<Verdict>),
    /// It has one of these flags.
    Flag(Vec<Flag>),
    /// It has one of these layouts.
    Format(Vec<Format>),
    /// It is this sure.
    Confidence(Vec<Confidence>),
    /// A person should look at it.
    Attention,
    /// An owner's label contains this, or its fingerprint begins with it.
    Owner(String),
    /// Its name contains this, or matches it where it is a pattern.
    Key(String),
    /// Its name begins with this, up to the part that varies; empty for names without such a beginning.
    Prefix(String),
    /// This host holds it; empty where no label names an owner.
    Host(String),
    /// This node shows it.
    Node(String),
    /// It has been held for longer (or shorter) than so many milliseconds.
    Held(Than, u64),
    /// More (or less) than so many milliseconds of its lease are left.
    Lease(Than, u64),
    /// It never expires by itself.
    NoLease,
}

/// Which side of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Than {
    /// Longer than that.
    Longer,
    /// Shorter than that.
    Shorter,
}

/// What can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Field {
    /// The group.
    Group,
    /// The verdict.
    Verdict,
    /// A flag.
    Flag,
    /// How long it has been held.
    Held,
    /// What is left of its lease.
    Lease,
    /// Part of an owner's label, or the beginning of a fingerprint.
    Owner,
    /// The name.
    Key,
    /// What the name begins with, up to the part that varies.
    Prefix,
    /// The host of an owner.
    Host,
    /// A node that shows it.
    Node,
    /// The layout.
    Format,
    /// `is:attention`.
    Is,
    /// How sure it is that this is a lock.
    Confidence,
}

impl Field {
    /// Its name as it is written.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// One whole term with it, for whoever wants to see how it is meant.
    pub fn example(self) -> &'static str {
        match self {
            Self::Group => "group:orders",
            Self::Verdict => "verdict:held",
            Self::Flag => "flag:at-risk",
            Self::Format => "format:redisson",
            Self::Owner => "owner:web-3",
            Self::Key => "key:lock:invoice:*",
            Self::Prefix => "prefix:lock:invoice:",
            Self::Host => "host:web-3",
            Self::Node => "node:c",
            Self::Held => "held>10m",
            Self::Lease => "lease<5s",
            Self::Confidence => "confidence:possible",
            Self::Is => "is:attention",
        }
    }

    /// The words that it takes; none where it takes any.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Verdict => Verdict::VARIANTS.iter().map(|one| one.slug()).collect(),
            Self::Flag => Flag::VARIANTS.iter().map(|one| one.slug()).collect(),
            Self::Format => Format::VARIANTS.iter().map(|one| one.slug()).collect(),
            Self::Confidence => Confidence::VARIANTS.iter().map(|one| one.slug()).collect(),
            Self::Is => vec!["attention"],
            Self::Lease => vec!["none"],
            Self::Group
            | Self::Owner
            | Self::Key
            | Self::Prefix
            | Self::Host
            | Self::Node
            | Self::Held => Vec::new(),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::VARIANTS
            .iter()
            .copied()
            .find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl Search {
    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The same with one more condition, unless it is there already.
    pub fn with(&self, ask: Ask) -> Self {
        let mut search = self.clone();
        let term = Term { not: false, ask };
        if !search.terms.contains(&term) {
            search.terms.push(term);
        }
        search
    }

    /// The same without one of its terms.
    pub fn without(&self, nth: usize) -> Self {
        let mut search = self.clone();
        if nth < search.terms.len() {
            search.terms.remove(nth);
        }
        search
    }

    /// Whether all terms hold for this lock.
    pub fn admits(&self, lock: &Lock, now: Timestamp) -> bool {
        self.terms
            .iter()
            .all(|term| term.ask.holds(lock, now) != term.not)
    }

    /// Whether it says itself how sure the locks must be that it finds.
    pub fn says_how_sure(&self) -> bool {
        let asks = |term: &Term| matches!(term.ask, Ask::Confidence(_)) && !term.not;
        self.terms.iter().any(asks)
    }
}

impl Ask {
    /// What a search asks for that lets through the locks of the bundle with this name, and no other; a group is chosen in
    /// another way.
    pub fn for_bundle(by: By, name: &str) -> Option<Self> {
        match by {
            By::Prefix => Some(Self::Prefix(name.to_owned())),
            By::Owner => Some(Self::Host(name.to_owned())),
            By::Group => None,
        }
    }

    fn holds(&self, lock: &Lock, now: Timestamp) -> bool {
        match self {
            Self::Text(part) => contains(&lock.key().text(), part) || lock.is_owned_by(part),
            Self::Like(pattern) => glob::matches(pattern.as_bytes(), lock.key().as_bytes()),
            Self::Group(names) => glob::any_matches(names, lock.id.group.as_bytes()),
            Self::Verdict(words) => words.contains(&lock.verdict),
            Self::Flag(words) => words.iter().any(|flag| lock.has(*flag)),
            Self::Format(words) => words.contains(&lock.format),
            Self::Confidence(words) => words.contains(&lock.confidence),
            Self::Attention => lock.needs_attention(),
            Self::Owner(part) => lock.is_owned_by(part),
            Self::Key(name) if is_pattern(name) => {
                glob::matches(name.as_bytes(), lock.key().as_bytes())
            }
            Self::Key(part) => contains(&lock.key().text(), part),
            Self::Prefix(name) => lock.is_bundled(By::Prefix, name),
            Self::Host(name) => lock.is_bundled(By::Owner, name),
            Self::Node(name) => lock
                .nodes
                .iter()
                .any(|node| node.answer.owner().is_some() && node.node.eq_ignore_ascii_case(name)),
            Self::Held(than, ms) => than.compares(now.millis_since(lock.acquired_at), *ms),
            Self::Lease(than, ms) => match lock.lease.expires_at() {
                Some(end) => than.compares(end.millis_since(now), *ms),
                None => *than == Than::Longer,
            },
            Self::NoLease => lock.lease.expires_at().is_none(),
        }
    }
}

impl Than {
    fn compares(self, given: i64, ms: u64) -> bool {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        match self {
            Self::Longer => given > ms,
            Self::Shorter => given < ms,
        }
    }
}

/// Whether a name stands for many.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests;
