//! The renewal interval of an owner, and when a lock has to be polled again without a notification.
//! No I/O.

use std::time::Duration;

use super::history::HoldExpectation;
use crate::domain::renewal_stats::late_after_ms;
use crate::domain::{Flag, Format, Lock, Observation, RenewalStats, Timestamp, Verdict};

/// Deadlines this close together are checked by one poll after the last of them.
const DEADLINE_BATCH_WINDOW: Duration = Duration::from_millis(60);
/// The uncertainty of the recorded end of an expired hold.
const EXPIRY_UNCERTAINTY_MS: u64 = 500;
/// Delay of a poll after a deadline. Redis deletes an expired key on the next access to it.
const POLL_DELAY_AFTER_DEADLINE: Duration = Duration::from_millis(3);

/// Statistics of the intervals between one owner's renewals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RenewalTracker {
    first_at: Option<Timestamp>,
    /// The number of intervals.
    interval_count: u32,
    /// Mean and sum of squared deviations (Welford's algorithm), in milliseconds.
    mean_ms: f64,
    squared_deviations: f64,
    missed: u32,
}

impl RenewalTracker {
    /// Shifts wall-clock times after a clock step. Intervals do not change.
    pub(super) fn apply_clock_step(&mut self, ms: i64) {
        self.first_at = self.first_at.map(|at| at.plus_millis(ms));
    }

    /// Records `count` renewals observed at `now`.
    pub(super) fn record(
        &mut self,
        renewals: &mut RenewalStats,
        count: u32,
        margin_ms: Option<u64>,
        now: Timestamp,
    ) {
        if let Some(last) = renewals.last_at {
            let elapsed_ms = now.millis_since(last).max(0) as f64;
            if is_late(renewals, now) {
                let missed = (elapsed_ms / renewals.interval_ms.unwrap_or(1).max(1) as f64).round();
                self.missed = self
                    .missed
                    .saturating_add((missed as u32).saturating_sub(1).max(1));
            }
            // Renewals observed together are assumed to be evenly spaced.
            let interval = elapsed_ms / f64::from(count);
            renewals.record_intervals(count, interval.round() as u32);
            let before = f64::from(self.interval_count);
            self.interval_count = self.interval_count.saturating_add(count);
            let deviation = interval - self.mean_ms;
            self.mean_ms += deviation * f64::from(count) / f64::from(self.interval_count);
            self.squared_deviations +=
                deviation * deviation * before * f64::from(count) / f64::from(self.interval_count);
        }
        let first = *self.first_at.get_or_insert(now);
        let span_ms = u64::try_from(now.millis_since(first)).unwrap_or(0);
        renewals.count = renewals.count.saturating_add(count);
        renewals.interval_ms = (self.interval_count > 0 && span_ms > 0)
            .then(|| span_ms / u64::from(self.interval_count));
        renewals.per_minute = renewals
            .interval_ms
            .map(|interval_ms| (600_000.0 / interval_ms.max(1) as f64).round() / 10.0);
        renewals.jitter_ms = (self.interval_count > 1).then(|| {
            (self.squared_deviations / f64::from(self.interval_count))
                .sqrt()
                .round() as u64
        });
        renewals.margin_ms = margin_ms;
        renewals.min_margin_ms = renewals.min_margin_ms.into_iter().chain(margin_ms).min();
        renewals.last_at = Some(now);
    }

    /// Updates the number of missed renewals as of `now`.
    pub(super) fn count_missed(&self, renewals: &mut RenewalStats, now: Timestamp) {
        let late = renewals
            .interval_ms
            .zip(renewals.last_at)
            .filter(|_| is_late(renewals, now))
            .map_or(0, |(interval_ms, last)| {
                let elapsed_ms = u64::try_from(now.millis_since(last)).unwrap_or(0);
                u32::try_from(elapsed_ms / interval_ms.max(1)).unwrap_or(u32::MAX)
            });
        renewals.missed_renewals = self.missed.saturating_add(late);
    }
}

/// A renewal is late when 1.5 intervals plus one second have passed since the last one.
pub(super) fn is_late(renewals: &RenewalStats, now: Timestamp) -> bool {
    late_at(renewals).is_some_and(|late_at| now >= late_at)
}

fn late_at(renewals: &RenewalStats) -> Option<Timestamp> {
    let (interval_ms, last) = renewals.interval_ms.zip(renewals.last_at)?;
    Some(last.plus_millis(grace_ms(interval_ms)))
}

/// Milliseconds after a renewal at which the next one is late.
fn grace_ms(interval_ms: u64) -> i64 {
    i64::try_from(late_after_ms(interval_ms)).unwrap_or(i64::MAX)
}

/// When a lock becomes at risk of expiring while its owner still needs it; `None` if there is no
/// sign of that.
///
/// - Two renewals or more: when the next one is late by the owner's own interval.
/// - One renewal: when the next one is late by the library's default interval, at the latest in the
///   last fifth of the lease.
/// - None: in the last fifth of the lease, if half of the earlier holds lasted longer than the
///   lease. Most locks that are never renewed are meant to end within their lease.
pub(super) fn at_risk_from(
    lock: &Lock,
    full_lease_ms: u64,
    expectation: Option<HoldExpectation>,
) -> Option<Timestamp> {
    let renewals = &lock.renewals;
    let others = lock.holders.iter().skip(1);
    let others_at_risk = others.filter_map(|holder| late_at(&holder.renewals)).min();
    if renewals.interval_ms.is_some() {
        return late_at(renewals).into_iter().chain(others_at_risk).min();
    }
    let leader_at_risk = leader_at_risk_from(lock, full_lease_ms, expectation);
    leader_at_risk.into_iter().chain(others_at_risk).min()
}

fn leader_at_risk_from(
    lock: &Lock,
    full_lease_ms: u64,
    expectation: Option<HoldExpectation>,
) -> Option<Timestamp> {
    let renewals = &lock.renewals;
    let deadline = lock.lease.expires_at()?;
    let fifth = i64::try_from(full_lease_ms / 5).unwrap_or(i64::MAX);
    let last_fifth = deadline.plus_millis(1 - fifth);
    if renewals.count == 0 {
        let lease_ms = u64::try_from(deadline.millis_since(lock.acquired_at)).unwrap_or(0);
        // Expired holds appear slightly longer than their lease, by the delay of polling.
        let max_expected_ms = lease_ms + lease_ms / 10 + EXPIRY_UNCERTAINTY_MS;
        let outlives =
            expectation.is_some_and(|expectation| expectation.median_ms > max_expected_ms);
        return outlives.then_some(last_fifth);
    }
    // The library's interval scales with the length of the lease.
    let default_interval_ms = lock.format.default_renewal().map(|renewal| {
        full_lease_ms.saturating_mul(renewal.interval_ms.into())
            / u64::from(renewal.lease_ms.max(1))
    });
    let last = renewals.last_at.zip(default_interval_ms);
    let late = last.map(|(last, interval_ms)| last.plus_millis(grace_ms(interval_ms)));
    Some(late.map_or(last_fifth, |late| late.min(last_fifth)))
}

/// When a lock observed at `now` has to be polled again without a notification: at a deadline, or
/// when it becomes at risk or endless.
pub(super) fn next_check_at(
    lock: &Lock,
    full_lease_ms: u64,
    expectation: Option<HoldExpectation>,
    max_hold: Duration,
    now: Timestamp,
) -> Option<Timestamp> {
    let is_not_at_risk = lock.verdict == Verdict::Held && !lock.has_flag(Flag::AtRisk);
    let at_risk = at_risk_from(lock, full_lease_ms, expectation);
    let endless_at = lock.acquired_at.plus(max_hold).plus_millis(1);
    let may_become_endless = lock.renewals.count > 0 && !lock.has_flag(Flag::Endless);
    [
        next_expiry_check(lock, now),
        at_risk.filter(|_| is_not_at_risk),
        Some(endless_at).filter(|_| may_become_endless),
    ]
    .into_iter()
    .flatten()
    .filter(|at| *at > now)
    .min()
}

/// When a lock becomes overdue; `None` if that is unknown or flagged already.
pub(super) fn overdue_at(lock: &Lock, expectation: Option<HoldExpectation>) -> Option<Timestamp> {
    let after = Duration::from_millis(expectation?.overdue_after_ms.saturating_add(1));
    (!lock.has_flag(Flag::Overdue)).then(|| lock.acquired_at.plus(after))
}

/// Shortly after the first deadline on a node and others close to it.
fn next_expiry_check(lock: &Lock, now: Timestamp) -> Option<Timestamp> {
    let deadlines = lock
        .nodes
        .iter()
        .filter_map(|node| match &node.observation {
            Observation::Holds { lease, .. } => lease.expires_at(),
            Observation::Absent | Observation::Unreachable { .. } => None,
        });
    let holder_deadlines = lock.holders.iter().filter_map(|holder| holder.expires_at);
    let deadlines = deadlines.chain(holder_deadlines);
    // A deadline that has just passed while the key still exists will pass on the node's clock in a
    // moment. A deadline in a value may be long past.
    let is_upcoming =
        |deadline: &Timestamp| *deadline > now || now.since(*deadline) < DEADLINE_BATCH_WINDOW;
    let deadlines: Vec<Timestamp> = if lock.format == Format::LegacyTimestamp {
        deadlines.filter(|deadline| *deadline > now).collect()
    } else {
        deadlines.filter(is_upcoming).collect()
    };
    let first = deadlines.iter().min()?;
    let batch = deadlines
        .iter()
        .filter(|deadline| deadline.since(*first) <= DEADLINE_BATCH_WINDOW);
    let at = batch.max()?.plus(POLL_DELAY_AFTER_DEADLINE);
    Some(at.max(now.plus(POLL_DELAY_AFTER_DEADLINE)))
}
