//! The nodes of a group, and which of them store a given lock: all of them, or in a cluster the one
//! that serves the key.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;

use super::Group;
use super::lock_node::LockNode;
use super::node::{Node, NodeList};
use crate::domain::LockKey;

pub(super) enum NodeSet<N: LockNode> {
    /// The configured nodes. Each stores every lock.
    Fixed(NodeList<N>),
    /// The nodes of a cluster, which can change. Each lock is stored on one of them.
    Cluster(Arc<N::Cluster>),
}

impl<N: LockNode> Group<N> {
    /// How many nodes an owner needs to hold a lock.
    pub fn quorum(&self) -> usize {
        match &self.node_set {
            NodeSet::Fixed(nodes) => crate::domain::quorum::majority(nodes.len()),
            NodeSet::Cluster(_) => 1,
        }
    }

    /// The nodes that store a lock: all nodes, or in a cluster the one that serves the key.
    pub fn nodes_for(&self, key: &LockKey) -> NodeList<N> {
        match &self.node_set {
            NodeSet::Fixed(nodes) => Arc::clone(nodes),
            NodeSet::Cluster(cluster) => Arc::new([N::node_for_key(cluster, key)]),
        }
    }

    /// The timeout of this node for a lock with this TTL. It always allows a few round trips.
    pub fn node_timeout(&self, node: &N, ttl: Duration) -> Duration {
        let config = &self.config;
        let round_trip = node.shortest_round_trip();
        config
            .locking
            .node_timeout(config.command_timeout, ttl, round_trip)
    }

    /// The longest timeout of these nodes for a lock with this TTL.
    pub fn max_node_timeout(&self, nodes: &[Arc<N>], ttl: Duration) -> Duration {
        let timeouts = nodes.iter().map(|node| self.node_timeout(node, ttl));
        timeouts.max().unwrap_or(self.config.command_timeout)
    }
}

impl Group {
    /// The group's nodes, in configuration order; in a cluster the nodes that currently serve
    /// slots.
    pub fn nodes(&self) -> NodeList {
        match &self.node_set {
            NodeSet::Fixed(nodes) => Arc::clone(nodes),
            NodeSet::Cluster(cluster) => cluster.nodes(),
        }
    }

    /// The shortest TTL that can work for this lock, given the round trips to the nearest quorum of
    /// its nodes. `None` until those are measured.
    pub fn min_ttl(&self, key: &LockKey) -> Option<Duration> {
        let nodes = self.nodes_for(key);
        let mut round_trips: Vec<Duration> = nodes
            .iter()
            .filter_map(|node| node.stable_round_trip())
            .collect();
        round_trips.sort_unstable();
        let majority = crate::domain::quorum::majority(nodes.len());
        // An acquire needs a majority, so it takes as long as the slowest node of the fastest
        // majority.
        let quorum_round_trip = round_trips.get(majority - 1)?;
        Some(self.config.locking.min_ttl(*quorum_round_trip))
    }

    /// Whether a node stores a lock.
    pub fn node_serves_key(&self, node: &Arc<Node>, key: &LockKey) -> bool {
        match &self.node_set {
            NodeSet::Fixed(_) => true,
            NodeSet::Cluster(cluster) => Arc::ptr_eq(&cluster.node_for(key), node),
        }
    }

    /// Runs a task for every node, including nodes that join later, until the node leaves. Returns
    /// when all tasks have ended; never for a cluster.
    pub async fn for_each_node<F>(&self, task: impl Fn(usize, Arc<Node>) -> F)
    where
        F: Future<Output = ()>,
    {
        let start = |index: usize, node: &Arc<Node>| {
            let removed = node.removed().clone();
            removed.run_until_cancelled_owned(task(index, Arc::clone(node)))
        };
        let cluster = match &self.node_set {
            NodeSet::Fixed(nodes) => {
                join_all(nodes.iter().enumerate().map(|(n, node)| start(n, node))).await;
                return;
            }
            NodeSet::Cluster(cluster) => cluster,
        };
        let mut changes = cluster.subscribe();
        let (mut current, mut tasks): (NodeList, _) = (Arc::new([]), FuturesUnordered::new());
        loop {
            let updated = Arc::clone(&changes.borrow_and_update());
            let is_new = |node: &&Arc<Node>| {
                !current
                    .iter()
                    .any(|node_before| Arc::ptr_eq(node_before, node))
            };
            // Cluster nodes all have index 0, see `Cluster::start_node`.
            tasks.extend(updated.iter().filter(is_new).map(|node| start(0, node)));
            current = updated;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                Some(_) = tasks.next() => {}
            }
        }
    }

    /// Waits until the nodes are known or the first attempt to discover them has failed. Returns
    /// immediately unless the group is a cluster that has just been started.
    pub async fn wait_until_discovered(&self) {
        if let NodeSet::Cluster(cluster) = &self.node_set {
            cluster.wait_for_first_refresh().await;
        }
    }
}
