//! What a console would have counted in the past: held locks, failed attempts and the slowest round
//! trip, in the intervals that the history keeps.

use std::collections::{BTreeMap, HashSet};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::domain::{CounterSample, LockKey, NodeState, RecordedHold, RecordingGap, Timestamp};
use crate::server::demo::clients::{JOBS, ORDERS};
use crate::server::index::HistoryRecord;

/// The intervals and how long before the end they begin, in milliseconds.
const STEPS_MS: [(i64, i64); 3] = [
    (10_000, 3_600_000),
    (60_000, 86_400_000),
    (900_000, i64::MAX),
];
/// The slowest round trips on a quiet machine, and while a node does not reply, in microseconds.
const QUIET_US: std::ops::Range<u64> = 380..1_400;
const TIMEOUT_US: std::ops::Range<u64> = 240_000..500_000;

/// What one interval contains.
#[derive(Default)]
struct Interval<'a> {
    held: HashSet<&'a LockKey>,
    attempts: Option<u64>,
    has_outage: bool,
}

/// Counts the records between the gaps.
pub(super) fn count(
    records: &[(Timestamp, HistoryRecord)],
    gaps: &[RecordingGap],
    from: Timestamp,
    to: Timestamp,
) -> Vec<CounterSample> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut samples = Vec::new();
    for (step, kept_ms) in STEPS_MS {
        let since = to.millis().saturating_sub(kept_ms).max(from.millis());
        for group in [ORDERS, JOBS] {
            for (at, interval) in intervals(records, group, step, (since, to.millis())) {
                let at = Timestamp::from_millis(at);
                let is_missing = |gap: &RecordingGap| {
                    gap.from <= at && gap.to.is_none_or(|to| at.plus_millis(step) <= to)
                };
                if gaps.iter().any(is_missing) {
                    continue;
                }
                let slowest = if interval.has_outage {
                    TIMEOUT_US
                } else {
                    QUIET_US
                };
                samples.push(CounterSample {
                    group: group.to_owned(),
                    at,
                    interval_ms: step.unsigned_abs(),
                    max_held: u64::try_from(interval.held.len()).unwrap_or(u64::MAX),
                    attempts: interval.attempts,
                    slowest_us: Some(random.random_range(slowest)),
                });
            }
        }
    }
    samples
}

/// The intervals of a group, by their start.
fn intervals<'a>(
    records: &'a [(Timestamp, HistoryRecord)],
    group: &str,
    step: i64,
    (since, to): (i64, i64),
) -> BTreeMap<i64, Interval<'a>> {
    let start_of = |at: i64| at.div_euclid(step) * step;
    let starts =
        |from: i64, to: i64| (start_of(from)..to).step_by(usize::try_from(step).unwrap_or(1));
    let mut intervals: BTreeMap<i64, Interval<'_>> = starts(since, to)
        .map(|at| (at, Interval::default()))
        .collect();
    let mut outages: Vec<(&str, i64)> = Vec::new();
    for (at, record) in records {
        match record {
            HistoryRecord::HoldEnded(RecordedHold {
                id, hold, attempts, ..
            }) if id.group == group => {
                let from = hold.started_at.millis().max(since);
                for start in starts(from, at.millis()) {
                    if let Some(interval) = intervals.get_mut(&start) {
                        interval.held.insert(&id.key);
                    }
                }
                let interval = intervals.get_mut(&start_of(at.millis()));
                if let (Some(interval), Some(attempts)) = (interval, attempts) {
                    *interval.attempts.get_or_insert(0) += attempts;
                }
            }
            HistoryRecord::Node {
                group: of,
                node,
                state,
                at,
            } if of == group => {
                let is_over = |(name, _): &(&str, i64)| *name == node.as_str();
                if let Some(position) = outages.iter().position(is_over) {
                    let (_, from) = outages.swap_remove(position);
                    for start in starts(from.max(since), at.millis()) {
                        if let Some(interval) = intervals.get_mut(&start) {
                            interval.has_outage = true;
                        }
                    }
                }
                if *state != NodeState::Up {
                    outages.push((node, at.millis()));
                }
            }
            _ => {}
        }
    }
    intervals
}
