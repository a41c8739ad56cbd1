//! A lock at a time in the past, as far as the history recorded it.

use serde::{Deserialize, Serialize};

use super::activity::time_range::TimeRange;
use super::{
    Activity, ActivityQuery, FlagPeriod, Hold, LockId, NodeOutage, RecordingGap, Timestamp,
};

/// The time shown before and after the moment.
pub const AROUND_MS: i64 = 1_800_000;

/// A lock at a time in the past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedLock {
    /// The lock.
    pub id: LockId,
    /// The time.
    pub at: Timestamp,
    /// Who held it.
    pub state: RecordedState,
    /// The flags at that time.
    pub flags: Vec<FlagPeriod>,
    /// The nodes of the group that were not up at that time.
    pub outages: Vec<NodeOutage>,
    /// The history of the hour around that time, as far as it was recorded when it was read.
    pub around: Activity,
}

/// What the history knows about a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RecordedState {
    /// The moment has not come yet.
    Future,
    /// No history is recorded.
    NotRecorded,
    /// The moment is before the start of the recording.
    BeforeRecording {
        /// The start of the recording.
        since: Timestamp,
    },
    /// The moment is in a stretch that was not recorded.
    Gap {
        /// The stretch.
        gap: RecordingGap,
    },
    /// The lock was held.
    Held {
        /// The holds at that moment, the latest start first.
        holds: Vec<Hold>,
    },
    /// No owner with a quorum was recorded.
    NoOwner,
}

impl RecordedLock {
    /// The most holds at one moment and around it.
    pub const MAX_HOLDS: u32 = 1_000;

    /// The query of the moment. Holds that ended before it, or began after it, are not part of its
    /// result, so that it is complete however often the lock is acquired.
    pub fn moment_query(id: &LockId, at: Timestamp) -> ActivityQuery {
        Self::query(
            id,
            TimeRange {
                from: at,
                to: at.plus_millis(1),
            },
        )
    }

    /// The query of the hour around the moment, up to `now`.
    pub fn around_query(id: &LockId, at: Timestamp, now: Timestamp) -> ActivityQuery {
        let mut range = TimeRange::around(at, AROUND_MS);
        range.to = range.to.min(now).max(range.from);
        Self::query(id, range)
    }

    fn query(id: &LockId, range: TimeRange) -> ActivityQuery {
        ActivityQuery {
            group: Some(id.group.clone()),
            key: Some(id.key.clone()),
            search: None,
            owner: None,
            from: range.from,
            to: range.to,
            limit: Self::MAX_HOLDS,
        }
    }

    /// The lock at `at`, from the results of both queries.
    pub fn new(
        id: LockId,
        at: Timestamp,
        now: Timestamp,
        moment: Activity,
        around: Activity,
    ) -> Self {
        let state = RecordedState::of(&moment, at, now);
        let is_known = matches!(state, RecordedState::Held { .. } | RecordedState::NoOwner);
        let lasts = |from: Timestamp, to: Option<Timestamp>| {
            is_known && from <= at && to.is_none_or(|to| to > at)
        };
        let (mut flags, mut outages) = (moment.flags, moment.outages);
        flags.retain(|flag| lasts(flag.from, flag.to));
        outages.retain(|outage| lasts(outage.from, outage.to));
        Self {
            id,
            at,
            state,
            flags,
            outages,
            around,
        }
    }
}

impl RecordedState {
    fn of(moment: &Activity, at: Timestamp, now: Timestamp) -> Self {
        if at > now {
            return Self::Future;
        }
        match moment.recorded_since {
            None => return Self::NotRecorded,
            Some(since) if at < since => return Self::BeforeRecording { since },
            Some(_) => {}
        }
        let is_in_gap =
            |gap: &&RecordingGap| gap.from <= at && gap.to.is_none_or(|until| at < until);
        if let Some(gap) = moment.gaps.iter().find(is_in_gap) {
            return Self::Gap { gap: *gap };
        }
        let is_held =
            |hold: &&Hold| hold.started_at <= at && hold.ended_at.is_none_or(|ended| ended > at);
        let holds = moment.holds.iter().map(|recorded| &recorded.hold);
        let holds: Vec<Hold> = holds.filter(is_held).cloned().collect();
        match holds.is_empty() {
            true => Self::NoOwner,
            false => Self::Held { holds },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::activity::testing::{activity, flag, hold};
    use crate::domain::testing::NOW;
    use crate::domain::{Flag, GapCause, NodeState};

    fn history() -> Activity {
        let holds = vec![hold("a", 2, 30, None), hold("a", 1, 0, Some(30))];
        let flags = vec![flag("a", Flag::Contended, 10, Some(40))];
        let mut history = activity(holds, flags);
        history.recorded_since = Some(NOW.plus_millis(-1_000));
        history.outages.push(NodeOutage {
            group: "orders".into(),
            node: "c".into(),
            state: NodeState::Down,
            from: NOW.plus_millis(5),
            to: None,
        });
        history
    }

    fn at(ms: i64, history: &Activity) -> RecordedLock {
        let id = history.holds[0].id.clone();
        let (at, now) = (NOW.plus_millis(ms), NOW.plus_millis(60_000));
        RecordedLock::new(id, at, now, history.clone(), history.clone())
    }

    fn labels(state: &RecordedState) -> Vec<&str> {
        match state {
            RecordedState::Held { holds } => {
                let labels = holds.iter().filter_map(|hold| hold.label.as_deref());
                labels.collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_moment_has_the_holds_flags_and_outages_that_lasted_then() {
        let history = history();
        let first = at(29, &history);
        assert_eq!(labels(&first.state), ["api-1"]);
        assert_eq!((first.flags.len(), first.outages.len()), (1, 1));
        // A hold that ends as the next one begins is over.
        assert_eq!(labels(&at(30, &history).state), ["api-2"]);
        let later = at(50, &history);
        assert_eq!((later.flags.len(), later.outages.len()), (0, 1));
        let before = at(-5, &history);
        assert_eq!(before.state, RecordedState::NoOwner);
        assert_eq!((before.flags.len(), before.outages.len()), (0, 0));
    }

    #[test]
    fn what_is_not_recorded_is_a_state_of_its_own() {
        let mut history = history();
        let gap = RecordingGap {
            from: NOW.plus_millis(20),
            to: Some(NOW.plus_millis(25)),
            cause: GapCause::ConsoleStopped,
        };
        history.gaps.push(gap);
        let in_gap = at(20, &history);
        assert_eq!(in_gap.state, RecordedState::Gap { gap });
        // Nothing is known of flags and outages either.
        assert_eq!((in_gap.flags.len(), in_gap.outages.len()), (0, 0));
        assert_eq!(labels(&at(25, &history).state), ["api-1"]);
        assert_eq!(at(60_001, &history).state, RecordedState::Future);
        let since = NOW.plus_millis(-1_000);
        assert_eq!(
            at(-1_001, &history).state,
            RecordedState::BeforeRecording { since }
        );
        history.recorded_since = None;
        assert_eq!(at(20, &history).state, RecordedState::NotRecorded);
    }

    #[test]
    fn the_hour_around_a_moment_ends_now_at_the_latest() {
        let id = history().holds[0].id.clone();
        let query = RecordedLock::around_query(&id, NOW, NOW.plus_millis(5));
        assert_eq!(query.to, NOW.plus_millis(5));
        assert_eq!(query.from, NOW.plus_millis(-AROUND_MS));
    }
}
