//! Schedules verifications of the hash chain so that they take at most 2 % of the time, and keeps
//! the last result.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::domain::ChainCheck;

/// The pause after a verification, as a multiple of its duration.
const REST_FACTOR: u32 = 50;
/// The minimum pause.
const MIN_REST: Duration = Duration::from_secs(5);

/// The schedule and the last result.
#[derive(Default)]
pub struct CheckSchedule(Mutex<ScheduleState>);

#[derive(Default)]
struct ScheduleState {
    is_running: bool,
    last_result: Option<ChainCheck>,
    next_at: Option<Instant>,
}

impl CheckSchedule {
    /// Returns true if a verification is due and none is running. The caller must then run it and
    /// call [`Self::finish`].
    pub(super) fn try_begin(&self) -> bool {
        let mut state = self.0.lock();
        let is_due = state.next_at.is_none_or(|at| Instant::now() >= at);
        let starts = is_due && !state.is_running;
        state.is_running |= starts;
        starts
    }

    /// Records the result; `None` if the entries could not be read.
    pub(super) fn finish(&self, check: Option<ChainCheck>, took: Duration) {
        let mut state = self.0.lock();
        // An empty log costs nothing to verify and gets its first entries soon after startup, so
        // there is no pause.
        let is_empty = check == Some(ChainCheck::Unavailable);
        state.is_running = false;
        state.last_result = Some(check.unwrap_or(ChainCheck::Unavailable));
        state.next_at = (!is_empty).then(|| Instant::now() + MIN_REST.max(took * REST_FACTOR));
    }

    /// The last result, or that the first verification is running.
    pub(super) fn result(&self) -> ChainCheck {
        self.0
            .lock()
            .last_result
            .clone()
            .unwrap_or(ChainCheck::InProgress)
    }
}
