//! Observing a group: the nodes' health, names and changes, and the current state of locks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::group::{Group, Store};
use super::reading::{Changes, LockReading, NodeQueues, ReadCause};
use super::redis::nodes::monitor::{SampleError, sample};
use super::redis::nodes::node_info::NodeInfo;
use super::redis::nodes::restart_history::NodeRecord;
use super::{GroupFeedCoverage, LockNames, ScanEvent};
use crate::domain::raw::RawNode;
use crate::domain::reason::Reason;
use crate::domain::{Format, LockKey, MonitorSample, NodeHistory, NodeView};
use crate::server::config::FormatOverride;

/// What a node reports about its set-up, for the doctor.
pub struct NodeReport {
    /// The node's name.
    pub node: String,
    /// The host in the configuration.
    pub host: String,
    /// The report, or why the node did not reply.
    pub info: Result<NodeInfo, Reason>,
}

/// The nodes.
impl Group {
    /// How many nodes an owner needs to hold a lock.
    pub fn quorum(&self) -> usize {
        match self.store() {
            Store::Redis(redis) => redis.quorum(),
        }
    }

    /// The current health of every node, in configuration order. Does not wait for the nodes.
    pub fn node_views(&self) -> Vec<NodeView> {
        match self.store() {
            Store::Redis(redis) => redis.node_views(),
        }
    }

    /// The recent history of every node. Does not wait for the nodes.
    pub fn node_histories(&self) -> Vec<NodeHistory> {
        match self.store() {
            Store::Redis(redis) => redis.node_histories(),
        }
    }

    /// Waits until the first connection attempt to every node has succeeded or failed, at most the
    /// connect timeout. Reads and operations do not need this: they wait for the first attempt
    /// within their own timeouts.
    pub async fn wait_for_first_attempts(&self) {
        match self.store() {
            Store::Redis(redis) => redis.wait_for_first_attempts().await,
        }
    }

    /// Waits until a quorum of nodes is up, or the first connection attempt to every node has
    /// ended. A hanging node then causes no delay.
    pub async fn wait_for_quorum(&self) {
        match self.store() {
            Store::Redis(redis) => redis.wait_for_quorum().await,
        }
    }

    /// Clears the restart hazard of a node, because an operator stated that it lost no data in its
    /// current run. Returns the record to persist, or `None` if there is no such node or its run is
    /// not known yet.
    pub fn clear_restart_hazard(&self, node: &str) -> Option<NodeRecord> {
        match self.store() {
            Store::Redis(redis) => redis.clear_restart_hazard(node),
        }
    }

    /// What each node reports about its set-up, and which of these commands (one argument per line)
    /// the console may call there.
    pub async fn fetch_node_reports(&self, commands: &[String]) -> Vec<NodeReport> {
        let fetch = |node: Arc<super::redis::nodes::node::Node>| async move {
            NodeReport {
                node: node.name().to_owned(),
                host: node.host(),
                info: node.fetch_info(commands).await,
            }
        };
        match self.store() {
            Store::Redis(redis) => redis.call_all(fetch).await,
        }
    }
}

/// Names and changes.
impl Group {
    /// Scans every node for locks repeatedly, within the scan budget, until `stop` is cancelled.
    pub async fn scan(
        &self,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        match self.store() {
            Store::Redis(redis) => Arc::clone(redis).scan(events, names, stop).await,
        }
    }

    /// Runs the change feeds of all nodes until `stop` is cancelled or the group is stopped.
    pub fn start_feeds(&self, names: Arc<LockNames>, stop: CancellationToken) {
        match self.store() {
            Store::Redis(redis) => redis.start_feeds(names, stop),
        }
    }

    /// Waits until a node reports a change.
    pub async fn wait_for_change(&self) {
        match self.store() {
            Store::Redis(redis) => redis.changes().wait_for_change().await,
        }
    }

    /// Takes the changes that the nodes have reported.
    pub fn take_changes(&self) -> Changes {
        match self.store() {
            Store::Redis(redis) => redis.take_changes(),
        }
    }

    /// The keys that the change feeds cover. Other keys must be polled.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        match self.store() {
            Store::Redis(redis) => redis.feed_coverage(),
        }
    }

    /// Derives key prefixes from the names of locks, for nodes whose change feeds can only cover a
    /// limited set of prefixes.
    pub fn learn_prefixes<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) {
        match self.store() {
            Store::Redis(redis) => redis.follow_prefixes_of(names),
        }
    }
}

/// The state of locks.
impl Group {
    /// Reads some keys from all nodes concurrently. Returns within the command timeout whatever the
    /// nodes do (proportionally longer for more than 5,000 keys). A node that is known to be down
    /// causes no delay. `inferred_formats` apply after the format overrides of the configuration.
    pub async fn read_locks(
        &self,
        keys: &[LockKey],
        cause: ReadCause<'_>,
        inferred_formats: &[FormatOverride],
    ) -> LockReading {
        match self.store() {
            Store::Redis(redis) => redis.read_locks(keys, cause, inferred_formats).await,
        }
    }

    /// The value that each node has under a key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        match self.store() {
            Store::Redis(redis) => redis.read_raw(key).await,
        }
    }

    /// Whether the nodes store a wait queue for locks of this format.
    pub fn has_queue(&self, format: Format) -> bool {
        match self.store() {
            Store::Redis(_) => matches!(format, Format::Redisson | Format::RedissonFair),
        }
    }

    /// Reads the wait queues of some locks from every node.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        match self.store() {
            Store::Redis(redis) => redis.read_queues(keys).await,
        }
    }

    /// Records an access to a lock by the console itself, which must not count as contention.
    pub fn record_own_access(&self, key: &LockKey) {
        match self.store() {
            Store::Redis(redis) => redis.record_own_access(key),
        }
    }

    /// Records all requests to a node for a while, to find clients that fail to acquire locks.
    /// `None` if there is no such node.
    pub async fn sample_contention(
        &self,
        node: &str,
        duration: Duration,
    ) -> Option<Result<MonitorSample, SampleError>> {
        match self.store() {
            Store::Redis(redis) => {
                let nodes = redis.nodes();
                let node = nodes.iter().find(|candidate| candidate.name() == node)?;
                Some(sample(node, &self.config.keys, duration).await)
            }
        }
    }
}
