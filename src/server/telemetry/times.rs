//! How long things took, in ranges, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the ranges, in seconds: an act on nodes next door takes half a millisecond, one that waits takes minutes.
const BOUNDS: [f64; 14] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Durations, each counted in its range.
#[derive(Default)]
pub struct Times {
    ranges: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

/// What [`Times`] had counted at one moment.
pub struct Ranges {
    ranges: [u64; BOUNDS.len() + 1],
    micros: u64,
}

impl Times {
    /// Counts one.
    pub fn add(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let range = BOUNDS.partition_point(|bound| *bound < seconds);
        self.ranges[range].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// What is counted so far.
    pub fn ranges(&self) -> Ranges {
        Ranges {
            ranges: std::array::from_fn(|n| self.ranges[n].load(Ordering::Relaxed)),
            micros: self.micros.load(Ordering::Relaxed),
        }
    }
}

impl Ranges {
    /// How many took at most so long, bound by bound; the last has none.
    pub fn up_to(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = BOUNDS.into_iter().map(Some).chain([None]);
        let sums = self.ranges.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        });
        bounds.zip(sums)
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.ranges.iter().sum()
    }

    /// How long they took together.
    pub fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_range_and_in_all_longer_ones() {
        let times = Times::default();
        for micros in [0, 250, 251, 1_000, 60_000_000] {
            times.add(Duration::from_micros(micros));
        }
        let ranges = times.ranges();
        let up_to: Vec<_> = ranges.up_to().collect();
        assert_eq!(
            up_to[..4],
            [
                (Some(0.000_25), 2),
                (Some(0.000_5), 3),
                (Some(0.001), 4),
                (Some(0.002_5), 4)
            ]
        );
        assert_eq!(up_to[13..], [(Some(30.0), 4), (None, 5)]);
        assert_eq!((ranges.count(), ranges.seconds()), (5, 60.001_501));
    }
}
