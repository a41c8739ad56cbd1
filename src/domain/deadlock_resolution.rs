//! Resolves a deadlock: finds the lock whose release unblocks the most waiters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{BlockingLock, Fingerprint, LockId, WaitForGraph};

/// The maximum number of locks whose release is simulated. Each simulation evaluates the whole
/// cycle.
const MAX_CANDIDATES: usize = 50;

/// A deadlock cycle and the lock to release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockResolution {
    /// The shortest cycle: a waiter for each lock holds the next one, and a waiter for the last
    /// lock holds the first.
    pub cycle: Vec<LockId>,
    /// The lock whose release resolves most of the deadlock.
    pub release: LockId,
    /// The number of deadlocked waiters that the release unblocks.
    pub unblocked_waiters: u32,
    /// The number of locks that remain deadlocked after the release.
    pub remaining_locks: u32,
}

impl WaitForGraph {
    /// Resolves the deadlock that a lock is part of; `None` if it is not deadlocked.
    pub fn resolve_deadlock(&self, id: &LockId) -> Option<DeadlockResolution> {
        let start = self.lock(id).filter(|lock| lock.deadlock)?;
        let deadlocked: Vec<&BlockingLock> =
            self.locks.iter().filter(|lock| lock.deadlock).collect();
        let dependents = reachable_from(start, &deadlocked);
        let members: Vec<&BlockingLock> = deadlocked
            .iter()
            .copied()
            .filter(|lock| lock.lock == start.lock || dependents.contains(&lock.lock))
            .filter(|lock| reachable_from(lock, &deadlocked).contains(&start.lock))
            .collect();
        let (deadlocked_waiters, _) = count_deadlocked(&members, None);
        let candidates = members.iter().take(MAX_CANDIDATES).map(|lock| {
            let (remaining_waiters, locks) = count_deadlocked(&members, Some(&lock.lock));
            (
                lock,
                deadlocked_waiters.saturating_sub(remaining_waiters),
                locks,
            )
        });
        // A complete resolution is preferred. The id makes the choice deterministic.
        let best = candidates.min_by_key(|(lock, unblocked_waiters, remaining_locks)| {
            (
                *remaining_locks,
                Reverse(*unblocked_waiters),
                Reverse(lock.blocked_waiter_count),
                lock.lock.clone(),
            )
        });
        best.map(
            |(lock, unblocked_waiters, remaining_locks)| DeadlockResolution {
                cycle: shortest_cycle(start, &members),
                release: lock.lock.clone(),
                unblocked_waiters,
                remaining_locks,
            },
        )
    }
}

/// The locks among `locks` that the waiters of `lock` hold.
fn held_by_waiters<'a>(
    lock: &'a BlockingLock,
    locks: &'a [&'a BlockingLock],
) -> impl Iterator<Item = &'a BlockingLock> {
    let waits = move |owner: &Fingerprint| {
        lock.waiters
            .iter()
            .any(|waiter| waiter.fingerprint == *owner)
    };
    locks.iter().copied().filter(move |held| {
        held.lock != lock.lock && held.owners.iter().any(|owner| waits(&owner.fingerprint))
    })
}

/// All locks that depend on the release of `from`.
fn reachable_from(from: &BlockingLock, locks: &[&BlockingLock]) -> BTreeSet<LockId> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(lock) = next.pop() {
        for held in held_by_waiters(lock, locks) {
            if reached.insert(held.lock.clone()) {
                next.extend(locks.iter().copied().find(|other| other.lock == held.lock));
            }
        }
    }
    reached
}

/// The shortest cycle through `start`, by breadth-first search.
fn shortest_cycle(start: &BlockingLock, members: &[&BlockingLock]) -> Vec<LockId> {
    let mut paths = vec![vec![start.lock.clone()]];
    let mut visited = BTreeSet::from([start.lock.clone()]);
    while !paths.is_empty() {
        let mut longer_paths = Vec::new();
        for path in paths {
            let last = members
                .iter()
                .copied()
                .find(|lock| path.last() == Some(&lock.lock));
            for held in last
                .into_iter()
                .flat_map(|last| held_by_waiters(last, members))
            {
                if held.lock == start.lock {
                    return path;
                }
                if visited.insert(held.lock.clone()) {
                    let mut path = path.clone();
                    path.push(held.lock.clone());
                    longer_paths.push(path);
                }
            }
        }
        paths = longer_paths;
    }
    vec![start.lock.clone()]
}

/// The numbers of deadlocked waiters and locks, without the lock `released`.
fn count_deadlocked(members: &[&BlockingLock], released: Option<&LockId>) -> (u32, u32) {
    let remaining = members.iter().filter(|lock| Some(&lock.lock) != released);
    let remaining = WaitForGraph::sorted_by_impact(remaining.copied().cloned().collect());
    let deadlocked = remaining.iter().filter(|lock| lock.deadlock);
    let waiters: BTreeSet<&Fingerprint> = deadlocked
        .clone()
        .flat_map(|lock| lock.waiters.iter().filter(|waiter| waiter.deadlock))
        .map(|waiter| &waiter.fingerprint)
        .collect();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (count(waiters.len()), count(deadlocked.count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::owner;
    use crate::domain::{Timestamp, WaitQueue, Waiter};

    /// `a` is held by 1, and 2 waits for it: `lock("a", 1, &[2])`.
    fn lock(key: &str, holder: u8, waiters: &[u8]) -> BlockingLock {
        let waiter = |n: &u8| Waiter {
            queue: WaitQueue::RedissonQueue,
            label: None,
            fingerprint: owner(*n).fingerprint,
            waiting_since: None,
            expires_at: None,
            held_locks: Vec::new(),
            deadlock: false,
        };
        BlockingLock {
            lock: id(key),
            owners: vec![owner(holder)],
            held_since: None,
            waiters: waiters.iter().map(waiter).collect(),
            waiter_count: 0,
            blocked_waiter_count: 0,
            depth: 0,
            deadlock: false,
        }
    }

    fn id(key: &str) -> LockId {
        LockId {
            group: "orders".into(),
            key: key.into(),
        }
    }

    fn waits(locks: Vec<BlockingLock>) -> WaitForGraph {
        WaitForGraph {
            locks: WaitForGraph::sorted_by_impact(locks),
            observed_at: Timestamp::from_millis(0),
            unread_nodes: Vec::new(),
            truncated: false,
        }
    }

    #[test]
    fn a_cycle_of_two_is_resolved_by_releasing_either_lock() {
        let waits = waits(vec![lock("a", 1, &[2]), lock("b", 2, &[1, 3])]);
        let out = waits.resolve_deadlock(&id("a")).unwrap();
        assert_eq!(out.cycle, [id("a"), id("b")]);
        assert_eq!((out.unblocked_waiters, out.remaining_locks), (2, 0));
        assert_eq!(
            waits.resolve_deadlock(&id("b")).unwrap().release,
            out.release
        );
    }

    #[test]
    fn a_lock_that_two_cycles_share_resolves_both() {
        // 1 waits for b and c, which 2 and 3 hold; both wait for a, which 1 holds.
        let waits = waits(vec![
            lock("a", 1, &[2, 3]),
            lock("b", 2, &[1]),
            lock("c", 3, &[1]),
        ]);
        let out = waits.resolve_deadlock(&id("c")).unwrap();
        assert_eq!(out.release, id("a"));
        assert_eq!((out.unblocked_waiters, out.remaining_locks), (3, 0));
        assert_eq!(out.cycle, [id("c"), id("a")]);
    }

    #[test]
    fn a_chain_without_a_cycle_has_no_resolution() {
        let waits = waits(vec![lock("a", 1, &[2]), lock("b", 2, &[3])]);
        assert_eq!(waits.resolve_deadlock(&id("a")), None);
        assert_eq!(waits.resolve_deadlock(&id("no-such-user")), None);
    }
}
