//! How sentinels monitor a node.

use std::time::Duration;

/// How one sentinel monitors the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentinelView {
    /// The sentinel's address.
    pub sentinel: String,
    /// How many sentinels must agree that the primary is down before a failover starts.
    pub quorum: u32,
    /// How many other sentinels it knows.
    pub other_sentinels: u32,
    /// After how long without a reply it considers the primary down.
    pub down_after: Duration,
}
