//! Locks that were acquired through the console's pages.

use serde::{Deserialize, Serialize};

use super::reason::{Reason, RenewalLimit};
use super::{Fingerprint, Format, Lock, LockId, NodeResult, Timestamp};

/// A lock that a user acquired through the console's pages. The token stays on the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsoleLock {
    /// The group and name of the lock.
    pub id: LockId,
    /// Identifies the console's hold among the lock's owners.
    pub fingerprint: Fingerprint,
    /// When the console acquired the lock.
    pub acquired_at: Timestamp,
    /// The lease of the last acquire or extend, in milliseconds.
    pub ttl_ms: u64,
    /// The end of the validity time. Clock drift and the duration of the operation are already
    /// subtracted.
    pub expires_at: Timestamp,
    /// The result of the last acquire or extend on each node.
    pub nodes: Vec<NodeResult>,
    /// Whether the token can still be revealed. It can be revealed once.
    pub token_available: bool,
    /// Whether the console renews the lease automatically.
    pub auto_renew: bool,
    /// `None` if fencing is disabled.
    pub fencing_token: Option<u64>,
    /// The number of renewals, both automatic and manual.
    pub extensions: u32,
    /// The limit at which the console stopped renewing a lock that may still be held.
    pub renewal_stopped_reason: Option<RenewalLimit>,
    /// Why the lock was lost. Only set for locks with auto-renewal.
    pub lost_reason: Option<Reason>,
}

impl ConsoleLock {
    /// The number of nodes that show this hold.
    pub fn count_nodes_holding(&self, lock: &Lock) -> usize {
        // The value of a legacy lock is a timestamp that changes with each renewal. During a
        // renewal some nodes still show the previous value: fingerprints are not compared.
        let changes = lock.format == Format::LegacyTimestamp && self.auto_renew;
        let owners = lock
            .nodes
            .iter()
            .filter_map(|node| node.observation.owner());
        owners
            .filter(|owner| changes || owner.fingerprint == self.fingerprint)
            .count()
    }
}
