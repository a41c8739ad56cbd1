//! Several who want one lock at one moment, in one process: one of them asks the nodes, the others hear what came of it.
//!
//! Asked for each by itself, every node would give the lock to somebody else, and nobody would have it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

use super::acquire::Claim;
use super::layouts::Layout;
use super::{Attempt, End, Want};
use crate::domain::{ActOutcome, LockKey, NodeAct, Owner, Timestamp};

type Lock = (LockKey, Layout);

/// The tries that are under way in this process.
#[derive(Clone, Default)]
pub struct Tries(Arc<Mutex<HashMap<Lock, watch::Receiver<Option<Attempt>>>>>);

impl Tries {
    /// One try, or the outcome of one that somebody else made in the meantime.
    ///
    /// Whoever hears that another's try failed asked while it did; whoever hears that it succeeded knows who has the
    /// lock. A token that was brought along asks for itself: it may hold the lock already.
    pub async fn attempt(&self, claim: &mut Claim<'_>, now: Timestamp) -> Attempt {
        let want = claim.want();
        if want.brought {
            return claim.try_once().await;
        }
        let lock = (want.key.clone(), want.layout);
        loop {
            match self.join(&lock) {
                Part::Lead(told) => return self.lead(claim, lock, told, now).await,
                Part::Listen(heard) => {
                    if let Some(attempt) = outcome(heard).await {
                        return attempt;
                    }
                }
            }
            // Whoever made it went away in the middle of it.
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

    async fn lead(
        &self,
        claim: &mut Claim<'_>,
        lock: Lock,
        told: watch::Sender<Option<Attempt>>,
        now: Timestamp,
    ) -> Attempt {
        let under_way = UnderWay { tries: self, lock };
        let attempt = claim.try_once().await;
        drop(under_way);
        if told.receiver_count() > 0 {
            told.send_replace(Some(for_others(&attempt, claim.want(), now)));
        }
        attempt
    }

    fn tries(&self) -> MutexGuard<'_, HashMap<Lock, watch::Receiver<Option<Attempt>>>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

/// What somebody does about a try.
enum Part {
    /// Makes it, and tells the others.
    Lead(watch::Sender<Option<Attempt>>),
    /// Hears what comes of it.
    Listen(watch::Receiver<Option<Attempt>>),
}

async fn outcome(mut told: watch::Receiver<Option<Attempt>>) -> Option<Attempt> {
    told.wait_for(Option::is_some).await.ok()?.clone()
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
    let taken = |owner: Option<Owner>, left: std::time::Duration| End::Taken {
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
