//! Signs of life of an owner: each fact with what it says about the owner.

use super::{AdviceInputs, AdviceReason, BackendActivity, FoundConnections, HolderState};
use crate::domain::library::ReleaseStrategy;
use crate::domain::renewal_stats::late_after_ms;
use crate::domain::{Flag, Format, Lease, Mode, RenewalStats, Timestamp, Verdict, quorum};

/// A database connection that waits for longer than this for its next statement in an open
/// transaction is no sign of life: clients send statements of one transaction in quick succession.
const IDLE_IN_TRANSACTION_MS: u64 = 60_000;
/// A client whose last command is older than this may be gone without having closed its connections.
const RECENT_COMMAND_MS: u64 = 60_000;
/// An acquire that failed is rolled back within seconds.
const ROLLBACK_MS: u64 = 10_000;
/// The number of missing renewals from which an owner counts as silent. A single one can be a pause
/// of its process or of the network.
const SILENT_AFTER: u64 = 2;

/// What a fact says about the owner, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// The owner was active just now.
    Alive,
    /// A sign of life is missing that was expected.
    Silent,
    /// A sign of life is late or ambiguous.
    Doubtful,
    /// Nothing speaks against the owner.
    LikelyAlive,
    /// The hold is much longer than usual.
    LikelySilent,
    /// The fact says nothing about the owner.
    Neutral,
}

/// The times of the hold that would be released.
pub(super) struct TargetHold<'a> {
    pub(super) held_ms: u64,
    pub(super) renewals: &'a RenewalStats,
    pub(super) expires_at: Option<Timestamp>,
    acquired_at: Timestamp,
}

impl<'a> TargetHold<'a> {
    /// The hold of the chosen owner, or the lock's first one.
    pub(super) fn of(inputs: &AdviceInputs<'a>) -> Self {
        let lock = inputs.lock;
        let holder = inputs.owner.and_then(|owner| lock.holder(owner));
        let (acquired_at, renewals, expires_at) = match holder {
            Some(holder) => (holder.acquired_at, &holder.renewals, holder.expires_at),
            None => (lock.acquired_at, &lock.renewals, lock.lease.expires_at()),
        };
        Self {
            held_ms: age_ms(acquired_at, inputs.now),
            renewals,
            expires_at,
            acquired_at,
        }
    }

    /// The lease after the last renewal, or since the acquire.
    pub(super) fn full_lease_ms(&self) -> Option<u64> {
        let start = self.renewals.last_at.unwrap_or(self.acquired_at);
        self.expires_at.map(|at| age_ms(start, at))
    }

    /// The interval at which the owner renews: as observed, else the default of its library in
    /// proportion to the lease.
    pub(super) fn expected_interval_ms(&self, format: Format) -> Option<u64> {
        let default = || {
            let default = format.default_renewal()?;
            let lease_ms = self.full_lease_ms()?;
            let interval_ms = lease_ms.saturating_mul(default.interval_ms.into());
            Some(interval_ms / u64::from(default.lease_ms.max(1)))
        };
        self.renewals.interval_ms.or_else(default)
    }
}

/// All facts about the hold, with their signs.
pub(super) fn signs(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>) -> Vec<(Sign, AdviceReason)> {
    let of_service = holder_sign(inputs).or_else(|| session_sign(inputs));
    let renewal = renewal_sign(inputs, hold);
    let duration = duration_sign(inputs, hold);
    let expiry = expiry_sign(inputs, hold);
    let connections = connection_sign(inputs);
    let others = others_sign(inputs);
    let facts = [of_service, others, renewal, connections, duration, expiry];
    facts
        .into_iter()
        .flatten()
        .chain(node_signs(inputs, hold))
        .collect()
}

fn holder_sign(inputs: &AdviceInputs<'_>) -> Option<(Sign, AdviceReason)> {
    let fact = match inputs.holder? {
        HolderState::ConsoleHold { auto_renew: true } => {
            (Sign::Alive, AdviceReason::RenewedByConsole)
        }
        HolderState::ConsoleHold { auto_renew: false } => {
            (Sign::Neutral, AdviceReason::HeldByConsole)
        }
        HolderState::PreparedTransaction => (Sign::Silent, AdviceReason::PreparedTransaction),
        HolderState::Backend {
            activity,
            in_state_ms,
            ..
        } => {
            let (activity, in_state_ms) = (*activity, *in_state_ms);
            let is_waiting = activity == BackendActivity::IdleInTransaction
                && in_state_ms.is_some_and(|ms| ms > IDLE_IN_TRANSACTION_MS);
            let sign = if is_waiting {
                Sign::Doubtful
            } else {
                Sign::Alive
            };
            let reason = AdviceReason::Backend {
                activity,
                in_state_ms,
            };
            (sign, reason)
        }
    };
    Some(fact)
}

/// What else ends with the connection of the owner. It says nothing about the owner.
fn others_sign(inputs: &AdviceInputs<'_>) -> Option<(Sign, AdviceReason)> {
    match inputs.holder? {
        HolderState::Backend {
            other_locks,
            other_lock_count: count @ 1..,
            ..
        } => {
            let (locks, count) = (other_locks.clone(), *count);
            Some((Sign::Neutral, AdviceReason::HoldsOthers { locks, count }))
        }
        HolderState::Backend { .. }
        | HolderState::ConsoleHold { .. }
        | HolderState::PreparedTransaction => None,
    }
}

/// The connections of clients with the owner's name or address. They show that a process runs, not
/// that it holds the lock: a missing renewal says more.
fn connection_sign(inputs: &AdviceInputs<'_>) -> Option<(Sign, AdviceReason)> {
    let connections = inputs.connections?;
    let client = connections.client.clone();
    let age_ms = age_ms(connections.read_at, inputs.now);
    let (nodes, total) = (connections.nodes, connections.total);
    let fact = match &connections.found {
        FoundConnections::One {
            count,
            address,
            idle_ms,
        } => {
            let last_command_ms = idle_ms.saturating_add(age_ms);
            let sign = match last_command_ms <= RECENT_COMMAND_MS {
                true => Sign::LikelyAlive,
                false => Sign::Neutral,
            };
            let reason = AdviceReason::Connected {
                client,
                count: *count,
                address: address.clone(),
                last_command_ms,
            };
            (sign, reason)
        }
        FoundConnections::Ambiguous {
            count,
            addresses,
            address_count,
        } => {
            let reason = AdviceReason::AmbiguousConnections {
                client,
                count: *count,
                addresses: addresses.clone(),
                address_count: *address_count,
                age_ms,
            };
            (Sign::Neutral, reason)
        }
        FoundConnections::None { unnamed } => {
            let sign = match connections.is_conclusive() {
                true => Sign::LikelySilent,
                false => Sign::Neutral,
            };
            let reason = AdviceReason::NotConnected {
                client,
                nodes,
                total,
                unnamed: *unnamed,
                age_ms,
            };
            (sign, reason)
        }
        FoundConnections::Denied => (Sign::Neutral, AdviceReason::ConnectionsDenied { client }),
        FoundConnections::TooMany { count } => {
            let reason = AdviceReason::TooManyConnections {
                client,
                count: *count,
            };
            (Sign::Neutral, reason)
        }
    };
    Some(fact)
}

/// A ZooKeeper session. The service only reports an end for a session without a client.
fn session_sign(inputs: &AdviceInputs<'_>) -> Option<(Sign, AdviceReason)> {
    let format = inputs.lock.format;
    let is_zookeeper = format.library().release_strategy == ReleaseStrategy::ZookeeperNode
        || format == Format::EphemeralNode;
    match inputs.lock.lease {
        Lease::Session if is_zookeeper => Some((Sign::Alive, AdviceReason::SessionOpen)),
        Lease::Expires { at, .. } if is_zookeeper => {
            let ends_in_ms = age_ms(inputs.now, at);
            let reason = AdviceReason::SessionDisconnected { ends_in_ms };
            Some((Sign::Silent, reason))
        }
        Lease::Session | Lease::Expires { .. } | Lease::Never => None,
    }
}

fn renewal_sign(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>) -> Option<(Sign, AdviceReason)> {
    let format = inputs.lock.format;
    let is_without_lease = inputs.lock.lease == Lease::Session;
    let Some(last_at) = hold.renewals.last_at.filter(|_| hold.renewals.count > 0) else {
        return match hold.expires_at {
            _ if is_without_lease => None,
            Some(at) if format.library().release_strategy == ReleaseStrategy::EtcdKey => {
                keep_alive_sign(inputs.now, hold, at)
            }
            Some(_) => Some(not_renewed(format, hold)),
            None => None,
        };
    };
    let age_ms = age_ms(last_at, inputs.now);
    // A single renewal of a library without a default shows no interval. Libraries renew after a
    // third to two thirds of the lease.
    let interval_ms = hold
        .expected_interval_ms(format)
        .or_else(|| hold.full_lease_ms().map(|ms| ms / 2))?
        .max(1);
    if age_ms <= late_after_ms(interval_ms) {
        let reason = AdviceReason::Renewing {
            count: hold.renewals.count,
            interval_ms: hold.renewals.interval_ms,
            age_ms,
        };
        return Some((Sign::Alive, reason));
    }
    let missed = (age_ms / interval_ms).max(1);
    let sign = match missed >= SILENT_AFTER {
        true => Sign::Silent,
        false => Sign::Doubtful,
    };
    let reason = AdviceReason::RenewalLate {
        missed: u32::try_from(missed).unwrap_or(u32::MAX),
        interval_ms,
        age_ms,
    };
    Some((sign, reason))
}

fn not_renewed(format: Format, hold: &TargetHold<'_>) -> (Sign, AdviceReason) {
    // Not a sign of silence: with a lease of its caller, a library does not renew either.
    let reason = AdviceReason::NotRenewed {
        held_ms: hold.held_ms,
        library_interval_ms: hold.expected_interval_ms(format),
    };
    (Sign::Neutral, reason)
}

/// The sessions of etcd's client libraries renew after a third of the lease, without exception.
fn keep_alive_sign(
    now: Timestamp,
    hold: &TargetHold<'_>,
    ends_at: Timestamp,
) -> Option<(Sign, AdviceReason)> {
    let third_ms = hold.full_lease_ms()? / 3;
    let is_due = hold.held_ms > late_after_ms(third_ms);
    let reason = AdviceReason::KeepAliveMissing {
        held_ms: hold.held_ms,
        ends_in_ms: age_ms(now, ends_at),
    };
    is_due.then_some((Sign::Silent, reason))
}

fn duration_sign(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>) -> Option<(Sign, AdviceReason)> {
    let held_ms = hold.held_ms;
    let stats = inputs.hold_stats;
    let overdue_after_ms = stats.and_then(|stats| stats.overdue_after_ms());
    let (Some(stats), Some(overdue_after_ms)) = (stats, overdue_after_ms) else {
        return Some((Sign::Neutral, AdviceReason::NoUsualHold));
    };
    let (p50_ms, p99_ms, holds) = (stats.p50_ms, stats.p99_ms, stats.count);
    let fact = if held_ms > overdue_after_ms {
        let reason = AdviceReason::BeyondUsualHold {
            held_ms,
            p90_ms: stats.p90_ms,
            overdue_after_ms,
            holds,
        };
        (Sign::LikelySilent, reason)
    } else if held_ms > p99_ms {
        let reason = AdviceReason::LongerThanUsual {
            held_ms,
            p50_ms,
            p99_ms,
            holds,
        };
        (Sign::Neutral, reason)
    } else {
        let reason = AdviceReason::WithinUsualHold {
            held_ms,
            p50_ms,
            p99_ms,
            holds,
        };
        (Sign::LikelyAlive, reason)
    };
    Some(fact)
}

fn expiry_sign(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>) -> Option<(Sign, AdviceReason)> {
    let now = inputs.now;
    match inputs.lock.lease {
        Lease::Never => {
            let held_ms = hold.held_ms;
            Some((Sign::Neutral, AdviceReason::NoExpiry { held_ms }))
        }
        Lease::Expires { at, .. } if inputs.lock.is_past_lease(now) => {
            let age_ms = age_ms(at, now);
            Some((Sign::Silent, AdviceReason::LeaseOver { age_ms }))
        }
        Lease::Expires { .. } | Lease::Session => None,
    }
}

/// What the nodes show beside the owner.
fn node_signs(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>) -> Vec<(Sign, AdviceReason)> {
    let lock = inputs.lock;
    let owners = count(lock.owners.len());
    let nodes = || lock.nodes.iter();
    let owner = inputs
        .owner
        .or_else(|| lock.owners.first().map(|owner| &owner.fingerprint));
    let shows_owner = nodes().filter(|node| {
        let mut owners = node.observation.owners();
        owners.any(|shown| Some(&shown.fingerprint) == owner)
    });
    let on = count(shows_owner.count());
    let is_split = lock.verdict == Verdict::Split || lock.has_flag(Flag::Split);
    let split = is_split.then_some((Sign::Neutral, AdviceReason::Split { owners }));
    let below = matches!(lock.verdict, Verdict::Partial | Verdict::Split).then(|| {
        let quorum = count(quorum::majority(lock.nodes.len()));
        let is_left_over = lock.verdict == Verdict::Partial && hold.held_ms > ROLLBACK_MS;
        let sign = match is_left_over {
            true => Sign::LikelySilent,
            false => Sign::Neutral,
        };
        (sign, AdviceReason::BelowQuorum { nodes: on, quorum })
    });
    let is_shared = lock.mode == Mode::Shared && owners > 1;
    let shared = is_shared.then_some((Sign::Neutral, AdviceReason::Shared { owners }));
    let unreachable = nodes().filter(|node| !node.observation.is_reachable());
    let names: Vec<String> = unreachable.map(|node| node.node.clone()).collect();
    let unreachable = (!names.is_empty()).then(|| {
        let reason = AdviceReason::NodesUnreachable {
            nodes: names,
            total: count(lock.nodes.len()),
            age_ms: age_ms(lock.observed_at, inputs.now),
        };
        (Sign::Neutral, reason)
    });
    [split, below, shared, unreachable]
        .into_iter()
        .flatten()
        .collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The milliseconds from one time to a later one.
pub(super) fn age_ms(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.millis_since(from)).unwrap_or(0)
}
