//! Windows onto the board, looked at once for all who look at the same part of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
pub struct Windows(Mutex<VecDeque<(View, Arc<Part>)>>);

/// What was last seen of one part. Held while somebody looks at it: those who look at the same part at the same moment share
/// what is seen, and those who look at another one do not wait.
#[derive(Debug, Default)]
struct Part(Mutex<Option<Arc<Seen>>>);

impl Part {
    fn seen(&self) -> MutexGuard<'_, Option<Arc<Seen>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody looked at it lately, and nobody does now.
    fn is_over(&self, now: Instant) -> bool {
        let seen = self.0.try_lock();
        let is_old = |seen: &Arc<Seen>| seen.until + BETWEEN_UPDATES <= now;
        seen.is_ok_and(|seen| seen.as_ref().is_some_and(is_old))
    }
}

impl Windows {
    /// As if nobody had looked lately.
    pub fn forget(&self) {
        self.parts().clear();
    }

    /// Whether what was seen of a part of the board a moment ago still counts.
    pub fn has(&self, view: &View) -> bool {
        let parts = self.parts();
        let part = parts.iter().find(|(known, _)| known == view);
        part.is_some_and(|(_, part)| {
            let seen = part.0.try_lock();
            let is_fresh = |seen: &Arc<Seen>| seen.until > Instant::now();
            seen.is_ok_and(|seen| seen.as_ref().is_some_and(is_fresh))
        })
    }

    /// What there is to see of a part of the board now, or was a moment ago.
    pub fn of(&self, view: &View, look: impl FnOnce(&View) -> (EventId, Window)) -> Arc<Seen> {
        let (part, parts) = self.part(view);
        let mut known = part.seen();
        if let Some(seen) = known.as_ref()
            && seen.until > Instant::now()
        {
            return Arc::clone(seen);
        }
        let before = worked();
        let (id, window) = look(view);
        let took = worked().saturating_sub(before);
        let seen = Arc::new(Seen {
            id,
            window,
            until: Instant::now() + BETWEEN_UPDATES.max(took.saturating_mul(SHARE * parts)),
        });
        *known = Some(Arc::clone(&seen));
        seen
    }

    /// What is known of one part, and how many parts somebody looks at.
    fn part(&self, view: &View) -> (Arc<Part>, u32) {
        let (mut parts, now) = (self.parts(), Instant::now());
        let known = parts.iter().find(|(known, _)| known == view);
        let part = known.map(|(_, part)| Arc::clone(part));
        parts.retain(|(known, part)| known == view || !part.is_over(now));
        let part = part.unwrap_or_else(|| {
            if parts.len() == MOST_VIEWS {
                parts.pop_front();
            }
            let part = Arc::new(Part::default());
            parts.push_back((view.clone(), Arc::clone(&part)));
            part
        });
        let many = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        (part, many)
    }

    fn parts(&self) -> MutexGuard<'_, VecDeque<(View, Arc<Part>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
