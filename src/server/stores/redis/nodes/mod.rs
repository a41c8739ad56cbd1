//! Connections to Redis and Valkey nodes, the calls made over them, and what is known of each
//! node's health.
//!
//! This layer handles keys and bytes; it does not know users, roles or lock formats
//! beyond their key names.

pub mod access_detection;
pub mod asking_connection;
pub mod batch;
mod calls;
mod chunks;
pub mod client_list;
mod cluster;
pub mod connection;
mod endpoint;
mod feed;
pub mod health;
pub mod inspect;
pub mod leases;
pub mod lock_node;
pub mod monitor;
pub mod node;
pub mod node_error;
pub mod node_info;
pub mod patterns;
mod prefix_values;
pub mod queues;
mod read_replica;
pub mod restart;
pub mod restart_history;
pub mod scan;
pub mod scan_pacer;
pub mod scripts;
pub mod semaphores;
pub mod sentinel;
pub mod sentinel_view;
mod supervisor;
mod topology;
pub mod value_cache;
mod value_detection;
pub mod values;
pub mod waiters;
mod write_marks;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::prefix::PrefixSet;
use crate::domain::reason::Reason;
use crate::domain::{GroupKind, LockKey, NodeHistory, NodeState, NodeView};
use crate::server::clock::{Clock, ClockReading};
use crate::server::config::{GroupConfig, KeyPatterns};
use crate::server::stores::redis::key_state::KeyState;
use crate::server::stores::{CallError, LockNames, LockPrefixes, ReadCause, ScanEvent};
use cluster::Cluster;
pub use cluster::{hash_tag_for_slot, key_slot};
pub use feed::{ChangeBuffer, WriteCounts, learn_prefixes};
use leases::LeaseTracker;
use lock_node::LockNode;
pub use node::NodeList;
use node::{GroupContext, Node};
use restart::{RestartPolicy, RestartState};
use restart_history::{NodeRecord, RestartHistory};
use topology::NodeSet;

/// A group and its nodes. Every node has its own supervised connections.
pub struct Group<N: LockNode = Node> {
    /// The group's configuration.
    pub config: GroupConfig,
    node_set: NodeSet<N>,
    changes: Arc<ChangeBuffer>,
    clock: Clock,
    stop: CancellationToken,
    closing: CancellationToken,
    cleanup_tasks: TaskTracker,
    leases: Arc<LeaseTracker>,
    prefixes: Arc<LockPrefixes>,
    /// The last fencing token that was proposed.
    last_fencing_token: AtomicU64,
}

/// How a group is started: its lifetime, and what an earlier run observed.
pub struct GroupOptions {
    /// Cancelled when waiting acquires must stop. Operations that have started still complete.
    pub closing: CancellationToken,
    /// Cancelled when the group's nodes are stopped.
    pub stop: CancellationToken,
    /// Restart records of the nodes.
    pub history: RestartHistory,
    /// The leases observed so far.
    pub leases: LeaseTracker,
    /// The prefixes under which locks were found so far.
    pub prefixes: Arc<LockPrefixes>,
}

/// The state of some keys on all nodes of a group, requested at one moment.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// When the requests were sent.
    pub requested_at: ClockReading,
    /// One entry per configured node, in configuration order. In a cluster, one entry per node and
    /// result.
    pub nodes: Vec<NodeInspection>,
}

/// The state of the requested keys on one node.
#[derive(Clone, Debug)]
pub struct NodeInspection {
    /// The node's name.
    pub node: String,
    /// The node restarted recently and may have lost locks.
    pub is_restart_hazard: bool,
    /// The indexes of the keys that were requested from this node; `None` means all of them.
    pub key_indexes: Option<Vec<usize>>,
    /// One state per requested key, in request order, `None` if the key does not exist; or why the
    /// call failed.
    pub result: Result<Vec<Option<KeyState>>, CallError>,
}

impl NodeInspection {
    /// How far from its [`KeyState::read_at`] a key may have been read.
    pub fn max_read_uncertainty(&self) -> Duration {
        let states = self.result.iter().flatten().flatten();
        states
            .map(|state| state.read_uncertainty)
            .max()
            .unwrap_or_default()
    }

    /// The indexes of the keys that were requested from this node, out of `keys` in total.
    pub fn resolved_key_indexes(&self, keys: usize) -> Vec<usize> {
        match &self.key_indexes {
            Some(indexes) => indexes.clone(),
            None => (0..keys).collect(),
        }
    }
}

impl Group {
    /// Starts the supervisors of the group's nodes. They run until `stop` is cancelled.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: GroupConfig, clock: Clock, stop: CancellationToken) -> Arc<Self> {
        Self::start_with_history(config, clock, stop, RestartHistory::default())
    }

    /// Like [`Group::start`], with the restart records of earlier runs.
    pub fn start_with_history(
        config: GroupConfig,
        clock: Clock,
        stop: CancellationToken,
        history: RestartHistory,
    ) -> Arc<Self> {
        let options = GroupOptions {
            closing: stop.clone(),
            stop,
            history,
            leases: LeaseTracker::default(),
            prefixes: Arc::default(),
        };
        Self::start_with_options(options, config, clock)
    }

    /// Like [`Group::start`], with all options.
    pub fn start_with_options(
        options: GroupOptions,
        config: GroupConfig,
        clock: Clock,
    ) -> Arc<Self> {
        let GroupOptions {
            closing,
            stop,
            history,
            leases,
            prefixes,
        } = options;
        let leases = Arc::new(leases);
        let cleanup_tasks = TaskTracker::new();
        // A closed tracker can be waited for at any time, and it still accepts new tasks.
        cleanup_tasks.close();
        let context = GroupContext {
            group: config.clone(),
            clock: clock.clone(),
            stop: stop.clone(),
            leases: Arc::clone(&leases),
            history,
        };
        let is_cluster = config.kind == GroupKind::Cluster;
        // In a cluster a key is stored on one node, so one write count per key suffices.
        let node_count = if is_cluster { 1 } else { config.nodes.len() };
        let changes = Arc::new(ChangeBuffer::new(node_count));
        let node_set = if is_cluster {
            NodeSet::Cluster(Cluster::start(context, Arc::clone(&changes)))
        } else {
            let start = |(index, node)| {
                let feed = feed::Feed::new(Arc::clone(&changes), index);
                Node::start(Clone::clone(node), &context, feed, None)
            };
            let nodes: NodeList = config.nodes.iter().enumerate().map(start).collect();
            if config.kind == GroupKind::Sentinel {
                sentinel::follow(&context, &nodes);
            }
            NodeSet::Fixed(nodes)
        };
        Arc::new(Self {
            node_set,
            changes,
            config,
            clock,
            stop,
            closing,
            cleanup_tasks,
            leases,
            prefixes,
            last_fencing_token: AtomicU64::default(),
        })
    }

    /// The current health of every node, in configuration order. Does not wait for the nodes.
    pub fn node_views(&self) -> Vec<NodeView> {
        let (now, restart_policy) = (self.clock.now(), self.restart_policy());
        let nodes = self.nodes();
        let restart_hazards = self.restart_hazards(&nodes);
        let with_hazard = |(node, remaining): (&Arc<Node>, Option<Duration>)| NodeView {
            hazard_until: remaining.map(|remaining| now.plus(remaining)),
            quorum_eligible: remaining.is_none() || !restart_policy.delayed_restart,
            ..node.view()
        };
        nodes.iter().zip(restart_hazards).map(with_hazard).collect()
    }

    /// The recent history of every node. Does not wait for the nodes.
    pub fn node_histories(&self) -> Vec<NodeHistory> {
        let slots = |node: &Arc<Node>| match &self.node_set {
            NodeSet::Cluster(cluster) => Some(cluster.slot_count_of(node)),
            NodeSet::Fixed(_) => None,
        };
        let nodes = self.nodes();
        nodes
            .iter()
            .map(|node| node.to_history(slots(node)))
            .collect()
    }

    /// The restart records to persist for the group's nodes.
    pub fn node_records(&self) -> Vec<NodeRecord> {
        let nodes = self.nodes();
        nodes.iter().filter_map(|node| node.to_record()).collect()
    }

    /// Clears the restart hazard of a node, because an operator stated that it lost no data in its
    /// current run. Returns the record to persist, or `None` if there is no such node or its run id
    /// is not known yet.
    pub fn clear_restart_hazard(&self, name: &str) -> Option<NodeRecord> {
        let nodes = self.nodes();
        let node = nodes.iter().find(|node| node.name() == name)?;
        // `to_record` reads the same health state, so the record includes the cleared hazard.
        let is_identified = node.health().clear_hazard();
        is_identified.then(|| node.to_record()).flatten()
    }

    /// Applies a cleared hazard that another console recorded. Returns whether it was new.
    pub fn adopt_cleared_hazard(&self, address: &str, run_id: &str) -> bool {
        let nodes = self.nodes();
        let node = nodes
            .iter()
            .find(|node| node.configured_address() == address);
        node.is_some_and(|node| node.health().adopt_cleared_hazard(run_id))
    }

    /// How much longer each node counts as possibly missing locks that are still held. In a cluster
    /// each node is judged alone: the other nodes hold other slots.
    fn restart_hazards(&self, nodes: &[Arc<Node>]) -> Vec<Option<Duration>> {
        let (restart_policy, now) = (self.restart_policy(), Instant::now());
        match &self.node_set {
            NodeSet::Fixed(_) => {
                let states = restart_states(nodes);
                let hazard = |index| restart::hazard(&states, index, restart_policy, now);
                (0..states.len()).map(hazard).collect()
            }
            NodeSet::Cluster(_) => {
                // The other cluster nodes hold other slots, so only this node's restarts count.
                let hazard = |node: &Arc<Node>| {
                    restart::hazard(&[node.restart_state()], 0, restart_policy, now)
                };
                nodes.iter().map(hazard).collect()
            }
        }
    }

    /// Waits until the first connection attempt to every node has succeeded or failed, at most the
    /// connect timeout. Inspections and operations do not need this: they wait for the first
    /// attempt within their own timeouts.
    pub async fn wait_for_first_attempts(&self) {
        self.wait_until_discovered().await;
        self.call_all(|node| async move { node.wait_for_first_attempt().await })
            .await;
    }

    /// Waits until a quorum of nodes is up, or the first connection attempt to every node has
    /// ended.
    pub async fn wait_for_quorum(&self) {
        self.wait_until_discovered().await;
        let nodes = self.nodes();
        let mut attempts: FuturesUnordered<_> = nodes
            .iter()
            .map(|node| node.wait_for_first_attempt())
            .collect();
        while attempts.next().await.is_some() {
            let is_up = |node: &&Arc<Node>| node.state() == NodeState::Up;
            if self.nodes().iter().filter(is_up).count() >= self.quorum() {
                break;
            }
        }
    }

    /// Runs a call on all nodes concurrently. The results are in configuration order.
    pub async fn call_all<T, F: Future<Output = T>>(
        &self,
        call: impl Fn(Arc<Node>) -> F,
    ) -> Vec<T> {
        join_all(self.nodes().iter().cloned().map(call)).await
    }

    /// Reads the state of some keys from all nodes concurrently. Returns within the command timeout
    /// whatever the nodes do (proportionally longer for more than 5,000 keys). A node that is known
    /// to be down causes no delay.
    ///
    /// Deadlines are wall-clock times. If the wall clock is set during the call, the results are
    /// not comparable with `requested_at`, and the nodes are queried once more.
    pub async fn inspect(&self, keys: &[LockKey]) -> Inspection {
        self.inspect_because(keys, ReadCause::Routine).await
    }

    /// The same, in as few commands as the cause allows.
    pub async fn inspect_because(&self, keys: &[LockKey], cause: ReadCause<'_>) -> Inspection {
        let inspection = self.inspect_once(keys, cause).await;
        // KeyState deadlines are wall-clock times relative to the request: a step in between would
        // make a held lock look expired, or the other way round.
        if self
            .clock
            .reading()
            .wall_step_ms_since(inspection.requested_at)
            == 0
        {
            inspection
        } else {
            self.inspect_once(keys, cause).await
        }
    }

    async fn inspect_once(&self, keys: &[LockKey], cause: ReadCause<'_>) -> Inspection {
        let requested_at = self.clock.reading();
        let nodes = match &self.node_set {
            NodeSet::Fixed(nodes) => nodes,
            NodeSet::Cluster(cluster) => {
                let is_restart_hazard = |node: &Node| {
                    let state = [node.restart_state()];
                    restart::hazard(&state, 0, self.restart_policy(), Instant::now()).is_some()
                };
                return Inspection {
                    requested_at,
                    nodes: cluster.inspect(keys, cause, is_restart_hazard).await,
                };
            }
        };
        let request = |(node, hazard): (&Arc<Node>, Option<Duration>)| {
            let node = Arc::clone(node);
            async move {
                NodeInspection {
                    node: node.name().to_owned(),
                    is_restart_hazard: hazard.is_some(),
                    key_indexes: None,
                    result: inspect::inspect_keys(&node, keys, cause).await,
                }
            }
        };
        let inspections = nodes.iter().zip(self.restart_hazards(nodes)).map(request);
        Inspection {
            requested_at,
            nodes: join_all(inspections).await,
        }
    }

    /// Scans every node for locks repeatedly, within the scan budget, until `stop` is cancelled.
    pub async fn scan(
        self: Arc<Self>,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        let request = Arc::new(scan::ScanRequest::new(self.config.clone(), names));
        let scan = |_, node: Arc<Node>| {
            let (events, request) = (events.clone(), Arc::clone(&request));
            async move { scan::scan(&node, &request, &events).await }
        };
        // A scan ends by itself only when the receiver is closed.
        stop.run_until_cancelled(self.for_each_node(scan)).await;
    }
}

/// What the locking layer needs. It works with real and simulated nodes.
impl<N: LockNode> Group<N> {
    /// Creates a group from nodes that are supervised elsewhere.
    pub fn from_nodes(
        nodes: NodeList<N>,
        config: GroupConfig,
        clock: Clock,
        stop: CancellationToken,
    ) -> Self {
        let cleanup_tasks = TaskTracker::new();
        cleanup_tasks.close();
        Self {
            node_set: NodeSet::Fixed(nodes),
            changes: Arc::new(ChangeBuffer::new(1)),
            config,
            clock,
            closing: stop.clone(),
            stop,
            cleanup_tasks,
            leases: Arc::default(),
            prefixes: Arc::default(),
            last_fencing_token: AtomicU64::default(),
        }
    }

    /// Why one of a lock's nodes is excluded from acquiring it, or `None` if it takes part. A node
    /// that may have lost locks is excluded.
    pub fn exclusion_reason(&self, nodes: &[Arc<N>], index: usize) -> Option<Reason> {
        let remaining = restart::exclusion(
            &restart_states(nodes),
            index,
            self.restart_policy(),
            self.now(),
        )?;
        let until = self.clock.now().plus(remaining);
        Some(Reason::RestartHazard {
            until: until.to_string(),
        })
    }

    /// The prefixes under which locks were found.
    pub fn prefixes(&self) -> &Arc<LockPrefixes> {
        &self.prefixes
    }

    /// The key patterns of the group. `excluded` are the prefixes that an admin excluded, as
    /// [`LockPrefixes::excluded`] returns them.
    pub fn key_patterns<'a>(&'a self, excluded: &'a PrefixSet) -> KeyPatterns<'a> {
        KeyPatterns {
            excluded_prefixes: Some(excluded),
            ..self.config.key_patterns()
        }
    }

    /// The leases observed on and granted by this group.
    pub fn leases(&self) -> &LeaseTracker {
        &self.leases
    }

    /// Waits until it is decided whether a node takes part, at most `max_wait`. This depends on
    /// other nodes only while their first connection attempt is pending, so only a recently started
    /// node in a recently started process waits.
    pub async fn wait_for_restart_states(
        &self,
        nodes: &[Arc<N>],
        index: usize,
        max_wait: Duration,
    ) {
        // Undecided while the first reply of a pending node can still change the result.
        let is_undecided = || {
            restart::depends_on_pending_nodes(
                &restart_states(nodes),
                index,
                self.restart_policy(),
                self.now(),
            )
        };
        let wait = async {
            nodes[index].wait_for_first_attempt().await;
            if is_undecided() {
                let all = nodes.iter().map(|node| node.wait_for_first_attempt());
                let mut attempts: FuturesUnordered<_> = all.collect();
                while attempts.next().await.is_some() && is_undecided() {}
            }
        };
        // After the timeout, pending nodes count as the worst case.
        let until = self.clock.instant() + max_wait;
        let _decided = self.clock.timeout_at(until, wait).await;
    }

    fn restart_policy(&self) -> RestartPolicy {
        RestartPolicy {
            max_lease: self.config.locking.max_lease,
            delayed_restart: self.config.locking.delayed_restart,
        }
    }

    fn now(&self) -> Instant {
        self.clock.instant().into_std()
    }

    /// The clock used for all times of this group.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Background tasks that still send commands to nodes after their caller has returned. Waiting
    /// for this tracker waits for those nodes.
    pub fn cleanup_tasks(&self) -> &TaskTracker {
        &self.cleanup_tasks
    }

    /// Cancelled when waiting acquires must stop.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Cancelled when the group's nodes are stopped.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The last fencing token that was proposed for one of the group's locks.
    pub fn last_fencing_token(&self) -> &AtomicU64 {
        &self.last_fencing_token
    }
}

fn restart_states<N: LockNode>(nodes: &[Arc<N>]) -> Vec<RestartState> {
    nodes.iter().map(|node| node.restart_state()).collect()
}
