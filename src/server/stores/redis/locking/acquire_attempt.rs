//! The state of an acquire across its attempts: its parameters, and what earlier attempts may have
//! left on nodes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::layouts::Layout;
use super::{Token, cleanup};
use crate::domain::{LockKey, quorum};
use crate::server::clock::Clock;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node::Node;
use crate::server::stores::redis::nodes::{Group, NodeList};

/// The parameters of an acquire.
#[derive(Clone, Debug)]
pub struct AcquireParams {
    /// The layout to write.
    pub layout: Layout,
    /// The key of the lock.
    pub key: LockKey,
    /// The owner's token.
    pub token: Token,
    /// The lease duration.
    pub ttl: Duration,
    /// The caller supplied the token, so its owner may already hold the lock.
    pub caller_supplied: bool,
}

impl AcquireParams {
    /// The parameters of a plain lock with a newly generated token.
    pub fn plain(key: &LockKey, token: &Token, ttl: Duration) -> Self {
        Self {
            layout: Layout::Plain,
            key: key.clone(),
            token: token.clone(),
            ttl,
            caller_supplied: false,
        }
    }
}

/// An acquire in progress. Dropping it before it succeeded schedules the release of everything that
/// it may have written, also when the caller was cancelled in the middle of an attempt.
pub struct AcquireAttempt<'a, N: LockNode = Node> {
    pub(super) group: &'a Group<N>,
    /// The nodes that serve this key, as of the last attempt.
    pub(super) nodes: NodeList<N>,
    pub(super) params: Cow<'a, AcquireParams>,
    /// How long the entry in the nodes' wait queue is valid.
    pub(super) wait: Duration,
    /// By how much the current attempt extends that entry.
    pub(super) extra_wait: Duration,
    /// When the entry was last written or extended.
    queued_since: Instant,
    /// Indices of nodes that may hold the lock for this token.
    pub(super) maybe_locked: BTreeSet<usize>,
    /// Indices of nodes whose wait queue may contain this token.
    pub(super) maybe_queued: BTreeSet<usize>,
    /// Indices of nodes that have not confirmed a rollback. It may still arrive at any time.
    pub(super) pending_rollback: BTreeSet<usize>,
    /// When the last lease that a node may have granted expires.
    pub(super) last_lease_end: Instant,
    /// Cancelled when the client disconnects; an acquired lock is then rolled back.
    pub(super) cancellation: CancellationToken,
    /// Indices of nodes on which this acquire, and not an earlier hold of a caller-supplied token,
    /// may have written the lock.
    pub(super) newly_locked: BTreeSet<usize>,
}

impl<'a, N: LockNode> AcquireAttempt<'a, N> {
    /// Creates an acquire that has sent nothing yet and does not wait.
    pub fn new(group: &'a Group<N>, params: &'a AcquireParams) -> Self {
        Self::with_wait(group, params, Duration::ZERO)
    }

    /// Creates an acquire that retries for this long. Layouts with a wait queue on the nodes enter
    /// it for that time.
    pub fn with_wait(group: &'a Group<N>, params: &'a AcquireParams, wait: Duration) -> Self {
        if params.caller_supplied {
            // A cleanup job of an earlier hold of this token would release the lock acquired now.
            cleanup::cancel(&group.config.name, &params.key, &params.token);
        }
        Self {
            group,
            nodes: group.nodes_for(&params.key),
            params: Cow::Borrowed(params),
            wait,
            extra_wait: Duration::ZERO,
            queued_since: group.clock().instant(),
            maybe_locked: BTreeSet::new(),
            maybe_queued: BTreeSet::new(),
            pending_rollback: BTreeSet::new(),
            last_lease_end: group.clock().instant(),
            cancellation: CancellationToken::new(),
            newly_locked: BTreeSet::new(),
        }
    }

    /// Sets the token that cancels this acquire when the client disconnects.
    pub fn cancelled_by(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Extends the entry in the nodes' wait queue by its full time with the next attempt, once half
    /// of that time has passed.
    pub(super) fn renew_queue_entry(&mut self) {
        let now = self.group.clock().instant();
        let queued_for = now.saturating_duration_since(self.queued_since);
        self.extra_wait = Duration::ZERO;
        // At half of its time, so that the entry cannot expire before the attempt reaches the
        // nodes.
        if queued_for * 2 >= self.wait {
            self.extra_wait = queued_for;
            self.queued_since = now;
        }
    }

    /// The parameters of this acquire; the token is that of the last attempt.
    pub fn params(&self) -> &AcquireParams {
        &self.params
    }

    /// The longest timeout of the nodes involved.
    pub(super) fn node_timeout(&self) -> Duration {
        self.group.max_node_timeout(&self.nodes, self.params.ttl)
    }

    pub(super) fn clock(&self) -> &'a Clock {
        self.group.clock()
    }

    /// The clock drift that is deducted from a lease.
    pub(super) fn drift(&self) -> quorum::ClockDrift {
        self.group.config.locking.drift
    }

    /// The token of the last attempt, if it was replaced by a new one.
    pub(super) fn replaced_token(&self) -> Option<Token> {
        match &self.params {
            Cow::Borrowed(_) => None,
            // `to_mut` is only called to replace the token.
            Cow::Owned(params) => Some(params.token.clone()),
        }
    }

    /// The nodes with their indices in the configuration.
    pub(super) fn indexed_nodes(&self) -> impl Iterator<Item = (usize, Arc<N>)> + use<N> {
        let nodes = Arc::clone(&self.nodes);
        (0..nodes.len()).map(move |index| (index, Arc::clone(&nodes[index])))
    }
}
