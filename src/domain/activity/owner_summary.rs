//! The figures of the recorded holds of one owner.

use std::collections::BTreeSet;

use super::Activity;
use crate::domain::{HoldEndReason, Timestamp};

/// The figures of the holds in a range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerSummary {
    /// The number of holds.
    pub holds: usize,
    /// The number of locks.
    pub locks: usize,
    /// The number of holds that a user released by force.
    pub forced: usize,
    /// The longest hold in milliseconds.
    pub longest_ms: u64,
    /// The shortest lease that was left at a renewal, in milliseconds; `None` without renewals.
    pub min_margin_ms: Option<u64>,
}

impl OwnerSummary {
    /// The figures of these holds; `None` if there are none. Holds that have not ended count until
    /// `known_until`.
    pub fn of(activity: &Activity, known_until: Timestamp) -> Option<Self> {
        let holds = || activity.holds.iter();
        let locks: BTreeSet<_> = holds().map(|recorded| &recorded.id).collect();
        let is_forced = |reason: Option<HoldEndReason>| reason == Some(HoldEndReason::Forced);
        Some(Self {
            longest_ms: holds()
                .map(|recorded| recorded.hold.duration_ms(known_until))
                .max()?,
            holds: activity.holds.len(),
            locks: locks.len(),
            forced: holds()
                .filter(|recorded| is_forced(recorded.hold.end_reason))
                .count(),
            min_margin_ms: holds().filter_map(|recorded| recorded.min_margin_ms).min(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{activity, hold};
    use super::*;
    use crate::domain::testing::NOW;

    #[test]
    fn the_shortest_margin_and_the_longest_hold_are_found() {
        assert_eq!(
            OwnerSummary::of(&activity(Vec::new(), Vec::new()), NOW),
            None
        );
        let mut holds = vec![
            hold("a", 1, 0, Some(10)),
            hold("a", 2, 20, Some(70)),
            hold("b", 1, 30, None),
        ];
        holds[0].hold.end_reason = Some(HoldEndReason::Forced);
        holds[0].min_margin_ms = Some(7_000);
        holds[1].min_margin_ms = Some(900);
        let summary = OwnerSummary::of(&activity(holds, Vec::new()), NOW.plus_millis(40));
        let expected = OwnerSummary {
            holds: 3,
            locks: 2,
            forced: 1,
            longest_ms: 50,
            min_margin_ms: Some(900),
        };
        assert_eq!(summary, Some(expected));
    }
}
