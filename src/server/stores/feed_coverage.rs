//! Which keys the change feeds cover. Other keys must be polled.

use std::sync::Arc;

use crate::domain::LockKey;
use crate::server::clock::MonotonicTime;

/// Which keys a feed covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedCoverage {
    /// No keys.
    Nothing,
    /// Keys with one of these prefixes.
    Prefixes(Arc<[Vec<u8>]>),
    /// All keys that match the group's patterns.
    Everything,
}

impl FeedCoverage {
    /// Whether the feed covers this key.
    pub fn contains(&self, key: &LockKey) -> bool {
        match self {
            Self::Nothing => false,
            Self::Prefixes(prefixes) => prefixes
                .iter()
                .any(|prefix| key.as_bytes().starts_with(prefix)),
            Self::Everything => true,
        }
    }
}

/// The feed coverage of a node at one moment.
pub struct NodeFeedCoverage {
    /// Which keys the feed covers.
    pub coverage: FeedCoverage,
    /// Since when no change of these keys can have been missed.
    pub complete_since: MonotonicTime,
    /// Whether the feed is limited to the prefixes of known locks, or will soon be.
    pub needs_prefixes: bool,
}

/// The feed coverage of a group's nodes at one moment.
pub struct GroupFeedCoverage(Vec<NodeFeedCoverage>);

impl GroupFeedCoverage {
    /// The coverage of a service that answers as one: all keys since this moment, or none.
    pub fn of_service(complete_since: Option<MonotonicTime>) -> Self {
        Self(vec![NodeFeedCoverage {
            coverage: match complete_since {
                Some(_) => FeedCoverage::Everything,
                None => FeedCoverage::Nothing,
            },
            complete_since: complete_since.unwrap_or_default(),
            needs_prefixes: false,
        }])
    }

    /// The coverage of a group with these nodes.
    pub fn new(nodes: Vec<NodeFeedCoverage>) -> Self {
        Self(nodes)
    }

    /// Since when no change of this key can have been missed, or `None` if the key must be polled.
    pub fn complete_since(&self, key: &LockKey) -> Option<MonotonicTime> {
        let complete_since =
            |node: &NodeFeedCoverage| node.coverage.contains(key).then_some(node.complete_since);
        // One node without coverage for the key is enough to require polling.
        let each: Option<Vec<MonotonicTime>> = self.0.iter().map(complete_since).collect();
        each?.into_iter().max()
    }

    /// Whether no key needs polling.
    pub fn covers_everything(&self) -> bool {
        !self.0.is_empty()
            && self
                .0
                .iter()
                .all(|node| node.coverage == FeedCoverage::Everything)
    }

    /// Whether a node's feed is limited to the prefixes of known locks, or will soon be.
    pub fn needs_prefixes(&self) -> bool {
        self.0.iter().any(|node| node.needs_prefixes)
    }
}
