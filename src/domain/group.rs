//! Groups and their nodes as people see them: health, clock, and how much of the keyspace was seen.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::{FeedLevel, MissingPermission, Timestamp};

/// How the nodes of a group serve one lock namespace together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// One server.
    Standalone,
    /// One primary with replicas; sentinels decide which of them is the primary.
    Sentinel,
    /// Primaries that share the keys among them by slots; each lock is on one of them.
    Cluster,
    /// N independent primaries; a lock is held with a majority of them.
    Redlock,
}

/// What a group is used for; decides how much confirmation a release asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Environment {
    /// A release asks for the lock's name typed out.
    Production,
    /// Like production to look at, forgiving to act on.
    Staging,
    /// A playground.
    #[default]
    Development,
}

impl Environment {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// Whether what does harm has to be confirmed by typing out a name.
    pub fn asks_to_confirm(self) -> bool {
        match self {
            Self::Production => true,
            Self::Staging | Self::Development => false,
        }
    }
}

/// Whether a node can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum NodeState {
    /// Answers.
    Up,
    /// Cannot be reached, or answers with something that is not Redis.
    Down,
    /// Is reading its data set; will answer soon.
    Loading,
    /// Answers, but will not let us in: wrong password, missing permission.
    Refused,
}

impl NodeState {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// What a server says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows a primary: it cannot vote.
    Replica,
}

/// One node and its health.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is, without credentials.
    pub address: String,
    /// Whether it can be used.
    pub state: NodeState,
    /// Why it is not up, in words; null while it is up.
    pub reason: Option<String>,
    /// Since when it is in that state; null before the first attempt ended.
    pub since: Option<Timestamp>,
    /// The last round trip in milliseconds, with microseconds as decimals.
    pub latency_ms: Option<f64>,
    /// Its clock minus ours in milliseconds, at the middle of the round trip; uncertain by half of `latency_ms`.
    pub clock_skew_ms: Option<i64>,
    /// The server's version as it says itself.
    pub version: Option<String>,
    /// `redis` or `valkey`.
    pub server: Option<String>,
    /// Primary or replica.
    pub role: Option<Role>,
    /// Changes at every start of the server.
    pub run_id: Option<String>,
    /// How long the server has been running, by its own account, in milliseconds.
    pub uptime_ms: Option<u64>,
    /// When its `run_id` was seen to change; null while this console has seen no restart.
    pub restarted_at: Option<Timestamp>,
    /// When it was last seen to have become another server, as after a failover that sentinels decided; null while this
    /// console has seen none.
    pub moved: Option<Moved>,
    /// The replica that is scanned, looked at and listened to instead of it, or why it is not at the moment; null where none
    /// is configured.
    pub read_from: Option<String>,
    /// Until when its answers are a restart hazard: it may have forgotten locks whose owners rely on it, the longest of which
    /// is over then. It was seen to restart without having kept every write, or it started long after a majority of its group
    /// could have, or it is new in its Redlock group. Null otherwise, once that was long enough ago, and once an operator has
    /// vouched for it.
    pub hazard_until: Option<Timestamp>,
    /// Whether it takes part in acquiring new locks; not during a restart hazard, unless the configuration says otherwise.
    pub votes: bool,
    /// How changes are learnt.
    pub feed: FeedLevel,
    /// What is told that way, or why it is no better; null where every change is told at once.
    pub feed_reason: Option<String>,
    /// What its user may not do and would have to, for the screen to show everything.
    pub missing: Vec<MissingPermission>,
    /// Why nothing can be told from idle times here of who else touches a lock (`idle-touch`); null where it can.
    pub unmeasured: Option<String>,
    /// When it last answered.
    pub heard_at: Option<Timestamp>,
}

/// A node that became another server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moved {
    /// Where it was.
    pub from: String,
    /// When that was seen.
    pub at: Timestamp,
}

/// How much of the keyspace the last scan saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// The patterns that are scanned for.
    pub patterns: Vec<String>,
    /// Keys on the nodes that the last complete pass went over (each node's keys counted once).
    pub keys_seen: u64,
    /// Names that matched the patterns.
    pub keys_matched: u64,
    /// Names that matched and are passed over: longer than 16384 bytes, or beyond what is kept of long names (2 MiB a pass above 256
    /// bytes each, 32 MiB of all). Locks with these names are not shown.
    #[serde(default)]
    pub names_passed_over: u64,
    /// When the last complete pass began; null before one has ended.
    pub pass_started_at: Option<Timestamp>,
    /// How long it took.
    pub pass_ms: Option<u64>,
    /// Time of an average SCAN call as seen from here, in milliseconds.
    pub call_ms: Option<f64>,
    /// How many passes have ended, the last one counted; of several nodes, on the one with the fewest.
    pub passes: u32,
    /// How many nodes it went over.
    pub nodes_reached: u32,
}

/// One group, its nodes and what is known about how complete the picture is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    /// Its name in the configuration.
    pub name: String,
    /// How its nodes serve locks together.
    pub kind: GroupKind,
    /// What it is used for.
    pub environment: Environment,
    /// How many nodes an owner needs.
    pub quorum: u32,
    /// Whether acts are refused.
    pub read_only: bool,
    /// Every configured node.
    pub nodes: Vec<NodeView>,
    /// How much of the keyspace was seen.
    pub coverage: Coverage,
    /// When known locks were last looked at on the nodes; null before the first look.
    pub looked_at: Option<Timestamp>,
}

impl GroupView {
    /// How many nodes can be asked.
    pub fn nodes_up(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.state == NodeState::Up)
            .count()
    }
}
