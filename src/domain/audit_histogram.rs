//! How many entries of the audit log there are over time.

use serde::{Deserialize, Serialize};

use super::{OperationResult, Timestamp};

/// The maximum number of bars.
pub const MAX_BARS: i64 = 60;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The widths of a bar, ascending.
const STEPS: [i64; 16] = [
    SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    7 * DAY,
    30 * DAY,
];

/// The number of entries in a part of the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditBar {
    /// Operations that were carried out.
    pub done: u32,
    /// Operations that were refused.
    pub refused: u32,
    /// All other operations: failed or partly carried out, with an unknown result, or in progress.
    pub other: u32,
}

impl AuditBar {
    /// Counts entries with this result.
    pub fn add(&mut self, result: OperationResult, count: u32) {
        let field = match result {
            OperationResult::Done => &mut self.done,
            OperationResult::Refused => &mut self.refused,
            OperationResult::Partial
            | OperationResult::Failed
            | OperationResult::Unknown
            | OperationResult::InProgress => &mut self.other,
        };
        *field = field.saturating_add(count);
    }

    /// The number of all entries.
    pub fn total(self) -> u32 {
        let known = self.done.saturating_add(self.refused);
        known.saturating_add(self.other)
    }
}

/// The number of entries over a range of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHistogram {
    /// The start of the first bar. It is a multiple of the width, at or before the start of the
    /// range.
    pub from: Timestamp,
    /// The width of a bar in milliseconds.
    pub step_ms: i64,
    /// The bars, the oldest first; at most [`MAX_BARS`].
    pub bars: Vec<AuditBar>,
    /// Whether older entries were not counted, because the search timed out or found too many.
    pub is_partial: bool,
}

impl AuditHistogram {
    /// A histogram of this range without entries.
    pub fn empty(from: Timestamp, until: Timestamp) -> Self {
        let (from, until) = (from.millis(), until.millis());
        let bar_count = |step: i64| {
            let first = from.div_euclid(step) * step;
            until.saturating_sub(first).max(1).saturating_add(step - 1) / step
        };
        let is_wide_enough = |step: &i64| bar_count(*step) <= MAX_BARS;
        let step_ms = STEPS.into_iter().find(is_wide_enough);
        // Beyond the largest step, one bar less leaves room for the alignment of the first one.
        let step_ms = step_ms.unwrap_or_else(|| until.saturating_sub(from) / (MAX_BARS - 1) + 1);
        let bars = usize::try_from(bar_count(step_ms)).unwrap_or(1);
        Self {
            from: Timestamp::from_millis(from.div_euclid(step_ms) * step_ms),
            step_ms,
            bars: vec![AuditBar::default(); bars],
            is_partial: false,
        }
    }

    /// Counts entries in a bar. Entries outside of the range are not counted.
    pub fn add(&mut self, bar: i64, result: OperationResult, count: u32) {
        let bar = usize::try_from(bar).ok();
        if let Some(bar) = bar.and_then(|bar| self.bars.get_mut(bar)) {
            bar.add(result, count);
        }
    }

    /// The index of the bar of a time. It can be outside of the range.
    pub fn bar_at(&self, at: Timestamp) -> i64 {
        at.millis_since(self.from).div_euclid(self.step_ms)
    }

    /// The start of a bar, which is the end of the one before it.
    pub fn start_of(&self, bar: usize) -> Timestamp {
        let bar = i64::try_from(bar).unwrap_or(MAX_BARS);
        Timestamp::from_millis(self.from.millis() + bar * self.step_ms)
    }

    /// The end of the last bar.
    pub fn until(&self) -> Timestamp {
        self.start_of(self.bars.len())
    }

    /// The number of all entries.
    pub fn total(&self) -> u32 {
        let totals = self.bars.iter().map(|bar| bar.total());
        totals.fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_start_at_multiples_of_a_round_width() {
        let start = 20_000 * DAY + 7 * HOUR + 13 * MINUTE;
        for (length, step) in [
            (0, SECOND),
            (HOUR, MINUTE),
            (DAY, 30 * MINUTE),
            (7 * DAY, 3 * HOUR),
            (30 * DAY, DAY),
        ] {
            let (from, until) = (start, start + length);
            let from = Timestamp::from_millis(from);
            let histogram = AuditHistogram::empty(from, Timestamp::from_millis(until));
            assert_eq!(histogram.step_ms, step, "{length}");
            assert!(i64::try_from(histogram.bars.len()).unwrap() <= MAX_BARS);
            assert_eq!(histogram.from.millis() % step, 0);
            assert!(histogram.from <= from && histogram.until().millis() >= until);
        }
        let ages = AuditHistogram::empty(Timestamp::from_millis(0), Timestamp::from_millis(start));
        assert!(i64::try_from(ages.bars.len()).unwrap() <= MAX_BARS);
        assert!(ages.until().millis() >= start);
    }

    #[test]
    fn entries_are_counted_in_their_bar_by_result() {
        let at = Timestamp::from_millis;
        let mut histogram = AuditHistogram::empty(at(0), at(10 * SECOND));
        for (time, result) in [
            (0, OperationResult::Done),
            (999, OperationResult::Refused),
            (1_000, OperationResult::Failed),
            (9_999, OperationResult::InProgress),
            (-1, OperationResult::Done),
            (10 * SECOND, OperationResult::Done),
        ] {
            histogram.add(histogram.bar_at(at(time)), result, 1);
        }
        let bar = |done, refused, other| AuditBar {
            done,
            refused,
            other,
        };
        assert_eq!(histogram.bars[0], bar(1, 1, 0));
        assert_eq!(histogram.bars[1], bar(0, 0, 1));
        assert_eq!(histogram.bars[9], bar(0, 0, 1));
        assert_eq!(histogram.total(), 4);
        assert_eq!(histogram.start_of(9), at(9 * SECOND));
    }
}
