//! Talks to Redis; knows keys and bytes, not people.

pub mod sighting;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{Coverage, LockKey, NodeView, Timestamp};
use crate::server::clock::Clock;
use crate::server::config::GroupConfig;
use sighting::Sighting;

/// One group and its nodes, each with its own supervised connections.
pub struct Group {
    /// What the configuration says about it.
    pub config: GroupConfig,
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
    pub fn start(config: GroupConfig, _clock: Clock, _stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { config })
    }

    /// How many nodes an owner needs.
    pub fn quorum(&self) -> usize {
        crate::domain::quorum::majority(self.config.nodes.len())
    }

    /// Every node's health right now, in the order of the configuration. Never waits.
    pub fn nodes(&self) -> Vec<NodeView> {
        Vec::new()
    }

    /// Asks all nodes at once about some keys. Ends within the command time limit whatever the nodes do; a node that is
    /// known to be down costs nothing.
    pub async fn look(&self, _keys: &[LockKey]) -> Look {
        Look {
            asked_at: Timestamp::from_millis(0),
            nodes: Vec::new(),
        }
    }

    /// Scans every node for the group's patterns, over and over, within the budget, until `stop` is cancelled.
    pub async fn scan(self: Arc<Self>, _found: mpsc::Sender<Scanned>, _stop: CancellationToken) {}
}

/// A fresh coverage for a group that has not been scanned yet.
pub fn coverage_before_the_first_pass(config: &GroupConfig) -> Coverage {
    Coverage {
        patterns: config.keys.clone(),
        ..Coverage::default()
    }
}
