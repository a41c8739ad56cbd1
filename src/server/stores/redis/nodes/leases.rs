//! Tracks the leases observed and granted in a group. When a node loses its locks, they bound how
//! long a lost lock could still be held.
//!
//! **Observed locks.** The console repeatedly reads every lock that its scans and change feed find,
//! so it knows when each of them would have expired. It also knows every lease that it granted
//! itself. The latest expiry bounds the observed locks.
//!
//! **Unobserved locks.** A lock that another client acquired or extended after the last complete
//! observation is unknown. It was acquired before the node restarted, so it expires at most one
//! lease after the restart. Its lease is assumed to be no longer than the longest one that was
//! observed or granted recently: full leases are seen when a lock is acquired or extended, and
//! existing locks count with their remaining lease. Adding only the age of the last scan pass to
//! the latest expiry would not suffice: a lock acquired just after the pass has its full lease
//! left.
//!
//! How much depends on that assumption depends on how long ago a node was observed completely. With
//! a change feed that is a moment; without one, scan passes over small nodes follow one another
//! within a second. If the last complete pass over the node is older than
//! [`super::restart::min_start_gap`], or there was none, or no lease was observed, nothing counts
//! as observed. Then [`OutstandingLease::max_lease`] is the bound, as it is the upper bound in
//! every case. And a lock that the console never saw is lost only if a majority of the nodes lost
//! it within that moment: a node that kept it, or lost it later, has shown it.
//!
//! A lock without an expiry counts with the maximum lease for as long as it is observed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::restart::{self, OutstandingLease};

/// How long the longest lease is kept, at least; at most twice as long.
const MAX_LEASE_WINDOW: Duration = Duration::from_mins(30);

/// The maximum number of nodes with a recorded pass. In a cluster whose nodes change, the oldest is
/// dropped beyond that.
const MAX_NODES: usize = 1_024;

/// The leases observed in one group.
#[derive(Debug, Default)]
pub struct LeaseTracker(Mutex<LeaseState>);

#[derive(Debug, Default)]
struct LeaseState {
    /// The latest expiry of all observed leases.
    latest_expiry: Option<Instant>,
    /// The longest lease of each of two consecutive periods, and when the later one started.
    max_lease_by_period: [Option<Duration>; 2],
    period_started_at: Option<Instant>,
    /// When the last complete pass over each node started.
    pass_started_at: BTreeMap<String, Instant>,
}

impl LeaseTracker {
    /// Records a granted lease, or the remaining lease of an observed lock.
    pub fn record_lease(&self, lease: Duration, now: Instant) {
        self.state().record_lease(lease, now);
    }

    /// Records a complete scan pass over a node that started at `began`.
    pub fn record_scan_pass(&self, node: &str, began: Instant) {
        let mut observed = self.state();
        observed.pass_started_at.insert(node.to_owned(), began);
        if observed.pass_started_at.len() > MAX_NODES {
            let oldest = observed
                .pass_started_at
                .iter()
                .min_by_key(|(_, began)| **began);
            let oldest = oldest.map(|(node, _)| node.clone());
            oldest.and_then(|node| observed.pass_started_at.remove(&node));
        }
    }

    /// How long a lock that this node loses now could still be held.
    pub fn outstanding(&self, node: &str, max_lease: Duration, now: Instant) -> OutstandingLease {
        let left = self.state().remaining(node, max_lease, now);
        OutstandingLease {
            max_lease,
            remaining: left.map_or(max_lease, |left| left.min(max_lease)),
        }
    }

    /// The observed leases, for a group that replaces this one. Scan passes are not carried over:
    /// the new group's nodes must be scanned again.
    #[must_use]
    pub fn carried_over(&self) -> Self {
        let observed = self.state();
        Self(Mutex::new(LeaseState {
            latest_expiry: observed.latest_expiry,
            max_lease_by_period: observed.max_lease_by_period,
            period_started_at: observed.period_started_at,
            pass_started_at: BTreeMap::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.0.lock()
    }
}

impl LeaseState {
    fn record_lease(&mut self, lease: Duration, now: Instant) {
        let began = *self.period_started_at.get_or_insert(now);
        let since = now.saturating_duration_since(began);
        if since >= MAX_LEASE_WINDOW {
            let [_, last] = self.max_lease_by_period;
            // If a whole period passed without leases, the period before it is too old.
            self.max_lease_by_period = [last.filter(|_| since < MAX_LEASE_WINDOW * 2), None];
            self.period_started_at = Some(now);
        }
        self.max_lease_by_period[1] = self.max_lease_by_period[1].max(Some(lease));
        self.latest_expiry = self.latest_expiry.max(now.checked_add(lease));
    }

    fn remaining(&self, node: &str, max_lease: Duration, now: Instant) -> Option<Duration> {
        let pass = *self.pass_started_at.get(node)?;
        // After an older pass, locks may have been acquired and lost unobserved.
        if now.saturating_duration_since(pass) > restart::min_start_gap(max_lease) {
            return None;
        }
        let [before, last] = self.max_lease_by_period;
        // An unobserved lock has at most the longest recent lease ahead of it; without any lease
        // there is no estimate.
        let unobserved = before.max(last)?;
        let observed = self.latest_expiry?.saturating_duration_since(now);
        Some(observed.max(unobserved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const MINUTE: Duration = Duration::from_mins(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn remaining(leases: &LeaseTracker, now: Instant) -> Duration {
        leases.outstanding("a", HOUR, now).remaining
    }

    #[test]
    fn without_a_complete_pass_or_a_lease_the_maximum_is_assumed() {
        let (leases, now) = (LeaseTracker::default(), Instant::now());
        assert_eq!(remaining(&leases, now), HOUR, "nothing was observed");
        leases.record_lease(SECOND, now);
        assert_eq!(remaining(&leases, now), HOUR, "the node was not scanned");
        leases.record_scan_pass("b", now);
        assert_eq!(remaining(&leases, now), HOUR, "another node was");
        leases.record_scan_pass("a", now);
        assert_eq!(remaining(&leases, now), SECOND);
        assert_eq!(remaining(&leases, now + MINUTE * 6), HOUR, "too long ago");
        let leases = LeaseTracker::default();
        leases.record_scan_pass("a", now);
        assert_eq!(remaining(&leases, now), HOUR, "no lease was observed");
    }

    #[test]
    fn an_unobserved_lock_may_have_the_longest_lease_and_an_observed_one_its_own() {
        let (leases, now) = (LeaseTracker::default(), Instant::now());
        leases.record_lease(MINUTE * 50, now);
        leases.record_lease(SECOND * 10, now + MINUTE);
        for (after, expected) in [
            (Duration::ZERO, MINUTE * 50),
            // It has expired, but a similar one may have been acquired unobserved.
            (MINUTE * 29, MINUTE * 50),
        ] {
            leases.record_scan_pass("a", now + after);
            assert_eq!(remaining(&leases, now + after), expected, "{after:?}");
        }
        // The long lease is no longer kept; its expiry is.
        for after in [MINUTE * 31, MINUTE * 45] {
            leases.record_lease(SECOND * 10, now + after);
        }
        leases.record_lease(SECOND * 10, now + MINUTE * 62);
        leases.record_scan_pass("a", now + MINUTE * 62);
        assert_eq!(remaining(&leases, now + MINUTE * 62), SECOND * 10);
    }

    #[test]
    fn the_bound_never_exceeds_the_maximum_lease() {
        let (leases, now) = (LeaseTracker::default(), Instant::now());
        leases.record_lease(HOUR * 24 * 365 * 1_000, now);
        leases.record_scan_pass("a", now);
        assert_eq!(remaining(&leases, now), HOUR);
    }

    #[test]
    fn a_replacing_group_inherits_leases_but_not_scan_passes() {
        let (leases, now) = (LeaseTracker::default(), Instant::now());
        leases.record_lease(SECOND * 10, now);
        leases.record_scan_pass("a", now);
        let next = leases.carried_over();
        assert_eq!(remaining(&next, now), HOUR);
        next.record_scan_pass("a", now);
        assert_eq!(remaining(&next, now), SECOND * 10);
    }
}
