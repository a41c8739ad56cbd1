//! What a node was lately: minute by minute, with its changes of state and of place. Bounded: some 6 kB a node at most.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::node_past::{Hour, MINUTES, Minute, Turn, minute_of};
use crate::domain::{Moved, NodeState, Timestamp};

/// So many changes of state are remembered.
const TURNS: usize = 20;
/// So many moves to another server are.
const MOVES: usize = 10;
/// So much of a reason is, in characters.
const LONGEST_REASON: usize = 200;

/// The past of one node.
#[derive(Debug, Default)]
pub struct Lately {
    minutes: VecDeque<(i64, Minute)>,
    turns: VecDeque<Turn>,
    moves: VecDeque<Moved>,
}

impl Lately {
    /// The node was heard, or could not be.
    pub fn note(&mut self, state: NodeState, round_trip: Option<Duration>, now: Timestamp) {
        let slowest_us =
            round_trip.map(|took| u32::try_from(took.as_micros()).unwrap_or(u32::MAX).max(1));
        let number = minute_of(now);
        let answered = state == NodeState::Up;
        match self.minutes.back_mut() {
            // A clock that was set back does not begin the minute anew.
            Some((last, minute)) if *last >= number => {
                minute.answered |= answered;
                minute.slowest_us = minute.slowest_us.max(slowest_us);
                if !answered {
                    minute.worst = Some(state);
                }
            }
            Some(_) | None => {
                push(
                    &mut self.minutes,
                    MINUTES,
                    (
                        number,
                        Minute {
                            at: now,
                            worst: Some(state),
                            answered,
                            slowest_us,
                        },
                    ),
                );
            }
        }
    }

    /// It is in another state from now on.
    pub fn turned(&mut self, state: NodeState, reason: Option<&str>, at: Timestamp) {
        let reason = reason.map(|why| why.chars().take(LONGEST_REASON).collect());
        push(&mut self.turns, TURNS, Turn { at, state, reason });
    }

    /// It is another server from now on.
    pub fn moved(&mut self, moved: Moved) {
        push(&mut self.moves, MOVES, moved);
    }

    /// The last hour.
    pub fn hour(&self, now: Timestamp) -> Hour {
        Hour::of(self.minutes.iter().copied(), now)
    }

    /// The changes of state, the latest last.
    pub fn turns(&self) -> Vec<Turn> {
        self.turns.iter().cloned().collect()
    }

    /// The moves to another server, the latest last.
    pub fn moves(&self) -> Vec<Moved> {
        self.moves.iter().cloned().collect()
    }
}

fn push<T>(all: &mut VecDeque<T>, most: usize, one: T) {
    if all.len() == most {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(6_000_000_000);

    #[test]
    fn a_minute_is_as_bad_as_its_worst_moment_and_no_more_than_an_hour_is_kept() {
        let mut lately = Lately::default();
        for minute in 0..200 {
            let now = NOW.plus_millis(minute * 60_000);
            lately.note(NodeState::Up, Some(Duration::from_micros(300)), now);
            if minute == 199 {
                lately.note(NodeState::Down, None, now.plus_millis(1));
                lately.note(
                    NodeState::Up,
                    Some(Duration::from_millis(2)),
                    now.plus_millis(2),
                );
            }
        }
        assert_eq!(lately.minutes.len(), MINUTES);
        let minutes = lately.hour(NOW.plus_millis(199 * 60_000 + 3)).minutes();
        let (first, last) = (minutes[0], minutes[MINUTES - 1]);
        assert_eq!(
            (first.worst, first.slowest_us),
            (Some(NodeState::Up), Some(300))
        );
        assert_eq!((last.worst, last.answered), (Some(NodeState::Down), true));
        assert_eq!(last.slowest_us, Some(2_000));
    }

    #[test]
    fn only_the_last_changes_are_kept_and_long_reasons_are_cut() {
        let mut lately = Lately::default();
        for n in 0..50 {
            let why = "x".repeat(5_000);
            lately.turned(NodeState::Down, Some(&why), NOW.plus_millis(n));
            lately.moved(Moved {
                from: n.to_string(),
                at: NOW,
            });
        }
        let (turns, moves) = (lately.turns(), lately.moves());
        assert_eq!((turns.len(), moves.len()), (TURNS, MOVES));
        assert_eq!(turns[TURNS - 1].at, NOW.plus_millis(49));
        assert_eq!(turns[0].reason.as_ref().unwrap().len(), LONGEST_REASON);
        assert_eq!(moves[MOVES - 1].from, "49");
    }

    #[test]
    fn a_clock_that_goes_back_does_not_forget_what_was() {
        let mut lately = Lately::default();
        lately.note(NodeState::Down, None, NOW);
        lately.note(NodeState::Up, None, NOW.plus_millis(-120_000));
        assert_eq!(lately.minutes.len(), 1);
        assert_eq!(lately.minutes[0].1.worst, Some(NodeState::Down));
    }
}
