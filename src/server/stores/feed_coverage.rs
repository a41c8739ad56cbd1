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

/// The feed coverage of a group's nodes at one moment.
pub struct GroupFeedCoverage(Vec<(FeedCoverage, MonotonicTime)>);

impl GroupFeedCoverage {
    /// The coverage of each node, and since when no change can have been missed there.
    pub fn new(nodes: Vec<(FeedCoverage, MonotonicTime)>) -> Self {
        Self(nodes)
    }

    /// Since when no change of this key can have been missed, or `None` if the key must be polled.
    pub fn complete_since(&self, key: &LockKey) -> Option<MonotonicTime> {
        let complete_since = |(coverage, complete_since): &(FeedCoverage, MonotonicTime)| {
            coverage.contains(key).then_some(*complete_since)
        };
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
                .all(|(coverage, _)| *coverage == FeedCoverage::Everything)
    }

    /// Whether a node's feed is limited to the prefixes of known locks.
    pub fn is_learning(&self) -> bool {
        let learns = |(coverage, _): &(FeedCoverage, MonotonicTime)| {
            matches!(coverage, FeedCoverage::Prefixes(_))
        };
        self.0.iter().any(learns)
    }
}
