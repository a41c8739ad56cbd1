//! The kinds of findings, with the values that their texts contain.

use std::time::Duration;

use strum::{IntoStaticStr, VariantNames};

/// A problem that the doctor recognises. The code of a kind is its name in kebab case.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FindingKind {
    // Reachability.
    NoQuorum {
        /// The number of nodes that are up.
        up: usize,
        /// The number of all nodes.
        all: usize,
        /// The number of nodes that form a quorum.
        quorum: usize,
    },
    NodeUnreachable,
    SlowNode {
        command_timeout: Duration,
    },
    NoChangeFeed,
    UnusedKeyspaceNotifications,
    OldVersion,

    // Independence of nodes.
    Replica,
    SameServer,
    SameDataset,
    FailoverLosesLocks {
        /// Whether the nodes form a quorum.
        is_redlock: bool,
    },
    SameHost,
    FewNodes {
        /// The number of nodes.
        all: usize,
    },
    EvenNodes {
        /// The number of nodes.
        all: usize,
    },
    SingleServer,

    // Services that answer as one.
    NoLeader,
    EvenServers {
        /// The number of servers that vote.
        all: usize,
    },
    Standby,
    OldService {
        /// The oldest version that is supported.
        minimum: String,
    },
    SessionLimitsReached,
    SessionLimitsDiffer,
    ClosedAdminWords {
        /// The words, like `cons`.
        words: Vec<&'static str>,
    },
    ServerAlarm,
    ServerLag,
    StandbyLag,
    TtlNearElectionTimeout {
        /// Shorter TTLs are at risk.
        limit: Duration,
    },
    LongTransactions {
        /// Older transactions are reported.
        limit: Duration,
    },

    // Sentinels.
    FewSentinels {
        /// The number of sentinels in the configuration.
        count: usize,
    },
    SentinelsOnPrimaryHost,
    SentinelQuorumOne {
        /// The number of sentinels.
        all: u32,
        /// The recommended quorum.
        majority: u32,
    },
    FailoverTooEarly {
        down_after: Duration,
        recommended: Duration,
    },
    FailoverSlowerThanLeases {
        down_after: Duration,
        /// The least sensible value of `down-after-milliseconds`.
        minimum: Duration,
    },

    // Failover.
    NoReplica,
    ReplicaLag,
    IsolatedPrimaryWritable,
    FullCoverageRequired,

    // Persistence.
    NoPersistence {
        max_lease: Duration,
        delayed_restart: DelayedRestart,
    },
    FsyncNotAlways {
        max_lease: Duration,
        delayed_restart: DelayedRestart,
    },
    PersistenceFailing,
    FsyncOffDuringRewrite,
    RestartHazard {
        /// Whether this console excludes the nodes from new locks.
        is_excluded: bool,
    },
    SlowFork {
        limit: Duration,
    },

    // Memory.
    EvictionEnabled,
    MemoryNearlyFull {
        /// The share of `maxmemory` that is exceeded.
        percent: u64,
    },
    HostMemoryNearlyFull,
    OutputBufferUnlimited,
    OutputBufferSmall,
    MaxclientsNearlyReached,

    // Clocks.
    ClockSkew,
    ConsoleClockSkew,
    ClockJump,
    ConsoleClockJump,

    // Permissions.
    MissingWatchPermission,
    MissingOptionalPermission,
    MissingLockPermission,

    // Names and leases.
    NamesSkipped {
        count: u64,
    },
    LocksWithoutExpiry {
        count: u64,
        /// The number of observed locks.
        all: u64,
    },
    EndlessRenewals {
        count: u64,
        max_hold: Duration,
    },
    LeasesTooShort {
        limit: Duration,
    },
    LatencyNearLease {
        /// The least number of round trips that a lease should last.
        round_trips: u32,
        /// The round trip of the slowest member of a quorum.
        round_trip: Duration,
    },
    LeaseAboveMaxLease {
        /// The longest observed lease.
        longest: Duration,
        max_lease: Duration,
        /// A sufficient value of `max_lease`.
        sufficient: Duration,
    },
    LateRenewals {
        count: u64,
    },

    // The console itself.
    StorageUnusable,
    StorageDamaged,
    AuditChainBroken,
    SignInWithoutTls,
}

impl FindingKind {
    /// The stable identifier in the API and in the documentation.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

/// Whether this console waits before it uses a restarted node for new locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedRestart {
    Enabled,
    Disabled,
    /// The group has no quorum, so no other node could be used meanwhile.
    NotApplicable,
}
