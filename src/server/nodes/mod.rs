//! Talks to Redis; knows keys and bytes, not people.

mod glob;
pub mod health;
pub mod line;
pub mod look;
pub mod memory;
pub mod node;
pub mod scan;
pub mod scripts;
pub mod sighting;
mod supervisor;
pub mod trip;
pub mod trouble;
pub mod values;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{Coverage, LockKey, NodeView, Timestamp};
use crate::server::clock::Clock;
use crate::server::config::GroupConfig;
use node::Node;
use sighting::Sighting;

/// One group and its nodes, each with its own supervised connections.
pub struct Group {
    /// What the configuration says about it.
    pub config: GroupConfig,
    nodes: Vec<Arc<Node>>,
    clock: Clock,
    stop: CancellationToken,
}

/// What all nodes of a group showed of some keys when asked at one moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// When the question was sent.
    pub asked_at: Timestamp,
    /// One per configured node, in order.
    pub nodes: Vec<NodeLook>,
}

/// What one node showed.
#[derive(Clone, Debug)]
pub struct NodeLook {
    /// Its name.
    pub node: String,
    /// It restarted lately and may have forgotten locks.
    pub is_hazard: bool,
    /// A sighting or nothing per key, in the order asked; or why the node did not answer.
    pub seen: Result<Vec<Option<Sighting>>, String>,
}

/// What a scan of one node tells the index.
#[derive(Clone, Debug)]
pub enum Scanned {
    /// Names that match the patterns; a name may come again.
    Names(Vec<LockKey>),
    /// A pass over one node came to its end.
    Pass {
        /// The node.
        node: String,
        /// Keys on the node.
        keys_seen: u64,
        /// Names that matched.
        keys_matched: u64,
        /// When it began.
        started_at: Timestamp,
        /// How long it took.
        took: Duration,
        /// Time of an average call.
        per_call: Duration,
    },
}

impl Group {
    /// Starts the supervisors of a group's nodes; they end when `stop` is cancelled.
    pub fn start(config: GroupConfig, clock: Clock, stop: CancellationToken) -> Arc<Self> {
        let start = |node| Node::start(node, &config, clock.clone(), stop.clone());
        Arc::new(Self {
            nodes: config.nodes.iter().map(start).collect(),
            config,
            clock,
            stop,
        })
    }

    /// How many nodes an owner needs.
    pub fn quorum(&self) -> usize {
        crate::domain::quorum::majority(self.config.nodes.len())
    }

    /// Every node's health right now, in the order of the configuration. Never waits.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.nodes.iter().map(|node| node.view()).collect()
    }

    /// Waits until every node was tried once, well or badly: no longer than the connect time limit. Looks and acts do
    /// not need it, they wait for the first attempt themselves within their own limits.
    pub async fn first_attempts(&self) {
        self.on_each(|node| async move { node.first_attempt().await })
            .await;
    }

    /// Does something with all nodes at once; the answers come in the order of the configuration.
    pub async fn on_each<T, F: Future<Output = T>>(&self, call: impl Fn(Arc<Node>) -> F) -> Vec<T> {
        futures::future::join_all(self.nodes.iter().cloned().map(call)).await
    }

    /// Asks all nodes at once about some keys. Ends within the command time limit whatever the nodes do (more than 5,000
    /// keys take proportionally longer); a node that is known to be down costs nothing.
    pub async fn look(&self, keys: &[LockKey]) -> Look {
        let asked_at = self.clock.now();
        let ask = |node: Arc<Node>| async move {
            NodeLook {
                node: node.name().to_owned(),
                is_hazard: node.hazard_until().is_some(),
                seen: look::look(&node, keys).await,
            }
        };
        Look {
            asked_at,
            nodes: self.on_each(ask).await,
        }
    }

    /// Scans every node for the group's patterns, over and over, within the budget, until `stop` is cancelled.
    pub async fn scan(self: Arc<Self>, found: mpsc::Sender<Scanned>, stop: CancellationToken) {
        let patterns = &self.config.keys;
        let scan = |node: Arc<Node>| {
            let found = found.clone();
            async move { scan::scan(&node, patterns, &found).await }
        };
        // Whichever ends first; a scan ends by itself only when nobody listens any more.
        stop.run_until_cancelled(self.on_each(scan)).await;
    }

    /// Its nodes, in the order of the configuration.
    pub fn each(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The clock that moments are read from.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Cancelled when the group's nodes are let go.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

/// A fresh coverage for a group that has not been scanned yet.
pub fn coverage_before_the_first_pass(config: &GroupConfig) -> Coverage {
    Coverage {
        patterns: config.keys.clone(),
        ..Coverage::default()
    }
}
