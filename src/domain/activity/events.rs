//! The history of a range of time as a list of events, the latest first.

use strum::{EnumString, IntoStaticStr, VariantArray};

use super::super::{Fingerprint, Flag, HoldEndReason, LockId, NodeState, StartSource, Timestamp};
use super::time_range::TimeRange;
use super::{Activity, FlagPeriod, GapCause, RecordedHold};

/// A flag that is raised several times in one minute is one event.
const MINUTE_MS: i64 = 60_000;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityEvent {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
    /// What it happened to.
    pub subject: EventSubject,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum EventKind {
    /// An owner acquired a lock.
    Acquired,
    /// A lock was observed for the first time. Its owner may have acquired it earlier.
    FirstSeen,
    /// A lock was released.
    Released,
    /// A lease ended.
    Expired,
    /// Another owner has the lock.
    TakenOver,
    /// A user released a lock by force.
    Forced,
    /// A hold ended while the lock was not observed.
    EndNotObserved,
    /// A flag was raised.
    FlagRaised,
    /// A node stopped being up.
    NodeDown,
    /// A node is up again.
    NodeUp,
    /// Recording stopped.
    RecordingStopped,
    /// Recording began again.
    RecordingResumed,
}

/// What an event happened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// A hold of a lock.
    Hold {
        /// The lock.
        id: LockId,
        /// The owner.
        fingerprint: Fingerprint,
        /// The label of the owner, if it has one.
        label: Option<String>,
        /// For an end: how long the owner held the lock, in milliseconds.
        held_ms: Option<u64>,
    },
    /// A flag of a lock.
    Flag {
        /// The lock.
        id: LockId,
        /// The flag.
        flag: Flag,
        /// How often it was raised within one minute, the first time at the time of the event.
        times: usize,
    },
    /// A node.
    Node {
        /// The group of the node.
        group: String,
        /// The name of the node.
        node: String,
        /// The state of the node before or after the event, other than up.
        state: NodeState,
    },
    /// The recording of the history.
    Recording(GapCause),
}

/// A filter for events, with its name in the URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum EventFilter {
    /// All events.
    #[default]
    All,
    /// Starts and ends of holds.
    Holds,
    /// Expired, taken over and forced locks, flags, outages and gaps.
    Problems,
    /// Nodes and the recording.
    Nodes,
}

impl EventFilter {
    /// Whether events of this kind are shown.
    pub const fn matches(self, kind: EventKind) -> bool {
        use EventKind::{
            Acquired, EndNotObserved, Expired, FirstSeen, FlagRaised, Forced, NodeDown, NodeUp,
            RecordingResumed, RecordingStopped, Released, TakenOver,
        };
        match kind {
            Acquired | FirstSeen | Released => matches!(self, Self::All | Self::Holds),
            Expired | TakenOver | Forced | EndNotObserved => {
                matches!(self, Self::All | Self::Holds | Self::Problems)
            }
            FlagRaised => matches!(self, Self::All | Self::Problems),
            NodeDown | RecordingStopped => {
                matches!(self, Self::All | Self::Problems | Self::Nodes)
            }
            NodeUp | RecordingResumed => matches!(self, Self::All | Self::Nodes),
        }
    }
}

/// The events of the recorded range, the latest first.
pub fn events(activity: &Activity) -> Vec<ActivityEvent> {
    let range = TimeRange {
        from: activity.from,
        to: activity.to,
    };
    let mut events: Vec<ActivityEvent> = activity.holds.iter().flat_map(hold_events).collect();
    events.extend(flag_events(&activity.flags, &range));
    for outage in &activity.outages {
        let event = |at, kind| ActivityEvent {
            at,
            kind,
            subject: EventSubject::Node {
                group: outage.group.clone(),
                node: outage.node.clone(),
                state: outage.state,
            },
        };
        events.push(event(outage.from, EventKind::NodeDown));
        events.extend(outage.to.map(|to| event(to, EventKind::NodeUp)));
    }
    for gap in &activity.gaps {
        let event = |at, kind| ActivityEvent {
            at,
            kind,
            subject: EventSubject::Recording(gap.cause),
        };
        events.push(event(gap.from, EventKind::RecordingStopped));
        events.extend(gap.to.map(|to| event(to, EventKind::RecordingResumed)));
    }
    events.retain(|event| range.contains(event.at));
    // Stable: of events at the same time, the end of a hold was collected after its start.
    events.reverse();
    events.sort_by_key(|event| std::cmp::Reverse(event.at));
    events
}

/// The flags that were raised. Clients that try again and again without a quorum raise and clear a
/// flag several times per second.
fn flag_events(flags: &[FlagPeriod], range: &TimeRange) -> Vec<ActivityEvent> {
    let minute = |flag: &FlagPeriod| flag.from.millis().div_euclid(MINUTE_MS);
    let raised = flags.iter().filter(|flag| range.contains(flag.from));
    let mut raised: Vec<&FlagPeriod> = raised.collect();
    raised.sort_by(|a, b| (&a.id, a.flag, a.from).cmp(&(&b.id, b.flag, b.from)));
    let repeated =
        raised.chunk_by(|a, b| a.id == b.id && a.flag == b.flag && minute(a) == minute(b));
    repeated
        .map(|repeated| ActivityEvent {
            at: repeated[0].from,
            kind: EventKind::FlagRaised,
            subject: EventSubject::Flag {
                id: repeated[0].id.clone(),
                flag: repeated[0].flag,
                times: repeated.len(),
            },
        })
        .collect()
}

/// The start and the end of a hold.
fn hold_events(recorded: &RecordedHold) -> impl Iterator<Item = ActivityEvent> + use<> {
    let hold = &recorded.hold;
    let event = |at, kind, held_ms| ActivityEvent {
        at,
        kind,
        subject: EventSubject::Hold {
            id: recorded.id.clone(),
            fingerprint: hold.fingerprint,
            label: hold.label.clone(),
            held_ms,
        },
    };
    let start_kind = match hold.started_at_source {
        StartSource::FirstSeen => EventKind::FirstSeen,
        StartSource::Claimed | StartSource::Appeared => EventKind::Acquired,
    };
    let start = event(hold.started_at, start_kind, None);
    let end = hold.ended_at.map(|ended_at| {
        let kind = match hold.end_reason {
            Some(HoldEndReason::Released) => EventKind::Released,
            Some(HoldEndReason::Expired) => EventKind::Expired,
            Some(HoldEndReason::TakenOver) => EventKind::TakenOver,
            Some(HoldEndReason::Forced) => EventKind::Forced,
            Some(HoldEndReason::Unknown) | None => EventKind::EndNotObserved,
        };
        event(ended_at, kind, Some(hold.duration_ms(ended_at)))
    });
    std::iter::once(start).chain(end)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{activity, flag, hold};
    use super::super::{NodeOutage, RecordingGap};
    use super::*;
    use crate::domain::testing::NOW;

    fn kinds(activity: &Activity) -> Vec<(i64, EventKind)> {
        let events = events(activity).into_iter();
        events
            .map(|event| (event.at.millis_since(NOW), event.kind))
            .collect()
    }

    #[test]
    fn holds_flags_outages_and_gaps_are_events_in_the_order_of_time() {
        let mut first_seen = hold("a", 1, 0, Some(30));
        first_seen.hold.started_at_source = StartSource::FirstSeen;
        first_seen.hold.end_reason = Some(HoldEndReason::Forced);
        let flags = vec![flag("a", Flag::Split, 20, None)];
        let mut activity = activity(vec![hold("a", 2, 40, None), first_seen], flags);
        activity.outages.push(NodeOutage {
            group: "orders".into(),
            node: "c".into(),
            state: NodeState::Down,
            from: NOW.plus_millis(10),
            to: Some(NOW.plus_millis(50)),
        });
        activity.gaps.push(RecordingGap {
            from: NOW.plus_millis(60),
            to: None,
            cause: GapCause::Overload,
        });
        assert_eq!(
            kinds(&activity),
            [
                (60, EventKind::RecordingStopped),
                (50, EventKind::NodeUp),
                (40, EventKind::Acquired),
                (30, EventKind::Forced),
                (20, EventKind::FlagRaised),
                (10, EventKind::NodeDown),
                (0, EventKind::FirstSeen),
            ]
        );
    }

    #[test]
    fn a_flag_that_is_raised_several_times_in_a_minute_is_one_event() {
        let first = 60_000 - NOW.millis().rem_euclid(60_000);
        let raised = |from| flag("a", Flag::Fragment, from, Some(from + 10));
        let mut flags = vec![raised(first - 1), raised(first), raised(first + 50)];
        flags.push(flag("a", Flag::Contended, first + 20, None));
        flags.push(flag("b", Flag::Fragment, first + 30, None));
        let mut activity = activity(Vec::new(), flags);
        activity.to = NOW.plus_millis(120_000);
        let events = events(&activity).into_iter();
        let repeated: Vec<_> = events
            .map(|event| match event.subject {
                EventSubject::Flag { id, flag, times } => {
                    (event.at.millis_since(NOW) - first, id.key, flag, times)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            repeated,
            [
                (30, "b".into(), Flag::Fragment, 1),
                (20, "a".into(), Flag::Contended, 1),
                (0, "a".into(), Flag::Fragment, 2),
                (-1, "a".into(), Flag::Fragment, 1),
            ]
        );
    }

    #[test]
    fn events_outside_of_the_range_are_left_out() {
        let activity = activity(vec![hold("a", 1, -5_000, Some(90_000))], Vec::new());
        assert_eq!(kinds(&activity), []);
    }

    #[test]
    fn an_end_has_the_duration_and_follows_a_start_at_the_same_time() {
        let activity = activity(
            vec![hold("a", 1, 7, Some(7)), hold("a", 2, 0, Some(5))],
            Vec::new(),
        );
        let all = events(&activity);
        let kinds: Vec<EventKind> = all.iter().map(|event| event.kind).collect();
        let (start, end) = (EventKind::Acquired, EventKind::Released);
        assert_eq!(kinds, [end, start, end, start]);
        assert!(matches!(
            all[2].subject,
            EventSubject::Hold {
                held_ms: Some(5),
                ..
            }
        ));
    }

    #[test]
    fn every_filter_shows_some_events_and_each_event_is_in_a_filter() {
        for kind in EventKind::VARIANTS {
            assert!(EventFilter::All.matches(*kind));
            let narrow = [
                EventFilter::Holds,
                EventFilter::Problems,
                EventFilter::Nodes,
            ];
            assert!(
                narrow.iter().any(|filter| filter.matches(*kind)),
                "{kind:?}"
            );
        }
        assert!(!EventFilter::Problems.matches(EventKind::Acquired));
        assert!(EventFilter::Problems.matches(EventKind::Forced));
    }
}
