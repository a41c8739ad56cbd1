//! What a service other than Redis reports about its locks, for the doctor.

use std::time::Duration;

use crate::domain::Timestamp;

/// What a service reports about its locks, for the doctor. What it does not report is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFacts {
    /// (etcd) The shortest TTLs that were granted, ascending, each with the name of a lock.
    pub shortest_ttls: Vec<(Duration, String)>,
    /// (PostgreSQL) The oldest transactions that hold advisory locks, the oldest first.
    pub long_transactions: Vec<OpenTransaction>,
}

/// A transaction that holds advisory locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The connection, as owners are labelled.
    pub owner: String,
    /// When the transaction began.
    pub since: Timestamp,
    /// The number of advisory locks that its connection holds.
    pub lock_count: u64,
}
