//! How tests take locks through the library: the one place of theirs that knows how it is called.

use std::time::{Duration, Instant};

use lockkeeper::domain::{ActOutcome, LockKey, NodeAct};
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{Attempt, End, Token, Want, acquire_within, extend, release};
use lockkeeper::server::nodes::Group;

/// A lock that is ours.
pub struct Held {
    key: LockKey,
    token: Token,
    /// Its fencing token, where one is given.
    pub fence: Option<u64>,
    /// When we stop believing that it is ours.
    pub valid_until: Instant,
}

/// Takes a lock, or tells how it ended otherwise.
pub async fn take(
    group: &Group,
    key: &LockKey,
    name: &str,
    ttl: Duration,
    wait: Duration,
) -> Result<Held, End> {
    let token = Token::mint(name);
    // Each in a queue of its own, as if in a process of its own.
    let place = Queues::default().join(key);
    let attempt = acquire_within(group, &Want::plain(key, &token, ttl), wait, place).await;
    let until = attempt.valid_until();
    match attempt.end {
        End::Won(_) => Ok(Held {
            key: key.clone(),
            token,
            fence: attempt.fence,
            valid_until: until.expect("it was won").into_std(),
        }),
        end @ (End::Taken { .. } | End::NotHeld | End::NoQuorum | End::WrongType(_)) => Err(end),
    }
}

impl Held {
    /// Extends it. Whatever comes of that, what was valid before still is.
    pub async fn extend(&mut self, group: &Group, ttl: Duration) -> bool {
        let attempt = extend(group, &self.key, &self.token, ttl).await;
        let Some(until) = attempt.valid_until() else {
            return false;
        };
        self.valid_until = self.valid_until.max(until.into_std());
        true
    }

    /// Gives it back.
    pub async fn release(&self, group: &Group) -> Vec<NodeAct> {
        release(group, &self.key, &self.token).await
    }
}

/// What came of it on each node.
pub fn outcomes(nodes: &[NodeAct]) -> Vec<ActOutcome> {
    nodes.iter().map(|act| act.outcome.clone()).collect()
}

/// It was done on a quorum, and elsewhere too or not heard of yet.
#[track_caller]
pub fn is_done(nodes: &[NodeAct], done: &ActOutcome) {
    let outcomes = outcomes(nodes);
    let on = outcomes.iter().filter(|outcome| *outcome == done).count();
    let pending = outcomes
        .iter()
        .filter(|outcome| **outcome == ActOutcome::Pending)
        .count();
    assert!(
        on > outcomes.len() / 2 && on + pending == outcomes.len(),
        "{nodes:?}"
    );
}

/// Whoever tried it has the lock; for how long.
#[track_caller]
pub fn won(attempt: Attempt) -> Duration {
    match attempt.end {
        End::Won(validity) => validity,
        _ => panic!("{attempt:?}"),
    }
}
