//! The recent history of a node: its state per minute, its state changes and its address changes.
//! Bounded to about 6 kB per node.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::node_history::{
    HealthMinute, HealthTimeline, MINUTES, StateChange, minute_number,
};
use crate::domain::reason::Reason;
use crate::domain::{AddressChange, NodeState, Timestamp};

/// The number of state changes kept.
const MAX_STATE_CHANGES: usize = 20;
/// The number of address changes kept.
const MAX_MOVES: usize = 10;
/// The maximum length of a reason's text, in characters.
const MAX_REASON_CHARS: usize = 200;

/// The recent history of one node.
#[derive(Debug, Default)]
pub struct HealthHistory {
    minutes: VecDeque<(i64, HealthMinute)>,
    state_changes: VecDeque<StateChange>,
    moves: VecDeque<AddressChange>,
}

impl HealthHistory {
    /// Records the result of a health check.
    pub fn record(&mut self, state: NodeState, round_trip: Option<Duration>, now: Timestamp) {
        let slowest_us = round_trip.map(|round_trip| {
            u32::try_from(round_trip.as_micros())
                .unwrap_or(u32::MAX)
                .max(1)
        });
        let number = minute_number(now);
        let answered = state == NodeState::Up;
        match self.minutes.back_mut() {
            // If the clock was set back, the result is added to the latest minute: minutes must
            // stay in order.
            Some((last, minute)) if *last >= number => {
                minute.replied |= answered;
                minute.slowest_us = minute.slowest_us.max(slowest_us);
                if !answered {
                    minute.worst = Some(state);
                }
            }
            Some(_) | None => {
                push_bounded(
                    &mut self.minutes,
                    MINUTES,
                    (
                        number,
                        HealthMinute {
                            at: now,
                            worst: Some(state),
                            replied: answered,
                            slowest_us,
                        },
                    ),
                );
            }
        }
    }

    /// Records a state change.
    pub fn record_state_change(
        &mut self,
        state: NodeState,
        reason: Option<&Reason>,
        at: Timestamp,
    ) {
        let reason = reason.map(limit_length);
        push_bounded(
            &mut self.state_changes,
            MAX_STATE_CHANGES,
            StateChange { at, state, reason },
        );
    }

    /// Records that the node became a different server.
    pub fn record_move(&mut self, moved: AddressChange) {
        push_bounded(&mut self.moves, MAX_MOVES, moved);
    }

    /// The last hour, minute by minute.
    pub fn hour(&self, now: Timestamp) -> HealthTimeline {
        HealthTimeline::from_minutes(self.minutes.iter().copied(), now)
    }

    /// The state changes, oldest first.
    pub fn state_changes(&self) -> Vec<StateChange> {
        self.state_changes.iter().cloned().collect()
    }

    /// The address changes, oldest first.
    pub fn moves(&self) -> Vec<AddressChange> {
        self.moves.iter().cloned().collect()
    }
}

/// A reason with a longer text, as of many sentinels, is kept as the start of that text.
fn limit_length(reason: &Reason) -> Reason {
    let text = reason.to_string();
    match text.char_indices().nth(MAX_REASON_CHARS) {
        None => reason.clone(),
        Some((end, _)) => Reason::text(&text[..end]),
    }
}

fn push_bounded<T>(all: &mut VecDeque<T>, max_len: usize, item: T) {
    if all.len() == max_len {
        all.pop_front();
    }
    all.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(6_000_000_000);

    #[test]
    fn a_minute_shows_its_worst_state_and_only_one_hour_is_kept() {
        let mut history = HealthHistory::default();
        for minute in 0..200 {
            let now = NOW.plus_millis(minute * 60_000);
            history.record(NodeState::Up, Some(Duration::from_micros(300)), now);
            if minute == 199 {
                history.record(NodeState::Down, None, now.plus_millis(1));
                history.record(
                    NodeState::Up,
                    Some(Duration::from_millis(2)),
                    now.plus_millis(2),
                );
            }
        }
        assert_eq!(history.minutes.len(), MINUTES);
        let minutes = history.hour(NOW.plus_millis(199 * 60_000 + 3)).minutes();
        let (first, last) = (minutes[0], minutes[MINUTES - 1]);
        assert_eq!(
            (first.worst, first.slowest_us),
            (Some(NodeState::Up), Some(300))
        );
        assert_eq!((last.worst, last.replied), (Some(NodeState::Down), true));
        assert_eq!(last.slowest_us, Some(2_000));
    }

    #[test]
    fn only_the_latest_changes_are_kept_and_long_reasons_are_truncated() {
        let mut history = HealthHistory::default();
        for n in 0..50 {
            let reason = Reason::text("x".repeat(5_000));
            history.record_state_change(NodeState::Down, Some(&reason), NOW.plus_millis(n));
            history.record_move(AddressChange {
                previous_address: n.to_string(),
                at: NOW,
            });
        }
        let (state_changes, moves) = (history.state_changes(), history.moves());
        assert_eq!(
            (state_changes.len(), moves.len()),
            (MAX_STATE_CHANGES, MAX_MOVES)
        );
        assert_eq!(state_changes[MAX_STATE_CHANGES - 1].at, NOW.plus_millis(49));
        assert_eq!(
            state_changes[0].reason,
            Some(Reason::text("x".repeat(MAX_REASON_CHARS)))
        );
        assert_eq!(moves[MAX_MOVES - 1].previous_address, "49");
    }

    #[test]
    fn history_is_kept_when_the_clock_is_set_back() {
        let mut history = HealthHistory::default();
        history.record(NodeState::Down, None, NOW);
        history.record(NodeState::Up, None, NOW.plus_millis(-120_000));
        assert_eq!(history.minutes.len(), 1);
        assert_eq!(history.minutes[0].1.worst, Some(NodeState::Down));
    }
}
