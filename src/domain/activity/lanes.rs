//! The holds of a range of time as one lane per lock, the locks that need attention and the
//! busiest first.

use std::collections::BTreeMap;

use super::super::attention::AttentionReason;
use super::super::{Flag, Format, Hold, HoldEndReason, LockId, Timestamp};
use super::{Activity, FlagPeriod};

/// The maximum number of holds of a lane that are drawn above each other. Further holds share the
/// last row.
pub const MAX_ROWS: usize = 4;

/// The holds of one lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The lock.
    pub id: LockId,
    /// The format of the lock; `None` if only flags are known.
    pub format: Option<Format>,
    /// The holds, the earliest start first.
    pub holds: Vec<LaneHold>,
    /// The flags that were raised.
    pub flags: Vec<FlagPeriod>,
    /// The number of rows, at least one. Holds that overlap are in different rows.
    pub row_count: usize,
}

/// A hold and its row in the lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneHold {
    /// The hold.
    pub hold: Hold,
    /// The row, from 0.
    pub row: usize,
}

/// The lanes of a range of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// The lanes in the order of display.
    pub lanes: Vec<Lane>,
    /// The number of locks that are left out.
    pub omitted_count: usize,
}

impl Lane {
    fn new(id: LockId) -> Self {
        Self {
            id,
            format: None,
            holds: Vec::new(),
            flags: Vec::new(),
            row_count: 1,
        }
    }

    /// The holds at a moment.
    pub fn holds_at(&self, at: Timestamp) -> impl Iterator<Item = &Hold> {
        let holds = self.holds.iter().map(|lane_hold| &lane_hold.hold);
        holds.filter(move |hold| {
            hold.started_at <= at && hold.ended_at.is_none_or(|ended_at| ended_at > at)
        })
    }

    /// The periods in which there were several owners of the exclusive lock.
    pub fn splits(&self) -> impl Iterator<Item = &FlagPeriod> {
        self.flags
            .iter()
            .filter(|period| period.flag == Flag::Split)
    }

    /// The ends of holds that a user released by force.
    pub fn forced_ends(&self) -> impl Iterator<Item = Timestamp> {
        let holds = self.holds.iter().map(|lane_hold| &lane_hold.hold);
        holds
            .filter(|hold| hold.end_reason == Some(HoldEndReason::Forced))
            .filter_map(|hold| hold.ended_at)
    }

    /// How urgent the lane is: flags that last and need attention, then flags and forced ends in
    /// the range, then the magnitude of the number of holds. A lane keeps its place until it is
    /// twice as busy.
    fn urgency(&self) -> (usize, usize, u32) {
        let needs_attention =
            |period: &&FlagPeriod| AttentionReason::of_flag(period.flag).is_some();
        let raised = self.flags.iter().filter(needs_attention);
        let lasting = raised.clone().filter(|period| period.to.is_none()).count();
        let past = raised.count() + self.forced_ends().count();
        (lasting, past, self.holds.len().checked_ilog2().unwrap_or(0))
    }

    /// Puts each hold into the first row that is free when it starts.
    fn assign_rows(&mut self) {
        self.holds
            .sort_by_key(|lane_hold| lane_hold.hold.started_at);
        let mut row_ends: Vec<Option<Timestamp>> = Vec::new();
        for LaneHold { hold, row } in &mut self.holds {
            let is_free = |end: &Option<Timestamp>| end.is_some_and(|end| end <= hold.started_at);
            *row = match row_ends.iter().position(is_free) {
                Some(free) => free,
                None if row_ends.len() < MAX_ROWS => {
                    row_ends.push(None);
                    row_ends.len() - 1
                }
                None => MAX_ROWS - 1,
            };
            if let Some(end) = row_ends.get_mut(*row) {
                *end = hold.ended_at;
            }
        }
        self.row_count = row_ends.len().max(1);
    }
}

impl Lanes {
    /// The lanes of the locks with holds or flags, at most `max_lanes`.
    pub fn of(activity: &Activity, max_lanes: usize) -> Self {
        let mut by_lock: BTreeMap<&LockId, Lane> = BTreeMap::new();
        for recorded in &activity.holds {
            let lane = by_lock
                .entry(&recorded.id)
                .or_insert_with(|| Lane::new(recorded.id.clone()));
            lane.format = Some(recorded.format);
            lane.holds.push(LaneHold {
                hold: recorded.hold.clone(),
                row: 0,
            });
        }
        for period in &activity.flags {
            let lane = by_lock
                .entry(&period.id)
                .or_insert_with(|| Lane::new(period.id.clone()));
            lane.flags.push(period.clone());
        }
        let mut lanes: Vec<Lane> = by_lock.into_values().collect();
        // Stable: locks with the same urgency stay in the order of their names.
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.urgency()));
        let omitted_count = lanes.len().saturating_sub(max_lanes);
        lanes.truncate(max_lanes);
        for lane in &mut lanes {
            lane.assign_rows();
        }
        Self {
            lanes,
            omitted_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{activity, flag, hold};
    use super::*;
    use crate::domain::testing::NOW;

    fn names(lanes: &Lanes) -> Vec<String> {
        let lanes = lanes.lanes.iter();
        lanes.map(|lane| lane.id.key.text().into_owned()).collect()
    }

    #[test]
    fn locks_that_need_attention_and_busy_locks_come_first() {
        let activity = activity(
            vec![
                hold("quiet", 1, 0, Some(10)),
                hold("busy", 1, 0, Some(10)),
                hold("busy", 2, 20, Some(30)),
                hold("split", 3, 0, None),
                hold("was-split", 3, 0, None),
            ],
            vec![
                flag("split", Flag::Split, 5, None),
                flag("was-split", Flag::Split, 5, Some(6)),
                flag("quiet", Flag::Contended, 5, None),
            ],
        );
        let lanes = Lanes::of(&activity, 200);
        assert_eq!(names(&lanes), ["split", "was-split", "busy", "quiet"]);
        let first = Lanes::of(&activity, 1);
        assert_eq!(
            (names(&first), first.omitted_count),
            (vec!["split".into()], 3)
        );
    }

    #[test]
    fn overlapping_holds_are_in_different_rows() {
        let holds = vec![
            hold("shared", 1, 0, Some(100)),
            hold("shared", 2, 50, Some(200)),
            hold("shared", 3, 100, None),
        ];
        let lanes = Lanes::of(&activity(holds, Vec::new()), 10);
        let lane = &lanes.lanes[0];
        let rows: Vec<usize> = lane.holds.iter().map(|hold| hold.row).collect();
        assert_eq!((rows, lane.row_count), (vec![0, 1, 0], 2));
        let at = |ms| lane.holds_at(NOW.plus_millis(ms)).count();
        assert_eq!((at(-1), at(60), at(100), at(500)), (0, 2, 2, 1));
    }

    #[test]
    fn more_overlapping_holds_than_rows_share_the_last_row() {
        let holds = (0..9).map(|n| hold("shared", n, i64::from(n), None));
        let lanes = Lanes::of(&activity(holds.collect(), Vec::new()), 10);
        assert_eq!(lanes.lanes[0].row_count, MAX_ROWS);
        assert!(lanes.lanes[0].holds.iter().all(|hold| hold.row < MAX_ROWS));
    }
}
