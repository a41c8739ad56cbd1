//! When locks want to be looked at though nobody tells of a change: nodes let go of a key late, if nobody asks for it.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::domain::LockKey;
use crate::server::clock::{Clock, Steady};

/// Nobody sleeps longer than this: a clock may be moved by hand.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The moments at which the locks of one group are due.
#[derive(Default)]
pub(super) struct Due {
    times: Mutex<Times>,
    /// Rung when the earliest moment has become an earlier one.
    earlier: Notify,
}

#[derive(Default)]
struct Times {
    by_key: HashMap<LockKey, Steady>,
    in_order: BTreeSet<(Steady, LockKey)>,
}

impl Due {
    /// A lock is due at this moment and at no other, or never.
    pub(super) fn set(&self, key: &LockKey, at: Option<Steady>) {
        let mut times = self.times();
        if let Some(before) = times.by_key.get(key).copied() {
            if Some(before) == at {
                return;
            }
            times.in_order.remove(&(before, key.clone()));
        }
        let Some(at) = at else {
            times.by_key.remove(key);
            return;
        };
        let is_first = times.in_order.first().is_none_or(|(first, _)| at < *first);
        times.by_key.insert(key.clone(), at);
        times.in_order.insert((at, key.clone()));
        drop(times);
        if is_first {
            self.earlier.notify_one();
        }
    }

    /// Waits until some are due, and takes them.
    pub(super) async fn next(&self, clock: &Clock, most: usize) -> Vec<LockKey> {
        loop {
            let now = clock.steady();
            let due = self.take(now, most);
            if !due.is_empty() {
                return due;
            }
            let first = self.times().in_order.first().map(|(at, _)| *at);
            let pause = first.map_or(LONGEST_SLEEP, |at| at.since(now).min(LONGEST_SLEEP));
            tokio::select! {
                () = self.earlier.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    fn take(&self, now: Steady, most: usize) -> Vec<LockKey> {
        let mut times = self.times();
        let mut due = Vec::new();
        while due.len() < most
            && times.in_order.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, key)) = times.in_order.pop_first()
        {
            times.by_key.remove(&key);
            due.push(key);
        }
        due
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lock_is_due_once_and_at_the_moment_that_was_said_last() {
        let due = Due::default();
        let at = |ms| Steady::default().plus(Duration::from_millis(ms));
        due.set(&"a".into(), Some(at(30)));
        due.set(&"b".into(), Some(at(20)));
        due.set(&"c".into(), Some(at(20)));
        due.set(&"a".into(), Some(at(10)));
        due.set(&"c".into(), None);
        assert_eq!(due.take(at(9), 9), []);
        assert_eq!(due.take(at(40), 1), [LockKey::from("a")]);
        assert_eq!(due.take(at(40), 9), [LockKey::from("b")]);
        assert_eq!(due.take(at(40), 9), []);
    }
}
