//! Acquire attempts through this console that were rejected or are waiting: evidence of contention
//! that no node shows.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Evidence, LockId, LockKey};
use crate::server::clock::MonotonicTime;

/// The window in which rejected attempts count.
const WINDOW: Duration = Duration::from_secs(60);

/// Attempts within this time are counted in one bucket.
const BUCKET_WIDTH: Duration = Duration::from_secs(1);

/// Locks that are counted at most. Attempts on further locks are not counted.
const MAX_LOCKS: usize = 100_000;

/// Attempts and waiters by lock.
#[derive(Debug, Default)]
pub struct LocalDemand(Mutex<BTreeMap<LockId, LockDemand>>);

#[derive(Debug, Default)]
struct LockDemand {
    waiting: u64,
    /// The waiters that are also in the queue on the nodes.
    in_node_queue: u64,
    /// Rejected attempts: start and count of each bucket.
    rejected: VecDeque<(MonotonicTime, u64)>,
}

impl LocalDemand {
    /// Sets the number of waiting requests, and how many of them are also in the queue on the
    /// nodes.
    pub fn set_waiters(&self, id: &LockId, waiting: usize, in_node_queue: usize) {
        let mut demand = self.demand();
        // Avoids an entry for a lock without waiters.
        if waiting == 0 && !demand.contains_key(id) {
            return;
        }
        if let Some(entry) = entry(&mut demand, id) {
            // An entry without waiters is kept until `evidence` has reported it.
            entry.waiting = count(waiting);
            entry.in_node_queue = count(in_node_queue);
        }
    }

    /// Counts an attempt that found the lock held.
    pub fn record_refusal(&self, id: &LockId, now: MonotonicTime) {
        let mut demand = self.demand();
        let Some(entry) = entry(&mut demand, id) else {
            return;
        };
        match entry.rejected.back_mut() {
            Some((began, count)) if now.duration_since(*began) < BUCKET_WIDTH => *count += 1,
            Some(_) | None => entry.rejected.push_back((now, 1)),
        }
        entry.expire_buckets(now);
    }

    /// The locks of a group with current or just ended demand.
    pub fn keys_of(&self, group: &str) -> Vec<LockKey> {
        let demand = self.demand();
        let ours = demand.keys().filter(|id| id.group == group);
        ours.map(|id| id.key.clone()).collect()
    }

    /// The evidence for this lock, merged with the queue length that the nodes report. Own waiters
    /// that are also in the nodes' queue count once, even before the nodes were read again.
    pub fn evidence(&self, id: &LockId, in_node_queue: u64, now: MonotonicTime) -> Vec<Evidence> {
        let evidence = |kind: &str, value: u64, window: Duration| Evidence {
            kind: kind.to_owned(),
            value,
            window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        };
        let mut demand = self.demand();
        let (mut queue, mut rejected) = (in_node_queue, 0);
        if let Some(entry) = demand.get_mut(id) {
            entry.expire_buckets(now);
            let local_only = entry.waiting.saturating_sub(entry.in_node_queue);
            // The nodes may not have been read since our waiters joined their queue.
            queue = in_node_queue.max(entry.in_node_queue) + local_only;
            rejected = entry.rejected.iter().map(|(_, count)| count).sum();
            if entry.waiting == 0 && entry.rejected.is_empty() {
                demand.remove(id);
            }
        }
        let both = [
            evidence("queue", queue, Duration::ZERO),
            evidence("api-attempts", rejected, WINDOW),
        ];
        both.into_iter().filter(|one| one.value > 0).collect()
    }

    fn demand(&self) -> MutexGuard<'_, BTreeMap<LockId, LockDemand>> {
        self.0.lock()
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn entry<'a>(
    demand: &'a mut BTreeMap<LockId, LockDemand>,
    id: &LockId,
) -> Option<&'a mut LockDemand> {
    if demand.len() >= MAX_LOCKS && !demand.contains_key(id) {
        return None;
    }
    Some(demand.entry(id.clone()).or_default())
}

impl LockDemand {
    fn expire_buckets(&mut self, now: MonotonicTime) {
        while self
            .rejected
            .front()
            .is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW)
        {
            self.rejected.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence_of(demand: &LocalDemand, id: &LockId, now: MonotonicTime) -> Vec<(String, u64)> {
        let evidence = demand.evidence(id, 0, now).into_iter();
        evidence.map(|one| (one.kind, one.value)).collect()
    }

    #[test]
    fn attempts_count_for_a_minute_and_waiters_while_they_wait() {
        let (demand, now) = (LocalDemand::default(), MonotonicTime::default());
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        assert_eq!(evidence_of(&demand, &id, now), []);
        demand.record_refusal(&id, now);
        demand.record_refusal(&id, now.plus(Duration::from_millis(400)));
        demand.record_refusal(&id, now.plus(Duration::from_secs(30)));
        demand.set_waiters(&id, 3, 0);
        let later = now.plus(Duration::from_secs(59));
        let both = [("queue".to_owned(), 3), ("api-attempts".to_owned(), 3)];
        assert_eq!(evidence_of(&demand, &id, later), both);
        demand.set_waiters(&id, 0, 0);
        let later = now.plus(Duration::from_secs(61));
        assert_eq!(
            evidence_of(&demand, &id, later),
            [("api-attempts".to_owned(), 1)]
        );
        assert_eq!(
            evidence_of(&demand, &id, now.plus(Duration::from_secs(91))),
            []
        );
        assert!(demand.demand().is_empty(), "expired entries are removed");
    }

    #[test]
    fn a_local_waiter_in_the_nodes_queue_is_counted_once() {
        let (demand, now) = (LocalDemand::default(), MonotonicTime::default());
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        for (waiting, in_node_queue, node_queue, all) in [
            (0, 0, 2, 2),
            (3, 0, 2, 5),
            (3, 3, 3, 3),
            (3, 3, 5, 5),
            (3, 2, 5, 6),
            // The nodes were not read since these waiters joined.
            (3, 3, 0, 3),
            (3, 2, 0, 3),
        ] {
            demand.set_waiters(&id, waiting, in_node_queue);
            let evidence = demand.evidence(&id, node_queue, now);
            assert_eq!(
                (evidence.len(), evidence[0].value),
                (1, all),
                "{waiting} {in_node_queue}"
            );
        }
    }
}
