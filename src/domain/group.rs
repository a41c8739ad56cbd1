//! Groups and nodes as the API and the UI show them: health, clocks and scan coverage.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::reason::Reason;
use super::{FeedLevel, MissingPermission, NodeLag, Standby, Timestamp};

/// The topology of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// One server.
    Standalone,
    /// One primary with replicas. Sentinels elect the primary.
    Sentinel,
    /// Redis Cluster. Each lock is on the primary that serves its slot.
    Cluster,
    /// Independent primaries. A majority of them must hold a lock.
    Redlock,
    /// A ZooKeeper server or ensemble. It answers as one.
    Zookeeper,
    /// An etcd member or cluster. It answers as one.
    Etcd,
    /// A PostgreSQL database: its advisory locks and the lock tables of libraries.
    Postgres,
}

impl GroupKind {
    /// Whether locks are kept in Redis or Valkey.
    pub fn is_redis(self) -> bool {
        match self {
            Self::Standalone | Self::Sentinel | Self::Cluster | Self::Redlock => true,
            Self::Zookeeper | Self::Etcd | Self::Postgres => false,
        }
    }
}

/// The environment of a group. Forced releases in production must be confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Environment {
    /// The user must type the lock's name to release it by force.
    Production,
    /// Releases need no typed confirmation.
    Staging,
    /// Releases need no typed confirmation.
    #[default]
    Development,
}

impl Environment {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// Whether the user must confirm a forced release by typing the lock's name.
    pub fn requires_confirmation(self) -> bool {
        match self {
            Self::Production => true,
            Self::Staging | Self::Development => false,
        }
    }
}

/// The availability of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum NodeState {
    /// The node replies to commands.
    Up,
    /// The node is unreachable, does not serve requests (a minority without a leader), or its
    /// replies are not of the expected protocol.
    Down,
    /// The node is loading its data set (`LOADING`).
    Loading,
    /// The node rejects the console: wrong password or missing permission.
    Refused,
}

impl NodeState {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// The role that a server reports: in replication, or in its ensemble or cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationRole {
    /// Accepts writes.
    Primary,
    /// Replicates a primary. It does not count towards a quorum.
    Replica,
    /// Orders the writes of its ensemble or cluster (ZooKeeper, etcd).
    Leader,
    /// Replicates the leader and votes (ZooKeeper, etcd).
    Follower,
    /// Replicates the leader without a vote (ZooKeeper).
    Observer,
    /// Replicates the leader until it is promoted, without a vote (etcd).
    Learner,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// The node's name in the configuration.
    pub name: String,
    /// The address, without credentials.
    pub address: String,
    /// The availability.
    pub state: NodeState,
    /// Why the node is not up; null while it is up.
    pub reason: Option<Reason>,
    /// When the node entered `state`; null before the first connection attempt ended.
    pub since: Option<Timestamp>,
    /// The last round-trip time in milliseconds, with microseconds as decimals.
    pub latency_ms: Option<f64>,
    /// The node's clock minus the console's clock in milliseconds, at the middle of the round trip.
    /// The error is at most half of `latency_ms`.
    pub clock_skew_ms: Option<i64>,
    /// The version that the server reports.
    pub version: Option<String>,
    /// `redis`, `valkey`, `zookeeper`, `etcd` or `postgres`.
    pub server: Option<String>,
    /// The role of the server.
    pub role: Option<ReplicationRole>,
    /// The `run_id` of the server. It changes at every start.
    pub run_id: Option<String>,
    /// The uptime that the server reports, in milliseconds.
    pub uptime_ms: Option<u64>,
    /// When this console observed a change of `run_id`; null if it has observed no restart.
    pub restarted_at: Option<Timestamp>,
    /// The last change of the server behind the node, as after a Sentinel failover; null if this
    /// console has observed none.
    pub moved: Option<AddressChange>,
    /// The replica that the console reads from instead of the node; null if none is configured or it
    /// is not used at the moment.
    pub read_from: Option<String>,
    /// Why the configured replica is not used at the moment; null if it is, or none is configured.
    pub read_from_unavailable_reason: Option<Reason>,
    /// The end of the restart hazard, after which the longest lease that the node may have lost is
    /// over. A hazard starts when the node restarts without having persisted every write, starts
    /// long after a majority of its group could have started, or joins a Redlock group. Null
    /// without a hazard, after its end, and after an operator has cleared it for the node.
    pub hazard_until: Option<Timestamp>,
    /// The node takes part in acquires of new locks. During a restart hazard it does not, unless
    /// `delayed_restart` is off.
    pub quorum_eligible: bool,
    /// How the console detects changes.
    pub feed: FeedLevel,
    /// The limits of the change detection, or why a better method is not used; null if every change
    /// is reported immediately.
    pub feed_reason: Option<Reason>,
    /// Permissions that the node's user lacks. Without them the console shows less information.
    pub missing_permissions: Vec<MissingPermission>,
    /// Why `idle-touch` cannot be measured on this node; null if it can.
    pub contention_unavailable_reason: Option<Reason>,
    /// How far the server is behind the leader of its service; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<NodeLag>,
    /// (PostgreSQL) The connected standbys, at most 32; absent if there are none, or the console's
    /// user may not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standbys: Vec<Standby>,
    /// When the node last replied.
    pub last_reply_at: Option<Timestamp>,
}

/// A change of the server behind a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddressChange {
    /// The previous address.
    pub previous_address: String,
    /// When the change was observed.
    pub at: Timestamp,
}

/// The coverage of the last scan pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScanCoverage {
    /// The patterns of the names that are considered; `*` if every key is considered, by its type and
    /// value.
    pub patterns: Vec<String>,
    /// The number of keys that the last complete pass scanned, on all nodes.
    pub keys_seen: u64,
    /// The number of keys that can be locks by their name or value.
    pub keys_matched: u64,
    /// Keys that matched and were skipped: names longer than 16384 bytes, and names over 256 bytes
    /// beyond the limits of 2 MiB per pass and 32 MiB in total. Locks with these names are not
    /// shown.
    #[serde(default)]
    pub keys_skipped: u64,
    /// How far the first pass is; null after it has ended.
    #[serde(default)]
    pub progress: Option<ScanProgress>,
    /// When the last complete pass started; null before the first pass has ended.
    pub pass_started_at: Option<Timestamp>,
    /// The duration of the last complete pass, in milliseconds.
    pub pass_ms: Option<u64>,
    /// The average duration of a `SCAN` call, measured by the console, in milliseconds.
    pub call_ms: Option<f64>,
    /// The number of complete passes. With several nodes, the lowest number among them.
    pub passes: u32,
    /// The number of nodes that the last complete pass scanned.
    pub nodes_reached: u32,
}

/// How far a scan pass is, on all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScanProgress {
    /// The number of keys that were considered.
    pub keys_considered: u64,
    /// The number of keys on the nodes.
    pub keys_total: u64,
}

impl ScanCoverage {
    /// Whether keys of any name are considered.
    pub fn includes_every_key(&self) -> bool {
        self.patterns == ["*"]
    }
}

/// A group, its nodes and its scan coverage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    /// The group's name in the configuration.
    pub name: String,
    /// The topology.
    pub kind: GroupKind,
    /// The environment.
    pub environment: Environment,
    /// The number of nodes that an owner needs to hold a lock.
    pub quorum: u32,
    /// Whether operations that modify locks are rejected.
    pub read_only: bool,
    /// Every configured node.
    pub nodes: Vec<NodeView>,
    /// The coverage of the last scan pass.
    pub coverage: ScanCoverage,
    /// When the known locks were last polled; null before the first poll.
    pub last_polled_at: Option<Timestamp>,
}

impl GroupView {
    /// The number of nodes that are up.
    pub fn nodes_up(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.state == NodeState::Up)
            .count()
    }
}
