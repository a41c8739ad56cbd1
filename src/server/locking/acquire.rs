//! Acquire: one try as the Redis documentation describes it, or tries with random growing pauses until a deadline.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::owners::failure;
use super::take::{Took, end, take};
use super::tidy::{release_later, release_on};
use super::{Attempt, End, Token};
use crate::domain::{ActOutcome, LockKey, NodeAct, quorum};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;

/// The longest pause between two tries, at first and at last; each is shortened by a random part.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Takes the lock with `SET key token NX PX ttl` on all nodes at once. Whatever was taken is released on *all* nodes
/// when it did not reach a quorum with validity left. One try.
pub async fn acquire(group: &Group, key: &LockKey, token: &Token, ttl: Duration) -> Attempt {
    Claim::new(group, key, token, ttl).try_once().await
}

/// Like [`acquire`], again and again with a random delay until `wait` is over.
pub async fn acquire_within(
    group: &Group,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
    wait: Duration,
) -> Attempt {
    let deadline = Instant::now() + wait;
    let mut claim = Claim::new(group, key, token, ttl);
    let mut pause = PAUSES.0;
    loop {
        let attempt = claim.try_once().await;
        let lease_ms = match &attempt.end {
            End::Won(_) | End::WrongType(_) => return attempt,
            End::Taken { lease_ms, .. } => *lease_ms,
            End::NotHeld | End::NoQuorum => None,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return attempt;
        }
        // Contenders that fell out of step do not keep one another from the quorum for ever. A lease that ends sooner
        // is worth coming back for.
        let lease = lease_ms.map_or(Duration::MAX, |ms| Duration::from_millis(ms.max(5)));
        sleep(
            pause
                .mul_f64(rand::random_range(0.3..1.0))
                .min(lease)
                .min(left),
        )
        .await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// What we may have on nodes. When it is dropped without having won, all of that is released: also when the one who
/// asked went away in the middle of it.
struct Claim<'a> {
    group: &'a Group,
    key: &'a LockKey,
    token: &'a Token,
    ttl: Duration,
    /// Nodes where something of ours may be, by their place in the configuration.
    doubtful: BTreeSet<usize>,
    /// When the last lease ends that a node may have given.
    lease_ends: Instant,
}

impl<'a> Claim<'a> {
    fn new(group: &'a Group, key: &'a LockKey, token: &'a Token, ttl: Duration) -> Self {
        Self {
            group,
            key,
            token,
            ttl,
            doubtful: BTreeSet::new(),
            lease_ends: Instant::now(),
        }
    }

    async fn try_once(&mut self) -> Attempt {
        let (key, token, ttl) = (self.key, self.token, self.ttl);
        let began = Instant::now();
        let was_doubtful = std::mem::replace(
            &mut self.doubtful,
            (0..self.group.config.nodes.len()).collect(),
        );
        let limit = self.group.config.limit_per_node(ttl);
        self.lease_ends = began + limit + ttl;
        let took: Vec<Result<Took, Missed>> = self
            .group
            .on_each(|node| async move {
                let clock = node.clock().clone();
                node.act(limit, |line| async move {
                    take(line, &clock, key, token, ttl).await
                })
                .await
            })
            .await;
        let end = end(
            &took,
            quorum::validity(ttl, began.elapsed(), self.group.config.locking.drift),
            self.group.clock().now(),
        );
        let nobody_is_left = match &end {
            End::Won(_) => {
                self.doubtful.clear();
                return self.attempt(&took, &BTreeSet::new(), end);
            }
            End::Taken { .. } | End::NotHeld | End::NoQuorum | End::WrongType(_) => {
                self.doubts(&took, &was_doubtful)
            }
        };
        self.doubtful = nobody_is_left;
        let released = self.release(&took).await;
        self.attempt(&took, &released, end)
    }

    /// Where something of ours may be after these answers.
    fn doubts(&self, took: &[Result<Took, Missed>], before: &BTreeSet<usize>) -> BTreeSet<usize> {
        let may_be = |n: &usize| match &took[*n] {
            Ok(Took::Ours) | Err(Missed::Unanswered { .. }) => true,
            // The node itself says that somebody else's is there.
            Ok(Took::Theirs(_) | Took::WrongType(_)) => false,
            // Nothing was sent or done this time.
            Err(Missed::NotAsked { .. } | Missed::Refused { .. }) => before.contains(n),
        };
        (0..took.len()).filter(may_be).collect()
    }

    /// Releases at once where the node answers; the others are left to the background. Tells where it was done.
    async fn release(&mut self, took: &[Result<Took, Missed>]) -> BTreeSet<usize> {
        let (key, token) = (self.key, self.token);
        let ours = self.nodes().filter(|(n, _)| took[*n] == Ok(Took::Ours));
        let releases =
            ours.map(|(n, node)| async move { (n, release_on(&node, key, token).await) });
        let released = futures::future::join_all(releases).await;
        let is_gone =
            |told: &Result<Told, Missed>| matches!(told, Ok(_) | Err(Missed::Refused { .. }));
        let gone: BTreeSet<usize> = released
            .iter()
            .filter(|(_, told)| is_gone(told))
            .map(|(n, _)| *n)
            .collect();
        self.doubtful.retain(|n| !gone.contains(n));
        released
            .into_iter()
            .filter(|(_, told)| told.is_ok())
            .map(|(n, _)| n)
            .collect()
    }

    fn nodes(&self) -> impl Iterator<Item = (usize, Arc<Node>)> {
        self.group.each().iter().cloned().enumerate()
    }

    fn attempt(
        &self,
        took: &[Result<Took, Missed>],
        released: &BTreeSet<usize>,
        end: End,
    ) -> Attempt {
        let has_won = matches!(end, End::Won(_));
        let outcome = |n: usize| match &took[n] {
            Ok(Took::Ours) if has_won => ActOutcome::Acquired,
            Ok(Took::Ours) if released.contains(&n) => ActOutcome::Released,
            Ok(Took::Ours) => ActOutcome::Failed {
                reason: "acquired, and not known to be released: it ends with its lease".to_owned(),
            },
            Ok(Took::Theirs(seen)) => ActOutcome::OtherOwner {
                owner: seen.as_ref().map(|(owner, _)| owner.clone()),
            },
            Ok(Took::WrongType(_)) => ActOutcome::OtherOwner { owner: None },
            Err(missed) => ActOutcome::Failed {
                reason: failure(missed, &ActOutcome::Acquired),
            },
        };
        let nodes = self
            .nodes()
            .map(|(n, node)| NodeAct {
                node: node.name().to_owned(),
                outcome: outcome(n),
            })
            .collect();
        Attempt { nodes, end }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let nodes: Vec<Arc<Node>> = self
            .nodes()
            .filter(|(n, _)| self.doubtful.contains(n))
            .map(|(_, node)| node)
            .collect();
        if !nodes.is_empty() {
            let stop = self.group.stop().clone();
            release_later(
                nodes,
                self.key.clone(),
                self.token.clone(),
                self.lease_ends,
                stop,
            );
        }
    }
}
