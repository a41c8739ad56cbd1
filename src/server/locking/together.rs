//! Several who want one lock at one moment, in one process: one of them asks the nodes, the others hear what came of it.
//!
//! Asked for each by itself, every node would give the lock to somebody else, and nobody would have it. A try that failed only
//! because its lease was short says nothing to somebody with a longer one, who then asks the nodes as well.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::claim::Claim;
use super::layouts::Layout;
use super::{Attempt, End, Want};
use crate::domain::{ActOutcome, LockKey, NodeAct, Owner, Timestamp, quorum};
use crate::server::nodes::lock_node::LockNode;

type Lock = (LockKey, Layout);

/// The tries that are under way in this process.
#[derive(Clone, Default)]
pub struct Tries(Arc<Mutex<HashMap<Lock, watch::Receiver<Option<Outcome>>>>>);

/// What came of a try, for those who joined it.
#[derive(Clone)]
struct Outcome {
    attempt: Attempt,
    /// The lease that was wanted.
    ttl: Duration,
    /// How long a node could take for it.
    limit: Duration,
    /// Nothing of that lease would have been left when the try ended.
    outlasted_its_lease: bool,
    /// Who wanted the lock: what nodes that were not waited for gave them stands there until it is taken back.
    owner: Option<Owner>,
}

impl Outcome {
    /// Whether somebody who wants this lease, and gives a node this long, may take it for what their own try would come to.
    fn is_valid_for(&self, ttl: Duration, limit: Duration) -> bool {
        match self.attempt.end {
            End::NoQuorum => {
                let had_as_long = limit <= self.limit;
                had_as_long && (ttl <= self.ttl || !self.outlasted_its_lease)
            }
            End::Won(_) | End::Taken { .. } | End::NotHeld | End::WrongType(_) => true,
        }
    }
}

impl Tries {
    /// One try, or the outcome of one that somebody else made in the meantime.
    ///
    /// Whoever hears that another's try failed asked while it did; whoever hears that it succeeded knows who has the
    /// lock. A token that was brought along asks for itself: it may hold the lock already.
    pub async fn attempt<N: LockNode>(&self, claim: &mut Claim<'_, N>, now: Timestamp) -> Attempt {
        let want = claim.want();
        if want.brought {
            return claim.try_once().await;
        }
        let lock = (want.key.clone(), want.layout);
        let mut failed_before = None;
        loop {
            match self.join(&lock) {
                Part::Lead(told) => {
                    let attempt = self.lead(claim, lock.clone(), told, now).await;
                    match left_by(&attempt, failed_before.take()) {
                        Some(lease) => claim.clock().sleep(lease.min(claim.limit())).await,
                        None => return attempt,
                    }
                }
                Part::Listen(heard) => {
                    let (ttl, limit) = (claim.want().ttl, claim.limit());
                    if let Some(outcome) = outcome(heard).await {
                        if outcome.is_valid_for(ttl, limit) {
                            return outcome.attempt;
                        }
                        failed_before = outcome.owner;
                    }
                }
            }
            // Whoever made it went away in the middle of it, or failed for want of time that this one has.
        }
    }

    fn join(&self, lock: &Lock) -> Part {
        match self.tries().entry(lock.clone()) {
            Entry::Occupied(under_way) => Part::Listen(under_way.get().clone()),
            Entry::Vacant(free) => {
                let (told, heard) = watch::channel(None);
                free.insert(heard);
                Part::Lead(told)
            }
        }
    }

    async fn lead<N: LockNode>(
        &self,
        claim: &mut Claim<'_, N>,
        lock: Lock,
        told: watch::Sender<Option<Outcome>>,
        now: Timestamp,
    ) -> Attempt {
        let under_way = UnderWay { tries: self, lock };
        let (began, limit, ttl) = (claim.clock().instant(), claim.limit(), claim.want().ttl);
        let attempt = claim.try_once().await;
        drop(under_way);
        if told.receiver_count() > 0 {
            let took = attempt.known_at.saturating_duration_since(began);
            told.send_replace(Some(Outcome {
                attempt: for_others(&attempt, claim.want(), now),
                ttl,
                limit,
                outlasted_its_lease: quorum::validity(ttl, took, claim.drift()).is_none(),
                owner: claim
                    .want()
                    .layout
                    .owner(&claim.want().key, &claim.want().token, ttl, now),
            }));
        }
        attempt
    }

    fn tries(&self) -> MutexGuard<'_, HashMap<Lock, watch::Receiver<Option<Outcome>>>> {
        self.0.lock()
    }
}

/// What somebody does about a try.
enum Part {
    /// Makes it, and tells the others.
    Lead(watch::Sender<Option<Outcome>>),
    /// Hears what comes of it.
    Listen(watch::Receiver<Option<Outcome>>),
}

async fn outcome(mut told: watch::Receiver<Option<Outcome>>) -> Option<Outcome> {
    told.wait_for(Option::is_some).await.ok()?.clone()
}

/// What is left of the lease, if what stood in the way of this try is what the failed try that was joined left behind.
fn left_by(attempt: &Attempt, failed_before: Option<Owner>) -> Option<Duration> {
    match &attempt.end {
        End::Taken {
            owner: Some(owner),
            lease_ms: Some(lease_ms),
        } if owner.fingerprint == failed_before?.fingerprint => {
            Some(Duration::from_millis(*lease_ms))
        }
        _ => None,
    }
}

/// Removes the try when it ends, however it ends.
struct UnderWay<'a> {
    tries: &'a Tries,
    lock: Lock,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.tries.tries().remove(&self.lock);
    }
}

/// What one's try means for another: what was acquired is somebody else's, what was released is not there.
fn for_others(attempt: &Attempt, want: &Want, now: Timestamp) -> Attempt {
    let token = attempt.token.as_ref().unwrap_or(&want.token);
    let owner = want.layout.owner(&want.key, token, want.ttl, now);
    let outcome = |act: &NodeAct| NodeAct {
        node: act.node.clone(),
        outcome: match &act.outcome {
            ActOutcome::Acquired => ActOutcome::OtherOwner {
                owner: owner.clone(),
            },
            ActOutcome::Released => ActOutcome::NotHeld,
            other => other.clone(),
        },
    };
    let taken = |owner: Option<Owner>, left: Duration| End::Taken {
        owner,
        lease_ms: u64::try_from(left.as_millis()).ok(),
    };
    Attempt {
        nodes: attempt.nodes.iter().map(outcome).collect(),
        end: match &attempt.end {
            End::Won(left) => taken(owner.clone(), *left),
            other => other.clone(),
        },
        known_at: attempt.known_at,
        fence: None,
        token: None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_failure_for_want_of_time_is_passed_on_to_nobody_who_has_more() {
        let ms = Duration::from_millis;
        let outcome = |end, outlasted_its_lease| Outcome {
            attempt: Attempt {
                nodes: Vec::new(),
                end,
                known_at: Instant::now(),
                fence: None,
                token: None,
            },
            ttl: ms(1_000),
            limit: ms(50),
            outlasted_its_lease,
            owner: None,
        };
        let taken = End::Taken {
            owner: None,
            lease_ms: None,
        };
        for (end, outlasted, ttl, limit, is_valid) in [
            (End::NoQuorum, false, 1_000, 50, true),
            (End::NoQuorum, false, 500, 25, true),
            (End::NoQuorum, false, 30_000, 500, false),
            (End::NoQuorum, false, 1_010, 50, true),
            (End::NoQuorum, true, 1_010, 50, false),
            (End::NoQuorum, true, 1_000, 50, true),
            (taken, true, 30_000, 500, true),
            (End::WrongType("list".to_owned()), true, 30_000, 500, true),
        ] {
            let outcome = outcome(end.clone(), outlasted);
            let is = outcome.is_valid_for(ms(ttl), ms(limit));
            assert_eq!(is, is_valid, "{end:?} for {ttl} ms, {limit} ms a node");
        }
    }
}
