//! The positions of the labels on a time axis: multiples of a round step.

use super::Scale;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The steps, ascending.
const STEPS: [i64; 20] = [
    100,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    5 * DAY,
];

/// The labels of a time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeTicks {
    /// The distance between two labels in milliseconds.
    pub step_ms: i64,
    /// The times in milliseconds since the Unix epoch.
    pub times_ms: Vec<i64>,
}

impl TimeTicks {
    /// At most `max_count` labels for this range.
    pub fn of(scale: Scale, max_count: usize) -> Self {
        let length = scale.until.saturating_sub(scale.from).max(1);
        let count = i64::try_from(max_count.max(1)).unwrap_or(i64::MAX);
        let is_wide_enough = |step: &i64| length / step < count;
        let step_ms = STEPS.into_iter().find(is_wide_enough).unwrap_or(length);
        let first = scale.from.div_euclid(step_ms) * step_ms;
        let times = (0..=count + 1).map(|nth| first + nth * step_ms);
        Self {
            step_ms,
            times_ms: times.filter(|at| scale.contains(*at)).collect(),
        }
    }

    /// Whether the label shows seconds.
    pub const fn has_seconds(&self) -> bool {
        self.step_ms < MINUTE
    }

    /// Whether the label of this time is a date: at midnight, or if the step is a day.
    pub const fn is_date(&self, at_ms: i64) -> bool {
        self.step_ms >= DAY || (at_ms.rem_euclid(DAY) == 0 && self.step_ms >= MINUTE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_at_multiples_of_a_round_step() {
        let from = 40 * DAY + 3 * HOUR + 7 * MINUTE;
        for (length, step, count) in [
            (15 * MINUTE, 2 * MINUTE, 8),
            (HOUR, 10 * MINUTE, 6),
            (DAY, 4 * HOUR, 6),
            (30 * DAY, 5 * DAY, 6),
            (SECOND, SECOND, 2),
        ] {
            let until = from + length;
            let ticks = TimeTicks::of(Scale { from, until }, 8);
            assert_eq!(
                (ticks.step_ms, ticks.times_ms.len()),
                (step, count),
                "{length}"
            );
            assert!(ticks.times_ms.iter().all(|at| at % step == 0));
        }
    }

    #[test]
    fn midnight_is_labelled_with_the_date() {
        let ticks = TimeTicks::of(
            Scale {
                from: 0,
                until: DAY,
            },
            8,
        );
        assert!(ticks.is_date(0) && ticks.is_date(DAY) && !ticks.is_date(4 * HOUR));
        assert!(!ticks.has_seconds());
    }
}
