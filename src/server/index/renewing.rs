//! Pure: the beat at which an owner renews, and when a lock wants to be looked at though nobody tells of a change.

use std::time::Duration;

use super::history::Expected;
use crate::domain::{Answer, Flag, Format, Lock, Renewals, Timestamp, Verdict};

/// Deadlines this close to one another are looked at in one go, after the last.
const ONE_GO: Duration = Duration::from_millis(60);
/// The end of a hold that expired is known this exactly.
const EXPIRES_WITHIN_MS: u64 = 500;
/// Servers let go of a key at its deadline only when it is asked for: we ask this much later.
const AFTER_A_DEADLINE: Duration = Duration::from_millis(3);

/// The times between the renewals of one owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Beat {
    first_at: Option<Timestamp>,
    /// How many times there were between two.
    steps: u32,
    /// Their mean and the sum of squared distances from it (Welford), in milliseconds.
    mean: f64,
    squares: f64,
    missed: u32,
}

impl Beat {
    /// The wall clock was set by so many milliseconds: the time from one to the next is not changed by that.
    pub(super) fn shift(&mut self, ms: i64) {
        self.first_at = self.first_at.map(|at| at.plus_millis(ms));
    }

    /// So many renewals came to light at `now`.
    pub(super) fn renewed(
        &mut self,
        renewals: &mut Renewals,
        many: u32,
        margin_ms: Option<u64>,
        now: Timestamp,
    ) {
        if let Some(last) = renewals.last_at {
            let apart_ms = now.millis_since(last).max(0) as f64;
            if is_late(renewals, now) {
                let missed = (apart_ms / renewals.every_ms.unwrap_or(1).max(1) as f64).round();
                self.missed = self
                    .missed
                    .saturating_add((missed as u32).saturating_sub(1).max(1));
            }
            // Several at once are taken for evenly spread.
            let step = apart_ms / f64::from(many);
            renewals.remember(many, step.round() as u32);
            let before = f64::from(self.steps);
            self.steps = self.steps.saturating_add(many);
            let off = step - self.mean;
            self.mean += off * f64::from(many) / f64::from(self.steps);
            self.squares += off * off * before * f64::from(many) / f64::from(self.steps);
        }
        let first = *self.first_at.get_or_insert(now);
        let span_ms = u64::try_from(now.millis_since(first)).unwrap_or(0);
        renewals.count = renewals.count.saturating_add(many);
        renewals.every_ms =
            (self.steps > 0 && span_ms > 0).then(|| span_ms / u64::from(self.steps));
        renewals.per_minute = renewals
            .every_ms
            .map(|every| (600_000.0 / every.max(1) as f64).round() / 10.0);
        renewals.jitter_ms =
            (self.steps > 1).then(|| (self.squares / f64::from(self.steps)).sqrt().round() as u64);
        renewals.margin_ms = margin_ms;
        renewals.smallest_margin_ms = renewals
            .smallest_margin_ms
            .into_iter()
            .chain(margin_ms)
            .min();
        renewals.last_at = Some(now);
    }

    /// Counts the renewals that should have come until `now`.
    pub(super) fn miss(&self, renewals: &mut Renewals, now: Timestamp) {
        let late = renewals
            .every_ms
            .zip(renewals.last_at)
            .filter(|_| is_late(renewals, now))
            .map_or(0, |(every, last)| {
                let apart = u64::try_from(now.millis_since(last)).unwrap_or(0);
                u32::try_from(apart / every.max(1)).unwrap_or(u32::MAX)
            });
        renewals.missed_beats = self.missed.saturating_add(late);
    }
}

/// A renewing owner missed its beat when half as long again as usual, and a second, has passed since the last one.
pub(super) fn is_late(renewals: &Renewals, now: Timestamp) -> bool {
    late_at(renewals).is_some_and(|late_at| now >= late_at)
}

fn late_at(renewals: &Renewals) -> Option<Timestamp> {
    let (every, last) = renewals.every_ms.zip(renewals.last_at)?;
    Some(last.plus_millis(grace_ms(every)))
}

/// So long after a renewal the next one is late, where they come so often.
fn grace_ms(every_ms: u64) -> i64 {
    i64::try_from(every_ms.saturating_mul(3) / 2 + 1_001).unwrap_or(i64::MAX)
}

/// From when on a lock is at risk of being lost while its owner needs it; nothing where no sign of that is known.
///
/// - Two renewals or more: when the next one is late by the owner's own beat.
/// - One: when the next one is late by the beat of the library, at the latest in the last fifth of the lease.
/// - None: in the last fifth of the lease, where half of the holds before this one lasted longer than the lease. Most locks
///   that never renew are meant to end with their lease or before.
pub(super) fn at_risk_from(
    lock: &Lock,
    whole_lease_ms: u64,
    expected: Option<Expected>,
) -> Option<Timestamp> {
    let renewals = &lock.renewals;
    let others = lock.holders.iter().skip(1);
    let other = others.filter_map(|holder| late_at(&holder.renewals)).min();
    if renewals.every_ms.is_some() {
        return late_at(renewals).into_iter().chain(other).min();
    }
    let of_first = first_at_risk_from(lock, whole_lease_ms, expected);
    of_first.into_iter().chain(other).min()
}

fn first_at_risk_from(
    lock: &Lock,
    whole_lease_ms: u64,
    expected: Option<Expected>,
) -> Option<Timestamp> {
    let renewals = &lock.renewals;
    let end = lock.lease.expires_at()?;
    let fifth = i64::try_from(whole_lease_ms / 5).unwrap_or(i64::MAX);
    let nearly_over = end.plus_millis(1 - fifth);
    if renewals.count == 0 {
        let lease_ms = u64::try_from(end.millis_since(lock.acquired_at)).unwrap_or(0);
        // Holds that expire last a little longer than their lease, as far as looks can tell.
        let longer_ms = lease_ms + lease_ms / 10 + EXPIRES_WITHIN_MS;
        let outlives = expected.is_some_and(|expected| expected.half_last_ms > longer_ms);
        return outlives.then_some(nearly_over);
    }
    // A lease of another length is renewed as often in proportion.
    let beat = lock.format.cadence().map(|cadence| {
        whole_lease_ms.saturating_mul(cadence.every_ms.into()) / u64::from(cadence.lease_ms.max(1))
    });
    let last = renewals.last_at.zip(beat);
    let late = last.map(|(last, every)| last.plus_millis(grace_ms(every)));
    Some(late.map_or(nearly_over, |late| late.min(nearly_over)))
}

/// When a lock that was seen at `now` wants to be looked at again though nobody tells of a change: at a deadline, or when
/// it comes to be at risk or endless.
pub(super) fn due(
    lock: &Lock,
    whole_lease_ms: u64,
    expected: Option<Expected>,
    longest_hold: Duration,
    now: Timestamp,
) -> Option<Timestamp> {
    let is_held = lock.verdict == Verdict::Held && !lock.has(Flag::AtRisk);
    let first_sign = at_risk_from(lock, whole_lease_ms, expected);
    let endless = lock.acquired_at.plus(longest_hold).plus_millis(1);
    let is_endless = lock.renewals.count > 0 && !lock.has(Flag::Endless);
    [
        deadline(lock, now),
        first_sign.filter(|_| is_held),
        Some(endless).filter(|_| is_endless),
    ]
    .into_iter()
    .flatten()
    .filter(|at| *at > now)
    .min()
}

/// When a lock comes to be held for longer than is usual; nothing where that is not known, or pointed out already.
pub(super) fn overdue_at(lock: &Lock, expected: Option<Expected>) -> Option<Timestamp> {
    let after = Duration::from_millis(expected?.overdue_after_ms.saturating_add(1));
    (!lock.has(Flag::Overdue)).then(|| lock.acquired_at.plus(after))
}

/// A little after the first deadline on a node, and those close to it.
fn deadline(lock: &Lock, now: Timestamp) -> Option<Timestamp> {
    let ends = lock.nodes.iter().filter_map(|node| match &node.answer {
        Answer::Holds { lease, .. } => lease.expires_at(),
        Answer::Absent | Answer::Unreachable { .. } => None,
    });
    let own_ends = lock.holders.iter().filter_map(|holder| holder.expires_at);
    let ends = ends.chain(own_ends);
    // One that is just over and was still there is over by its own clock in a moment. What a value says may be long past.
    let is_ahead = |end: &Timestamp| *end > now || now.since(*end) < ONE_GO;
    let ends: Vec<Timestamp> = if lock.format == Format::LegacyTimestamp {
        ends.filter(|end| *end > now).collect()
    } else {
        ends.filter(is_ahead).collect()
    };
    let first = ends.iter().min()?;
    let one_go = ends.iter().filter(|end| end.since(*first) <= ONE_GO);
    let at = one_go.max()?.plus(AFTER_A_DEADLINE);
    Some(at.max(now.plus(AFTER_A_DEADLINE)))
}
