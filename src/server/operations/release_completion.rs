//! Completes force-releases that did not reach every node, as the nodes come back, with the same
//! comparison of owner and hold. The results are logged and audited.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout};

use super::Operations;
use super::audit_scope::{audit_record, webhook_principal};
use super::owner_operations::{check_released, unreleased_count};
use super::release_watch::ForceReleasedLock;
use crate::domain::{
    Fingerprint, Format, Lock, LockId, NodeOutcome, NodeResult, ObservedHold, OperationError,
    OperationKind,
};
use crate::server::access::Principal;
use crate::server::audit::AuditOutcome;
use crate::server::stores::{ForceTarget, Group, RenewalHandle, StoreNode};
use crate::server::webhooks::OperationEvent;

/// How long unreachable nodes are retried.
const MAX_DURATION: Duration = Duration::from_hours(1);
/// The maximum number of running completions: more than a single request can start.
const MAX_COMPLETIONS: usize = 1_024;
/// The pause after the first attempt on a node; it doubles with each attempt.
const INITIAL_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two attempts on a node.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The running completions.
#[derive(Default)]
pub(super) struct ReleaseCompletions(Arc<Mutex<HashSet<HoldKey>>>);

type HoldKey = (LockId, Fingerprint);

/// A force-release that did not reach every node.
pub(super) struct IncompleteRelease {
    /// Held until the completion ends, so that its nodes stay connected when the configuration
    /// changes.
    pub(super) group: Arc<Group>,
    pub(super) id: LockId,
    pub(super) fingerprint: Fingerprint,
    /// The hold to be released; a later one is left alone.
    pub(super) expected_hold: ObservedHold,
    pub(super) known_format: Option<Format>,
    pub(super) harm_accepted: bool,
    pub(super) reason: String,
    /// The outcome on each node so far.
    pub(super) nodes: Vec<NodeResult>,
    /// The lock as the index had it before.
    pub(super) last_state: Option<Arc<Lock>>,
    /// The principal that released it.
    pub(super) principal: Principal,
    /// Its owner may still hold a quorum.
    pub(super) is_partial: bool,
}

impl ReleaseCompletions {
    /// Registers a completion, unless one is running for the same hold or the limit is reached.
    fn register(&self, hold: HoldKey) -> Option<CompletionSlot> {
        let mut running = locked(&self.0);
        if running.len() >= MAX_COMPLETIONS || !running.insert(hold.clone()) {
            return None;
        }
        Some(CompletionSlot {
            running: Arc::clone(&self.0),
            hold,
        })
    }
}

fn locked(running: &Mutex<HashSet<HoldKey>>) -> MutexGuard<'_, HashSet<HoldKey>> {
    running.lock()
}

/// A registered completion. Dropping it removes the entry.
struct CompletionSlot {
    running: Arc<Mutex<HashSet<HoldKey>>>,
    hold: HoldKey,
}

impl Drop for CompletionSlot {
    fn drop(&mut self) {
        locked(&self.running).remove(&self.hold);
    }
}

impl Operations {
    /// Starts completing a force-release in the background, if nodes are outstanding.
    pub(super) fn spawn_completion(self: &Arc<Self>, incomplete: IncompleteRelease) {
        let is_outstanding =
            |result: &NodeResult| matches!(result.outcome, NodeOutcome::Failed { .. });
        let nodes = incomplete.nodes.iter().enumerate();
        let outstanding: Vec<(usize, StoreNode)> = nodes
            .filter(|(_, result)| is_outstanding(result))
            .filter_map(|(index, result)| {
                let (group, key) = (&incomplete.group, &incomplete.id.key);
                Some((index, group.node_for(key, &result.node)?))
            })
            .collect();
        if outstanding.is_empty() {
            return;
        }
        let hold = (incomplete.id.clone(), incomplete.fingerprint);
        let Some(slot) = self.release_completions.register(hold) else {
            tracing::warn!(action = "complete-release", lock.group = incomplete.id.group, lock.key = ?incomplete.id.key, owner = %incomplete.fingerprint, "not completed: a completion for this hold is already running, or the limit of {MAX_COMPLETIONS} is reached");
            return;
        };
        let (stop, group) = (
            incomplete.group.stop().clone(),
            Arc::clone(&incomplete.group),
        );
        let mut completion = ReleaseCompletion {
            operations: Arc::clone(self),
            nodes: incomplete.nodes.clone(),
            is_partial: incomplete.is_partial,
            is_reported: true,
            incomplete,
        };
        group.cleanup_tasks().spawn(async move {
            let completing = timeout(MAX_DURATION, completion.run(outstanding));
            let _over_or_stopped = stop.run_until_cancelled(completing).await;
            completion.report_remaining();
            drop(slot);
        });
    }
}

/// The background task of one completion.
struct ReleaseCompletion {
    operations: Arc<Operations>,
    incomplete: IncompleteRelease,
    /// The outcome on each node so far.
    nodes: Vec<NodeResult>,
    is_partial: bool,
    /// Everything that was done is recorded in the audit log.
    is_reported: bool,
}

impl ReleaseCompletion {
    async fn run(&mut self, outstanding: Vec<(usize, StoreNode)>) {
        let (operations, incomplete) = (&self.operations, &self.incomplete);
        let settling = |(index, node): (usize, StoreNode)| async move {
            (index, incomplete.settle(operations, &node).await)
        };
        let mut settling: FuturesUnordered<_> = outstanding.into_iter().map(settling).collect();
        while let Some((index, outcome)) = settling.next().await {
            if outcome == NodeOutcome::Released {
                self.is_reported = false;
            }
            self.nodes[index].outcome = outcome;
            operations.index().poll_soon(&incomplete.id);
            if self.is_partial && unreleased_count(&self.nodes) < incomplete.group.quorum() {
                self.is_partial = false;
                self.is_reported = true;
                operations.record_completion(incomplete, &self.nodes, &Ok(()));
                operations
                    .handle_force_released(
                        incomplete.force_released_lock(operations),
                        incomplete.renewal(operations).as_ref(),
                    )
                    .await;
            }
        }
    }

    /// Records what was done since the last entry, and the failure if the release is still
    /// incomplete.
    fn report_remaining(self) {
        if self.is_reported && !self.is_partial {
            return;
        }
        let quorum = self.incomplete.group.quorum();
        let result = check_released(quorum, &self.nodes, |nodes| OperationError::NotOwner {
            nodes,
        });
        self.operations
            .record_completion(&self.incomplete, &self.nodes, &result);
    }
}

impl IncompleteRelease {
    /// Retries the release on one node until its outcome is known.
    async fn settle(&self, operations: &Operations, node: &StoreNode) -> NodeOutcome {
        let acquired_at = self.last_state.as_ref().map(|lock| lock.acquired_at);
        let expected_hold = self.expected_hold.or(ObservedHold {
            acquired_at,
            ..ObservedHold::default()
        });
        let target = ForceTarget {
            key: &self.id.key,
            fingerprint: &self.fingerprint,
            expected_hold,
            known_format: self.known_format,
            harm_accepted: self.harm_accepted,
        };
        let mut pause = INITIAL_PAUSE;
        loop {
            node.wait_until_up().await;
            // An owner that released the lock meanwhile and acquired it again has a new hold, which
            // must not be released.
            if operations.was_reacquired_since(&self.id, &self.fingerprint, expected_hold) {
                return NodeOutcome::OtherHold;
            }
            match self.group.force_release_on(node, target).await {
                NodeOutcome::Failed { .. } => {}
                settled => return settled,
            }
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    fn force_released_lock(&self, operations: &Operations) -> ForceReleasedLock {
        ForceReleasedLock {
            id: self.id.clone(),
            owner: self.fingerprint,
            released_at: operations.index().now(),
            last_state: self.last_state.clone(),
            principal: self.principal.clone(),
        }
    }

    fn renewal(&self, operations: &Operations) -> Option<Arc<RenewalHandle>> {
        operations
            .renewals
            .find_by_owner(&self.id, &self.fingerprint)
    }
}

impl Operations {
    /// Records the result of a completion in the audit log, the webhooks and the log.
    fn record_completion(
        &self,
        incomplete: &IncompleteRelease,
        nodes: &[NodeResult],
        result: &Result<(), OperationError>,
    ) {
        let IncompleteRelease {
            id,
            fingerprint,
            principal,
            reason,
            ..
        } = incomplete;
        let mut record = audit_record(OperationKind::CompleteRelease, principal, id);
        record.fingerprint = Some(*fingerprint);
        record.reason = Some(reason.as_str());
        let outcome = match result {
            Ok(()) => AuditOutcome::done(nodes),
            Err(error) => AuditOutcome::from_error(error),
        };
        self.audit.record(&record, &outcome);
        self.notify_webhooks(OperationKind::CompleteRelease, id, || {
            let kind = OperationKind::CompleteRelease;
            let nodes = result.as_ref().map(|()| nodes);
            OperationEvent::new(kind, webhook_principal(principal), id, nodes)
                .with_owner(Some(*fingerprint))
                .with_reason(reason)
        });
        match result {
            Ok(()) => {
                tracing::info!(action = "complete-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "released on nodes that came back");
            }
            Err(error) => {
                tracing::warn!(action = "complete-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, code = error.code(), "not completed: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_completion_runs_per_hold() {
        let completions = ReleaseCompletions::default();
        let hold = |key: &str| {
            let id = LockId {
                group: "orders".into(),
                key: key.into(),
            };
            (id, Fingerprint::parse("0123456789abcdef").unwrap())
        };
        let first = completions.register(hold("lock:a"));
        assert!(first.is_some() && completions.register(hold("lock:b")).is_some());
        assert!(completions.register(hold("lock:a")).is_none());
        drop(first);
        assert!(completions.register(hold("lock:a")).is_some());
    }
}
