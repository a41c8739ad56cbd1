//! Distributed locking on a whole group: acquire, extend, release and force-release, with Redlock
//! on top of `domain::quorum`.
//!
//! Every operation queries all nodes in parallel, over connections reserved for lock operations. A
//! node that does not reply costs its timeout once; a node that is known to be down is skipped.

mod acquire;
mod acquire_attempt;
mod cleanup;
mod conflicting_owner;
pub mod fence;
mod force_release;
mod grace_period;
mod layouts;
mod lease_start;
mod owner_operations;
mod quorum_round;
mod release_strategies;
pub mod renewal;
pub mod renewal_schedule;
mod renewal_state;
mod rollback;
mod round_result;
mod single_flight;
mod span_status;
mod token;
mod transaction;
pub mod wait_queue;

use std::time::Duration;

pub use acquire::acquire;
pub use acquire_attempt::{AcquireAttempt, AcquireParams};
pub use force_release::{
    ForceRefusal, ForceReleaseOutcome, ForceTarget, dry_run_force_release, force_release,
    force_release_on,
};
pub use layouts::{Layout, Permissions, StoredForm, fair_queue_keys};
pub use owner_operations::{HoldStatus, check_hold, extend, release, remaining_holds};
pub use release_strategies::permissions as force_permissions;
pub use token::Token;
pub use wait_queue::{acquire_within, acquire_within_cancellable};

use tokio::time::Instant;

use crate::domain::{NodeResult, Owner};

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
