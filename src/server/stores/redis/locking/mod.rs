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
mod transaction;
pub mod wait_queue;

pub use acquire::acquire;
pub use acquire_attempt::{AcquireAttempt, AcquireParams};
pub use force_release::{dry_run_force_release, force_release, force_release_on};
pub use layouts::{Layout, Permissions, StoredForm, fair_queue_keys};
pub use owner_operations::{HoldStatus, check_hold, extend, release, remaining_holds};
pub use release_strategies::permissions as force_permissions;
pub use wait_queue::{acquire_within, acquire_within_cancellable};

pub use crate::server::stores::outcome::{
    AcquireOutcome, AcquireResult, ForceRefusal, ForceReleaseOutcome, ForceTarget,
};
pub use crate::server::stores::token::Token;
