//! One node: its connections, which [`super::supervisor`] keeps open, and its health.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Purpose};
use super::endpoint::{AddressUpdate, NodeEndpoint};
use super::feed::Feed;
use super::health::{HealthCheck, NodeHealth};
use super::leases::LeaseTracker;
use super::node_error::{CallError, NodeError};
use super::restart::{OutstandingLease, RestartState};
use super::restart_history::{NodeRecord, RestartHistory};
use super::sentinel_view::SentinelView;
use super::value_cache::ValueCache;
use crate::domain::node_history::ScanBudget;
use crate::domain::reason::Reason;
use crate::domain::{NodeHistory, NodeState, NodeView, ReplicationRole};
use crate::server::clock::Clock;
use crate::server::config::{GroupConfig, NodeConfig};

/// A Redis or Valkey server.
pub struct Node {
    pub(super) name: String,
    pub(super) endpoint: NodeEndpoint,
    pub(super) connect_timeout: Duration,
    pub(super) command_timeout: Duration,
    pub(super) clock: Clock,
    pub(super) connection_state: watch::Sender<ConnectionState>,
    /// Notified when a connection is lost or dropped, so that the supervisor checks the node
    /// immediately.
    pub(super) wake_supervisor: Arc<Notify>,
    health: Mutex<NodeHealth>,
    /// The group's name and the configured address: the key of its restart record.
    record_key: (String, String),
    leases: Arc<LeaseTracker>,
    max_lease: Duration,
    value_cache: Mutex<ValueCache>,
    feed: Arc<Feed>,
    /// Why contention cannot be measured, if it cannot.
    contention_unavailable_reason: Mutex<Option<Reason>>,
    /// How much of the node's time the scan uses.
    scan_budget: Mutex<Option<ScanBudget>>,
    /// How each sentinel monitors the node.
    sentinel_views: Mutex<Vec<SentinelView>>,
    /// The cluster whose slots the node serves.
    pub(super) cluster: Option<Weak<dyn ResolveRedirect>>,
    /// Cancelled when the node leaves the group.
    removed: CancellationToken,
}

/// Where a cluster node redirects a request.
pub(super) enum Redirect {
    /// To the node that serves the slot now.
    Moved(Arc<Node>),
    /// To the node that imports the slot, with `ASKING`.
    Ask(Arc<Node>),
    /// To the same node, after a short delay.
    TryAgain,
}

/// Resolves redirections. Implemented by the cluster; nodes depend on this trait only.
pub(super) trait ResolveRedirect: Send + Sync {
    /// The node that this error redirects to, or `None` if the error is not a redirection. `node`
    /// is the node that replied.
    fn resolve_redirect(&self, error: &RedisError, node: &Node) -> Option<Redirect>;
}

/// Nodes of a group, in order.
pub type NodeList<N = Node> = Arc<[Arc<N>]>;

/// Settings and state shared by the nodes of a group.
#[derive(Clone)]
pub(super) struct GroupContext {
    pub(super) group: GroupConfig,
    pub(super) clock: Clock,
    pub(super) stop: CancellationToken,
    pub(super) leases: Arc<LeaseTracker>,
    pub(super) history: RestartHistory,
}

/// Whether the node can be called, and over which connections.
pub(super) enum ConnectionState {
    /// The first connection attempt has not completed yet.
    Connecting,
    /// The node can be called. `locking` is `None` while that connection is being replaced.
    /// `replica` is `None` while no replica is usable; reads then go to the node itself.
    Open {
        inspection: Connection,
        locking: Option<Connection>,
        replica: Option<Box<Connection>>,
    },
    /// The node cannot be called.
    Closed(NodeError),
}

impl ConnectionState {
    /// The connection, or why there is none. `None` while a first attempt or a replacement is
    /// pending.
    pub(super) fn connection(&self, purpose: Purpose) -> Option<Result<Connection, CallError>> {
        match (self, purpose) {
            (Self::Connecting, _) => None,
            (Self::Open { inspection, .. }, Purpose::Inspection) => Some(Ok(inspection.clone())),
            (
                Self::Open {
                    inspection,
                    replica,
                    ..
                },
                Purpose::Replica,
            ) => Some(Ok(replica.as_deref().unwrap_or(inspection).clone())),
            // None while the connection is being replaced: the caller then waits for the new one.
            (Self::Open { locking, .. }, Purpose::Locking) => locking.clone().map(Ok),
            (Self::Closed(error), _) => Some(Err(CallError::NotSent {
                reason: error.reason.clone(),
            })),
        }
    }

    pub(super) fn is_current(&self, connection_id: u64, purpose: Purpose) -> bool {
        matches!(self.connection(purpose), Some(Ok(connection)) if connection.id == connection_id)
    }
}

impl Node {
    /// Starts supervising a node until the group stops or the node leaves it.
    pub(super) fn start(
        config: NodeConfig,
        context: &GroupContext,
        feed: Feed,
        cluster: Option<Weak<dyn ResolveRedirect>>,
    ) -> Arc<Self> {
        let removed = context.stop.child_token();
        let address = config.url.address();
        let max_lease = context.group.locking.max_lease;
        let health = NodeHealth::with_history(
            context.history.for_node(&context.group, &address),
            max_lease,
            context.clock.now(),
            Instant::now(),
        );
        let node = Arc::new(Self {
            name: config.name.clone(),
            record_key: (context.group.name.clone(), address),
            leases: Arc::clone(&context.leases),
            max_lease,
            endpoint: NodeEndpoint::new(config, &context.group),
            connect_timeout: context.group.connect_timeout,
            command_timeout: context.group.command_timeout,
            clock: context.clock.clone(),
            connection_state: watch::Sender::new(ConnectionState::Connecting),
            wake_supervisor: Arc::new(Notify::new()),
            health: Mutex::new(health),
            value_cache: Mutex::new(ValueCache::default()),
            feed: Arc::new(feed),
            contention_unavailable_reason: Mutex::default(),
            scan_budget: Mutex::default(),
            sentinel_views: Mutex::default(),
            cluster,
            removed: removed.clone(),
        });
        let (supervisor, stop) = (Arc::clone(&node), context.stop.clone());
        tokio::spawn(async move {
            // The token is a child of the group's, so a stopped group ends its nodes as well.
            removed.run_until_cancelled(supervisor.supervise()).await;
            supervisor.close(NodeError::down(if stop.is_cancelled() {
                Reason::ShuttingDown
            } else {
                Reason::NoSlots
            }));
        });
        node
    }

    /// Whether reads currently go to the node's replica.
    pub(super) fn is_read_from_replica(&self) -> bool {
        let connection_state = self.connection_state.borrow();
        matches!(
            &*connection_state,
            ConnectionState::Open {
                replica: Some(_),
                ..
            }
        )
    }

    /// Cancelled when the node leaves the group.
    pub(super) fn removed(&self) -> &CancellationToken {
        &self.removed
    }

    /// Sets the node's current address. A different address means that another server took over.
    pub(super) fn set_address(&self, host: &str, port: u16) {
        match self.endpoint.set_address(host, port) {
            AddressUpdate::Unchanged => {}
            AddressUpdate::Resolved => self.wake_supervisor.notify_one(),
            AddressUpdate::Moved(before) => {
                let now = self.clock.now();
                tracing::warn!(node.name = %self.name, %before, now = %self.endpoint.address(), "primary moved to another server");
                let (at, outstanding) = (Instant::now(), self.outstanding_leases());
                self.health().record_move(before, (now, at), outstanding);
                self.close(NodeError::down(Reason::PrimaryChanged));
                self.wake_supervisor.notify_one();
                // Changes during the failover were not reported by either server.
                self.feed.record_gap(self.clock.monotonic());
            }
        }
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// By how many milliseconds the node's clock is ahead of the console's; 0 if unknown.
    pub fn clock_skew_ms(&self) -> i64 {
        self.health().clock_skew_ms(self.clock.reading())
    }

    /// The node's current state, without the restart hazard, which depends on its group.
    pub(super) fn view(&self) -> NodeView {
        let feed = self.feed.state();
        let mut view = self
            .health()
            .view(&self.name, &self.endpoint.address(), self.clock.now());
        view.feed = feed.level;
        view.feed_reason = feed.reason;
        view.missing_permissions = feed.missing_permissions;
        view.contention_unavailable_reason
            .clone_from(&self.contention_unavailable_reason());
        view
    }

    /// The node's recent history. `slots` is the number of slots that it serves in a cluster.
    pub(super) fn to_history(&self, slots: Option<u32>) -> NodeHistory {
        let scan = self.scan_budget().clone();
        let health = self.health();
        let recent_history = health.recent_history();
        NodeHistory {
            node: self.name.clone(),
            timeline: recent_history.hour(self.clock.now()),
            state_changes: recent_history.state_changes(),
            address_changes: recent_history.moves(),
            fsyncs_every_write: health.fsyncs_every_write(),
            scan,
            slot_count: slots,
        }
    }

    /// Records how much of the node's time the scan uses.
    pub(super) fn record_scan_budget(&self, budget: ScanBudget) {
        *self.scan_budget() = Some(budget);
    }

    fn scan_budget(&self) -> MutexGuard<'_, Option<ScanBudget>> {
        self.scan_budget
            .lock()
            .expect("no code panics while holding this lock")
    }

    /// Records how the reachable sentinels monitor the node.
    pub(super) fn record_sentinel_views(&self, sentinel_views: Vec<SentinelView>) {
        *self.sentinel_views() = sentinel_views;
    }

    /// How the sentinels monitor the node, as last reported.
    pub(super) fn sentinel_views(&self) -> MutexGuard<'_, Vec<SentinelView>> {
        self.sentinel_views
            .lock()
            .expect("no code panics while holding this lock")
    }

    /// The role that the server reports.
    pub fn role(&self) -> Option<ReplicationRole> {
        self.health().role()
    }

    /// Records why contention cannot be measured on this node; `None` if it can.
    pub fn set_contention_unavailable_reason(&self, reason: Option<Reason>) {
        *self.contention_unavailable_reason() = reason;
    }

    fn contention_unavailable_reason(&self) -> MutexGuard<'_, Option<Reason>> {
        self.contention_unavailable_reason
            .lock()
            .expect("no code panics while holding this lock")
    }

    /// Whether the node can be used.
    pub fn state(&self) -> NodeState {
        self.health().state()
    }

    /// The node's change feed.
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// What the node may have lost in restarts.
    pub(super) fn restart_state(&self) -> RestartState {
        self.health().restart_state()
    }

    /// Records a successful health check.
    pub(super) fn record_check(&self, health_check: HealthCheck) {
        let outstanding = self.outstanding_leases();
        self.health().record_check(health_check, outstanding);
    }

    /// Records that the node was promoted to primary in place of the server at `from`.
    pub(super) fn record_promotion(&self, from: String) {
        let (now, outstanding) = (self.clock.now(), self.outstanding_leases());
        self.health()
            .record_promotion(from, (now, Instant::now()), outstanding);
    }

    /// How long a lock that the node loses now could still be held.
    fn outstanding_leases(&self) -> OutstandingLease {
        self.leases
            .outstanding(&self.name, self.max_lease, Instant::now())
    }

    /// Records a complete scan pass that started at `began`.
    pub(super) fn record_scan_pass(&self, began: Instant) {
        self.leases.record_scan_pass(&self.name, began);
    }

    /// The restart record to persist for the node.
    pub(super) fn to_record(&self) -> Option<NodeRecord> {
        let (now, (group, address)) = (self.clock.now(), &self.record_key);
        let record = self.health().to_record(now, Instant::now())?;
        Some(NodeRecord {
            group: group.clone(),
            node: self.name.clone(),
            address: address.clone(),
            ..record
        })
    }

    /// The address in the configuration.
    pub(super) fn configured_address(&self) -> &str {
        &self.record_key.1
    }

    /// How long a command may take before the node counts as unresponsive.
    pub fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    /// The shortest recent round trip: an estimate of the network latency.
    pub fn shortest_round_trip(&self) -> Duration {
        self.health().shortest_round_trip()
    }

    /// The shortest round trip, or `None` until enough round trips were measured.
    pub(super) fn stable_round_trip(&self) -> Option<Duration> {
        self.health().stable_round_trip()
    }

    /// The clock used for all times of this node.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The cache of values read by earlier inspections.
    pub fn value_cache(&self) -> MutexGuard<'_, ValueCache> {
        self.value_cache
            .lock()
            .expect("no code panics while holding this lock")
    }

    /// Waits until the first connection attempt has succeeded or failed.
    pub async fn wait_for_first_attempt(&self) {
        self.wait_for_connection_state(|connection_state| {
            !matches!(connection_state, ConnectionState::Connecting)
        })
        .await;
    }

    /// Waits until the node can be called.
    pub async fn wait_until_up(&self) {
        self.wait_for_connection_state(|connection_state| {
            matches!(connection_state, ConnectionState::Open { .. })
        })
        .await;
    }

    async fn wait_for_connection_state(&self, is_reached: impl FnMut(&ConnectionState) -> bool) {
        let mut connection_state = self.connection_state.subscribe();
        drop(
            connection_state
                .wait_for(is_reached)
                .await
                .expect("self holds the sender"),
        );
    }

    pub(super) fn close(&self, error: NodeError) {
        self.health().record_failure(&error, self.clock.now());
        self.connection_state
            .send_replace(ConnectionState::Closed(error));
    }

    pub(super) fn health(&self) -> MutexGuard<'_, NodeHealth> {
        self.health
            .lock()
            .expect("no code panics while holding this lock")
    }
}
