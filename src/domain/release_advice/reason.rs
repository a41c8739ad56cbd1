//! The facts that an advice is based on. `Display` is the English text; `ui/i18n/advice` has the
//! Chinese one.

use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

use super::{BackendActivity, has_address};
use crate::domain::text::english_span as span;

/// A fact about the hold, with its age and figures. Durations are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AdviceReason {
    /// The owner renews, and the last renewal is not late.
    Renewing {
        /// The number of renewals.
        count: u32,
        /// The interval between them; null before two were observed.
        interval_ms: Option<u64>,
        /// The age of the last one.
        age_ms: u64,
    },
    /// Renewals are missing.
    RenewalLate {
        /// The number of renewals that are missing since the last one.
        missed: u32,
        /// The expected interval.
        interval_ms: u64,
        /// The age of the last renewal.
        age_ms: u64,
    },
    /// No renewal was observed.
    NotRenewed {
        /// The age of the hold.
        held_ms: u64,
        /// The default renewal interval of the library; null if it does not renew by itself.
        library_interval_ms: Option<u64>,
    },
    /// The client library always renews such a lease, and did not (etcd).
    KeepAliveMissing {
        /// The age of the hold.
        held_ms: u64,
        /// When the lease ends.
        ends_in_ms: u64,
    },
    /// The hold is not longer than most earlier ones.
    WithinUsualHold {
        /// The age of the hold.
        held_ms: u64,
        /// The median.
        p50_ms: u64,
        /// The 99th percentile.
        p99_ms: u64,
        /// The number of earlier holds.
        holds: u32,
    },
    /// The hold is longer than nearly all earlier ones, but not overdue.
    LongerThanUsual {
        /// The age of the hold.
        held_ms: u64,
        /// The median.
        p50_ms: u64,
        /// The 99th percentile.
        p99_ms: u64,
        /// The number of earlier holds.
        holds: u32,
    },
    /// The hold is overdue: the rule of the flag `overdue`.
    BeyondUsualHold {
        /// The age of the hold.
        held_ms: u64,
        /// The 90th percentile.
        p90_ms: u64,
        /// The duration after which a hold is overdue.
        overdue_after_ms: u64,
        /// The number of earlier holds.
        holds: u32,
    },
    /// Too few holds were observed from start to end for a usual duration.
    NoUsualHold,
    /// The lock has no expiry.
    NoExpiry {
        /// The age of the hold.
        held_ms: u64,
    },
    /// The time that the owner announced has passed, and the key is still there.
    LeaseOver {
        /// How long ago.
        age_ms: u64,
    },
    /// The session of the owner is open (ZooKeeper).
    SessionOpen,
    /// No client is connected to the session of the owner (ZooKeeper).
    SessionDisconnected {
        /// When the session ends.
        ends_in_ms: u64,
    },
    /// The database connection of the owner is open (PostgreSQL).
    Backend {
        /// What it does.
        activity: BackendActivity,
        /// How long it has been in this state.
        in_state_ms: Option<u64>,
    },
    /// The database connection of the owner holds other locks, which end with it (PostgreSQL).
    HoldsOthers {
        /// Some of their names.
        locks: Vec<String>,
        /// Their number.
        count: u32,
    },
    /// A prepared transaction without a connection holds the lock (PostgreSQL).
    PreparedTransaction,
    /// Connections of one client match the owner's label (Redis). They show that the client runs,
    /// not that it still works under the lock.
    Connected {
        /// The host or client in the label.
        client: String,
        /// The number of connections to all nodes.
        count: u32,
        /// Their address.
        address: String,
        /// The time since the last command. The server reports whole seconds.
        last_command_ms: u64,
    },
    /// Connections of several clients match the owner's label (Redis).
    AmbiguousConnections {
        /// The host or client in the label.
        client: String,
        /// The number of connections to all nodes.
        count: u32,
        /// Some of the addresses.
        addresses: Vec<String>,
        /// The number of addresses.
        address_count: u32,
        /// When they were listed.
        age_ms: u64,
    },
    /// No connection matches the owner's label (Redis).
    NotConnected {
        /// The host or client in the label.
        client: String,
        /// The number of nodes whose connections were listed.
        nodes: u32,
        /// The number of nodes.
        total: u32,
        /// The number of connections without a name, which could belong to the owner.
        unnamed: u32,
        /// When they were listed.
        age_ms: u64,
    },
    /// The console may not list the connections of the nodes (Redis).
    ConnectionsDenied {
        /// The host or client in the label.
        client: String,
    },
    /// A node has more connections than the console lists (Redis).
    TooManyConnections {
        /// The host or client in the label.
        client: String,
        /// Their number.
        count: u64,
    },
    /// This console renews the lock for a client.
    RenewedByConsole,
    /// The lock was acquired through this console, which does not renew it.
    HeldByConsole,
    /// Several owners and none with a quorum, or another owner beside the one with the quorum.
    Split {
        /// The number of owners.
        owners: u32,
    },
    /// The owner is on fewer nodes than the quorum, so it does not hold the lock.
    BelowQuorum {
        /// The number of nodes.
        nodes: u32,
        /// The quorum.
        quorum: u32,
    },
    /// Nodes cannot be reached.
    NodesUnreachable {
        /// Their names.
        nodes: Vec<String>,
        /// The number of configured nodes.
        total: u32,
        /// The age of the last observation.
        age_ms: u64,
    },
    /// Several owners hold the lock at the same time, as its format permits.
    Shared {
        /// The number of owners.
        owners: u32,
    },
}

impl fmt::Display for AdviceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renewing {
                count,
                interval_ms,
                age_ms,
            } => {
                let every = interval_ms.map(|ms| format!(" every {}", span(ms)));
                let every = every.unwrap_or_default();
                let age = span(*age_ms);
                write!(f, "Renews{every}; last renewal {age} ago ({count} in total)")
            }
            Self::RenewalLate {
                missed,
                interval_ms,
                age_ms,
            } => {
                let (interval, age) = (span(*interval_ms), span(*age_ms));
                let renewals = plural(*missed, "renewal");
                write!(f, "Missed {renewals}: expected every {interval}, last one {age} ago")
            }
            Self::NotRenewed {
                held_ms,
                library_interval_ms: None,
            } => write!(f, "Not renewed in {}; its library does not renew by itself", span(*held_ms)),
            Self::NotRenewed {
                held_ms,
                library_interval_ms: Some(interval_ms),
            } => {
                let (held, interval) = (span(*held_ms), span(*interval_ms));
                write!(f, "Not renewed in {held}; its library renews every {interval} unless the caller sets a lease")
            }
            Self::KeepAliveMissing {
                held_ms,
                ends_in_ms,
            } => {
                let (held, left) = (span(*held_ms), span(*ends_in_ms));
                write!(f, "No keep-alive of the lease in {held}, although the library sends them; it ends in {left}")
            }
            Self::WithinUsualHold {
                held_ms,
                p50_ms,
                p99_ms,
                holds,
            } => {
                let [held, p50, p99] = [held_ms, p50_ms, p99_ms].map(|ms| span(*ms));
                let holds = plural(*holds, "hold");
                write!(f, "Held for {held}, within the usual time: median {p50}, p99 {p99} ({holds})")
            }
            Self::LongerThanUsual {
                held_ms,
                p50_ms,
                p99_ms,
                holds,
            } => {
                let [held, p50, p99] = [held_ms, p50_ms, p99_ms].map(|ms| span(*ms));
                let holds = plural(*holds, "hold");
                write!(f, "Held for {held}, longer than usual: median {p50}, p99 {p99} ({holds})")
            }
            Self::BeyondUsualHold {
                held_ms,
                p90_ms,
                overdue_after_ms,
                holds,
            } => {
                let [held, p90, after] = [held_ms, p90_ms, overdue_after_ms].map(|ms| span(*ms));
                let holds = plural(*holds, "hold");
                write!(f, "Held for {held}, far longer than usual: p90 {p90} ({holds}), overdue after {after}")
            }
            Self::NoUsualHold => {
                f.write_str("Too few complete holds were observed to know the usual duration")
            }
            Self::NoExpiry { held_ms } => {
                write!(f, "No expiry; held for {}", span(*held_ms))
            }
            Self::LeaseOver { age_ms } => write!(
                f,
                "The time that the owner announced ended {} ago; the key is still there",
                span(*age_ms)
            ),
            Self::SessionOpen => f.write_str("Its ZooKeeper session is open"),
            Self::SessionDisconnected { ends_in_ms } => write!(
                f,
                "No client is connected to its ZooKeeper session, which ends in {}",
                span(*ends_in_ms)
            ),
            Self::Backend {
                activity,
                in_state_ms,
            } => {
                let since = in_state_ms.map(|ms| format!(" for {}", span(ms)));
                let (activity, since) = (activity.english(), since.unwrap_or_default());
                write!(f, "Its database connection is {activity}{since}")
            }
            Self::HoldsOthers { locks, count } => {
                let others = plural(*count, "other lock");
                write!(f, "A release ends its connection, which holds {others}: {}", locks.join(", "))?;
                match more(locks, *count) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::PreparedTransaction => f.write_str(
                "A prepared transaction holds it; it has no connection and ends with COMMIT PREPARED or ROLLBACK PREPARED",
            ),
            Self::Connected {
                client,
                count,
                address,
                last_command_ms,
            } => {
                let (connections, age) = (plural(*count, "connection"), span(*last_command_ms));
                write!(f, "{connections} of {client} ({address}), last command {age} ago")
            }
            Self::AmbiguousConnections {
                client,
                count,
                addresses,
                address_count,
                age_ms,
            } => {
                let connections = plural(*count, "connection");
                let age = span(*age_ms);
                let shown = addresses.join(", ");
                write!(f, "Ambiguous: {connections} from {address_count} addresses match {client} ({shown}), listed {age} ago")
            }
            Self::NotConnected {
                client,
                nodes,
                total,
                unnamed,
                age_ms,
            } => {
                let age = span(*age_ms);
                write!(f, "No connection of {client} on {nodes} of {total} nodes, listed {age} ago")?;
                match unnamed {
                    _ if has_address(client) => Ok(()),
                    0 => f.write_str("; its clients can have another name"),
                    1 => f.write_str("; 1 connection without a name could belong to it"),
                    _ => write!(f, "; {unnamed} connections without a name could belong to it"),
                }
            }
            Self::ConnectionsDenied { client } => write!(
                f,
                "Connections of {client} are not known: the console's user needs the permission +client|list"
            ),
            Self::TooManyConnections { client, count } => write!(
                f,
                "Connections of {client} are not known: a node has {count}, and at most 10000 are listed"
            ),
            Self::RenewedByConsole => f.write_str("This console renews it for a client"),
            Self::HeldByConsole => {
                f.write_str("It was acquired through this console, without auto-renewal")
            }
            Self::Split { owners } => write!(f, "{owners} owners at the same time"),
            Self::BelowQuorum { nodes, quorum } => {
                let nodes = plural(*nodes, "node");
                write!(f, "On {nodes}, the quorum is {quorum}: the owner does not hold the lock")
            }
            Self::NodesUnreachable {
                nodes,
                total,
                age_ms,
            } => {
                let (names, count, age) = (nodes.join(", "), nodes.len(), span(*age_ms));
                write!(f, "{count} of {total} nodes cannot be reached ({names}); last observation {age} ago")
            }
            Self::Shared { owners } => {
                let owners = plural(*owners, "owner");
                write!(f, "Shared by {owners}; a release ends the hold of one of them")
            }
        }
    }
}

/// How many of the counted names are not listed.
pub fn more(listed: &[String], count: u32) -> u32 {
    count.saturating_sub(u32::try_from(listed.len()).unwrap_or(u32::MAX))
}

/// A count with its noun.
pub(super) fn plural(n: u32, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}
