//! One acquire attempt, as described in the Redis documentation of Redlock. It is decided as soon
//! as a quorum has replied.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::acquire_attempt::{AcquireAttempt, AcquireParams};
use super::conflicting_owner::failure_reason;
use super::grace_period::GracePeriod;
use super::layouts::{Layout, LockRequest, nonzero_millis};
use super::lease_start::LeaseStart;
use super::quorum_round::{NextAction, NodeEvent, NodeReply, QuorumRound, RoundState};
use super::rollback::RollbackOutcomes;
use super::round_result::acquire_result;
use super::span_status::NodeSpan;
use super::{AcquireOutcome, AcquireResult, Token, fence};
use crate::domain::reason::Reason;
use crate::domain::{LockKey, NodeOutcome, NodeResult, quorum};
use crate::server::stores::redis::formats::is_overdue_lock;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::BUMP_FENCE;

/// Acquires a plain lock on all nodes in parallel, with a single attempt. If it does not reach a
/// quorum with validity left, the lock is released again on *all* nodes.
pub fn acquire<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> impl Future<Output = AcquireOutcome> + Send {
    async move {
        let params = AcquireParams::plain(key, token, ttl);
        AcquireAttempt::new(group, &params).try_once().await
    }
}

impl<N: LockNode> AcquireAttempt<'_, N> {
    /// Sends one acquire to all nodes in parallel and rolls it back if it does not succeed.
    pub fn try_once(&mut self) -> impl Future<Output = AcquireOutcome> + Send {
        async move {
            self.replace_token_if_rollback_pending();
            self.nodes = self.group.nodes_for(&self.params.key);
            let lease_start = LeaseStart::now(self.group.clock());
            let (layout, ttl, caller_supplied) = (
                self.params.layout,
                self.params.ttl,
                self.params.caller_supplied,
            );
            let timeout = self.node_timeout();
            let node_count = self.nodes.len();
            let all_nodes = || (0..node_count).collect();
            // If the caller drops this future, `Drop` rolls back `maybe_locked`. A lock that a
            // caller-supplied token already held must survive that; only the remains of earlier
            // attempts may go.
            let maybe_locked = if caller_supplied {
                self.newly_locked.clone()
            } else {
                all_nodes()
            };
            let maybe_queued = if self.uses_node_queue() {
                all_nodes()
            } else {
                BTreeSet::new()
            };
            let previously_locked = std::mem::replace(&mut self.maybe_locked, maybe_locked);
            let previously_queued = std::mem::replace(&mut self.maybe_queued, maybe_queued);
            self.last_lease_end = lease_start.instant() + timeout + ttl;
            self.group
                .leases()
                .record_lease(ttl, lease_start.instant().into_std());

            let now = self.group.clock().now();
            let stored_token = layout.stored_token(&self.params.token, ttl, now);
            let round = self
                .run_round(stored_token.as_ref().unwrap_or(&self.params.token))
                .await;
            let config = &self.group.config.locking;
            let (completed_at, elapsed) = (self.group.clock().instant(), lease_start.elapsed());
            let validity = quorum::validity(ttl, elapsed, config.drift);
            let result = acquire_result(&round, validity, self.group.clock().now());
            if self.uses_node_queue() {
                let queued = round.nodes_maybe_queued(&|node| previously_queued.contains(&node));
                self.maybe_queued = queued.into_iter().collect();
            }
            let is_connected = !self.cancellation.is_cancelled();
            if is_connected
                && let (AcquireResult::Acquired(_), RoundState::Reached { fence }) =
                    (&result, round.state())
            {
                // Nothing to roll back. A node that has not replied yet may still grant the lock.
                // The owner's release is sent to every node, so it removes that lock too.
                self.maybe_locked.clear();
                self.newly_locked.clear();
                let token = stored_token.or_else(|| self.replaced_token());
                return self.outcome(
                    &round,
                    &RollbackOutcomes::new(),
                    (result, completed_at),
                    (fence, token),
                );
            }
            let is_new_hold = round.is_new_hold();
            self.maybe_locked =
                round.nodes_to_release(caller_supplied && !is_new_hold, &previously_locked);
            if self.is_reentrant() {
                // Holds from before this attempt stay; only the hold count that this attempt added
                // is taken back there.
                let was_held_before = |index: &usize| matches!(round.replies()[*index], Some(NodeReply::Ours { already_held, .. }) if already_held);
                self.maybe_locked.retain(|index| !was_held_before(index));
            }
            if is_new_hold {
                self.newly_locked = self.maybe_locked.clone();
            }
            let rolled_back = self.rollback(&round).await;
            self.newly_locked = &self.newly_locked & &self.maybe_locked;
            self.outcome(
                &round,
                &rolled_back,
                (result, completed_at),
                (None, self.replaced_token()),
            )
        }
    }

    /// Generates a new token for the next attempt if a rollback was sent but not confirmed. That
    /// rollback could arrive after the next attempt succeeded and release its lock. A
    /// caller-supplied token cannot be replaced; nodes with an unconfirmed rollback are skipped
    /// instead.
    fn replace_token_if_rollback_pending(&mut self) {
        if self.pending_rollback.is_empty() || self.params.caller_supplied {
            return;
        }
        self.schedule_remaining_cleanup();
        self.pending_rollback.clear();
        let params = self.params.to_mut();
        params.token = params.layout.regenerate_token(&params.token);
    }

    /// Collects the replies of the nodes until the round is decided.
    async fn run_round(&self, stored_token: &Token) -> QuorumRound {
        let fencing = self.group.config.locking.fencing;
        // One proposal for all nodes: if none of them has a higher counter, no fence has to be
        // raised.
        let proposed_fence = fencing.then(|| fence::propose(self.group));
        let mut requests: FuturesUnordered<BoxFuture<'_, (usize, NodeEvent)>> =
            FuturesUnordered::new();
        for (index, node) in self.nodes.iter().enumerate() {
            requests.push(Box::pin(async move {
                let span = NodeSpan::start("acquire", node.name());
                let reply = self.request_lock(index, node, (stored_token, proposed_fence));
                (index, NodeEvent::Reply(span.record(reply).await))
            }));
        }
        let mut round = QuorumRound::new(requests.len());
        let mut grace_period = GracePeriod::new(self.group.clock());
        while let Some((index, event)) = grace_period.next_reply(requests.next()).await {
            match round.handle_event(index, event) {
                NextAction::Wait => {}
                // A reentrant acquire increments the hold count on every node that it reaches. A
                // late reply must be seen, otherwise that increment could not be rolled back.
                NextAction::Finish
                    if round.state() == RoundState::Failed && self.is_reentrant() => {}
                NextAction::Finish => grace_period.begin(),
                NextAction::RaiseFence { to, nodes } => {
                    for index in nodes {
                        let node = &self.nodes[index];
                        requests.push(Box::pin(async move {
                            let span = NodeSpan::start("raise fence", node.name());
                            let raising = span.record(self.raise_fence(node, stored_token, to));
                            (index, NodeEvent::FenceRaised(raising.await))
                        }));
                    }
                }
            }
        }
        round
    }

    async fn request_lock(
        &self,
        index: usize,
        node: &N,
        (stored_token, fence): (&Token, Option<u64>),
    ) -> NodeReply {
        let params = &*self.params;
        // The earlier rollback may still arrive and would release the lock acquired now.
        if self.pending_rollback.contains(&index) {
            return NodeReply::Failed(CallError::NotSent {
                reason: Reason::ReleasePending,
            });
        }
        let timeout = self.group.node_timeout(node, params.ttl);
        let clock = self.group.clock();
        let deadline = clock.instant() + timeout;
        // At most half of the timeout, so that the acquire itself still has time.
        self.group
            .wait_for_restart_states(&self.nodes, index, timeout / 2)
            .await;
        let timeout = deadline.saturating_duration_since(clock.instant());
        let excluded = self.group.prefixes().excluded();
        let request = LockRequest {
            key: &params.key,
            token: stored_token,
            ttl: params.ttl,
            wait: self.wait,
            extra_wait: self.extra_wait,
            proposed_fence: fence,
            fence_ttl: self.group.config.locking.fence_counter_ttl,
            is_only_node: self.nodes.len() == 1,
            caller_supplied: params.caller_supplied,
            may_take_over: params.layout == Layout::Legacy
                && is_overdue_lock(params.key.as_bytes(), self.group.key_patterns(&excluded)),
        };
        let acquiring = node.call_locking(timeout, |connection| async move {
            // Checked after connecting, because connecting may reveal that the server has just
            // restarted.
            if let Some(reason) = self.group.exclusion_reason(&self.nodes, index) {
                return Ok(NodeReply::Failed(CallError::NotSent { reason }));
            }
            params
                .layout
                .acquire(connection, node.clock(), &request)
                .await
        });
        let error = |error| NodeReply::Failed(params.layout.add_required_permissions(error));
        acquiring.await.unwrap_or_else(error)
    }

    async fn raise_fence(&self, node: &N, stored_token: &Token, to: u64) -> Result<u64, CallError> {
        let params = &*self.params;
        let timeout = self.group.node_timeout(node, params.ttl);
        let raising = node.call_locking(timeout, |mut connection| async move {
            BUMP_FENCE
                .key(params.key.as_bytes())
                .key(fence::counter_key(&params.key))
                .arg(stored_token.expose())
                .arg(to)
                .arg(nonzero_millis(self.group.config.locking.fence_counter_ttl))
                .arg(params.layout.owner_id(stored_token).unwrap_or_default())
                .invoke_async(&mut connection.transport)
                .await
        });
        raising
            .await
            .map_err(|error| params.layout.add_required_permissions(error))
    }

    fn outcome(
        &self,
        round: &QuorumRound,
        rolled_back: &RollbackOutcomes,
        (result, completed_at): (AcquireResult, Instant),
        (fence, token): (Option<u64>, Option<Token>),
    ) -> AcquireOutcome {
        let is_acquired = matches!(result, AcquireResult::Acquired(_));
        let outcome = |index: usize| match &round.replies()[index] {
            Some(NodeReply::Ours { .. }) if is_acquired => NodeOutcome::Acquired,
            Some(NodeReply::Ours { .. }) => {
                rolled_back
                    .get(&index)
                    .cloned()
                    .unwrap_or(NodeOutcome::Failed {
                        reason: Reason::RollbackUnconfirmed,
                    })
            }
            Some(NodeReply::HeldByOther(other)) => NodeOutcome::OtherOwner {
                owner: other.as_ref().map(|(owner, _)| owner.clone()),
            },
            Some(NodeReply::WrongType(_)) => NodeOutcome::OtherOwner { owner: None },
            Some(NodeReply::Absent) => NodeOutcome::NotHeld,
            Some(NodeReply::Failed(error)) => NodeOutcome::Failed {
                reason: failure_reason(error, &NodeOutcome::Acquired),
            },
            None => NodeOutcome::Pending,
        };
        let nodes = self
            .indexed_nodes()
            .map(|(index, node)| NodeResult {
                node: node.name().to_owned(),
                outcome: outcome(index),
            })
            .collect();
        AcquireOutcome {
            nodes,
            result,
            completed_at,
            fence,
            token,
        }
    }
}
