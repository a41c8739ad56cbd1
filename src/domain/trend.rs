//! A few figures over the last minutes, for the charts of the overview.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The number of points that are kept: 15 minutes.
pub const MAX_POINTS: usize = 90;
/// The time between two points, in seconds.
pub const POINT_INTERVAL_S: u64 = 10;

/// The figures of one group or of several at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendPoint {
    /// When the figures were read.
    pub at: Timestamp,
    /// The number of held locks, without possible locks.
    pub held: u32,
    /// The attempts per minute that the evidence of contention shows.
    pub attempts_per_minute: u32,
    /// The longest last round trip to a node that is up, in microseconds; 0 if none is known.
    pub slowest_us: u32,
}

impl TrendPoint {
    /// A point without any figure.
    pub fn empty(at: Timestamp) -> Self {
        Self {
            at,
            held: 0,
            attempts_per_minute: 0,
            slowest_us: 0,
        }
    }

    /// The figures of this group and of another one at the same time.
    pub fn plus(self, other: Self) -> Self {
        Self {
            at: self.at.max(other.at),
            held: self.held.saturating_add(other.held),
            attempts_per_minute: self
                .attempts_per_minute
                .saturating_add(other.attempts_per_minute),
            slowest_us: self.slowest_us.max(other.slowest_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_and_attempts_are_added_and_the_longest_round_trip_counts() {
        let point = |held, attempts_per_minute, slowest_us| TrendPoint {
            at: Timestamp::from_millis(1),
            held,
            attempts_per_minute,
            slowest_us,
        };
        assert_eq!(point(3, 60, 400).plus(point(2, 0, 900)), point(5, 60, 900));
    }
}
