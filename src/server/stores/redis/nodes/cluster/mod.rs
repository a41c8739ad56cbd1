//! A Redis Cluster: its primaries and the slots they serve. The topology is refreshed periodically,
//! and immediately after a `MOVED` redirection.

mod inspection;
mod slots;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::ChangeBuffer;
use super::feed::Feed;
use super::node::{GroupContext, Node, NodeList, Redirect, ResolveRedirect};
use super::node_error::CallError;
use crate::domain::{LockKey, NodeState};
use slots::{NodeAddress, SlotMap};
pub use slots::{hash_tag_for_slot, key_slot};

/// How often the topology is refreshed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The minimum interval between two refreshes. During a slot migration every reply can be a
/// redirection.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_millis(50);

/// How many nodes are queried in one refresh.
const MAX_NODES_QUERIED: usize = 5;

/// How long a node without slots is kept after a redirection to it.
const REDIRECT_TARGET_RETENTION: Duration = Duration::from_secs(10);

/// The topology of a cluster and its nodes.
pub struct Cluster {
    context: GroupContext,
    changes: Arc<ChangeBuffer>,
    weak_self: Weak<Self>,
    topology: Mutex<Topology>,
    /// The nodes that serve slots, sorted by name.
    nodes: watch::Sender<NodeList>,
    /// The first refresh has completed, successfully or not.
    is_refreshed: watch::Sender<bool>,
    refresh_now: Notify,
}

#[derive(Default)]
struct Topology {
    members: BTreeMap<NodeAddress, ClusterMember>,
    slots: SlotMap,
}

/// A server that is or was a node of the cluster.
struct ClusterMember {
    node: Arc<Node>,
    /// It is named in the configuration. Seeds are queried for the topology even when they serve no
    /// slots.
    is_seed: bool,
    serves_slots: bool,
    /// When a request was last redirected to it. It may be importing a slot.
    redirected_at: Option<Instant>,
}

/// One node's view of the cluster.
struct TopologyReply {
    slots: SlotMap,
    is_state_ok: bool,
    epoch: u64,
}

impl Cluster {
    /// Starts with the configured nodes and discovers the others from them.
    pub(super) fn start(context: GroupContext, changes: Arc<ChangeBuffer>) -> Arc<Self> {
        let cluster = Arc::new_cyclic(|weak_self| Self {
            context: context.clone(),
            changes,
            weak_self: Weak::clone(weak_self),
            topology: Mutex::default(),
            nodes: watch::Sender::new(Arc::new([])),
            is_refreshed: watch::Sender::new(false),
            refresh_now: Notify::new(),
        });
        let mut topology = cluster.topology();
        for config in &context.group.nodes {
            let connection = config.url.connection_info();
            let address = match connection.addr() {
                redis::ConnectionAddr::Tcp(host, port)
                | redis::ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port),
                other => (other.to_string(), 0),
            };
            let node = cluster.start_node(config.clone());
            let member = ClusterMember {
                node,
                is_seed: true,
                serves_slots: true,
                redirected_at: None,
            };
            topology.members.insert(address, member);
        }
        cluster.publish_nodes(&topology);
        drop(topology);
        let (cluster_task, stop) = (Arc::clone(&cluster), context.stop.clone());
        tokio::spawn(async move {
            stop.run_until_cancelled(cluster_task.run()).await;
        });
        cluster
    }

    /// The nodes that currently serve slots, as far as known.
    pub(super) fn nodes(&self) -> NodeList {
        Arc::clone(&self.nodes.borrow())
    }

    /// The number of slots that a node serves.
    pub(super) fn slot_count_of(&self, node: &Arc<Node>) -> u32 {
        let topology = self.topology();
        let mut addresses = topology.members.iter();
        let found = addresses.find(|(_, member)| Arc::ptr_eq(&member.node, node));
        found.map_or(0, |(address, _)| topology.slots.slot_count(address))
    }

    /// Subscribes to changes of the node list.
    pub(super) fn subscribe(&self) -> watch::Receiver<NodeList> {
        self.nodes.subscribe()
    }

    /// The node that serves this key. If the slot is unknown, any node, preferably one that is up:
    /// its reply is a redirection or the reason why the slot is not served.
    pub(super) fn node_for(&self, key: &LockKey) -> Arc<Node> {
        let topology = self.topology();
        let primary = topology.slots.primary_for_slot(key_slot(key.as_bytes()));
        let member = primary.and_then(|address| topology.members.get(address));
        let is_up = |member: &&ClusterMember| member.node.state() == NodeState::Up;
        let member = member
            .or_else(|| topology.members.values().find(is_up))
            .or_else(|| topology.members.values().next());
        Arc::clone(&member.expect("configured nodes are never removed").node)
    }

    /// Waits until the first refresh of the topology has completed, successfully or not.
    pub(super) async fn wait_for_first_refresh(&self) {
        let mut is_refreshed = self.is_refreshed.subscribe();
        drop(is_refreshed.wait_for(|is_refreshed| *is_refreshed).await);
    }

    fn redirect_target(&self, error: &RedisError, node: &Node) -> Option<Arc<Node>> {
        let (text, _) = error.redirect_node()?;
        let queried = node.endpoint.host().unwrap_or_default();
        let address = slots::parse_address(text, &queried)?;
        let mut topology = self.topology();
        let member = self.get_or_add_member(&mut topology, &address);
        member.redirected_at = Some(Instant::now());
        let node = Arc::clone(&member.node);
        self.publish_nodes(&topology);
        Some(node)
    }

    /// Returns the member at this address. Adds it if it is unknown.
    fn get_or_add_member<'a>(
        &self,
        topology: &'a mut Topology,
        address: &NodeAddress,
    ) -> &'a mut ClusterMember {
        topology.members.entry(address.clone()).or_insert_with(|| {
            let (host, port) = address;
            let first = self.context.group.nodes.first();
            // Credentials and TLS settings of discovered nodes are those of the first configured
            // node.
            let config = first.expect("a group has a node").with_address(host, *port);
            let name = config.url.address();
            ClusterMember {
                node: self.start_node(crate::server::config::NodeConfig { name, ..config }),
                is_seed: false,
                serves_slots: false,
                redirected_at: None,
            }
        })
    }

    fn start_node(&self, config: crate::server::config::NodeConfig) -> Arc<Node> {
        // The index selects a key's write count. A key is served by one node at a time, so one
        // count, with index 0, suffices for all nodes.
        let feed = Feed::new(Arc::clone(&self.changes), 0);
        let weak_self: Weak<Self> = Weak::clone(&self.weak_self);
        Node::start(config, &self.context, feed, Some(weak_self))
    }

    async fn run(&self) {
        loop {
            if let Some(slots) = self.fetch_slots().await {
                self.apply_slots(slots);
            }
            self.is_refreshed.send_replace(true);
            sleep(MIN_REFRESH_INTERVAL).await;
            let _either_way = timeout(REFRESH_INTERVAL, self.refresh_now.notified()).await;
        }
    }

    /// Queries some nodes for the slot map. Views of nodes that report `cluster_state:ok` are
    /// preferred, then those with the highest epoch.
    async fn fetch_slots(&self) -> Option<SlotMap> {
        let members: Vec<Arc<Node>> = {
            let topology = self.topology();
            let members = topology.members.values();
            members.map(|member| Arc::clone(&member.node)).collect()
        };
        if members.iter().all(|node| node.state() != NodeState::Up) {
            let mut attempts: FuturesUnordered<_> = members
                .iter()
                .map(|node| node.wait_for_first_attempt())
                .collect();
            while attempts.next().await.is_some() {
                if members.iter().any(|node| node.state() == NodeState::Up) {
                    break;
                }
            }
        }
        let nodes_up: Vec<&Arc<Node>> = members
            .iter()
            .filter(|node| node.state() == NodeState::Up)
            .collect();
        // A random start spreads the load over the nodes.
        let offset = rand::random_range(0..nodes_up.len().max(1));
        let selected = nodes_up
            .iter()
            .cycle()
            .skip(offset)
            .take(nodes_up.len().min(MAX_NODES_QUERIED));
        let replies = futures::future::join_all(selected.map(|node| query_topology(node))).await;
        for error in replies.iter().filter_map(|reply| reply.as_ref().err()) {
            tracing::debug!(group = %self.context.group.name, reason = %error.reason(), "cluster topology query failed");
        }
        let best = replies
            .into_iter()
            .filter_map(Result::ok)
            .max_by_key(|reply| (reply.is_state_ok, reply.epoch));
        best.map(|reply| reply.slots)
    }

    /// Applies a slot map: adds new nodes and removes nodes that have served no slots for a while.
    fn apply_slots(&self, slots: SlotMap) {
        let mut topology = self.topology();
        let primaries = slots.primaries();
        // A reply without slots would remove every discovered node; the known topology is kept
        // instead.
        if primaries.is_empty() {
            return;
        }
        let now = Instant::now();
        for member in topology.members.values_mut() {
            member.serves_slots = false;
        }
        for address in &primaries {
            // Replication is asynchronous: a promoted replica may lack the last writes of its
            // primary.
            let from = topology.slots.primary_of(address).cloned();
            let member = self.get_or_add_member(&mut topology, address);
            member.serves_slots = true;
            if let Some((host, port)) = from {
                let from = format!("{host}:{port}");
                tracing::warn!(node.name = %member.node.name(), %from, "cluster replica was promoted to primary");
                member.node.record_promotion(from);
            }
        }
        topology.members.retain(|_, member| {
            let stays = member.is_seed || member.is_active(now);
            if !stays {
                member.node.removed().cancel();
            }
            stays
        });
        topology.slots = slots;
        self.publish_nodes(&topology);
    }

    fn publish_nodes(&self, topology: &Topology) {
        let now = Instant::now();
        let active = topology
            .members
            .values()
            .filter(|member| member.is_active(now));
        let mut nodes: Vec<Arc<Node>> = active.map(|member| Arc::clone(&member.node)).collect();
        nodes.sort_by(|one, other| one.name().cmp(other.name()));
        self.nodes.send_if_modified(|before| {
            let is_new = before.len() != nodes.len()
                || before.iter().zip(&nodes).any(|(a, b)| !Arc::ptr_eq(a, b));
            if is_new {
                *before = nodes.into();
            }
            is_new
        });
    }

    fn topology(&self) -> MutexGuard<'_, Topology> {
        self.topology.lock()
    }
}

impl ClusterMember {
    fn is_active(&self, now: Instant) -> bool {
        let is_recent = |at| now.duration_since(at) < REDIRECT_TARGET_RETENTION;
        self.serves_slots || self.redirected_at.is_some_and(is_recent)
    }
}

impl ResolveRedirect for Cluster {
    fn resolve_redirect(&self, error: &RedisError, node: &Node) -> Option<Redirect> {
        let ErrorKind::Server(kind) = error.kind() else {
            return None;
        };
        match kind {
            ServerErrorKind::Moved => {
                self.refresh_now.notify_one();
                Some(Redirect::Moved(self.redirect_target(error, node)?))
            }
            ServerErrorKind::Ask => Some(Redirect::Ask(self.redirect_target(error, node)?)),
            ServerErrorKind::TryAgain => Some(Redirect::TryAgain),
            _ => None,
        }
    }
}

/// Queries one node for its view of the cluster.
async fn query_topology(node: &Node) -> Result<TopologyReply, CallError> {
    let queried = node.endpoint.host().unwrap_or_default();
    let limit = node.command_timeout();
    let query = node.call_inspection(limit, |mut connection| async move {
        let mut pipeline = redis::pipe();
        pipeline.cmd("CLUSTER").arg("SLOTS");
        pipeline.cmd("CLUSTER").arg("INFO");
        pipeline.ignore_errors();
        let (slots, info): (redis::RedisResult<SlotMap>, redis::RedisResult<String>) =
            pipeline.query_async(&mut connection.transport).await?;
        let info = info.unwrap_or_default();
        let field = |name: &str| {
            let field_value = |line: &str| Some(line.trim_end().strip_prefix(name)?.to_owned());
            info.lines().find_map(field_value)
        };
        Ok(TopologyReply {
            slots: slots?,
            // Without permission for CLUSTER INFO, the slot map is trusted as it is.
            is_state_ok: field("cluster_state:").is_none_or(|state| state == "ok"),
            epoch: field("cluster_current_epoch:")
                .and_then(|epoch| epoch.parse().ok())
                .unwrap_or(0),
        })
    });
    let reply = query.await?;
    Ok(TopologyReply {
        slots: reply.slots.with_host(&queried),
        ..reply
    })
}
