//! The English texts of findings. The Chinese ones are in `ui::i18n::findings::chinese`.

use std::time::Duration;

use super::{DelayedRestart, FindingKind, FindingText, format_span};
use crate::domain::LockKey;

/// A sentence whose subject is the nodes: one text for a single node, another for several. Both name
/// them with `{nodes}`.
macro_rules! by_node_count {
    ($nodes:expr, one $one:literal, other $other:literal) => {
        match $nodes {
            [node] => format!($one, nodes = node),
            nodes => format!($other, nodes = node_list(nodes)),
        }
    };
}

const LOST_LOCK_IMPACT: &str = "A lock that is lost while its owner still relies on it can be acquired by a second owner. A quorum protects against that only if no other node loses locks within the same lease.";
const TIME_SYNC_FIX: &str = "Synchronise all machines with the same time servers (chrony, systemd-timesyncd, or ntpd with -x, which never steps the clock). Do not set clocks manually while locks are held.";

impl FindingText {
    /// The texts of a finding about these nodes, in English.
    pub(super) fn english(kind: &FindingKind, nodes: &[String]) -> Self {
        match kind {
            FindingKind::NoQuorum { up, all, quorum } => Self::new(
                format!("{up} of {all} nodes are reachable; a quorum requires {quorum}."),
                "No lock can be acquired, and the owners of locks cannot be determined.",
                "Restore the nodes listed below, or correct their addresses in the configuration.",
            ),
            FindingKind::NodeUnreachable => Self::new(
                by_node_count!(nodes, one "Node {nodes} is unreachable.", other "Nodes {nodes} are unreachable."),
                "An unreachable node may hold any lock. It does not count towards a quorum, and fewer other nodes may fail.",
                "Check that the server is running and reachable from this machine, and check its address, user and password in the configuration.",
            ),
            FindingKind::SlowNode { command_timeout } => {
                let limit = format_span(*command_timeout);
                Self::new(
                    by_node_count!(
                        nodes,
                        one "Node {nodes} is slow: a round trip takes more than a quarter of command_timeout ({limit}).",
                        other "Nodes {nodes} are slow: a round trip takes more than a quarter of command_timeout ({limit})."
                    ),
                    "Round trips shorten every lease. A node that exceeds the timeout counts as unreachable, so an acquire can fail although the lock is available.",
                    "Move consoles, clients and nodes closer together, find out what keeps the server busy (SLOWLOG GET, LATENCY LATEST), or raise command_timeout together with the leases.",
                )
            }
            FindingKind::NoChangeFeed => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is polled: changes are not pushed.",
                    other "Nodes {nodes} are polled: changes are not pushed."
                ),
                "Locks that exist for less than a second are missed, several renewals between two polls count as one, and new locks appear only with the next scan.",
                "Permit client tracking (see the missing permissions), or enable keyspace notifications. Both add a small cost to each write.",
            ),
            FindingKind::UnusedKeyspaceNotifications => Self::new(
                "Keyspace notifications are enabled, but this console does not need them.",
                "They slow down every write, including every acquire, renewal and release. Client tracking provides the same information at a lower cost.",
                "Disable them if no other client subscribes to them.",
            ),
            FindingKind::OldVersion => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is older than Redis 6.2.",
                    other "Nodes {nodes} are older than Redis 6.2."
                ),
                "This version no longer receives fixes. Before Redis 6 there is neither client tracking nor ACL users.",
                "Upgrade to a maintained version, one node at a time, and wait for the longest lease between nodes.",
            ),
            FindingKind::Replica => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is a replica: locks cannot be acquired there.",
                    other "Nodes {nodes} are replicas: locks cannot be acquired there."
                ),
                "A replica rejects writes and only repeats its primary's data with a delay, so it adds nothing to the quorum.",
                "Replace it with an independent primary in the configuration.",
            ),
            FindingKind::SameServer => Self::new(
                format!("Nodes {} are one and the same server.", node_list(nodes)),
                "One server votes several times. If it fails, the quorum fails with it, and no other node has the locks.",
                "Configure each server once. Check for addresses that lead to the same server: a load balancer, a DNS alias, a forwarded port.",
            ),
            FindingKind::SameDataset => Self::new(
                format!(
                    "Nodes {} are a primary and its replicas, not independent servers.",
                    node_list(nodes)
                ),
                "They share one replication history: the replicas repeat the primary's writes with a delay. After a failover, a lock that was not replicated in time can be acquired by a second owner.",
                "Use independent primaries that do not replicate from one another.",
            ),
            FindingKind::FailoverLosesLocks { is_redlock } => Self::new(
                by_node_count!(nodes, one "Node {nodes} is replicated.", other "Nodes {nodes} are replicated."),
                "Replication is asynchronous: a promoted replica can lack the latest locks and grant them a second time.",
                match is_redlock {
                    true => "Do not promote replicas of a Redlock node. Restart the node itself, either after the longest lease has expired or with every write persisted.",
                    false => "If two owners at the same time would cause damage, use fencing tokens or a Redlock group of independent nodes.",
                },
            ),
            FindingKind::SameHost => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is on the same machine as another node of the group.",
                    other "Nodes {nodes} are on the same machine as another node of the group."
                ),
                "These nodes fail together. A quorum protects only against independent failures, and a restart of the machine clears the memory of all of them.",
                "Run each node on its own machine, in different racks or zones if possible.",
            ),
            FindingKind::FewNodes { all } => Self::new(
                match all {
                    1 => "A Redlock group of one node tolerates no failure.".to_owned(),
                    all => format!("A Redlock group of {all} nodes tolerates no failure."),
                },
                "With one or two nodes the quorum is all of them: if one fails, no lock can be acquired.",
                "Use three or five nodes. With one node, set kind = \"standalone\".",
            ),
            FindingKind::EvenNodes { all } => Self::new(
                format!("{all} nodes tolerate no more failures than {}.", all - 1),
                "The last node raises the quorum but not the number of failures that are tolerated. If the network splits the group in halves, neither side has a quorum.",
                "Add a node or remove one.",
            ),
            FindingKind::NoLeader => Self::new(
                "No server leads.".to_owned(),
                "Without a leader the service accepts no writes, so no lock can be acquired or released.",
                "If this persists, check the connections between the servers and their logs.",
            ),
            FindingKind::EvenServers { all } => Self::new(
                format!("{all} servers tolerate no more failures than {}.", all - 1),
                "The last server raises the majority but not the number of failures that are tolerated. If the network splits the servers in halves, neither side has a leader.",
                "Add a server or remove one.",
            ),
            FindingKind::Standby => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is a standby.",
                    other "Nodes {nodes} are standbys."
                ),
                "A standby has no advisory locks of the primary, and its tables show the past.",
                "Set `url` to the primary.",
            ),
            FindingKind::OldService { minimum } => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is older than version {minimum}.",
                    other "Nodes {nodes} are older than version {minimum}."
                ),
                "Older versions do not report changes in a way that misses none, so locks are polled or cannot be read.",
                "Upgrade the servers one by one.",
            ),
            FindingKind::SessionLimitsReached => Self::new(
                by_node_count!(
                    nodes,
                    one "Sessions on {nodes} have the shortest or longest timeout that it grants.",
                    other "Sessions on {nodes} have the shortest or longest timeout that they grant."
                ),
                "A server replaces a timeout outside of its limits. If the clients requested another one, a lock ends later or earlier after a failure than they were configured for.",
                "Compare the session timeout of the clients with minSessionTimeout and maxSessionTimeout of the servers.",
            ),
            FindingKind::SessionLimitsDiffer => Self::new(
                "The servers grant different session timeouts.".to_owned(),
                "The time after which the lock of a failed client ends depends on the server that it is connected to.",
                "Set the same minSessionTimeout, maxSessionTimeout and tickTime on all servers.",
            ),
            FindingKind::ClosedAdminWords { words } => {
                let words = words.join(", ");
                Self::new(
                    by_node_count!(
                        nodes,
                        one "Node {nodes} does not permit {words}.",
                        other "Nodes {nodes} do not permit {words}."
                    ),
                    "Hosts of owners (cons) and the time at which the lock of a disconnected owner ends (dump) are not shown.",
                    "Set 4lw.commands.whitelist=srvr,cons,dump on the servers, or `admin_port` of the group to the port of their AdminServers.",
                )
            }
            FindingKind::ServerAlarm => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} has an alarm.",
                    other "Nodes {nodes} have an alarm."
                ),
                "During NOSPACE, writes are rejected: no lock can be acquired. During CORRUPT, the members disagree about their data.",
                "For NOSPACE, compact and defragment the members or raise --quota-backend-bytes, then run etcdctl alarm disarm. For CORRUPT, replace the member.",
            ),
            FindingKind::ServerLag => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} is far behind the leader.",
                    other "Nodes {nodes} are far behind the leader."
                ),
                "If it persists, a server that is overloaded or has a slow disk or network serves old states, and the service has fewer servers that could take over.",
                "Check the load, the disk and the network of the server.",
            ),
            FindingKind::StandbyLag => Self::new(
                by_node_count!(
                    nodes,
                    one "A standby of node {nodes} is far behind.",
                    other "Standbys of nodes {nodes} are far behind."
                ),
                "After a failover to it, its lock tables are as old as its replay: a lock that was acquired since then is free, and its owner does not notice. Advisory locks are not replicated at all.",
                "Check the load, the disk and the network of the standby, and whether its replay is paused.",
            ),
            FindingKind::TtlNearElectionTimeout { limit } => Self::new(
                format!("Locks have a TTL below {}.", format_span(*limit)),
                "Without a leader no lease can be renewed, and an election takes one to two election timeouts (1 s unless configured). Clients that count their TTL themselves then consider the lock lost.",
                "Use a TTL of at least several election timeouts.",
            ),
            FindingKind::LongTransactions { limit } => Self::new(
                format!("Transactions older than {} hold advisory locks.", format_span(*limit)),
                "Their locks may last until the transaction ends, and VACUUM cannot remove rows that were deleted since it began.",
                "Check whether the client still works. Use session locks, or shorter transactions, and set idle_in_transaction_session_timeout.",
            ),
            FindingKind::SingleServer => Self::new(
                format!(
                    "Node {} is the only server of a production group.",
                    node_list(nodes)
                ),
                "While it is down, no lock can be acquired. Locks that it loses exist nowhere else.",
                "This is sufficient if locks only prevent duplicate work. Otherwise use a Redlock group of three or five nodes, and fencing tokens.",
            ),
            FindingKind::FewSentinels { count } => Self::new(
                match count {
                    1 => "The configuration names one sentinel; at least three are required to agree after one fails.".to_owned(),
                    count => format!("The configuration names {count} sentinels; at least three are required to agree after one fails."),
                },
                "Without a majority of sentinels no replica is promoted, and locks can be neither acquired nor released until the primary returns. A console with one configured sentinel loses the primary together with that sentinel.",
                "Run three or five sentinels on separate machines, and list all of them in the configuration.",
            ),
            FindingKind::SentinelsOnPrimaryHost => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} shares a machine with at least half of the sentinels.",
                    other "Nodes {nodes} share a machine with at least half of the sentinels."
                ),
                "If that machine fails, the remaining sentinels have no majority: no replica is promoted, and no lock can be acquired.",
                "Distribute the sentinels over machines that fail independently.",
            ),
            FindingKind::SentinelQuorumOne { all, majority } => Self::new(
                format!("One of {all} sentinels can start a failover alone."),
                "A sentinel that loses its connection to the primary, or was paused itself, promotes a replica while the primary is healthy. Until the primary learns of it, both servers grant the same lock.",
                format!("Require a majority, {majority} of {all}: run the command below on each sentinel."),
            ),
            FindingKind::FailoverTooEarly {
                down_after,
                recommended,
            } => Self::new(
                format!(
                    "Sentinels consider the primary down after {}.",
                    format_span(*down_after)
                ),
                "Sentinels ping the primary every second, so one reply delayed by a fork, a busy disk or a lost packet triggers a failover. Locks that were not replicated yet can then be acquired by a second owner.",
                format!(
                    "Wait for several pings, at least {}, and use leases that are longer than that: run the command below on each sentinel.",
                    format_span(*recommended)
                ),
            ),
            FindingKind::FailoverSlowerThanLeases {
                down_after,
                minimum,
            } => Self::new(
                format!(
                    "Sentinels wait {} before a failover, and leases expire sooner.",
                    format_span(*down_after)
                ),
                "Locks cannot be renewed in the meantime: every failover loses such locks, and their owners have to detect that before another client acquires them on the new primary.",
                format!(
                    "Use leases that are longer than a failover, or reduce down-after-milliseconds, but not below {}.",
                    format_span(*minimum)
                ),
            ),
            FindingKind::NoReplica => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} has no connected replica.",
                    other "Nodes {nodes} have no connected replica."
                ),
                "No failover is possible: while such a primary is down, its locks can be neither acquired nor released.",
                "Add a replica on another machine to each primary.",
            ),
            FindingKind::ReplicaLag => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} has a lagging replica.",
                    other "Nodes {nodes} have a lagging replica."
                ),
                "If it is promoted now, it lacks the locks acquired since its last update: each of them can be acquired by a second owner.",
                "Check the network and the load on both servers. If the replica is in its initial synchronisation, wait until it completes.",
            ),
            FindingKind::IsolatedPrimaryWritable => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} continues granting locks when disconnected from all replicas.",
                    other "Nodes {nodes} continue granting locks when disconnected from all replicas."
                ),
                "An isolated primary does not learn that a replica was promoted. Until it does, both servers grant the same lock, and the locks granted by the old primary are discarded afterwards.",
                "Configure the primary to reject writes unless a replica is connected and not lagging. It then also rejects writes while all replicas are down.",
            ),
            FindingKind::FullCoverageRequired => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} rejects all locks when part of the cluster is down.",
                    other "Nodes {nodes} reject all locks when part of the cluster is down."
                ),
                "One failed primary without a replica then also blocks the locks of all other primaries.",
                "To keep the locks on the remaining slots available, allow the cluster to serve a partial key space.",
            ),
            FindingKind::NoPersistence {
                max_lease,
                delayed_restart,
            } => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} loses locks in a restart: writes are not persisted individually.",
                    other "Nodes {nodes} lose locks in a restart: writes are not persisted individually."
                ),
                LOST_LOCK_IMPACT,
                durability_fix(*max_lease, *delayed_restart),
            ),
            FindingKind::FsyncNotAlways {
                max_lease,
                delayed_restart,
            } => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} may lose the latest locks in a crash of the machine: the append-only file is not synced after every write.",
                    other "Nodes {nodes} may lose the latest locks in a crash of the machine: the append-only file is not synced after every write."
                ),
                LOST_LOCK_IMPACT,
                durability_fix(*max_lease, *delayed_restart),
            ),
            FindingKind::PersistenceFailing => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} cannot write to disk.",
                    other "Nodes {nodes} cannot write to disk."
                ),
                "The server rejects writes until it can persist again (MISCONF): no lock can be acquired or released there. Data that is not persisted is lost in a restart.",
                "Check the server's log and disk: the disk may be full or read-only, or the directory (CONFIG GET dir) not writable.",
            ),
            FindingKind::FsyncOffDuringRewrite => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} syncs every write, except while the append-only file is rewritten.",
                    other "Nodes {nodes} sync every write, except while the append-only file is rewritten."
                ),
                "During a rewrite, writes are not synced to disk for up to 30 seconds. A crash of the machine in that time loses locks despite appendfsync always.",
                "Sync during rewrites too.",
            ),
            FindingKind::RestartHazard { is_excluded } => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} restarted recently and may have lost locks.",
                    other "Nodes {nodes} restarted recently and may have lost locks."
                ),
                LOST_LOCK_IMPACT,
                match is_excluded {
                    false => "Set delayed_restart = true. Until the time shown, confirm with the owners before relying on a lock acquired here.",
                    true => "This console does not use the node for new locks until then. Do the same in other clients, and make sure that no other node restarts meanwhile.",
                },
            ),
            FindingKind::SlowFork { limit } => {
                let limit = format_span(*limit);
                Self::new(
                    by_node_count!(
                        nodes,
                        one "Node {nodes} blocks for more than {limit} to save or rewrite.",
                        other "Nodes {nodes} block for more than {limit} to save or rewrite."
                    ),
                    "The server does not reply while it forks: renewals are delayed, short leases expire, and an acquire has one node less.",
                    "Use small, dedicated servers for locks, disable transparent huge pages, and save less often.",
                )
            }
            FindingKind::EvictionEnabled => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} evicts keys when memory is full, including locks.",
                    other "Nodes {nodes} evict keys when memory is full, including locks."
                ),
                "Another client can acquire an evicted lock while its owner is still working. The volatile policies evict keys with an expiry, such as locks; volatile-ttl starts with those that expire first.",
                "Store locks and caches on different servers, and let the lock servers reject writes when memory is full.",
            ),
            FindingKind::MemoryNearlyFull { percent } => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} uses more than {percent} % of maxmemory.",
                    other "Nodes {nodes} use more than {percent} % of maxmemory."
                ),
                "At the limit the server rejects writes (OOM): no lock can be acquired there, and none can be released by a script that writes.",
                "Find out which data grows (MEMORY STATS, redis-cli --bigkeys), or raise maxmemory if the machine has more memory.",
            ),
            FindingKind::HostMemoryNearlyFull => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} uses nearly all memory of the machine and has no maxmemory limit.",
                    other "Nodes {nodes} use nearly all memory of their machines and have no maxmemory limit."
                ),
                "When memory runs out, the operating system kills the server, and data that was not persisted is lost, including locks.",
                "Set maxmemory well below the machine's memory, with the policy noeviction.",
            ),
            FindingKind::OutputBufferUnlimited => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} buffers output for slow subscribers without a limit.",
                    other "Nodes {nodes} buffer output for slow subscribers without a limit."
                ),
                "Lock waiters and this console are subscribers. One subscriber that hangs can exhaust the server's memory.",
                "Set the default limit of Redis.",
            ),
            FindingKind::OutputBufferSmall => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} disconnects subscribers that are only slightly slow.",
                    other "Nodes {nodes} disconnect subscribers that are only slightly slow."
                ),
                "A disconnected waiter misses the notification of a release, and this console has to read all locks again after each disconnection.",
                "Set the default limit of Redis.",
            ),
            FindingKind::MaxclientsNearlyReached => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} has nearly all client connections in use.",
                    other "Nodes {nodes} have nearly all client connections in use."
                ),
                "A client that cannot connect can neither renew nor release a lock: the lock stays until its lease expires.",
                "Find the clients with the most connections (CLIENT LIST), or raise maxclients.",
            ),
            FindingKind::ClockSkew => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} reports a time that differs from the other nodes.",
                    other "Nodes {nodes} report a time that differs from the other nodes."
                ),
                "Leases that the server itself counts down are not affected. Deadlines that clients compute and store are affected: Redisson's fair queues, legacy timestamps, ShedLock's values. If the wrong clock is corrected in one step, all leases on the node end earlier or later by that step.",
                TIME_SYNC_FIX,
            ),
            FindingKind::ConsoleClockSkew => Self::new(
                "The clock of this machine differs from the clocks of the nodes.",
                "A fencing token is at least this clock's value in microseconds: if the clock is ahead, tokens of other consoles look old. Ages and deadlines shown here are not affected.",
                TIME_SYNC_FIX,
            ),
            FindingKind::ClockJump => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} had a clock step, or this machine had one.",
                    other "Nodes {nodes} had a clock step, or this machine had one."
                ),
                "Redis expires keys by the wall clock. A step forward expires leases early: another client gets the lock while its owner still relies on it. A step back keeps locks longer.",
                TIME_SYNC_FIX,
            ),
            FindingKind::ConsoleClockJump => Self::new(
                "The clock of this machine stepped: all nodes shifted against it at the same time.",
                "Leases on the nodes are not affected. Fencing tokens issued here jump with the clock, and times shown before and after the step are not comparable.",
                TIME_SYNC_FIX,
            ),
            FindingKind::MissingWatchPermission => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} denies this user permissions that observing locks requires.",
                    other "Nodes {nodes} deny this user permissions that observing locks requires."
                ),
                "Locks are missing here or appear late, or their owners are unknown.",
                "Grant the missing permissions to the user in the configuration.",
            ),
            FindingKind::MissingOptionalPermission => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} denies this user permissions that provide more detail about locks.",
                    other "Nodes {nodes} deny this user permissions that provide more detail about locks."
                ),
                "All locks are shown; the details listed below are not available.",
                "Grant the permissions to the user in the configuration, or ignore this note.",
            ),
            FindingKind::MissingLockPermission => Self::new(
                by_node_count!(
                    nodes,
                    one "Node {nodes} denies this user permissions that acquiring and releasing locks requires.",
                    other "Nodes {nodes} deny this user permissions that acquiring and releasing locks requires."
                ),
                "Operations fail on such a node, so it does not count towards a quorum. A lock that cannot be released stays until its lease expires.",
                "Grant the missing permissions, or set read_only = true for the group if this console should only observe.",
            ),
            FindingKind::NamesSkipped { count } => Self::new(
                format!("Keys skipped because of long names: {count} in the last scan pass."),
                format!(
                    "Locks with these names are not shown. Names are held in memory and therefore limited: {} bytes for one name, 2 MiB for all names above 256 bytes, 32 MiB for all names.",
                    LockKey::MAX_BYTES
                ),
                "Use short names, for example with a digest in place of long parts. Exclude names that are not locks with `exclude`.",
            ),
            FindingKind::LocksWithoutExpiry { count, all } => Self::new(
                format!("Locks that never expire: {count} of {all} observed."),
                "If the owner crashes, such a lock is never released: its waiters wait until an operator intervenes.",
                "Set the expiry in the same command as the lock (SET key token NX PX ttl), and extend it while the work continues.",
            ),
            FindingKind::EndlessRenewals { count, max_hold } => {
                let max_hold = format_span(*max_hold);
                Self::new(
                    match count {
                        1 => format!("One lock has been renewed for longer than {max_hold}."),
                        count => format!("{count} locks have been renewed for longer than {max_hold}."),
                    },
                    "A client that renews in the background keeps its lock even if the work under the lock hangs.",
                    "Check the owners. Renew only while the work makes progress, or limit the number of renewals. If an unlimited hold is intended, as for a leader, raise max_hold.",
                )
            }
            FindingKind::LeasesTooShort { limit } => Self::new(
                format!("Leases shorter than {} are in use.", format_span(*limit)),
                "A garbage collection pause, a busy disk or a lost packet can last longer: another client then gets the lock while its owner is still working.",
                "Use leases of several seconds, and renew after a third of the lease.",
            ),
            FindingKind::LatencyNearLease {
                round_trips,
                round_trip,
            } => Self::new(
                format!(
                    "Leases are shorter than {round_trips} round trips: a quorum takes {} to reply.",
                    format_span(*round_trip)
                ),
                "The round trips of acquire and renewal are subtracted from the lease: little time is left for the work, and one delayed renewal loses the lock.",
                "Use longer leases, or move clients and nodes closer together.",
            ),
            FindingKind::LeaseAboveMaxLease {
                longest,
                max_lease,
                sufficient,
            } => Self::new(
                format!(
                    "A lease of at least {} is in use; max_lease is {}.",
                    format_span(*longest),
                    format_span(*max_lease)
                ),
                "A restarted node is used again after max_lease. Owners may rely for longer than that on a lock that the node lost.",
                format!(
                    "Use shorter leases and renew them, or set max_lease = \"{}\" for the group.",
                    format_span(*sufficient)
                ),
            ),
            FindingKind::LateRenewals { count } => Self::new(
                match count {
                    1 => "One lock was renewed shortly before expiry.".to_owned(),
                    count => format!("{count} locks were renewed shortly before expiry."),
                },
                "A slightly later renewal fails, because the lock has expired or has another owner.",
                "Renew after a third of the lease, and find out what delayed the owner.",
            ),
            FindingKind::StorageUnusable => Self::new(
                "The storage cannot be used.",
                "Operations that need an audit entry are rejected. Observing locks continues.",
                "Check `url` in [storage], the write permission of the console's user, and the free disk space.",
            ),
            FindingKind::StorageDamaged => Self::new(
                "The database file of [storage] is damaged.",
                "Audit entries may be lost. When a console starts with a damaged file, it renames the file and creates a new one.",
                "Copy the file, check the disk, and recover the data with sqlite3.",
            ),
            FindingKind::AuditChainBroken => Self::new(
                "The audit log was modified.",
                "Entries were changed, removed, inserted or moved, so the audit log is not reliable.",
                "Find out who has write access to the storage, and compare the log with head hashes that were recorded elsewhere.",
            ),
            FindingKind::SignInWithoutTls => Self::new(
                "Passwords and tokens cross the network unencrypted.",
                "An attacker on the network path can read them, sign in with them, and release locks under another name.",
                "Set tls_certificate_file and tls_key_file, so that the console serves https itself, or listen on 127.0.0.1 behind a proxy that terminates TLS. If such a proxy is already in use, list it in trusted_proxies, or set secure_cookies = true in [sign_in].",
            ),
        }
    }
}

/// The fix for a node that loses locks in a restart. It has to protect all clients, not only this
/// console.
fn durability_fix(max_lease: Duration, delayed_restart: DelayedRestart) -> String {
    let (longest, seconds) = (format_span(max_lease), max_lease.as_secs());
    match delayed_restart {
        DelayedRestart::NotApplicable => format!(
            "Persist every write before the reply, or keep the server unavailable to all clients for the longest lease ({longest}) after a restart."
        ),
        DelayedRestart::Enabled => format!(
            "Persist every write before the reply, or keep a restarted node unavailable to all clients for the longest lease ({longest}), for example with `ExecStartPre=/bin/sleep {seconds}` in its systemd unit. This console does not use a restarted node for new locks during that time, but other clients do."
        ),
        DelayedRestart::Disabled => format!(
            "Persist every write before the reply, or keep a restarted node unavailable to all clients for the longest lease ({longest}), for example with `ExecStartPre=/bin/sleep {seconds}` in its systemd unit. Set delayed_restart = true, so that at least this console waits."
        ),
    }
}

/// `a, b and c`.
fn node_list(nodes: &[String]) -> String {
    match nodes {
        [] => String::new(),
        [node] => node.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_use_singular_and_plural() {
        let summary = |nodes: &[&str]| {
            let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
            FindingText::english(&FindingKind::NodeUnreachable, &nodes).summary
        };
        assert_eq!(summary(&["a"]), "Node a is unreachable.");
        assert_eq!(summary(&["a", "b"]), "Nodes a and b are unreachable.");
        assert_eq!(
            summary(&["a", "b", "c"]),
            "Nodes a, b and c are unreachable."
        );
        let late = |count| FindingText::english(&FindingKind::LateRenewals { count }, &[]).summary;
        assert_eq!(late(1), "One lock was renewed shortly before expiry.");
        assert_eq!(late(2), "2 locks were renewed shortly before expiry.");
    }
}
