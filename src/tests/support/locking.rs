//! Acquires and releases locks through the library, so that tests do not depend on its signatures.

use std::time::{Duration, Instant};

use lockkeeper::domain::{LockKey, NodeOutcome, NodeResult};
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireOutcome, AcquireParams, AcquireResult, Token, acquire_within, extend, release,
};
use lockkeeper::server::stores::redis::nodes::Group;

/// An acquired lock.
pub struct AcquiredLock {
    key: LockKey,
    token: Token,
    /// The fencing token, if the group issues them.
    pub fence: Option<u64>,
    /// The end of the validity, on the monotonic clock.
    pub valid_until: Instant,
}

/// Acquires a lock. Returns the result as the error if it was not acquired within `wait`.
pub async fn acquire(
    group: &Group,
    key: &LockKey,
    name: &str,
    ttl: Duration,
    wait: Duration,
) -> Result<AcquiredLock, AcquireResult> {
    let token = Token::generate(name);
    // Separate wait queues, as if each caller were a separate process.
    let queue_position = WaitQueues::default().join(key);
    let attempt = acquire_within(
        group,
        &AcquireParams::plain(key, &token, ttl),
        wait,
        queue_position,
    )
    .await;
    let until = attempt.valid_until();
    match attempt.result {
        AcquireResult::Acquired(_) => Ok(AcquiredLock {
            key: key.clone(),
            token,
            fence: attempt.fence,
            valid_until: until.expect("an acquired lock has a validity").into_std(),
        }),
        other @ (AcquireResult::HeldByOther { .. }
        | AcquireResult::NotHeld
        | AcquireResult::NoQuorum
        | AcquireResult::WrongType(_)) => Err(other),
    }
}

impl AcquiredLock {
    /// Extends the lock. A failed extend does not shorten the validity.
    pub async fn extend(&mut self, group: &Group, ttl: Duration) -> bool {
        let attempt = extend(group, &self.key, &self.token, ttl).await;
        let Some(until) = attempt.valid_until() else {
            return false;
        };
        self.valid_until = self.valid_until.max(until.into_std());
        true
    }

    pub async fn release(&self, group: &Group) -> Vec<NodeResult> {
        release(group, &self.key, &self.token).await
    }
}

/// The outcome on each node.
pub fn outcomes(nodes: &[NodeResult]) -> Vec<NodeOutcome> {
    nodes.iter().map(|node| node.outcome.clone()).collect()
}

/// Asserts that a quorum has this outcome and that every other node is still pending.
#[track_caller]
pub fn assert_quorum_outcome(nodes: &[NodeResult], expected: &NodeOutcome) {
    let outcomes = outcomes(nodes);
    let matching = outcomes
        .iter()
        .filter(|outcome| *outcome == expected)
        .count();
    let pending = outcomes
        .iter()
        .filter(|outcome| **outcome == NodeOutcome::Pending)
        .count();
    assert!(
        matching > outcomes.len() / 2 && matching + pending == outcomes.len(),
        "{nodes:?}"
    );
}

/// The validity of the acquired lock. Panics if it was not acquired.
#[track_caller]
pub fn expect_acquired(attempt: AcquireOutcome) -> Duration {
    match attempt.result {
        AcquireResult::Acquired(validity) => validity,
        _ => panic!("{attempt:?}"),
    }
}
