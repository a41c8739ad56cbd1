//! Windows onto the board, looked at once for all who look at the same part of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::event::EventId;
use crate::domain::{View, Window};

/// Viewers are told of changes at most this often.
pub const BETWEEN_UPDATES: Duration = Duration::from_millis(200);
/// Looking at parts of a large board again and again takes at most this share of a processor in all: one in so many.
const SHARE: u32 = 4;
/// So many parts are kept in mind.
const MOST_VIEWS: usize = 64;

/// What was seen of a part of the board.
#[derive(Debug)]
pub struct Seen {
    /// Where in the stream of changes that was.
    pub id: EventId,
    /// What was there.
    pub window: Window,
    /// When somebody may look again.
    pub until: Instant,
}

/// What was last seen of each part.
#[derive(Debug, Default)]
pub struct Windows(Mutex<VecDeque<(View, Arc<Seen>)>>);

impl Windows {
    /// As if nobody had looked lately.
    pub fn forget(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// What there is to see of a part of the board now, or was a moment ago.
    pub fn of(&self, view: &View, look: impl FnOnce(&View) -> (EventId, Window)) -> Arc<Seen> {
        // One at a time: those who look at the same part at the same moment share what is seen.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        if let Some((_, seen)) = known.iter().find(|(known, _)| known == view)
            && seen.until > began
        {
            return Arc::clone(seen);
        }
        known.retain(|(known, seen)| known != view && seen.until + BETWEEN_UPDATES > began);
        let before = worked();
        let (id, window) = look(view);
        let took = worked().saturating_sub(before);
        let parts = u32::try_from(known.len() + 1).unwrap_or(u32::MAX);
        let seen = Arc::new(Seen {
            id,
            window,
            until: Instant::now() + BETWEEN_UPDATES.max(took.saturating_mul(SHARE * parts)),
        });
        if known.len() == MOST_VIEWS {
            known.pop_front();
        }
        known.push_back((view.clone(), Arc::clone(&seen)));
        seen
    }
}

/// How long this thread has worked. What it waited for, a lock or its turn on a busy machine, is not its work: made up for many times
/// over, it would keep viewers waiting for seconds.
fn worked() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_look_that_had_to_wait_is_not_waited_for_again() {
        let (_never, comes) = channel::<()>();
        let seen = Windows::default().of(&View::default(), |_| {
            assert!(comes.recv_timeout(Duration::from_millis(200)).is_err());
            let id = EventId { epoch: 0, seq: 0 };
            (id, Window::default())
        });
        assert!(seen.until <= Instant::now() + BETWEEN_UPDATES);
    }
}
