//! Forced releases that did not reach every node: completed as the nodes come back, with the same comparison of owner and hold.
//! Log and audit record what came of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout};

use super::Operations;
use super::act::{released, remaining};
use super::aftermath::Freed;
use super::audited::{asked, told_by};
use crate::domain::{
    ActKind, ActOutcome, Fault, Fingerprint, Format, Lock, LockId, NodeAct, SeenHold,
};
use crate::server::access::Actor;
use crate::server::audit::End;
use crate::server::locking::{self, Condemned};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::webhooks::Ended;

/// For how long nodes are waited for.
const LONGEST: Duration = Duration::from_hours(1);
/// So many are under way at the same time: more than one request can begin.
const MOST_AT_ONCE: usize = 1_024;
/// The first and the longest pause before a node is asked again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Those that are under way.
#[derive(Default)]
pub(super) struct Completions(Arc<Mutex<HashSet<Hold>>>);

type Hold = (LockId, Fingerprint);

/// A forced release that did not reach every node.
pub(super) struct Incomplete {
    /// Held until it is over: its nodes stay connected, also when the configuration changes meanwhile.
    pub(super) group: Arc<Group>,
    pub(super) id: LockId,
    pub(super) fingerprint: Fingerprint,
    /// The hold that is released, and no later one.
    pub(super) seen: SeenHold,
    pub(super) known_as: Option<Format>,
    pub(super) harm_accepted: bool,
    pub(super) reason: String,
    /// What happened on each node so far.
    pub(super) nodes: Vec<NodeAct>,
    /// The lock as it was known before.
    pub(super) before: Option<Arc<Lock>>,
    /// Who released it.
    pub(super) by: Actor,
    /// Its owner may hold a quorum still.
    pub(super) is_partial: bool,
}

impl Completions {
    /// Enters one, unless it is under way already or too many others are.
    fn enter(&self, hold: Hold) -> Option<Entered> {
        let mut under_way = entries(&self.0);
        if under_way.len() >= MOST_AT_ONCE || !under_way.insert(hold.clone()) {
            return None;
        }
        Some(Entered {
            all: Arc::clone(&self.0),
            hold,
        })
    }
}

fn entries(all: &Mutex<HashSet<Hold>>) -> MutexGuard<'_, HashSet<Hold>> {
    // Only ever changed by whole entries, so a panic elsewhere left it sound.
    all.lock()
}

/// One that is under way, until it is dropped.
struct Entered {
    all: Arc<Mutex<HashSet<Hold>>>,
    hold: Hold,
}

impl Drop for Entered {
    fn drop(&mut self) {
        entries(&self.all).remove(&self.hold);
    }
}

impl Operations {
    /// Completes it in the background, if there is anything to complete.
    pub(super) fn complete_later(self: &Arc<Self>, incomplete: Incomplete) {
        let seats = incomplete.group.seats(&incomplete.id.key);
        let is_open = |act: &NodeAct| matches!(act.outcome, ActOutcome::Failed { .. });
        let nodes = incomplete.nodes.iter().enumerate();
        let open: Vec<(usize, Arc<Node>)> = nodes
            .filter(|(_, act)| is_open(act))
            .filter_map(|(place, act)| {
                let node = seats.iter().find(|node| node.name() == act.node)?;
                Some((place, Arc::clone(node)))
            })
            .collect();
        if open.is_empty() {
            return;
        }
        let hold = (incomplete.id.clone(), incomplete.fingerprint.clone());
        let Some(entered) = self.completions.enter(hold) else {
            tracing::warn!(act = "complete-release", lock.group = incomplete.id.group, lock.key = ?incomplete.id.key, owner = %incomplete.fingerprint, "not completed from here: it is being completed already, or {MOST_AT_ONCE} others are");
            return;
        };
        let (stop, group) = (
            incomplete.group.stop().clone(),
            Arc::clone(&incomplete.group),
        );
        let mut completion = Completion {
            operations: Arc::clone(self),
            nodes: incomplete.nodes.clone(),
            is_partial: incomplete.is_partial,
            was_told: true,
            incomplete,
        };
        group.errands().spawn(async move {
            let completing = timeout(LONGEST, completion.until_settled(open));
            let _over_or_stopped = stop.run_until_cancelled(completing).await;
            completion.tell_the_rest();
            drop(entered);
        });
    }
}

/// One release that is being completed.
struct Completion {
    operations: Arc<Operations>,
    incomplete: Incomplete,
    /// What happened on each node by now.
    nodes: Vec<NodeAct>,
    is_partial: bool,
    /// The audit has everything that was done.
    was_told: bool,
}

impl Completion {
    async fn until_settled(&mut self, open: Vec<(usize, Arc<Node>)>) {
        let (operations, incomplete) = (&self.operations, &self.incomplete);
        let settling = |(place, node): (usize, Arc<Node>)| async move {
            (place, incomplete.settle(operations, &node).await)
        };
        let mut settling: FuturesUnordered<_> = open.into_iter().map(settling).collect();
        while let Some((place, outcome)) = settling.next().await {
            if outcome == ActOutcome::Released {
                self.was_told = false;
            }
            self.nodes[place].outcome = outcome;
            operations.index().look_soon(&incomplete.id);
            if self.is_partial && remaining(&self.nodes) < incomplete.group.quorum() {
                self.is_partial = false;
                self.was_told = true;
                operations.completed(incomplete, &self.nodes, &Ok(()));
                operations
                    .was_forced(
                        incomplete.freed(operations),
                        incomplete.kept(operations).as_ref(),
                    )
                    .await;
            }
        }
    }

    /// What was done since the last entry, and that it was not completed, if it was not.
    fn tell_the_rest(self) {
        if self.was_told && !self.is_partial {
            return;
        }
        let quorum = self.incomplete.group.quorum();
        let end = released(quorum, &self.nodes, |nodes| Fault::NotOwner { nodes });
        self.operations
            .completed(&self.incomplete, &self.nodes, &end);
    }
}

impl Incomplete {
    /// Asks one node again and again, until it is known what became of the hold there.
    async fn settle(&self, operations: &Operations, node: &Arc<Node>) -> ActOutcome {
        let acquired_at = self.before.as_ref().map(|lock| lock.acquired_at);
        let seen = self.seen.or(SeenHold {
            acquired_at,
            ..SeenHold::default()
        });
        let condemned = Condemned {
            key: &self.id.key,
            fingerprint: &self.fingerprint,
            seen,
            known_as: self.known_as,
            harm_accepted: self.harm_accepted,
        };
        let mut pause = PAUSES.0;
        loop {
            node.until_up().await;
            // An owner that let go meanwhile and came back holds it anew: that is not what was to be released.
            if operations.was_acquired_again(&self.id, &self.fingerprint, seen) {
                return ActOutcome::AnotherHold;
            }
            match locking::force_release_on(&self.group, node, condemned).await {
                ActOutcome::Failed { .. } => {}
                settled => return settled,
            }
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn freed(&self, operations: &Operations) -> Freed {
        Freed {
            id: self.id.clone(),
            owner: self.fingerprint.clone(),
            at: operations.index().now(),
            before: self.before.clone(),
            by: self.by.clone(),
        }
    }

    fn kept(&self, operations: &Operations) -> Option<Arc<locking::keep::Kept>> {
        operations.kept.seen_as(&self.id, &self.fingerprint)
    }
}

impl Operations {
    /// Records what the completion of a forced release came to.
    fn completed(&self, incomplete: &Incomplete, nodes: &[NodeAct], end: &Result<(), Fault>) {
        let Incomplete {
            id,
            fingerprint,
            by,
            reason,
            ..
        } = incomplete;
        let mut told = asked(ActKind::CompleteRelease, by, id);
        told.fingerprint = Some(fingerprint.clone());
        told.reason = Some(reason.as_str());
        let written = match end {
            Ok(()) => End::done(nodes),
            Err(fault) => End::fault(fault),
        };
        self.audit.tell(&told, &written);
        self.tell(ActKind::CompleteRelease, id, |act| {
            Ended::new(act, told_by(by), id, end.as_ref().map(|()| nodes))
                .of(Some(fingerprint.clone()))
                .because(reason)
        });
        match end {
            Ok(()) => {
                tracing::info!(act = "complete-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "released on nodes that came back");
            }
            Err(fault) => {
                tracing::warn!(act = "complete-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, code = fault.code(), "not completed: {fault}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hold_is_completed_once_at_a_time() {
        let completions = Completions::default();
        let hold = |key: &str| {
            let id = LockId {
                group: "orders".into(),
                key: key.into(),
            };
            (id, Fingerprint::parse("0123456789abcdef").unwrap())
        };
        let first = completions.enter(hold("lock:a"));
        assert!(first.is_some() && completions.enter(hold("lock:b")).is_some());
        assert!(completions.enter(hold("lock:a")).is_none());
        drop(first);
        assert!(completions.enter(hold("lock:a")).is_some());
    }
}
