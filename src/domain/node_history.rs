//! The availability of nodes over the last hour, and their scan budgets.

use serde::{Deserialize, Serialize};

use super::reason::Reason;
use super::{AddressChange, DiagnosisView, NodeState, Timestamp};

/// The number of minutes that are kept.
pub const MINUTES: usize = 60;

/// The diagnoses and histories that the nodes page shows in addition to the current health.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodesReport {
    /// The doctor's report about each group.
    pub diagnoses: Vec<DiagnosisView>,
    /// The histories of the nodes, by group.
    pub groups: Vec<GroupNodeHistory>,
}

/// The histories of the nodes of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNodeHistory {
    /// The name of the group.
    pub group: String,
    /// The addresses of the sentinels; empty for other kinds of groups.
    pub sentinels: Vec<String>,
    /// The nodes in the order of the configuration.
    pub nodes: Vec<NodeHistory>,
}

/// The history of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeHistory {
    /// The name of the node.
    pub node: String,
    /// The states of the last hour.
    pub timeline: HealthTimeline,
    /// The last 20 changes of state, the latest last.
    pub state_changes: Vec<StateChange>,
    /// The last 10 changes of the server behind the node, the latest last.
    pub address_changes: Vec<AddressChange>,
    /// `None` before the first scan.
    pub scan: Option<ScanBudget>,
    /// Whether the server writes every change to disk before it replies; `None` if that is not
    /// known.
    pub fsyncs_every_write: Option<bool>,
    /// The number of slots that the node serves (of 16,384); `None` outside of clusters.
    pub slot_count: Option<u32>,
}

/// A change of a node's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// When the change was observed.
    pub at: Timestamp,
    /// The new state.
    pub state: NodeState,
    /// Why the node is not up.
    pub reason: Option<Reason>,
}

/// The share of a node's time that scans may use, and the share that they use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanBudget {
    /// The configured limit in percent.
    pub allowed_percent: u32,
    /// The share that the current or last pass used, in thousandths. Estimated from the duration of
    /// the calls.
    pub used_permille: u32,
    /// The `COUNT` argument of a `SCAN` call.
    pub keys_per_call: u32,
    /// When the values were measured.
    pub at: Timestamp,
}

/// The state of a node in each of the last 60 minutes.
///
/// Serialised compactly, with one letter per minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthTimeline {
    /// The number of the last minute since the Unix epoch.
    last: i64,
    /// A letter per minute, the oldest first: see [`letter`].
    states: String,
    /// The longest round trip of each minute in microseconds; 0 if none was measured.
    slowest_us: Vec<u32>,
}

/// The state of a node in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthMinute {
    /// The start of the minute.
    pub at: Timestamp,
    /// The worst observed state; `None` if the node was not polled.
    pub worst: Option<NodeState>,
    /// Whether the node also replied in that minute.
    pub replied: bool,
    /// The longest round trip, in microseconds.
    pub slowest_us: Option<u32>,
}

impl HealthTimeline {
    /// Creates the timeline of the 60 minutes up to `now` from numbered minutes. Older minutes are
    /// ignored; missing minutes are unknown.
    pub fn from_minutes(
        minutes: impl Iterator<Item = (i64, HealthMinute)>,
        now: Timestamp,
    ) -> Self {
        let last = minute_number(now);
        let span = i64::try_from(MINUTES).unwrap_or(i64::MAX);
        let mut states = vec!['-'; MINUTES];
        let mut slowest_us = vec![0; MINUTES];
        for (number, minute) in minutes {
            // Negative indexes are minutes before the timeline.
            let index = usize::try_from(number - last + span - 1);
            if let Some(index) = index.ok().filter(|index| *index < MINUTES) {
                states[index] = letter(&minute);
                slowest_us[index] = minute.slowest_us.unwrap_or(0);
            }
        }
        Self {
            last,
            states: states.into_iter().collect(),
            slowest_us,
        }
    }

    /// The minutes, the oldest first.
    pub fn minutes(&self) -> Vec<HealthMinute> {
        let count = i64::try_from(self.states.len()).unwrap_or(i64::MAX);
        let first = self.last - count + 1;
        let slowest = self.slowest_us.iter().copied().chain(std::iter::repeat(0));
        let letters = self.states.chars().zip(slowest).zip(first..);
        letters
            .map(|((letter, slowest), number)| {
                let (worst, replied) = state(letter);
                HealthMinute {
                    at: Timestamp::from_millis(number * 60_000),
                    worst,
                    replied,
                    slowest_us: (slowest > 0).then_some(slowest),
                }
            })
            .collect()
    }

    /// The timeline with consecutive minutes of the same state merged.
    pub fn intervals(&self) -> Vec<HealthInterval> {
        let mut all: Vec<HealthInterval> = Vec::new();
        for minute in self.minutes() {
            match all.last_mut() {
                Some(last) if last.worst == minute.worst && last.replied == minute.replied => {
                    last.minute_count += 1;
                    last.slowest_us = last.slowest_us.max(minute.slowest_us);
                }
                _ => all.push(HealthInterval {
                    at: minute.at,
                    minute_count: 1,
                    worst: minute.worst,
                    replied: minute.replied,
                    slowest_us: minute.slowest_us,
                }),
            }
        }
        all
    }
}

/// Consecutive minutes with the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthInterval {
    /// The start of the first minute.
    pub at: Timestamp,
    /// The number of minutes.
    pub minute_count: u32,
    /// The worst observed state in each minute.
    pub worst: Option<NodeState>,
    /// Whether the node also replied in each minute.
    pub replied: bool,
    /// The longest round trip of all, in microseconds.
    pub slowest_us: Option<u32>,
}

/// The number of the minute since the Unix epoch.
pub fn minute_number(time: Timestamp) -> i64 {
    time.millis().div_euclid(60_000)
}

/// `U` up, `D` down, `L` loading, `R` refused; lower case if the node also replied in that minute;
/// `-` not polled.
fn letter(minute: &HealthMinute) -> char {
    match (minute.worst, minute.replied) {
        (None, _) => '-',
        (Some(NodeState::Up), _) => 'U',
        (Some(NodeState::Down), false) => 'D',
        (Some(NodeState::Down), true) => 'd',
        (Some(NodeState::Loading), false) => 'L',
        (Some(NodeState::Loading), true) => 'l',
        (Some(NodeState::Refused), false) => 'R',
        (Some(NodeState::Refused), true) => 'r',
    }
}

fn state(letter: char) -> (Option<NodeState>, bool) {
    let state = match letter.to_ascii_uppercase() {
        'U' => NodeState::Up,
        'D' => NodeState::Down,
        'L' => NodeState::Loading,
        'R' => NodeState::Refused,
        _ => return (None, false),
    };
    (
        Some(state),
        state == NodeState::Up || letter.is_ascii_lowercase(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(6_000_000_000);

    fn minute(worst: NodeState, replied: bool, slowest_us: Option<u32>) -> HealthMinute {
        HealthMinute {
            at: NOW,
            worst: Some(worst),
            replied,
            slowest_us,
        }
    }

    #[test]
    fn a_timeline_has_sixty_minutes_and_missing_ones_are_unknown() {
        let last = minute_number(NOW);
        let seen = [
            (last - 100, minute(NodeState::Up, true, Some(9))),
            (last - 59, minute(NodeState::Up, true, Some(300))),
            (last - 1, minute(NodeState::Down, true, Some(800))),
            (last, minute(NodeState::Refused, false, None)),
        ];
        let hour = HealthTimeline::from_minutes(seen.into_iter(), NOW);
        let text = serde_json::to_string(&hour).unwrap();
        let hour: HealthTimeline = serde_json::from_str(&text).unwrap();
        let minutes = hour.minutes();
        assert_eq!(minutes.len(), MINUTES);
        assert_eq!(minutes[0].worst, Some(NodeState::Up));
        assert_eq!(minutes[0].slowest_us, Some(300));
        assert_eq!(minutes[1].worst, None);
        assert_eq!(
            (minutes[58].worst, minutes[58].replied),
            (Some(NodeState::Down), true)
        );
        assert_eq!(
            (minutes[59].worst, minutes[59].replied),
            (Some(NodeState::Refused), false)
        );
        assert_eq!(minutes[59].at, Timestamp::from_millis(last * 60_000));
    }

    #[test]
    fn consecutive_minutes_of_the_same_state_are_merged() {
        let last = minute_number(NOW);
        let up = (last - 9..last).map(|n| (n, minute(NodeState::Up, true, Some(100))));
        let down = [(last, minute(NodeState::Down, false, None))];
        let intervals = HealthTimeline::from_minutes(up.chain(down), NOW).intervals();
        let states: Vec<_> = intervals
            .iter()
            .map(|interval| (interval.worst, interval.minute_count))
            .collect();
        assert_eq!(
            states,
            [
                (None, 50),
                (Some(NodeState::Up), 9),
                (Some(NodeState::Down), 1)
            ]
        );
    }
}
