//! What operations on a lock return, and what a force-release is given.

use std::time::Duration;

use tokio::time::Instant;

use super::Token;
use crate::domain::{
    CancelFailure, Fingerprint, Format, LeaseRefusal, LockKey, NodeResult, ObservedHold, Owner,
};

/// The outcome of an acquire or extend over all nodes.
#[derive(Clone, Debug)]
pub struct AcquireOutcome {
    /// The outcome on each configured node, in configuration order.
    pub nodes: Vec<NodeResult>,
    /// The result that the node outcomes add up to.
    pub result: AcquireResult,
    /// When the result was determined; the remaining validity counts from here.
    pub completed_at: Instant,
    /// The fencing token of a successful acquire; `None` if fencing is disabled.
    pub fence: Option<u64>,
    /// The lock's current value, if it differs from the token of the request. It identifies the
    /// same owner.
    pub token: Option<Token>,
}

impl AcquireOutcome {
    /// The end of the lock's validity on the monotonic clock, if the operation succeeded.
    pub fn valid_until(&self) -> Option<Instant> {
        match self.result {
            // Counted from completion, so that a late call does not prolong the validity.
            AcquireResult::Acquired(left) => Some(self.completed_at + left),
            AcquireResult::HeldByOther { .. }
            | AcquireResult::NotHeld
            | AcquireResult::NoQuorum
            | AcquireResult::WrongType(_) => None,
        }
    }
}

/// The result of an acquire or extend.
#[derive(Clone, Debug, PartialEq)]
pub enum AcquireResult {
    /// Acquired or extended on a quorum, with this much validity left at completion.
    Acquired(Duration),
    /// Another owner holds the lock. Owner and lease are known only if a node reported them.
    HeldByOther {
        /// The current owner.
        owner: Option<Owner>,
        /// The owner's remaining lease in milliseconds; `None` if the lock has no expiry or no node
        /// reported it.
        lease_ms: Option<u64>,
    },
    /// (Extend only) The token holds the lock on too few nodes, and no other owner was found.
    NotHeld,
    /// Too few nodes replied within the timeout to decide.
    NoQuorum,
    /// The key holds a value of another type.
    WrongType(String),
}

/// The hold to be released.
#[derive(Clone, Copy, Debug)]
pub struct ForceTarget<'a> {
    /// The key of the lock.
    pub key: &'a LockKey,
    /// The fingerprint of its owner.
    pub fingerprint: &'a Fingerprint,
    /// The properties of the hold that the operator saw, as far as they are known.
    pub expected_hold: ObservedHold,
    /// The format that was inferred from several locks, if this lock alone looks like a plain one.
    pub known_format: Option<Format>,
    /// The operator confirmed the harm that a release of this format can do.
    pub harm_accepted: bool,
}

/// The outcome of a force-release.
#[derive(Clone, Debug)]
pub struct ForceReleaseOutcome {
    /// The outcome on each configured node, in configuration order.
    pub nodes: Vec<NodeResult>,
    /// Another owner that a node reports now.
    pub current_owner: Option<Owner>,
    /// The hold as the nodes reported it before the release.
    pub hold: ObservedHold,
}

impl ForceTarget<'_> {
    /// Fails if a lock of this format cannot be released, or if its harm was not confirmed.
    pub fn check_format(&self, format: Format) -> Result<(), ForceRefusal> {
        if format.not_releasable_reason().is_some() {
            return Err(ForceRefusal::NotReleasable(format));
        }
        if format.release_warning().is_some() && !self.harm_accepted {
            return Err(ForceRefusal::Harmful(format));
        }
        Ok(())
    }
}

impl ForceReleaseOutcome {
    /// The outcome on these nodes, for a hold that was observed before.
    pub fn new(nodes: Vec<NodeResult>, hold: ObservedHold) -> Self {
        let current_owner = nodes.iter().find_map(NodeResult::other_owner).cloned();
        Self {
            nodes,
            current_owner,
            hold,
        }
    }
}

/// Why a lock was not force-released. Nothing was changed on any node, except after a
/// [`CancelFailure::LockKept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceRefusal {
    /// The key may be something other than a lock.
    UncertainLock,
    /// Locks of this format cannot be released by anyone but their owner.
    NotReleasable(Format),
    /// The harm that a release of this format can do must be confirmed first.
    Harmful(Format),
    /// The lease of the lock must not be revoked.
    LeaseNotRevoked(LeaseRefusal),
    /// Cancelling the statement of the owner did not release the lock.
    CancelFailed(CancelFailure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_until_counts_from_completion() {
        let known_at = Instant::now();
        let attempt = |end| AcquireOutcome {
            nodes: Vec::new(),
            result: end,
            completed_at: known_at,
            fence: None,
            token: None,
        };
        let left = Duration::from_secs(9);
        assert_eq!(
            attempt(AcquireResult::Acquired(left)).valid_until(),
            Some(known_at + left)
        );
        assert_eq!(attempt(AcquireResult::NoQuorum).valid_until(), None);
    }
}
