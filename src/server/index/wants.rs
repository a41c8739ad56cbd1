//! Who wanted a lock through this console and did not get it (yet): evidence of contention that no node shows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::domain::{Evidence, LockId, LockKey, Timestamp};

/// The time that counted attempts cover.
const WINDOW: Duration = Duration::from_secs(60);

/// So many locks are counted for at once; attempts on others beyond go uncounted.
const MOST_LOCKS: usize = 100_000;

/// What is wanted, by lock.
#[derive(Debug, Default)]
pub struct Wants(Mutex<BTreeMap<LockId, Want>>);

#[derive(Debug, Default)]
struct Want {
    waiting: u64,
    /// Attempts that found the lock taken, by the second in which they did.
    refused: VecDeque<(i64, u64)>,
}

impl Wants {
    /// So many requests wait for this lock now.
    pub fn waiting(&self, id: &LockId, waiting: usize) {
        let mut wants = self.wants();
        if waiting == 0 && !wants.contains_key(id) {
            return;
        }
        if let Some(want) = entry(&mut wants, id) {
            // Stays until it was told that nobody waits any more.
            want.waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
        }
    }

    /// Somebody wanted this lock and found it taken.
    pub fn refused(&self, id: &LockId, now: Timestamp) {
        let mut wants = self.wants();
        let Some(want) = entry(&mut wants, id) else {
            return;
        };
        let second = now.millis() / 1000;
        match want.refused.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            Some(_) | None => want.refused.push_back((second, 1)),
        }
        want.forget_before(now);
    }

    /// The locks of a group about which something is, or was just now, to be told.
    pub fn wanted(&self, group: &str) -> Vec<LockKey> {
        let wants = self.wants();
        let ours = wants.keys().filter(|id| id.group == group);
        ours.map(|id| id.key.clone()).collect()
    }

    /// What is known about this lock; nothing where nobody wanted it from here.
    pub fn evidence(&self, id: &LockId, now: Timestamp) -> Vec<Evidence> {
        let mut wants = self.wants();
        let Some(want) = wants.get_mut(id) else {
            return Vec::new();
        };
        want.forget_before(now);
        let evidence = |kind: &str, value: u64, window: Duration| Evidence {
            kind: kind.to_owned(),
            value,
            window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        };
        let refused = want.refused.iter().map(|(_, count)| count).sum();
        let both = [
            evidence("queue", want.waiting, Duration::ZERO),
            evidence("api-attempts", refused, WINDOW),
        ];
        if want.waiting == 0 && want.refused.is_empty() {
            wants.remove(id);
        }
        both.into_iter().filter(|one| one.value > 0).collect()
    }

    fn wants(&self) -> MutexGuard<'_, BTreeMap<LockId, Want>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

fn entry<'a>(wants: &'a mut BTreeMap<LockId, Want>, id: &LockId) -> Option<&'a mut Want> {
    if wants.len() >= MOST_LOCKS && !wants.contains_key(id) {
        return None;
    }
    Some(wants.entry(id.clone()).or_default())
}

impl Want {
    fn forget_before(&mut self, now: Timestamp) {
        let oldest = now.millis() / 1000 - i64::try_from(WINDOW.as_secs()).unwrap_or(i64::MAX);
        while self.refused.front().is_some_and(|(at, _)| *at <= oldest) {
            self.refused.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(wants: &Wants, id: &LockId, now: Timestamp) -> Vec<(String, u64)> {
        let evidence = wants.evidence(id, now).into_iter();
        evidence.map(|one| (one.kind, one.value)).collect()
    }

    #[test]
    fn attempts_count_for_a_minute_and_waiters_while_they_wait() {
        let (wants, now) = (Wants::default(), Timestamp::from_millis(1_795_200_545_000));
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        assert_eq!(told(&wants, &id, now), []);
        wants.refused(&id, now);
        wants.refused(&id, now.plus_millis(400));
        wants.refused(&id, now.plus_millis(30_000));
        wants.waiting(&id, 3);
        let later = now.plus_millis(59_000);
        let both = [("queue".to_owned(), 3), ("api-attempts".to_owned(), 3)];
        assert_eq!(told(&wants, &id, later), both);
        wants.waiting(&id, 0);
        let later = now.plus_millis(61_000);
        assert_eq!(told(&wants, &id, later), [("api-attempts".to_owned(), 1)]);
        assert_eq!(told(&wants, &id, now.plus_millis(91_000)), []);
        assert!(wants.wants().is_empty(), "nothing is kept for ever");
    }
}
