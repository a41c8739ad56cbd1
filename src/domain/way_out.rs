//! The shortest way out of a circle of waits: the lock whose release lets most of those get on who wait in it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Fingerprint, LockId, WaitedFor, Waits};

/// Of a larger circle only the first so many locks are tried.
const MOST_TRIED: usize = 50;

/// A circle, and what to release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOut {
    /// Locks of the circle: who waits for the first holds the second, and so on back to the first.
    pub circle: Vec<LockId>,
    /// The lock whose release frees most.
    pub release: LockId,
    /// How many who wait in the circle get on then.
    pub frees: u32,
    /// How many locks stay in a circle all the same.
    pub leaves: u32,
}

impl Waits {
    /// The way out of the circle that a lock is in; nothing for a lock that is in none.
    pub fn way_out(&self, id: &LockId) -> Option<WayOut> {
        let top = self.lock(id).filter(|lock| lock.deadlock)?;
        let stuck: Vec<&WaitedFor> = self.locks.iter().filter(|lock| lock.deadlock).collect();
        let below = reach(top, &stuck);
        let circle: Vec<&WaitedFor> = stuck
            .iter()
            .copied()
            .filter(|lock| lock.lock == top.lock || below.contains(&lock.lock))
            .filter(|lock| reach(lock, &stuck).contains(&top.lock))
            .collect();
        let (waited, _) = still_stuck(&circle, None);
        let tried = circle.iter().take(MOST_TRIED).map(|lock| {
            let (waits, locks) = still_stuck(&circle, Some(&lock.lock));
            (lock, waited.saturating_sub(waits), locks)
        });
        let best = tried.min_by_key(|(lock, frees, leaves)| {
            (
                *leaves,
                Reverse(*frees),
                Reverse(lock.blocks),
                lock.lock.clone(),
            )
        });
        best.map(|(lock, frees, leaves)| WayOut {
            circle: round(top, &circle),
            release: lock.lock.clone(),
            frees,
            leaves,
        })
    }
}

/// The locks that those hold who wait for this one.
fn held_by_waiters<'a>(
    lock: &'a WaitedFor,
    among: &'a [&'a WaitedFor],
) -> impl Iterator<Item = &'a WaitedFor> {
    let waits = move |owner: &Fingerprint| lock.waiters.iter().any(|one| one.fingerprint == *owner);
    among.iter().copied().filter(move |held| {
        held.lock != lock.lock && held.owners.iter().any(|owner| waits(&owner.fingerprint))
    })
}

/// All that hang on a lock.
fn reach(from: &WaitedFor, among: &[&WaitedFor]) -> BTreeSet<LockId> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(lock) = next.pop() {
        for held in held_by_waiters(lock, among) {
            if reached.insert(held.lock.clone()) {
                next.extend(among.iter().copied().find(|one| one.lock == held.lock));
            }
        }
    }
    reached
}

/// The shortest way from a lock back to it.
fn round(top: &WaitedFor, circle: &[&WaitedFor]) -> Vec<LockId> {
    let mut ways = vec![vec![top.lock.clone()]];
    let mut seen = BTreeSet::from([top.lock.clone()]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = circle
                .iter()
                .copied()
                .find(|lock| way.last() == Some(&lock.lock));
            for held in last
                .into_iter()
                .flat_map(|last| held_by_waiters(last, circle))
            {
                if held.lock == top.lock {
                    return way;
                }
                if seen.insert(held.lock.clone()) {
                    let mut way = way.clone();
                    way.push(held.lock.clone());
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    vec![top.lock.clone()]
}

/// How many waiters and locks are in a circle, without one of the locks.
fn still_stuck(circle: &[&WaitedFor], without: Option<&LockId>) -> (u32, u32) {
    let left = circle.iter().filter(|lock| Some(&lock.lock) != without);
    let left = Waits::arrange(left.copied().cloned().collect());
    let stuck = left.iter().filter(|lock| lock.deadlock);
    let waiters: BTreeSet<&Fingerprint> = stuck
        .clone()
        .flat_map(|lock| lock.waiters.iter().filter(|waiter| waiter.deadlock))
        .map(|waiter| &waiter.fingerprint)
        .collect();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (count(waiters.len()), count(stuck.count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::owner;
    use crate::domain::{Timestamp, Waiter, WaitsIn};

    /// `a` is held by 1, and 2 waits for it: `lock("a", 1, &[2])`.
    fn lock(key: &str, holder: u8, waiters: &[u8]) -> WaitedFor {
        let waiter = |n: &u8| Waiter {
            waits_in: WaitsIn::RedissonQueue,
            label: None,
            fingerprint: owner(*n).fingerprint,
            since: None,
            until: None,
            holds: Vec::new(),
            deadlock: false,
        };
        WaitedFor {
            lock: id(key),
            owners: vec![owner(holder)],
            held_since: None,
            waiters: waiters.iter().map(waiter).collect(),
            waiting: 0,
            blocks: 0,
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

    fn waits(locks: Vec<WaitedFor>) -> Waits {
        Waits {
            locks: Waits::arrange(locks),
            observed_at: Timestamp::from_millis(0),
            unread: Vec::new(),
            is_cut: false,
        }
    }

    #[test]
    fn two_who_wait_for_one_another_are_freed_by_the_release_of_either() {
        let waits = waits(vec![lock("a", 1, &[2]), lock("b", 2, &[1, 3])]);
        let out = waits.way_out(&id("a")).unwrap();
        assert_eq!(out.circle, [id("a"), id("b")]);
        assert_eq!((out.frees, out.leaves), (2, 0));
        assert_eq!(waits.way_out(&id("b")).unwrap().release, out.release);
    }

    #[test]
    fn the_lock_that_two_circles_share_is_the_way_out_of_both() {
        // 1 waits for b and c, which 2 and 3 hold; both wait for a, which 1 holds.
        let waits = waits(vec![
            lock("a", 1, &[2, 3]),
            lock("b", 2, &[1]),
            lock("c", 3, &[1]),
        ]);
        let out = waits.way_out(&id("c")).unwrap();
        assert_eq!(out.release, id("a"));
        assert_eq!((out.frees, out.leaves), (3, 0));
        assert_eq!(out.circle, [id("c"), id("a")]);
    }

    #[test]
    fn who_waits_in_no_circle_has_no_way_out_to_be_told() {
        let waits = waits(vec![lock("a", 1, &[2]), lock("b", 2, &[3])]);
        assert_eq!(waits.way_out(&id("a")), None);
        assert_eq!(waits.way_out(&id("nobody")), None);
    }
}
