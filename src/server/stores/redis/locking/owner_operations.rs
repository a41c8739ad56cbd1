//! Extend and release: the operations of an owner with its token. They are decided as soon as a
//! quorum has replied.
//!
//! **Restoring.** An extend that has a quorum acquires the lock again on the nodes that replied
//! that they do not have it: nodes that restarted empty, or where the key was deleted. Otherwise a
//! lock that is renewed for a long time would be lost node by node. This excludes no other possible
//! holder: the lock has a quorum, and every other owner would need one of its nodes. It is
//! therefore also done on nodes that grant no new locks after a restart, since whatever locks they
//! lost are not valid beside this hold. A node that holds the remains of another owner is left
//! alone. The lock is restored as it is stored on the other nodes, with the hold count that a
//! quorum of them has. The fencing counter is raised by a new proposal, because the node may have
//! lost that as well. Nothing is restored once the validity is over. An extend that overlaps a
//! release or force-release may leave a remainder on a minority of nodes, which ends with its
//! lease.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::cleanup::{CleanupJob, CleanupTask};
use super::conflicting_owner::{conflicting_owner, node_outcome, owner_at};
use super::grace_period::GracePeriod;
use super::layouts::{Layout, LockRequest, ReleaseRequest, StoredForm};
use super::lease_start::LeaseStart;
use super::quorum_round::{NodeReply, QuorumRound, RoundState};
use super::round_result::extend_result;
use super::span_status::NodeSpan;
use super::{AcquireOutcome, AcquireResult, Token, fence};
use crate::domain::{Lease, LockKey, NodeOutcome, NodeResult, Timestamp, quorum};
use crate::server::clock::Clock;
use crate::server::stores::redis::key_state::{KeyState, Ttl};
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::inspect::inspect_key;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::ScriptReply;

/// The replies so far, in configuration order.
type NodeReplies = Vec<Option<Result<ScriptReply, CallError>>>;

/// Extends the lease to at least `ttl` on every node where the token owns the lock.
///
/// A lease is never shortened: a failed extend leaves the earlier validity intact, and so does a
/// successful one with a shorter `ttl`.
pub fn extend<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> impl Future<Output = AcquireOutcome> + Send {
    async move {
        let lease_start = LeaseStart::now(group.clock());
        let layout = Layout::of_token(token);
        let now = group.clock().now();
        let stored_token = layout.stored_token(token, ttl, now);
        let tokens = (token, stored_token.as_ref().unwrap_or(token));
        let node_list = group.nodes_for(key);
        group
            .leases()
            .record_lease(ttl, lease_start.instant().into_std());
        let mut round = QuorumRound::new(node_list.len());
        // Shared by the concurrent requests; never locked across an await.
        let forms = &Mutex::new(Vec::with_capacity(node_list.len()));
        let replies = query_all(
            group.clock(),
            &node_list,
            |node| async move {
                let timeout = group.node_timeout(node, ttl);
                let span = NodeSpan::start("extend", node.name());
                let extend = async {
                    let extend = node.call_locking(timeout, |connection| async move {
                        layout.extend(connection, key, tokens, ttl).await
                    });
                    let (reply, form) = extend.await?;
                    let mut forms = forms.lock();
                    forms.extend(form);
                    Ok(reply)
                };
                let reply: Result<ScriptReply, CallError> = span.record(extend).await;
                reply.map_err(|error| layout.add_required_permissions(error))
            },
            |index, reply| {
                round.record_reply(index, node_reply(reply, key, now));
                matches!(round.state(), RoundState::Reached { .. })
            },
        )
        .await;
        let (completed_at, elapsed) = (group.clock().instant(), lease_start.elapsed());
        let validity = quorum::validity(ttl, elapsed, group.config.locking.drift);
        let result = extend_result(&round, validity, now);
        let mut nodes = node_outcomes(group, &node_list, &replies, &NodeOutcome::Extended, key);
        let forms = std::mem::take(&mut *forms.lock());
        if let (AcquireResult::Acquired(_), Some(form)) =
            (&result, common_form(forms, round.quorum()))
        {
            let token_as_stored = match form.layout {
                Layout::Legacy => tokens.1,
                Layout::Plain | Layout::Redisson | Layout::RedissonFair => tokens.0,
            };
            let request = LockRequest {
                key,
                token: token_as_stored,
                ttl,
                wait: Duration::ZERO,
                extra_wait: Duration::ZERO,
                proposed_fence: None,
                fence_ttl: group.config.locking.fence_counter_ttl,
                // A quorum of other nodes holds the lock too.
                is_only_node: false,
                caller_supplied: false,
                // Restoring only creates missing keys and takes over nothing.
                may_take_over: false,
            };
            for index in restore_missing(group, &node_list, &replies, form, request).await {
                nodes[index].outcome = NodeOutcome::Acquired;
            }
        }
        // Nodes on which the lease was already longer keep the old value.
        let is_rewritten = replies.contains(&Some(Ok(ScriptReply::Rewritten)));
        AcquireOutcome {
            result,
            completed_at,
            nodes,
            fence: None,
            token: stored_token.filter(|_| is_rewritten),
        }
    }
}

/// The form in which a quorum of the nodes stores the lock; `None` if they differ.
fn common_form(forms: Vec<StoredForm>, quorum: usize) -> Option<StoredForm> {
    let layout = forms.first()?.layout;
    let mut holds: Vec<u32> = forms.iter().map(|form| form.holds).collect();
    holds.sort_unstable_by(|a, b| b.cmp(a));
    let holds = *holds.get(quorum - 1)?;
    let is_same = forms.iter().all(|form| form.layout == layout);
    (is_same && holds <= StoredForm::MAX_HOLDS).then_some(StoredForm { layout, holds })
}

/// Acquires the lock on the nodes that replied that they do not have it. Returns the indices of the
/// nodes that have it now.
async fn restore_missing<N: LockNode>(
    group: &Group<N>,
    node_list: &[Arc<N>],
    replies: &NodeReplies,
    form: StoredForm,
    request: LockRequest<'_>,
) -> Vec<usize> {
    let lacks = |index: &usize| replies[*index] == Some(Ok(ScriptReply::Missing));
    let fencing = group.config.locking.fencing;
    let restoring = (0..node_list.len()).filter(lacks).map(|index| async move {
        let node = &node_list[index];
        let fence = fencing.then(|| fence::propose(group));
        let request = &LockRequest {
            proposed_fence: fence,
            ..request
        };
        let acquiring = node.call_locking(group.node_timeout(node, request.ttl), |connection| {
            Layout::restore(form, connection, node.clock(), request)
        });
        // A failed restore is repeated by the next extend.
        acquiring
            .await
            .is_ok_and(|is_restored| is_restored)
            .then_some(index)
    });
    let indices = futures::future::join_all(restoring).await;
    indices.into_iter().flatten().collect()
}

/// Releases the lock on every node where the token owns it; for reentrant locks, one hold. Nodes
/// that could not be reached get a cleanup job.
pub fn release<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
) -> impl Future<Output = Vec<NodeResult>> + Send {
    async move {
        let request = ReleaseRequest::new(group.config.locking.release_marker_ttl);
        let layout = Layout::of_token(token);
        let retry_window = layout.release_retry_window(&request);
        let job = CleanupJob {
            layout,
            key: key.clone(),
            token: token.clone(),
            task: CleanupTask::Release(request),
        };
        let node_list = group.nodes_for(key);
        let (mut released, mut held) = (0, 0);
        let replies = query_all(
            group.clock(),
            &node_list,
            |node| job.run_once(node, node.command_timeout()),
            |_, reply| {
                released += usize::from(matches!(reply, Ok(ScriptReply::Done)));
                held += usize::from(matches!(reply, Ok(ScriptReply::StillHeld { .. })));
                // Either the lock is free on a quorum, or its owner has holds left on a quorum.
                released.max(held) >= group.quorum()
            },
        )
        .await;
        let results = node_outcomes(group, &node_list, &replies, &NodeOutcome::Released, key);
        schedule_cleanup(group, &node_list, &replies, (job, retry_window));
        results
    }
}

/// The status of a hold according to the nodes.
#[derive(Clone, Debug)]
pub enum HoldStatus {
    /// Held on a quorum and valid until this moment.
    ValidUntil(Instant),
    /// Held on too few nodes; with the outcome on each node.
    NotHeld(Vec<NodeResult>),
    /// The unreadable nodes could decide; with the outcome on each node.
    Unknown(Vec<NodeResult>),
}

/// Reads from the nodes whether the owner of this token still holds the lock. Changes nothing.
pub fn check_hold<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
) -> impl Future<Output = HoldStatus> + Send {
    async move {
        let (lease_start, timeout) = (LeaseStart::now(group.clock()), group.config.command_timeout);
        let (layout, drift) = (Layout::of_token(token), group.config.locking.drift);
        let node_list = group.nodes_for(key);
        let reading = node_list.iter().map(|node| async move {
            let reading = node.call_locking(timeout, |connection| {
                inspect_key(connection, node.clock(), key, node.clock_skew_ms())
            });
            NodeSpan::start("inspect", node.name())
                .record(reading)
                .await
        });
        let states = futures::future::join_all(reading).await;
        let now = group.clock().now();
        let (mut leases, mut unreadable, mut nodes) = (Vec::new(), 0, Vec::new());
        for (node, state) in node_list.iter().zip(states) {
            let outcome = match state {
                Ok(Some(key_state)) if layout.is_owner(token, &key_state.value) => {
                    leases.push(remaining_lease(&key_state, now));
                    NodeOutcome::Acquired
                }
                Ok(Some(key_state)) => NodeOutcome::OtherOwner {
                    owner: conflicting_owner(&key_state).map(|(owner, _)| owner),
                },
                Ok(None) => NodeOutcome::NotHeld,
                Err(error) => {
                    unreadable += 1;
                    NodeOutcome::Failed {
                        reason: error.reason().clone(),
                    }
                }
            };
            nodes.push(NodeResult {
                node: node.name().to_owned(),
                outcome,
            });
        }
        let quorum = group.quorum();
        leases.sort_unstable_by(|a, b| b.cmp(a));
        let (completed_at, elapsed) = (group.clock().instant(), lease_start.elapsed());
        // A hold is valid until its quorum is lost: until the Q-th longest lease ends.
        match leases.get(quorum - 1) {
            Some(lease) => match quorum::validity(*lease, elapsed, drift) {
                Some(left) => HoldStatus::ValidUntil(completed_at + left),
                None => HoldStatus::NotHeld(nodes),
            },
            None if leases.len() + unreadable < quorum => HoldStatus::NotHeld(nodes),
            None => HoldStatus::Unknown(nodes),
        }
    }
}

/// The remaining time to live of a key.
fn remaining_lease(key_state: &KeyState, now: Timestamp) -> Duration {
    /// A lock without expiry is reported as valid for a day, longer than any request waits.
    const MAX_REPORTED_LEASE: Duration = Duration::from_hours(24);
    match (key_state.ttl, conflicting_owner(key_state)) {
        (Ttl::Ms(left), _) => Duration::from_millis(left),
        (Ttl::Never, Some((_, Lease::Expires { at, .. }))) => at.since(now),
        (Ttl::Never, Some((_, Lease::Session | Lease::Never)) | None) => MAX_REPORTED_LEASE,
    }
}

/// The hold count that a quorum reports after a release, if the owner still holds the lock.
pub fn remaining_holds(results: &[NodeResult]) -> Option<u32> {
    let mut holds: Vec<u32> = results
        .iter()
        .filter_map(|result| {
            let NodeOutcome::Holds { hold_count: holds } = result.outcome else {
                return None;
            };
            Some(holds)
        })
        .collect();
    holds.sort_unstable_by(|a, b| b.cmp(a));
    holds.get(quorum::majority(results.len()) - 1).copied()
}

/// Queries all nodes in parallel until all have replied or `is_decided` returns true. Requests to
/// the other nodes have been sent by then.
async fn query_all<'a, N, F>(
    clock: &Clock,
    node_list: &'a [Arc<N>],
    query: impl Fn(&'a N) -> F,
    mut is_decided: impl FnMut(usize, &Result<ScriptReply, CallError>) -> bool,
) -> NodeReplies
where
    F: Future<Output = Result<ScriptReply, CallError>>,
{
    let send = |(index, node): (usize, &'a Arc<N>)| {
        let reply = query(node);
        // Boxed once, because `FuturesUnordered` copies what it is given several times.
        Box::pin(async move { (index, reply.await) })
    };
    let mut requests: FuturesUnordered<_> = node_list.iter().enumerate().map(send).collect();
    let mut replies: NodeReplies = vec![None; requests.len()];
    let mut grace_period = GracePeriod::new(clock);
    while let Some((index, reply)) = grace_period.next_reply(requests.next()).await {
        if is_decided(index, &reply) {
            grace_period.begin();
        }
        replies[index] = Some(reply);
    }
    replies
}

/// Schedules the release on the nodes that did not reply. The lock is already free, because a
/// quorum released it.
fn schedule_cleanup<N: LockNode>(
    group: &Group<N>,
    node_list: &[Arc<N>],
    replies: &NodeReplies,
    (job, retry_window): (CleanupJob, Duration),
) {
    let is_unreached = |reply: &Option<Result<ScriptReply, CallError>>| {
        matches!(
            reply,
            // A node that rejected the release would reject a retry too.
            None | Some(Err(CallError::NotSent { .. } | CallError::NoReply { .. }))
        )
    };
    let nodes: Vec<Arc<N>> = node_list
        .iter()
        .zip(replies)
        .filter(|(_, reply)| is_unreached(reply))
        .map(|(node, _)| Arc::clone(node))
        .collect();
    if !nodes.is_empty() {
        let deadline = group.clock().instant() + retry_window;
        job.spawn(nodes, deadline, group);
    }
}

fn node_reply(reply: &Result<ScriptReply, CallError>, key: &LockKey, now: Timestamp) -> NodeReply {
    match reply {
        Ok(ScriptReply::Done | ScriptReply::StillHeld { .. } | ScriptReply::Rewritten) => {
            NodeReply::Ours {
                already_held: true,
                fence: None,
            }
        }
        Ok(ScriptReply::Missing) => NodeReply::Absent,
        Ok(ScriptReply::OtherOwner { value, pttl }) => {
            NodeReply::HeldByOther(owner_at(key, value.clone(), *pttl, now))
        }
        Ok(ScriptReply::WrongType { type_name }) => NodeReply::WrongType(type_name.clone()),
        Err(error) => NodeReply::Failed(error.clone()),
    }
}

fn node_outcomes<N: LockNode>(
    group: &Group<N>,
    node_list: &[Arc<N>],
    replies: &NodeReplies,
    success: &NodeOutcome,
    key: &LockKey,
) -> Vec<NodeResult> {
    let now = group.clock().now();
    let names = node_list.iter().map(|node| node.name().to_owned());
    names
        .zip(replies)
        .map(|(node, reply)| NodeResult {
            node,
            outcome: match reply {
                Some(reply) => node_outcome(reply, success.clone(), key, now),
                None => NodeOutcome::Pending,
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_hold_count_is_that_of_a_quorum() {
        let result = |holds: &u32| NodeResult {
            node: "a".to_owned(),
            outcome: match *holds {
                0 => NodeOutcome::Released,
                holds => NodeOutcome::Holds { hold_count: holds },
            },
        };
        let remaining =
            |holds: &[u32]| remaining_holds(&holds.iter().map(result).collect::<Vec<_>>());
        assert_eq!(remaining(&[1]), Some(1));
        assert_eq!(remaining(&[0]), None);
        assert_eq!(remaining(&[2, 1, 3]), Some(2));
        assert_eq!(remaining(&[2, 0, 1]), Some(1));
        assert_eq!(remaining(&[2, 0, 0]), None);
    }
}
