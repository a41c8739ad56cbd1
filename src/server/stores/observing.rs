//! Observing a group: the nodes' health, names and changes, and the current state of locks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::group::{Group, Store};
use super::reading::{Changes, LockReading, NodeQueues, ReadCause};
use super::redis::nodes::client_list::list_connections;
use super::redis::nodes::monitor::{SampleError, sample};
use super::redis::nodes::node::Node;
use super::redis::nodes::node_info::NodeInfo;
use super::redis::nodes::restart_history::NodeRecord;
use super::server_states::ServerFacts;
use super::{GroupFeedCoverage, LockNames, ScanEvent, ServiceFacts};
use crate::domain::raw::RawNode;
use crate::domain::reason::Reason;
use crate::domain::release_advice::NodeConnections;
use crate::domain::{
    Fingerprint, Format, HolderState, LockKey, MonitorSample, NodeHistory, NodeView,
};
use crate::server::config::FormatOverride;

/// What a node reports about its set-up, for the doctor.
pub struct NodeReport {
    /// The node's name.
    pub node: String,
    /// The host in the configuration.
    pub host: String,
    /// The report, or why the node did not reply.
    pub info: Result<NodeInfo, Reason>,
    /// What a server of another service than Redis reports.
    pub server: ServerFacts,
}

/// The nodes.
impl Group {
    /// How many nodes an owner needs to hold a lock.
    pub fn quorum(&self) -> usize {
        match self.store() {
            Store::Redis(redis) => redis.quorum(),
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => 1,
        }
    }

    /// The current health of every node, in configuration order. Does not wait for the nodes.
    pub fn node_views(&self) -> Vec<NodeView> {
        match self.store() {
            Store::Redis(redis) => redis.node_views(),
            Store::Zookeeper(zookeeper) => zookeeper.service().servers.views(),
            Store::Etcd(etcd) => etcd.service().servers.views(),
            Store::Postgres(postgres) => postgres.service().servers.views(),
        }
    }

    /// The recent history of every node. Does not wait for the nodes.
    pub fn node_histories(&self) -> Vec<NodeHistory> {
        match self.store() {
            Store::Redis(redis) => redis.node_histories(),
            Store::Zookeeper(zookeeper) => {
                zookeeper.service().servers.histories(self.clock().now())
            }
            Store::Etcd(etcd) => etcd.service().servers.histories(self.clock().now()),
            Store::Postgres(postgres) => postgres.service().servers.histories(self.clock().now()),
        }
    }

    /// Waits until the first connection attempt to every node has succeeded or failed, at most the
    /// connect timeout. Reads and operations do not need this: they wait for the first attempt
    /// within their own timeouts.
    pub async fn wait_for_first_attempts(&self) {
        match self.store() {
            Store::Redis(redis) => redis.wait_for_first_attempts().await,
            Store::Zookeeper(zookeeper) => {
                zookeeper.service().servers.wait_for_first_attempts().await
            }
            Store::Etcd(etcd) => etcd.service().servers.wait_for_first_attempts().await,
            Store::Postgres(postgres) => postgres.service().servers.wait_for_first_attempts().await,
        }
    }

    /// Waits until a quorum of nodes is up, or the first connection attempt to every node has
    /// ended. A hanging node then causes no delay.
    pub async fn wait_for_quorum(&self) {
        match self.store() {
            Store::Redis(redis) => redis.wait_for_quorum().await,
            Store::Zookeeper(zookeeper) => {
                zookeeper.service().servers.wait_for_first_attempts().await
            }
            Store::Etcd(etcd) => etcd.service().servers.wait_for_first_attempts().await,
            Store::Postgres(postgres) => postgres.service().servers.wait_for_first_attempts().await,
        }
    }

    /// Clears the restart hazard of a node, because an operator stated that it lost no data in its
    /// current run. Returns the record to persist, or `None` if there is no such node or its run is
    /// not known yet.
    pub fn clear_restart_hazard(&self, node: &str) -> Option<NodeRecord> {
        match self.store() {
            Store::Redis(redis) => redis.clear_restart_hazard(node),
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => None,
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
                server: ServerFacts::default(),
            }
        };
        match self.store() {
            Store::Redis(redis) => redis.call_all(fetch).await,
            store => {
                let servers = store
                    .service()
                    .map(|service| (service.servers.views(), service.servers.facts()));
                let report = |(view, server): (NodeView, ServerFacts)| NodeReport {
                    node: view.name,
                    host: view.address,
                    info: Ok(NodeInfo::of_missing_permissions(view.missing_permissions)),
                    server,
                };
                let servers = servers.into_iter();
                servers
                    .flat_map(|(views, facts)| views.into_iter().zip(facts))
                    .map(report)
                    .collect()
            }
        }
    }

    /// What the service reports about its locks, for the doctor. Does not wait for the servers.
    pub fn service_facts(&self) -> ServiceFacts {
        match self.store() {
            Store::Redis(_) | Store::Zookeeper(_) => ServiceFacts::default(),
            Store::Etcd(etcd) => ServiceFacts {
                shortest_ttls: etcd.shortest_ttls(),
                ..ServiceFacts::default()
            },
            Store::Postgres(postgres) => ServiceFacts {
                long_transactions: postgres.long_transactions(),
                ..ServiceFacts::default()
            },
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
            Store::Zookeeper(zookeeper) => Arc::clone(zookeeper).scan(events, names, stop).await,
            Store::Etcd(etcd) => Arc::clone(etcd).scan(events, names, stop).await,
            Store::Postgres(postgres) => Arc::clone(postgres).scan(events, names, stop).await,
        }
    }

    /// Runs the change feeds of all nodes until `stop` is cancelled or the group is stopped.
    pub fn start_feeds(&self, names: Arc<LockNames>, stop: CancellationToken) {
        match self.store() {
            Store::Redis(redis) => redis.start_feeds(names, stop),
            Store::Zookeeper(zookeeper) => zookeeper.start_feeds(names, stop),
            Store::Etcd(etcd) => etcd.start_feeds(names, stop),
            Store::Postgres(postgres) => postgres.start_feeds(names, stop),
        }
    }

    /// Waits until a node reports a change.
    pub async fn wait_for_change(&self) {
        match self.store() {
            Store::Redis(redis) => redis.changes().wait_for_change().await,
            Store::Zookeeper(zookeeper) => zookeeper.service().wait_for_change().await,
            Store::Etcd(etcd) => etcd.service().wait_for_change().await,
            Store::Postgres(postgres) => postgres.service().wait_for_change().await,
        }
    }

    /// Takes the changes that the nodes have reported.
    pub fn take_changes(&self) -> Changes {
        match self.store() {
            Store::Redis(redis) => redis.take_changes(),
            Store::Zookeeper(zookeeper) => zookeeper.service().take_changes(),
            Store::Etcd(etcd) => etcd.service().take_changes(),
            Store::Postgres(postgres) => postgres.service().take_changes(),
        }
    }

    /// The keys that the change feeds cover. Other keys must be polled.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        match self.store() {
            Store::Redis(redis) => redis.feed_coverage(),
            Store::Zookeeper(zookeeper) => zookeeper.feed_coverage(),
            Store::Etcd(etcd) => etcd.feed_coverage(),
            Store::Postgres(postgres) => postgres.feed_coverage(),
        }
    }

    /// Derives key prefixes from the names of locks, for nodes whose change feeds can only cover a
    /// limited set of prefixes.
    pub fn learn_prefixes<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) {
        match self.store() {
            Store::Redis(redis) => redis.follow_prefixes_of(names),
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => {}
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
            Store::Zookeeper(zookeeper) => {
                zookeeper.read_locks(keys, cause, inferred_formats).await
            }
            Store::Etcd(etcd) => etcd.read_locks(keys, cause, inferred_formats).await,
            Store::Postgres(postgres) => postgres.read_locks(keys, cause, inferred_formats).await,
        }
    }

    /// The value that each node has under a key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        match self.store() {
            Store::Redis(redis) => redis.read_raw(key).await,
            Store::Zookeeper(zookeeper) => zookeeper.read_raw(key).await,
            Store::Etcd(etcd) => etcd.read_raw(key).await,
            Store::Postgres(postgres) => postgres.read_raw(key).await,
        }
    }

    /// What the lock service knows about the client that holds a lock, apart from its lease. `None`
    /// if that is nothing.
    pub async fn holder_state(&self, key: &LockKey, owner: &Fingerprint) -> Option<HolderState> {
        match self.store() {
            Store::Postgres(postgres) => postgres.holder_state(key, owner).await,
            Store::Redis(_) | Store::Zookeeper(_) | Store::Etcd(_) => None,
        }
    }

    /// Whether the connections of clients can be listed.
    pub fn lists_connections(&self) -> bool {
        matches!(self.store(), Store::Redis(_))
    }

    /// The client connections of every node, in configuration order; empty for services that know the
    /// client of a lock.
    pub async fn client_connections(&self) -> Vec<NodeConnections> {
        match self.store() {
            Store::Redis(redis) => {
                let list = |node: Arc<Node>| async move { list_connections(&node).await };
                redis.call_all(list).await
            }
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => Vec::new(),
        }
    }

    /// Whether the nodes store a wait queue for locks of this format.
    pub fn has_queue(&self, format: Format) -> bool {
        match self.store() {
            Store::Redis(_) => matches!(format, Format::Redisson | Format::RedissonFair),
            Store::Zookeeper(zookeeper) => zookeeper.has_queue(format),
            Store::Etcd(etcd) => etcd.has_queue(format),
            Store::Postgres(postgres) => postgres.has_queue(format),
        }
    }

    /// Reads the wait queues of some locks from every node.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        match self.store() {
            Store::Redis(redis) => redis.read_queues(keys).await,
            Store::Zookeeper(zookeeper) => zookeeper.read_queues(keys).await,
            Store::Etcd(etcd) => etcd.read_queues(keys).await,
            Store::Postgres(postgres) => postgres.read_queues(keys).await,
        }
    }

    /// Records an access to a lock by the console itself, which must not count as contention.
    pub fn record_own_access(&self, key: &LockKey) {
        match self.store() {
            Store::Redis(redis) => redis.record_own_access(key),
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => {}
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
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => None,
        }
    }
}
