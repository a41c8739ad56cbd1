//! How a node was over the last hour, and how much of its time goes into being scanned.

use serde::{Deserialize, Serialize};

use super::{Checkup, Moved, NodeState, Timestamp};

/// So many minutes are remembered.
pub const MINUTES: usize = 60;

/// What pages show of some groups beyond the health of this moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodesTold {
    /// What the doctor says, a checkup for each group.
    pub checkups: Vec<Checkup>,
    /// How their nodes were.
    pub groups: Vec<GroupPast>,
}

/// How the nodes of a group were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPast {
    /// The group.
    pub group: String,
    /// The addresses of the sentinels that say where the primary is; empty where none do.
    pub sentinels: Vec<String>,
    /// Its nodes.
    pub nodes: Vec<NodePast>,
}

/// How one node was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePast {
    /// Its name.
    pub node: String,
    /// The last hour.
    pub hour: Hour,
    /// When it became what it is now and before: the last 20 changes of state, the latest last.
    pub turns: Vec<Turn>,
    /// When it became another server: the last 10 times, the latest last.
    pub moves: Vec<Moved>,
    /// What being scanned takes of its time; nothing where no scan has begun.
    pub scan: Option<ScanBudget>,
    /// Whether every write is on its disk before it is answered; nothing where it does not tell.
    pub keeps_every_write: Option<bool>,
    /// How many of a cluster's 16,384 slots it serves; nothing outside of clusters.
    pub slots: Option<u32>,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// When it was seen.
    pub at: Timestamp,
    /// What it is since.
    pub state: NodeState,
    /// Why, where it is not up.
    pub reason: Option<String>,
}

/// What being scanned takes of a node's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanBudget {
    /// The share of its time that the configuration allows, in percent.
    pub allowed_percent: u32,
    /// What the pass that runs, or the last one, took of it, in thousandths: estimated from how long calls take.
    pub used_permille: u32,
    /// How many keys a call asks for.
    pub keys_a_call: u32,
    /// When that was measured.
    pub at: Timestamp,
}

/// An hour, minute by minute. A minute in which nothing was heard or tried is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hour {
    /// The last minute, counted from 1970.
    last: i64,
    /// A letter for each minute, the oldest first: see [`letter`].
    states: String,
    /// The longest round trip of each minute in microseconds; 0 where none is known.
    slowest_us: Vec<u32>,
}

/// One minute of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute {
    /// When it began.
    pub at: Timestamp,
    /// The worst state that was seen in it; nothing where it was not looked at.
    pub worst: Option<NodeState>,
    /// Whether it also answered in that minute.
    pub answered: bool,
    /// The longest round trip, in microseconds.
    pub slowest_us: Option<u32>,
}

impl Hour {
    /// The minutes up to this moment, the oldest first: what came before the first that is known is left out.
    pub fn of(minutes: impl Iterator<Item = (i64, Minute)>, now: Timestamp) -> Self {
        let last = minute_of(now);
        let span = i64::try_from(MINUTES).unwrap_or(i64::MAX);
        let mut states = vec!['-'; MINUTES];
        let mut slowest_us = vec![0; MINUTES];
        for (number, minute) in minutes {
            let place = usize::try_from(number - last + span - 1);
            if let Some(place) = place.ok().filter(|place| *place < MINUTES) {
                states[place] = letter(&minute);
                slowest_us[place] = minute.slowest_us.unwrap_or(0);
            }
        }
        Self {
            last,
            states: states.into_iter().collect(),
            slowest_us,
        }
    }

    /// Its minutes, the oldest first.
    pub fn minutes(&self) -> Vec<Minute> {
        let many = i64::try_from(self.states.len()).unwrap_or(i64::MAX);
        let first = self.last - many + 1;
        let slowest = self.slowest_us.iter().copied().chain(std::iter::repeat(0));
        let letters = self.states.chars().zip(slowest).zip(first..);
        letters
            .map(|((letter, slowest), number)| {
                let (worst, answered) = state(letter);
                Minute {
                    at: Timestamp::from_millis(number * 60_000),
                    worst,
                    answered,
                    slowest_us: (slowest > 0).then_some(slowest),
                }
            })
            .collect()
    }

    /// The same, with minutes that are alike and follow one another as one stretch.
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        for minute in self.minutes() {
            match all.last_mut() {
                Some(last) if last.worst == minute.worst && last.answered == minute.answered => {
                    last.minutes += 1;
                    last.slowest_us = last.slowest_us.max(minute.slowest_us);
                }
                _ => all.push(Stretch {
                    at: minute.at,
                    minutes: 1,
                    worst: minute.worst,
                    answered: minute.answered,
                    slowest_us: minute.slowest_us,
                }),
            }
        }
        all
    }
}

/// Minutes in a row that were alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When the first began.
    pub at: Timestamp,
    /// How many.
    pub minutes: u32,
    /// The worst state that was seen in each.
    pub worst: Option<NodeState>,
    /// Whether it also answered in each.
    pub answered: bool,
    /// The longest round trip of all, in microseconds.
    pub slowest_us: Option<u32>,
}

/// The number of the minute that a moment is in.
pub fn minute_of(moment: Timestamp) -> i64 {
    moment.millis().div_euclid(60_000)
}

/// `U` up, `D` down, `L` loading, `R` refused; small where it answered in that minute too; `-` not looked at.
fn letter(minute: &Minute) -> char {
    match (minute.worst, minute.answered) {
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

    fn minute(worst: NodeState, answered: bool, slowest_us: Option<u32>) -> Minute {
        Minute {
            at: NOW,
            worst: Some(worst),
            answered,
            slowest_us,
        }
    }

    #[test]
    fn an_hour_has_sixty_minutes_and_those_nobody_looked_at_are_not_known() {
        let last = minute_of(NOW);
        let seen = [
            (last - 100, minute(NodeState::Up, true, Some(9))),
            (last - 59, minute(NodeState::Up, true, Some(300))),
            (last - 1, minute(NodeState::Down, true, Some(800))),
            (last, minute(NodeState::Refused, false, None)),
        ];
        let hour = Hour::of(seen.into_iter(), NOW);
        let text = serde_json::to_string(&hour).unwrap();
        let hour: Hour = serde_json::from_str(&text).unwrap();
        let minutes = hour.minutes();
        assert_eq!(minutes.len(), MINUTES);
        assert_eq!(minutes[0].worst, Some(NodeState::Up));
        assert_eq!(minutes[0].slowest_us, Some(300));
        assert_eq!(minutes[1].worst, None);
        assert_eq!(
            (minutes[58].worst, minutes[58].answered),
            (Some(NodeState::Down), true)
        );
        assert_eq!(
            (minutes[59].worst, minutes[59].answered),
            (Some(NodeState::Refused), false)
        );
        assert_eq!(minutes[59].at, Timestamp::from_millis(last * 60_000));
    }

    #[test]
    fn minutes_that_are_alike_are_told_together() {
        let last = minute_of(NOW);
        let up = (last - 9..last).map(|n| (n, minute(NodeState::Up, true, Some(100))));
        let down = [(last, minute(NodeState::Down, false, None))];
        let stretches = Hour::of(up.chain(down), NOW).stretches();
        let told: Vec<_> = stretches
            .iter()
            .map(|one| (one.worst, one.minutes))
            .collect();
        assert_eq!(
            told,
            [
                (None, 50),
                (Some(NodeState::Up), 9),
                (Some(NodeState::Down), 1)
            ]
        );
    }
}
