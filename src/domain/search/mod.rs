//! The search language of the UI, the API and the CLI:
//! `group:orders verdict:held held>10m lock:invoice:*`.
//!
//! A lock must match all terms. A `-` negates a term. A word without a field is searched for in
//! names, owner labels and fingerprints.

mod complete;
mod parse;
mod print;

pub use complete::{CompletionSource, SearchCompletion, complete};
pub use parse::{SearchError, SearchErrorKind};

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::text::contains;
use super::{Confidence, Flag, Format, GroupBy, Lease, Lock, Timestamp, Verdict, glob};

/// A parsed search. A lock must match all terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SearchQuery {
    /// The terms in the order of the source text.
    pub terms: Vec<SearchTerm>,
}

/// A term of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerm {
    /// Whether the lock must not match the predicate.
    pub is_negated: bool,
    /// The condition on the lock.
    pub predicate: Predicate,
}

impl SearchTerm {
    /// The group, if the term selects the locks of exactly one.
    pub fn single_group(&self) -> Option<&str> {
        match &self.predicate {
            Predicate::Group(names) if !self.is_negated => match names.as_slice() {
                [name] if !name.contains('*') => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A condition on a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// The name or an owner's label contains the text, or an owner's fingerprint starts with it.
    Text(String),
    /// The whole name matches the pattern.
    Like(String),
    /// The group is one of these names or matches one of these patterns.
    Group(Vec<String>),
    /// The verdict is one of these.
    Verdict(Vec<Verdict>),
    /// The lock has one of these flags.
    Flag(Vec<Flag>),
    /// The format is one of these.
    Format(Vec<Format>),
    /// The confidence is one of these.
    Confidence(Vec<Confidence>),
    /// The lock needs attention.
    Attention,
    /// An owner's label contains the text, or its fingerprint starts with it.
    Owner(String),
    /// The name contains the text, or matches it if it is a pattern.
    Key(String),
    /// The [prefix](super::prefix) of the name; empty for names without one.
    Prefix(String),
    /// The host of an owner; empty for owners without a label.
    Host(String),
    /// The node shows the lock.
    Node(String),
    /// The duration of the hold in milliseconds.
    Held(Comparison, u64),
    /// The remaining lease in milliseconds.
    Lease(Comparison, u64),
    /// The lock never expires.
    NoLease,
}

/// A comparison with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Written as `>`.
    GreaterThan,
    /// Written as `<`.
    LessThan,
}

/// A field of the search language.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum SearchField {
    /// The name of the group, or a pattern.
    Group,
    /// `held`, `partial`, `split` or `unknown`.
    Verdict,
    /// A flag of the lock.
    Flag,
    /// The duration of the hold.
    Held,
    /// The remaining lease.
    Lease,
    /// Part of an owner's label, or the start of a fingerprint.
    Owner,
    /// The name of the lock.
    Key,
    /// The prefix of the name.
    Prefix,
    /// The host of an owner.
    Host,
    /// A node that shows the lock.
    Node,
    /// The slug of the format.
    Format,
    /// `is:attention`.
    Is,
    /// `sure`, `likely` or `possible`.
    Confidence,
}

impl SearchField {
    /// The name of the field in a search.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// An example term, for error messages and help.
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

    /// The valid values; empty if any value is valid.
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Self::Verdict => Verdict::VARIANTS.iter().map(|value| value.slug()).collect(),
            Self::Flag => Flag::VARIANTS.iter().map(|value| value.slug()).collect(),
            Self::Format => Format::VARIANTS.iter().map(|value| value.slug()).collect(),
            Self::Confidence => Confidence::VARIANTS
                .iter()
                .map(|value| value.slug())
                .collect(),
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

    fn from_name(name: &str) -> Option<Self> {
        Self::VARIANTS
            .iter()
            .copied()
            .find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl SearchQuery {
    /// Whether the search has no terms and matches every lock.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Adds a term, unless the search already has it.
    pub fn with_term(&self, predicate: Predicate) -> Self {
        let mut search = self.clone();
        let term = SearchTerm {
            is_negated: false,
            predicate,
        };
        if !search.terms.contains(&term) {
            search.terms.push(term);
        }
        search
    }

    /// Removes the `nth` term.
    pub fn without_term(&self, nth: usize) -> Self {
        let mut search = self.clone();
        if nth < search.terms.len() {
            search.terms.remove(nth);
        }
        search
    }

    /// Whether the lock matches all terms.
    pub fn matches(&self, lock: &Lock, now: Timestamp) -> bool {
        self.terms
            .iter()
            .all(|term| term.predicate.matches(lock, now) != term.is_negated)
    }

    /// Whether the search selects locks by confidence. Possible locks are then not excluded.
    pub fn has_confidence_filter(&self) -> bool {
        let filters_confidence = |term: &SearchTerm| {
            matches!(term.predicate, Predicate::Confidence(_)) && !term.is_negated
        };
        self.terms.iter().any(filters_confidence)
    }
}

impl Predicate {
    /// The predicate that matches exactly the locks of a bucket; `None` for groups, which have
    /// their own filter.
    pub fn for_bucket(group_by: GroupBy, name: &str) -> Option<Self> {
        match group_by {
            GroupBy::Prefix => Some(Self::Prefix(name.to_owned())),
            GroupBy::Owner => Some(Self::Host(name.to_owned())),
            GroupBy::Group => None,
        }
    }

    fn matches(&self, lock: &Lock, now: Timestamp) -> bool {
        match self {
            Self::Text(part) => contains(&lock.key().text(), part) || lock.matches_owner(part),
            Self::Like(pattern) => glob::matches(pattern.as_bytes(), lock.key().as_bytes()),
            Self::Group(names) => glob::any_matches(names, lock.id.group.as_bytes()),
            Self::Verdict(words) => words.contains(&lock.verdict),
            Self::Flag(words) => words.iter().any(|flag| lock.has_flag(*flag)),
            Self::Format(words) => words.contains(&lock.format),
            Self::Confidence(words) => words.contains(&lock.confidence),
            Self::Attention => lock.needs_attention(),
            Self::Owner(part) => lock.matches_owner(part),
            Self::Key(name) if is_pattern(name) => {
                glob::matches(name.as_bytes(), lock.key().as_bytes())
            }
            Self::Key(part) => contains(&lock.key().text(), part),
            Self::Prefix(name) => lock.is_in_bucket(GroupBy::Prefix, name),
            Self::Host(name) => lock.is_in_bucket(GroupBy::Owner, name),
            Self::Node(name) => lock.nodes.iter().any(|node| {
                node.observation.owner().is_some() && node.node.eq_ignore_ascii_case(name)
            }),
            Self::Held(comparison, ms) => {
                comparison.matches(now.millis_since(lock.acquired_at), *ms)
            }
            Self::Lease(comparison, ms) => match lock.lease.expires_at() {
                Some(end) => comparison.matches(end.millis_since(now), *ms),
                // A lock without expiry has an infinite lease.
                None => *comparison == Comparison::GreaterThan,
            },
            Self::NoLease => lock.lease == Lease::Never,
        }
    }
}

impl Comparison {
    fn matches(self, actual_ms: i64, ms: u64) -> bool {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        match self {
            Self::GreaterThan => actual_ms > ms,
            Self::LessThan => actual_ms < ms,
        }
    }
}

/// Whether the text contains a wildcard.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests;
