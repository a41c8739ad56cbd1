//! Who wanted a lock through this console and did not get it (yet): evidence of contention that no node shows.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Evidence, LockId, LockKey};
use crate::server::clock::Steady;

/// The time that counted attempts cover.
const WINDOW: Duration = Duration::from_secs(60);

/// Attempts within this time of the first are counted in one figure.
const COUNTED_TOGETHER: Duration = Duration::from_secs(1);

/// So many locks are counted for at once; attempts on others beyond go uncounted.
const MOST_LOCKS: usize = 100_000;

/// What is wanted, by lock.
#[derive(Debug, Default)]
pub struct Wants(Mutex<BTreeMap<LockId, Want>>);

#[derive(Debug, Default)]
struct Want {
    waiting: u64,
    /// Those of them who stand in the queue that the nodes have.
    in_nodes_queue: u64,
    /// Attempts that found the lock taken, by when the first of those that are counted together did.
    refused: VecDeque<(Steady, u64)>,
}

impl Wants {
    /// So many requests wait for this lock now, and so many of them stand in the queue that its nodes have, too.
    pub fn waiting(&self, id: &LockId, waiting: usize, in_nodes_queue: usize) {
        let mut wants = self.wants();
        if waiting == 0 && !wants.contains_key(id) {
            return;
        }
        if let Some(want) = entry(&mut wants, id) {
            // Stays until it was told that nobody waits any more.
            want.waiting = count(waiting);
            want.in_nodes_queue = count(in_nodes_queue);
        }
    }

    /// Somebody wanted this lock and found it taken.
    pub fn refused(&self, id: &LockId, now: Steady) {
        let mut wants = self.wants();
        let Some(want) = entry(&mut wants, id) else {
            return;
        };
        match want.refused.back_mut() {
            Some((began, count)) if now.since(*began) < COUNTED_TOGETHER => *count += 1,
            Some(_) | None => want.refused.push_back((now, 1)),
        }
        want.forget_before(now);
    }

    /// The locks of a group about which something is, or was just now, to be told.
    pub fn wanted(&self, group: &str) -> Vec<LockKey> {
        let wants = self.wants();
        let ours = wants.keys().filter(|id| id.group == group);
        ours.map(|id| id.key.clone()).collect()
    }

    /// What is known about this lock, together with those in the queue that its nodes have: whoever of ours stands in it is
    /// counted once, and also before the nodes were asked again.
    pub fn evidence(&self, id: &LockId, in_nodes_queue: u64, now: Steady) -> Vec<Evidence> {
        let evidence = |kind: &str, value: u64, window: Duration| Evidence {
            kind: kind.to_owned(),
            value,
            window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        };
        let mut wants = self.wants();
        let (mut queue, mut refused) = (in_nodes_queue, 0);
        if let Some(want) = wants.get_mut(id) {
            want.forget_before(now);
            let only_here = want.waiting.saturating_sub(want.in_nodes_queue);
            queue = in_nodes_queue.max(want.in_nodes_queue) + only_here;
            refused = want.refused.iter().map(|(_, count)| count).sum();
            if want.waiting == 0 && want.refused.is_empty() {
                wants.remove(id);
            }
        }
        let both = [
            evidence("queue", queue, Duration::ZERO),
            evidence("api-attempts", refused, WINDOW),
        ];
        both.into_iter().filter(|one| one.value > 0).collect()
    }

    fn wants(&self) -> MutexGuard<'_, BTreeMap<LockId, Want>> {
        self.0.lock()
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn entry<'a>(wants: &'a mut BTreeMap<LockId, Want>, id: &LockId) -> Option<&'a mut Want> {
    if wants.len() >= MOST_LOCKS && !wants.contains_key(id) {
        return None;
    }
    Some(wants.entry(id.clone()).or_default())
}

impl Want {
    fn forget_before(&mut self, now: Steady) {
        while self
            .refused
            .front()
            .is_some_and(|(at, _)| now.since(*at) >= WINDOW)
        {
            self.refused.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(wants: &Wants, id: &LockId, now: Steady) -> Vec<(String, u64)> {
        let evidence = wants.evidence(id, 0, now).into_iter();
        evidence.map(|one| (one.kind, one.value)).collect()
    }

    #[test]
    fn attempts_count_for_a_minute_and_waiters_while_they_wait() {
        let (wants, now) = (Wants::default(), Steady::default());
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        assert_eq!(told(&wants, &id, now), []);
        wants.refused(&id, now);
        wants.refused(&id, now.plus(Duration::from_millis(400)));
        wants.refused(&id, now.plus(Duration::from_secs(30)));
        wants.waiting(&id, 3, 0);
        let later = now.plus(Duration::from_secs(59));
        let both = [("queue".to_owned(), 3), ("api-attempts".to_owned(), 3)];
        assert_eq!(told(&wants, &id, later), both);
        wants.waiting(&id, 0, 0);
        let later = now.plus(Duration::from_secs(61));
        assert_eq!(told(&wants, &id, later), [("api-attempts".to_owned(), 1)]);
        assert_eq!(told(&wants, &id, now.plus(Duration::from_secs(91))), []);
        assert!(wants.wants().is_empty(), "nothing is kept for ever");
    }

    #[test]
    fn whoever_waits_here_and_on_the_nodes_is_one() {
        let (wants, now) = (Wants::default(), Steady::default());
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        for (here, in_nodes_queue, nodes_say, all) in [
            (0, 0, 2, 2),
            (3, 0, 2, 5),
            (3, 3, 3, 3),
            (3, 3, 5, 5),
            (3, 2, 5, 6),
            // Not asked since they came.
            (3, 3, 0, 3),
            (3, 2, 0, 3),
        ] {
            wants.waiting(&id, here, in_nodes_queue);
            let evidence = wants.evidence(&id, nodes_say, now);
            assert_eq!(
                (evidence.len(), evidence[0].value),
                (1, all),
                "{here} {in_nodes_queue}"
            );
        }
    }
}
