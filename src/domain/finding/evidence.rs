//! The observations that findings are based on. `Display` is the English text.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::domain::node_lag::format_bytes;
use crate::domain::reason::Reason;
use crate::domain::{
    ChainProblem, Format, LagUnit, MissingPermission, NodeLag, NodeState, Timestamp,
};

use super::format_span;

/// An observation, with the node, sentinel or lock that it was made on.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingEvidence {
    /// The name of the node or lock, or the address of the sentinel; `None` if the observation
    /// names it or concerns the group.
    pub subject: Option<String>,
    /// The observation.
    pub fact: ObservedFact,
}

/// What was observed, with its source.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservedFact {
    /// The node is not up.
    Unavailable {
        state: NodeState,
        address: String,
        /// `None` if it is not known.
        reason: Option<Reason>,
    },
    RoundTrip(Duration),
    /// Why changes are not pushed.
    Polled(Reason),
    ServerVersion(String),
    /// Fields of `INFO`.
    Info {
        /// The section; `None` for fields of several sections.
        section: Option<InfoSection>,
        fields: Vec<(&'static str, String)>,
    },
    /// Configuration parameters (`CONFIG GET`).
    Settings(Vec<(&'static str, String)>),

    // Services that answer as one.
    /// The sessions of a server whose timeout is one of its limits.
    SessionsAtLimits {
        at_min: usize,
        at_max: usize,
        all: usize,
        min: Duration,
        max: Duration,
    },
    SessionLimits {
        min: Duration,
        max: Duration,
    },
    /// The words of the server.
    Alarm(String),
    Lag(NodeLag),
    StandbyLag {
        /// Its `application_name`.
        name: String,
        lag: NodeLag,
    },
    TransactionSince {
        owner: String,
        since: Timestamp,
        lock_count: u64,
    },

    // Independence of nodes.
    ReplicaOf {
        host: String,
        port: String,
    },
    Host {
        name: String,
        /// The resolved addresses; empty if they add nothing to the name.
        addresses: Vec<IpAddr>,
    },
    Address(String),
    ConfiguredNodes {
        count: usize,
        /// The quorum, if it matters for the finding.
        quorum: Option<usize>,
    },

    // Sentinels.
    ConfiguredSentinels(usize),
    SentinelsOnHost {
        count: usize,
        all: usize,
        host: String,
    },
    SentinelQuorum {
        quorum: u32,
        other_sentinels: u32,
    },
    DownAfter(Duration),

    // Failover and persistence.
    /// The fields of a replica in `INFO replication`.
    ReplicaState {
        /// The name of the field: `slave0`.
        name: String,
        fields: String,
    },
    /// Whether the append-only file is used; other settings cannot be read.
    AppendOnlyWithoutConfig {
        /// The value of `aof_enabled`.
        enabled: String,
    },
    SnapshotFailed {
        rejects_writes: bool,
    },
    Restarted {
        at: Timestamp,
        until: Timestamp,
    },
    /// The server is younger than the majority of its group.
    Younger {
        until: Timestamp,
    },

    // Memory.
    MemoryUse {
        used: u64,
        maxmemory: u64,
        percent: u64,
    },
    SystemMemoryUse {
        rss: u64,
        total: u64,
        percent: u64,
    },
    PubsubBuffer {
        hard_limit: u64,
        /// How often the limit disconnected a client, if known.
        disconnections: Option<u64>,
    },
    ClientCount {
        connected: u64,
        maxclients: u64,
        rejected: u64,
    },

    // Clocks.
    /// How far the clock is ahead of this console's; negative if it is behind.
    ClockSkew {
        ahead_ms: i64,
    },
    /// How far the clock was set forward; negative if it was set back.
    ClockStep {
        by_ms: i64,
        at: Timestamp,
    },

    // Permissions.
    MissingPermissions(Vec<MissingPermission>),
    /// ACL rules that the user needs for operations on locks.
    MissingRules {
        user: String,
        rules: Vec<String>,
    },

    // Locks. The names are truncated.
    Lock(String),
    LockOfFormat {
        name: String,
        format: Format,
    },
    HeldSince {
        name: String,
        since: Timestamp,
    },
    Lease(Duration),
    RenewalMargin {
        margin: Duration,
        lease: Duration,
    },
    /// The number of locks that are not listed.
    MoreLocks(u64),

    // The console itself.
    /// The words of the database or of the operating system.
    StorageError(String),
    AuditEntry {
        /// The sequence number.
        seq: i64,
        problem: ChainProblem,
    },
    CleartextListener(SocketAddr),
}

/// A section of `INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoSection {
    Server,
    Memory,
    Persistence,
    Replication,
    Stats,
}

impl FindingEvidence {
    /// An observation about a node, a sentinel or a lock.
    pub fn about(subject: impl Into<String>, fact: ObservedFact) -> Self {
        Self {
            subject: Some(subject.into()),
            fact,
        }
    }
}

impl From<ObservedFact> for FindingEvidence {
    fn from(fact: ObservedFact) -> Self {
        Self {
            subject: None,
            fact,
        }
    }
}

impl ObservedFact {
    /// One field of `INFO`.
    pub fn info(section: InfoSection, name: &'static str, value: impl ToString) -> Self {
        Self::Info {
            section: Some(section),
            fields: vec![(name, value.to_string())],
        }
    }

    /// One configuration parameter.
    pub fn setting(name: &'static str, value: impl ToString) -> Self {
        Self::Settings(vec![(name, value.to_string())])
    }
}

impl fmt::Display for FindingEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Some(subject) => write!(f, "{subject}: {}", self.fact),
            None => write!(f, "{}", self.fact),
        }
    }
}

impl fmt::Display for ObservedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable {
                state,
                address,
                reason: None,
            } => write!(f, "{} ({address})", state.slug()),
            Self::Unavailable {
                state,
                address,
                reason: Some(reason),
            } => write!(f, "{} ({address}): {reason}", state.slug()),
            Self::RoundTrip(span) => write!(f, "a round trip takes {}", format_span(*span)),
            Self::Polled(reason) => write!(f, "{reason}"),
            Self::ServerVersion(version) => write!(f, "Redis {version} (INFO server)"),
            Self::Info { section, fields } => {
                write!(f, "{} ({})", info_fields(fields), info_command(*section))
            }
            Self::Settings(settings) => write!(f, "{} (CONFIG GET)", setting_list(settings)),
            Self::SessionsAtLimits {
                at_min,
                at_max,
                all,
                min,
                max,
            } => write!(
                f,
                "of {all} sessions, {at_min} have a timeout of {} and {at_max} of {}",
                format_span(*min),
                format_span(*max)
            ),
            Self::SessionLimits { min, max } => write!(
                f,
                "minSessionTimeout {} ms, maxSessionTimeout {} ms",
                min.as_millis(),
                max.as_millis()
            ),
            Self::Alarm(text) => f.write_str(text),
            Self::Lag(lag) => match lag.unit {
                LagUnit::Transactions => write!(f, "{} transactions (Zxid)", lag.value),
                LagUnit::LogEntries => write!(f, "{} log entries (raftAppliedIndex)", lag.value),
                LagUnit::Bytes => write!(f, "{} (replay_lsn)", format_bytes(lag.value)),
            },
            Self::StandbyLag { name, lag } => {
                write!(f, "standby {name}: {}", Self::Lag(*lag))
            }
            Self::TransactionSince {
                owner,
                since,
                lock_count,
            } => write!(f, "{owner}, since {since}, advisory locks: {lock_count}"),
            Self::ReplicaOf { host, port } => {
                write!(f, "replica of {host}:{port} (INFO replication)")
            }
            Self::Host { name, addresses } if addresses.is_empty() => f.write_str(name),
            Self::Host { name, addresses } => {
                write!(
                    f,
                    "{name} has the address {}",
                    address_list(addresses, ", ")
                )
            }
            Self::Address(address) => f.write_str(address),
            Self::ConfiguredNodes {
                count,
                quorum: None,
            } => write!(f, "{count} in the configuration"),
            Self::ConfiguredNodes {
                count,
                quorum: Some(quorum),
            } => write!(f, "{count} in the configuration, quorum {quorum}"),
            Self::ConfiguredSentinels(count) => write!(f, "{count} in `sentinel` (configuration)"),
            Self::SentinelsOnHost {
                count: 1,
                all,
                host,
            } => write!(f, "1 of {all} sentinels is also on {host} (configuration)"),
            Self::SentinelsOnHost { count, all, host } => {
                write!(
                    f,
                    "{count} of {all} sentinels are also on {host} (configuration)"
                )
            }
            Self::SentinelQuorum {
                quorum,
                other_sentinels,
            } => write!(
                f,
                "quorum {quorum}, num-other-sentinels {other_sentinels} (SENTINEL MASTER)"
            ),
            Self::DownAfter(span) => {
                let ms = span.as_millis();
                write!(f, "down-after-milliseconds {ms} (SENTINEL MASTER)")
            }
            Self::ReplicaState { name, fields } => write!(f, "{name}:{fields} (INFO replication)"),
            Self::AppendOnlyWithoutConfig { enabled } => write!(
                f,
                "aof_enabled:{enabled} (INFO persistence); CONFIG GET is not permitted"
            ),
            Self::SnapshotFailed {
                rejects_writes: false,
            } => f.write_str("rdb_last_bgsave_status:err (INFO persistence)"),
            Self::SnapshotFailed {
                rejects_writes: true,
            } => f.write_str(
                "rdb_last_bgsave_status:err (INFO persistence): the server rejects all writes",
            ),
            Self::Restarted { at, until } => write!(
                f,
                "its run_id changed at {at}; restart hazard until {until}"
            ),
            Self::Younger { until } => {
                write!(
                    f,
                    "younger than the majority of its group; restart hazard until {until}"
                )
            }
            Self::MemoryUse {
                used,
                maxmemory,
                percent,
            } => write!(
                f,
                "used_memory:{used} of maxmemory:{maxmemory}, {percent} % (INFO memory)"
            ),
            Self::SystemMemoryUse {
                rss,
                total,
                percent,
            } => write!(
                f,
                "used_memory_rss:{rss} of total_system_memory:{total}, {percent} %, maxmemory:0 (INFO memory)"
            ),
            Self::PubsubBuffer {
                hard_limit,
                disconnections: None,
            } => write!(
                f,
                "client-output-buffer-limit pubsub {hard_limit} (CONFIG GET)"
            ),
            Self::PubsubBuffer {
                hard_limit,
                disconnections: Some(count),
            } => write!(
                f,
                "client-output-buffer-limit pubsub {hard_limit} (CONFIG GET), client_output_buffer_limit_disconnections:{count} (INFO stats)"
            ),
            Self::ClientCount {
                connected,
                maxclients,
                rejected,
            } => write!(
                f,
                "connected_clients:{connected} of maxclients:{maxclients}, rejected_connections:{rejected} (INFO)"
            ),
            Self::ClockSkew { ahead_ms } => {
                let by = format_ms(*ahead_ms);
                match ahead_ms {
                    ..0 => write!(f, "{by} behind this console (TIME)"),
                    0.. => write!(f, "{by} ahead of this console (TIME)"),
                }
            }
            Self::ClockStep { by_ms, at } => {
                let by = format_ms(*by_ms);
                match by_ms {
                    ..0 => write!(f, "set back by {by} at {at} (TIME)"),
                    0.. => write!(f, "set forward by {by} at {at} (TIME)"),
                }
            }
            Self::MissingPermissions(missing) => {
                let each = missing.iter();
                let each = each.map(|one| format!("{} ({})", one.permission, one.impact));
                write!(f, "without {}", each.collect::<Vec<_>>().join(", "))
            }
            Self::MissingRules { user, rules } => write!(f, "{user} lacks {}", rules.join(" ")),
            Self::Lock(name) => f.write_str(name),
            Self::LockOfFormat { name, format } => write!(f, "{name} ({format})"),
            Self::HeldSince { name, since } => write!(f, "{name}, since {since}"),
            Self::Lease(lease) => f.write_str(&format_span(*lease)),
            Self::RenewalMargin { margin, lease } => {
                write!(
                    f,
                    "{} left of {}",
                    format_span(*margin),
                    format_span(*lease)
                )
            }
            Self::MoreLocks(count) => write!(f, "and {count} more"),
            Self::StorageError(text) => f.write_str(text),
            Self::AuditEntry { seq, problem } => write!(f, "entry {seq}: {problem}"),
            Self::CleartextListener(address) => write!(
                f,
                "listen = \"{address}\", with users or tokens and without TLS (configuration)"
            ),
        }
    }
}

/// The fields as Redis writes them: `maxmemory:0, maxmemory_policy:noeviction`.
pub fn info_fields(fields: &[(&'static str, String)]) -> String {
    let each = fields.iter().map(|(name, value)| format!("{name}:{value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The command that returns the section.
pub fn info_command(section: Option<InfoSection>) -> &'static str {
    match section {
        None => "INFO",
        Some(InfoSection::Server) => "INFO server",
        Some(InfoSection::Memory) => "INFO memory",
        Some(InfoSection::Persistence) => "INFO persistence",
        Some(InfoSection::Replication) => "INFO replication",
        Some(InfoSection::Stats) => "INFO stats",
    }
}

/// The settings as in `redis.conf`: `appendonly yes, save ""`.
pub fn setting_list(settings: &[(&'static str, String)]) -> String {
    let each = settings.iter().map(|(name, value)| match value.as_str() {
        "" => format!("{name} \"\""),
        value => format!("{name} {value}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The addresses with this separator.
pub fn address_list(addresses: &[IpAddr], separator: &str) -> String {
    let each = addresses.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join(separator)
}

fn format_ms(ms: i64) -> String {
    format_span(Duration::from_millis(ms.unsigned_abs()))
}
