//! Timers for re-checking locks without a notification. Redis deletes an expired key only when it
//! is accessed or when the active expire cycle samples it, so each deadline is polled.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::domain::LockKey;
use crate::server::clock::{Clock, MonotonicTime};

/// The longest sleep. Bounded because a manual clock can be advanced without waking the task.
const MAX_SLEEP: Duration = Duration::from_secs(1);

/// The timers of one group's locks.
#[derive(Default)]
pub(super) struct RecheckTimers {
    queue: Mutex<TimerQueue>,
    /// Notified when the earliest deadline moves forward.
    earlier_deadline: Notify,
}

#[derive(Default)]
struct TimerQueue {
    by_key: HashMap<LockKey, MonotonicTime>,
    by_time: BTreeSet<(MonotonicTime, LockKey)>,
}

impl RecheckTimers {
    /// Sets or clears the timer of a lock. A lock has at most one timer.
    pub(super) fn set(&self, key: &LockKey, at: Option<MonotonicTime>) {
        let mut queue = self.queue();
        if let Some(before) = queue.by_key.get(key).copied() {
            if Some(before) == at {
                return;
            }
            queue.by_time.remove(&(before, key.clone()));
        }
        let Some(at) = at else {
            queue.by_key.remove(key);
            return;
        };
        let is_first = queue.by_time.first().is_none_or(|(first, _)| at < *first);
        queue.by_key.insert(key.clone(), at);
        queue.by_time.insert((at, key.clone()));
        // Released first, because the woken task takes the lock again.
        drop(queue);
        if is_first {
            self.earlier_deadline.notify_one();
        }
    }

    /// Waits until at least one timer has fired and removes up to `max` fired timers.
    pub(super) async fn next(&self, clock: &Clock, max: usize) -> Vec<LockKey> {
        loop {
            let now = clock.monotonic();
            let due = self.pop_due(now, max);
            if !due.is_empty() {
                return due;
            }
            let first = self.queue().by_time.first().map(|(at, _)| *at);
            let pause = first.map_or(MAX_SLEEP, |at| at.duration_since(now).min(MAX_SLEEP));
            tokio::select! {
                () = self.earlier_deadline.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    fn pop_due(&self, now: MonotonicTime, max: usize) -> Vec<LockKey> {
        let mut queue = self.queue();
        let mut due = Vec::new();
        while due.len() < max
            && queue.by_time.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, key)) = queue.by_time.pop_first()
        {
            queue.by_key.remove(&key);
            due.push(key);
        }
        due
    }

    fn queue(&self) -> MutexGuard<'_, TimerQueue> {
        self.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lock_fires_once_at_the_time_set_last() {
        let timers = RecheckTimers::default();
        let at = |ms| MonotonicTime::default().plus(Duration::from_millis(ms));
        timers.set(&"a".into(), Some(at(30)));
        timers.set(&"b".into(), Some(at(20)));
        timers.set(&"c".into(), Some(at(20)));
        timers.set(&"a".into(), Some(at(10)));
        timers.set(&"c".into(), None);
        assert_eq!(timers.pop_due(at(9), 9), []);
        assert_eq!(timers.pop_due(at(40), 1), [LockKey::from("a")]);
        assert_eq!(timers.pop_due(at(40), 9), [LockKey::from("b")]);
        assert_eq!(timers.pop_due(at(40), 9), []);
    }
}
