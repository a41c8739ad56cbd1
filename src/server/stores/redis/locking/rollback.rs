//! Rollback of a failed acquire: immediately on nodes that reply, otherwise by cleanup jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;

use super::acquire_attempt::AcquireAttempt;
use super::cleanup::{CleanupJob, CleanupTask};
use super::layouts::ReleaseRequest;
use super::quorum_round::{NodeReply, QuorumRound};
use crate::domain::NodeOutcome;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::ScriptReply;

/// The outcome of the rollback on each node, by node index.
pub type RollbackOutcomes = BTreeMap<usize, NodeOutcome>;

/// Nodes with their indices in the configuration.
type IndexedNodes<N> = Vec<(usize, Arc<N>)>;

impl<N: LockNode> AcquireAttempt<'_, N> {
    /// Rolls back on the nodes that granted the lock. Nodes that do not reply stay in
    /// `maybe_locked`.
    pub(super) async fn rollback(&mut self, round: &QuorumRound) -> RollbackOutcomes {
        let (granted, reentered) = self.nodes_to_roll_back(round);
        let rollback = self.cleanup_job(CleanupTask::Rollback(self.wait));
        let rollbacks = join_all(granted.iter().map(async |(index, node)| {
            let reply = rollback.run_once(&**node, node.command_timeout()).await;
            (*index, reply)
        }));
        // A reentrant hold is decremented with a release that has an id, so that a repeated request
        // counts only once.
        let release = self.cleanup_job(CleanupTask::Release(ReleaseRequest::new(
            self.group.config.locking.release_marker_ttl,
        )));
        let releases = join_all(reentered.iter().map(async |(index, node)| {
            let reply = release.run_once(&**node, node.command_timeout()).await;
            if let Err(CallError::NoReply { .. }) = &reply {
                self.schedule_cleanup(release.clone(), vec![Arc::clone(node)]);
            }
            (*index, reply)
        }));
        let (rollbacks, releases) = tokio::join!(rollbacks, releases);
        let is_confirmed = |reply: &Result<ScriptReply, CallError>| {
            matches!(reply, Ok(_) | Err(CallError::Rejected { .. }))
        };
        let confirmed = rollbacks.iter().filter(|(_, reply)| is_confirmed(reply));
        let confirmed: BTreeSet<usize> = confirmed.map(|(index, _)| *index).collect();
        self.maybe_locked.retain(|index| !confirmed.contains(index));
        let is_unconfirmed = |reply: &Result<ScriptReply, CallError>| {
            matches!(reply, Err(CallError::NoReply { .. }))
        };
        let unconfirmed = rollbacks.iter().filter(|(_, reply)| is_unconfirmed(reply));
        self.pending_rollback
            .extend(unconfirmed.map(|(index, _)| *index));
        let outcome = |(index, reply)| match reply {
            Ok(ScriptReply::StillHeld { holds }) => {
                Some((index, NodeOutcome::Holds { hold_count: holds }))
            }
            Ok(_) => Some((index, NodeOutcome::Released)),
            Err(_) => None,
        };
        let replies = rollbacks.into_iter().chain(releases);
        replies.filter_map(outcome).collect()
    }

    /// The nodes whose new lock must be removed, and the nodes whose hold count must be
    /// decremented.
    fn nodes_to_roll_back(&self, round: &QuorumRound) -> (IndexedNodes<N>, IndexedNodes<N>) {
        let is_reentrant = self.is_reentrant();
        self.indexed_nodes()
            .filter(|(index, _)| match &round.replies()[*index] {
                Some(NodeReply::Ours { already_held, .. }) => {
                    self.maybe_locked.contains(index) || (*already_held && is_reentrant)
                }
                Some(
                    NodeReply::Absent
                    | NodeReply::HeldByOther(_)
                    | NodeReply::WrongType(_)
                    | NodeReply::Failed(_),
                )
                | None => false,
            })
            .partition(|(index, _)| self.maybe_locked.contains(index))
    }

    /// Whether nodes that already hold the lock for this token count this acquire as another hold.
    pub(super) fn is_reentrant(&self) -> bool {
        self.params.caller_supplied && self.params.layout.counts_holds()
    }

    /// Whether this acquire waits in a queue on the nodes.
    pub(super) fn uses_node_queue(&self) -> bool {
        self.params.layout.has_node_queue() && !self.wait.is_zero()
    }

    /// Leaves the wait queues so that the next waiter can proceed. Nodes that do not reply get a
    /// cleanup job on drop.
    pub async fn leave_queues(&mut self) {
        let leave = self.cleanup_job(CleanupTask::LeaveQueue(self.wait));
        let queued = &self.maybe_queued;
        let leaving = self
            .indexed_nodes()
            .filter(|(index, _)| queued.contains(index))
            .map(async |(index, node)| {
                let timeout = self.group.node_timeout(&node, self.params.ttl);
                (index, leave.run_once(&*node, timeout).await)
            });
        for (index, reply) in join_all(leaving).await {
            // An absent entry is not proof: the request that creates it may still arrive.
            if let Ok(ScriptReply::Done) = reply {
                self.maybe_queued.remove(&index);
            }
        }
    }

    fn cleanup_job(&self, task: CleanupTask) -> CleanupJob {
        CleanupJob {
            layout: self.params.layout,
            key: self.params.key.clone(),
            token: self.params.token.clone(),
            task,
        }
    }

    fn schedule_cleanup(&self, job: CleanupJob, nodes: Vec<Arc<N>>) {
        if !nodes.is_empty() {
            job.spawn(nodes, self.last_lease_end + self.wait, self.group);
        }
    }

    /// Schedules cleanup jobs for everything that may be left. A caller-supplied token may be used
    /// again meanwhile, so its leftovers expire with their lease unless this acquire created them.
    pub(super) fn schedule_remaining_cleanup(&mut self) {
        let maybe_locked = std::mem::take(&mut self.maybe_locked);
        let maybe_queued = std::mem::take(&mut self.maybe_queued);
        let nodes = |indices: BTreeSet<usize>| -> Vec<Arc<N>> {
            self.indexed_nodes()
                .filter(|(index, _)| indices.contains(index))
                .map(|(_, node)| node)
                .collect()
        };
        // A rollback also leaves the wait queue.
        let queued = nodes(&maybe_queued - &maybe_locked);
        self.schedule_cleanup(self.cleanup_job(CleanupTask::LeaveQueue(self.wait)), queued);
        let to_roll_back = if self.params.caller_supplied {
            &maybe_locked & &self.newly_locked
        } else {
            maybe_locked
        };
        self.schedule_cleanup(
            self.cleanup_job(CleanupTask::Rollback(self.wait)),
            nodes(to_roll_back),
        );
    }
}

impl<N: LockNode> Drop for AcquireAttempt<'_, N> {
    fn drop(&mut self) {
        self.schedule_remaining_cleanup();
    }
}
