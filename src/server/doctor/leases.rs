//! Rules about observed leases: none, too short, too long, renewed too late or for too long.

use std::time::Duration;

use super::lease_statistics::LockSample;
use super::{GroupFacts, Rule, finding_about_group};
use crate::domain::finding::{Finding, FindingEvidence, FindingKind, ObservedFact, Severity};

pub(super) const RULES: &[Rule] = &[
    check_no_expiry,
    check_endless_holds,
    check_short_leases,
    check_lease_against_latency,
    check_max_lease,
    check_late_renewals,
];

/// The rules that apply to services other than Redis too.
pub(super) const SERVICE_RULES: &[Rule] = &[check_endless_holds];

/// Pauses of processes and networks occasionally last this long.
const MIN_LEASE: Duration = Duration::from_secs(1);

/// A lease should last at least this many round trips: an acquire takes two, and each renewal takes
/// one more.
const MIN_ROUND_TRIPS: u32 = 20;

fn check_no_expiry(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = &facts.leases.no_expiry;
    let kind = FindingKind::LocksWithoutExpiry {
        count: affected.count,
        all: facts.leases.lock_count,
    };
    finding_about_locks(kind, Severity::Warning, affected)
}

fn check_endless_holds(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = &facts.leases.endless;
    let kind = FindingKind::EndlessRenewals {
        count: affected.count,
        max_hold: facts.config.locking.max_hold,
    };
    finding_about_locks(kind, Severity::Note, affected)
}

/// The finding about these locks; `None` without locks.
fn finding_about_locks(
    kind: FindingKind,
    severity: Severity,
    affected: &LockSample,
) -> Option<Finding> {
    (affected.count > 0).then(|| finding_about_group(kind, severity, affected.evidence()))
}

/// The leases, each with the name of its lock.
pub(super) fn lease_evidence(leases: Vec<&(Duration, String)>) -> Vec<FindingEvidence> {
    let describe = |(lease, name): &(Duration, String)| {
        FindingEvidence::about(&**name, ObservedFact::Lease(*lease))
    };
    leases.into_iter().map(describe).collect()
}

fn check_short_leases(facts: &GroupFacts<'_>) -> Option<Finding> {
    let short = facts.leases.shorter_than(MIN_LEASE);
    let kind = FindingKind::LeasesTooShort { limit: MIN_LEASE };
    (!short.is_empty()).then(|| finding_about_group(kind, Severity::Warning, lease_evidence(short)))
}

fn check_lease_against_latency(facts: &GroupFacts<'_>) -> Option<Finding> {
    let mut trips: Vec<Duration> = facts
        .nodes_up()
        .filter_map(|node| node.view.latency_ms)
        .map(|ms| Duration::from_secs_f64(ms / 1e3))
        .collect();
    trips.sort_unstable();
    // The latency of a quorum is that of its slowest member: the Q-th fastest node.
    let trip = *trips.get(facts.quorum.checked_sub(1)?)?;
    let short = facts.leases.shorter_than(trip * MIN_ROUND_TRIPS);
    let kind = FindingKind::LatencyNearLease {
        round_trips: MIN_ROUND_TRIPS,
        round_trip: trip,
    };
    (!short.is_empty()).then(|| finding_about_group(kind, Severity::Warning, lease_evidence(short)))
}

fn check_max_lease(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (longest, max_lease) = (facts.leases.longest, facts.config.locking.max_lease);
    let kind = FindingKind::LeaseAboveMaxLease {
        longest,
        max_lease,
        sufficient: next_full_hour(longest),
    };
    let evidence = ObservedFact::Lock(facts.leases.longest_name.clone());
    (longest > max_lease)
        .then(|| finding_about_group(kind, Severity::Warning, vec![evidence.into()]))
}

/// Rounds up to the next full hour.
fn next_full_hour(span: Duration) -> Duration {
    Duration::from_hours(span.as_secs() / 3_600 + 1)
}

fn check_late_renewals(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = &facts.leases.late_renewals;
    let kind = FindingKind::LateRenewals {
        count: affected.count,
    };
    finding_about_locks(kind, Severity::Warning, affected)
}

#[cfg(test)]
mod tests;
