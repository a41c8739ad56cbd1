//! A quorum round: collects the replies of the nodes to one acquire or extend, and decides its
//! result.
//!
//! It has no I/O and no clock; the decision depends on the replies only.

use std::collections::BTreeSet;

use crate::domain::{Lease, Owner, quorum};
use crate::server::stores::redis::nodes::node_error::CallError;

/// The reply of one node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeReply {
    /// The node granted the lock, or has it for this token.
    Ours {
        /// The token already held the lock before this attempt.
        already_held: bool,
        /// The node's fencing counter; `None` if fencing is disabled.
        fence: Option<u64>,
    },
    /// (Extend only) The lock is absent.
    Absent,
    /// Another owner holds the lock; with its owner and lease as far as the node could read them.
    HeldByOther(Option<(Owner, Lease)>),
    /// The key does not hold a lock of this layout.
    WrongType(String),
    /// No reply, or an error.
    Failed(CallError),
}

/// The state of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundState {
    /// The outstanding replies decide.
    Undecided,
    /// Granted by a quorum, but the fencing counters of too few nodes have reached the fencing
    /// token. The others must be raised first.
    FenceBehind {
        /// The fencing token of this hold.
        fence: u64,
        /// The nodes whose counters are lower, by index.
        nodes: Vec<usize>,
    },
    /// Granted by a quorum.
    Reached {
        /// The fencing token of this hold; `None` if fencing is disabled.
        fence: Option<u64>,
    },
    /// A quorum is impossible, independent of the outstanding replies.
    Failed,
}

/// An event from a node during an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeEvent {
    /// The reply to the acquire.
    Reply(NodeReply),
    /// The reply to raising the fencing counter: its new value, or 0 if the node no longer has the
    /// lock for this token.
    FenceRaised(Result<u64, CallError>),
}

/// The next action of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Wait for the next event.
    Wait,
    /// Raise the fencing counters of these nodes, then wait for the next event.
    RaiseFence {
        /// The new value of the counters.
        to: u64,
        /// The nodes, by index. Each node is requested at most once.
        nodes: Vec<usize>,
    },
    /// The outstanding replies cannot change the result; do not wait for them.
    Finish,
}

/// The replies of all configured nodes in one attempt.
#[derive(Clone, Debug)]
pub struct QuorumRound {
    replies: Vec<Option<NodeReply>>,
    /// The values to which nodes have raised their fencing counters since their reply.
    raised_fences: Vec<u64>,
    /// The nodes that were requested to raise their counter.
    raise_requested: BTreeSet<usize>,
}

impl QuorumRound {
    /// Creates a round over this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            replies: vec![None; nodes],
            raised_fences: vec![0; nodes],
            raise_requested: BTreeSet::new(),
        }
    }

    /// Records an event of an acquire and returns the next action.
    ///
    /// An attempt that fails because nodes are unreachable waits for all replies, so that
    /// everything that was granted is released before the caller receives the failure.
    pub fn handle_event(&mut self, node: usize, event: NodeEvent) -> NextAction {
        match event {
            NodeEvent::Reply(reply) => self.record_reply(node, reply),
            // The script returns 0 if the node no longer has the lock of this token.
            NodeEvent::FenceRaised(Ok(0)) => self.record_reply(node, NodeReply::Absent),
            NodeEvent::FenceRaised(Ok(to)) => self.raised_fences[node] = to,
            // The node still has the lock as far as is known, with its old counter.
            NodeEvent::FenceRaised(Err(_)) => {}
        }
        match self.state() {
            RoundState::Reached { .. } => NextAction::Finish,
            RoundState::Failed if self.is_blocked_by_others() => NextAction::Finish,
            RoundState::Undecided | RoundState::Failed => NextAction::Wait,
            RoundState::FenceBehind { fence: to, nodes } => {
                let nodes: Vec<usize> = nodes
                    .into_iter()
                    .filter(|node| self.raise_requested.insert(*node))
                    .collect();
                if nodes.is_empty() {
                    NextAction::Wait
                } else {
                    NextAction::RaiseFence { to, nodes }
                }
            }
        }
    }

    /// Records the reply of a node.
    pub fn record_reply(&mut self, node: usize, reply: NodeReply) {
        self.replies[node] = Some(reply);
    }

    /// The replies so far, in configuration order.
    pub fn replies(&self) -> &[Option<NodeReply>] {
        &self.replies
    }

    /// The number of nodes required.
    pub fn quorum(&self) -> usize {
        quorum::majority(self.replies.len())
    }

    /// Whether so many nodes are held by others that the remaining ones cannot form a quorum.
    pub fn is_blocked_by_others(&self) -> bool {
        let in_the_way = |reply: &&Option<NodeReply>| {
            matches!(
                reply,
                Some(NodeReply::HeldByOther(_) | NodeReply::WrongType(_))
            )
        };
        // The remaining nodes are fewer than a quorum.
        self.replies.iter().filter(in_the_way).count() > self.replies.len() - self.quorum()
    }

    /// The state of the round.
    ///
    /// The fencing token of a hold is at least the counter value with which every node of *some*
    /// quorum granted the lock, and the lock only counts as acquired when the counters of *some*
    /// quorum, the same or another, have reached that token. The granting quorum of a later hold
    /// shares a node with the latter quorum of this one. That node's counter is larger at the later
    /// grant than this token, so the later token is larger. The smallest number with this property
    /// is chosen: it requires the fewest nodes to be raised, and none once all nodes have granted
    /// the lock. Another reply can only lower it, so a round that has reached its quorum keeps it
    /// unless a node lost the lock meanwhile.
    pub fn state(&self) -> RoundState {
        let quorum = self.quorum();
        let ours: Vec<(usize, Option<u64>)> = self
            .replies
            .iter()
            .enumerate()
            .filter_map(|(node, reply)| match reply {
                Some(NodeReply::Ours { fence, .. }) => Some((node, *fence)),
                _ => None,
            })
            .collect();
        let outstanding = self.replies.iter().filter(|reply| reply.is_none()).count();
        if ours.len() < quorum {
            return if ours.len() + outstanding < quorum {
                RoundState::Failed
            } else {
                RoundState::Undecided
            };
        }
        let mut granted: Vec<Option<u64>> = ours.iter().map(|(_, granted)| *granted).collect();
        granted.sort_unstable();
        let Some(fence) = granted[quorum - 1] else {
            return RoundState::Reached { fence: None };
        };
        let is_fence_behind = |(node, granted): &(usize, Option<u64>)| {
            granted.is_none_or(|granted| granted.max(self.raised_fences[*node]) < fence)
        };
        let nodes: Vec<usize> = ours
            .iter()
            .filter(|reply| is_fence_behind(reply))
            .map(|(node, _)| *node)
            .collect();
        if ours.len() - nodes.len() >= quorum {
            RoundState::Reached { fence: Some(fence) }
        } else {
            RoundState::FenceBehind { fence, nodes }
        }
    }

    /// The nodes, by index, that must be released after a failed attempt. `before` are the nodes on
    /// which an earlier attempt with the same token may have left the lock.
    ///
    /// The owner of a caller-supplied token may rely on an earlier hold. Unless that hold cannot
    /// have had a quorum, only what this or an earlier attempt of the same acquire wrote is
    /// released.
    pub fn nodes_to_release(
        &self,
        caller_supplied: bool,
        before: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        if caller_supplied && self.was_maybe_held() {
            let is_new = |node: &usize| match &self.replies[*node] {
                Some(NodeReply::Ours { already_held, .. }) => {
                    !already_held || before.contains(node)
                }
                Some(NodeReply::Failed(_)) | None => before.contains(node),
                Some(NodeReply::Absent | NodeReply::HeldByOther(_) | NodeReply::WrongType(_)) => {
                    false
                }
            };
            return (0..self.replies.len()).filter(is_new).collect();
        }
        let is_possible = |node: &usize| match &self.replies[*node] {
            Some(NodeReply::Ours { .. }) => true,
            Some(NodeReply::Failed(CallError::NoReply { .. })) | None => !caller_supplied,
            // The node reports another owner, or nothing.
            Some(NodeReply::Absent | NodeReply::HeldByOther(_) | NodeReply::WrongType(_)) => false,
            // This attempt sent nothing to the node, or the node rejected it.
            Some(NodeReply::Failed(CallError::NotSent { .. } | CallError::Rejected { .. })) => {
                before.contains(node)
            }
        };
        (0..self.replies.len()).filter(is_possible).collect()
    }

    /// Whether this token cannot have held the lock before this attempt, although the caller
    /// supplied it: no node reports an earlier hold, and too few nodes failed to reply to have held
    /// one.
    pub fn is_new_hold(&self) -> bool {
        let had_it = |reply: &Option<NodeReply>| {
            matches!(
                reply,
                Some(NodeReply::Ours {
                    already_held: true,
                    ..
                })
            )
        };
        !self.was_maybe_held() && !self.replies.iter().any(had_it)
    }

    /// Whether the token may have held the lock before this attempt.
    fn was_maybe_held(&self) -> bool {
        let is_possible = |reply: &&Option<NodeReply>| match reply {
            Some(NodeReply::Ours { already_held, .. }) => *already_held,
            Some(NodeReply::Failed(_)) | None => true,
            Some(NodeReply::Absent | NodeReply::HeldByOther(_) | NodeReply::WrongType(_)) => false,
        };
        self.replies.iter().filter(is_possible).count() >= self.quorum()
    }

    /// The nodes whose wait queue may contain this token, if the layout has one. A node that
    /// granted the lock removed it from its queue, one that did not added it. `before` are the
    /// nodes where an earlier attempt may have added it.
    pub fn nodes_maybe_queued(&self, before: &impl Fn(usize) -> bool) -> Vec<usize> {
        let is_possible = |node: &usize| match &self.replies[*node] {
            Some(NodeReply::HeldByOther(_) | NodeReply::Failed(CallError::NoReply { .. }))
            | None => true,
            Some(NodeReply::Ours { .. } | NodeReply::Absent) => false,
            Some(
                NodeReply::WrongType(_)
                | NodeReply::Failed(CallError::NotSent { .. } | CallError::Rejected { .. }),
            ) => before(*node),
        };
        (0..self.replies.len()).filter(is_possible).collect()
    }
}

#[cfg(test)]
mod tests;
