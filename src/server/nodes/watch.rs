//! How the sentinels watch over a node.

use std::time::Duration;

/// What a sentinel says of how it watches over the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The sentinel's address.
    pub sentinel: String,
    /// So many sentinels have to miss the primary before another server is promoted.
    pub quorum: u32,
    /// So many other sentinels it knows.
    pub others: u32,
    /// After so long without an answer it misses the primary.
    pub down_after: Duration,
}
