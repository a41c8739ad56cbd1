//! Which nodes a group has, and which of them decide about a lock: all of them, or in a cluster the one that has it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;

use super::Group;
use super::lock_node::LockNode;
use super::node::{Node, Seats};
use crate::domain::LockKey;

pub(super) enum Members<N: LockNode> {
    /// Those of the configuration: each has every lock.
    Fixed(Seats<N>),
    /// They come and go: each lock is on one of them.
    Cluster(Arc<N::Cluster>),
}

impl<N: LockNode> Group<N> {
    /// How many nodes an owner needs.
    pub fn quorum(&self) -> usize {
        match &self.members {
            Members::Fixed(nodes) => crate::domain::quorum::majority(nodes.len()),
            Members::Cluster(_) => 1,
        }
    }

    /// The nodes that decide about a lock: all of them, or in a cluster the one that has it.
    pub fn seats(&self, key: &LockKey) -> Seats<N> {
        match &self.members {
            Members::Fixed(nodes) => Arc::clone(nodes),
            Members::Cluster(cluster) => Arc::new([N::in_cluster(cluster, key)]),
        }
    }

    /// How long this node may take for a lock of `ttl`: time for a few round trips to it in any case.
    pub fn limit_of(&self, node: &N, ttl: Duration) -> Duration {
        let config = &self.config;
        let round_trip = node.shortest_round_trip();
        config
            .locking
            .limit_per_node(config.command_timeout, ttl, round_trip)
    }

    /// How long the slowest of these nodes may take for a lock of `ttl`.
    pub fn longest_limit(&self, seats: &[Arc<N>], ttl: Duration) -> Duration {
        let limits = seats.iter().map(|node| self.limit_of(node, ttl));
        limits.max().unwrap_or(self.config.command_timeout)
    }
}

impl Group {
    /// Its nodes, in the order of the configuration; of a cluster those that have keys now.
    pub fn each(&self) -> Seats {
        match &self.members {
            Members::Fixed(nodes) => Arc::clone(nodes),
            Members::Cluster(cluster) => cluster.nodes(),
        }
    }

    /// The shortest lease that can work for this lock, by how far away the nearest quorum of its nodes is. Nothing before
    /// that was measured.
    pub fn shortest_ttl(&self, key: &LockKey) -> Option<Duration> {
        let seats = self.seats(key);
        let mut round_trips: Vec<Duration> = seats
            .iter()
            .filter_map(|node| node.settled_round_trip())
            .collect();
        round_trips.sort_unstable();
        let majority = crate::domain::quorum::majority(seats.len());
        let furthest_needed = round_trips.get(majority - 1)?;
        Some(self.config.locking.shortest_ttl(*furthest_needed))
    }

    /// Whether a node has a say in a lock.
    pub fn is_at(&self, node: &Arc<Node>, key: &LockKey) -> bool {
        match &self.members {
            Members::Fixed(_) => true,
            Members::Cluster(cluster) => Arc::ptr_eq(&cluster.node_of(key), node),
        }
    }

    /// Does something with every node, and with those that come later, each until it leaves. Ends when there are no nodes
    /// any more to do it with, which a cluster never comes to.
    pub async fn with_each<F>(&self, work: impl Fn(usize, Arc<Node>) -> F)
    where
        F: Future<Output = ()>,
    {
        let begin = |place: usize, node: &Arc<Node>| {
            let gone = node.gone().clone();
            gone.run_until_cancelled_owned(work(place, Arc::clone(node)))
        };
        let cluster = match &self.members {
            Members::Fixed(nodes) => {
                join_all(nodes.iter().enumerate().map(|(n, node)| begin(n, node))).await;
                return;
            }
            Members::Cluster(cluster) => cluster,
        };
        let mut changes = cluster.changes();
        let (mut known, mut works): (Seats, _) = (Arc::new([]), FuturesUnordered::new());
        loop {
            let now = Arc::clone(&changes.borrow_and_update());
            let is_new = |node: &&Arc<Node>| !known.iter().any(|old| Arc::ptr_eq(old, node));
            works.extend(now.iter().filter(is_new).map(|node| begin(0, node)));
            known = now;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                Some(_) = works.next() => {}
            }
        }
    }

    /// Waits until it is known which nodes there are, or the first attempt to learn it has failed: at once, unless it is a
    /// cluster that has just been met.
    pub async fn is_known(&self) {
        if let Members::Cluster(cluster) = &self.members {
            cluster.is_asked().await;
        }
    }
}
