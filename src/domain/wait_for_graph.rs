//! The wait-for graph: locks with waiters, sorted by impact, and deadlock cycles.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::contains;
use super::{Fingerprint, LockId, Owner, Timestamp};

/// The queue of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitQueue {
    /// The queue of this console, for acquires with a wait timeout.
    Console,
    /// The queue of a Redisson fair lock, on the nodes.
    RedissonQueue,
    /// The queue of the lock service: ZooKeeper, etcd or PostgreSQL.
    Service,
}

/// A client that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Waiter {
    /// The queue in which the waiter was found.
    pub queue: WaitQueue,
    /// The label of the waiter, or the readable part of the value that it would write.
    pub label: Option<String>,
    /// The fingerprint that the waiter will have as an owner.
    pub fingerprint: Fingerprint,
    /// When the waiter joined the queue; null if that is not known.
    pub waiting_since: Option<Timestamp>,
    /// When the entry in the queue expires if the waiter does not get the lock first; null if that
    /// is not known.
    pub expires_at: Option<Timestamp>,
    /// The locks of the same group that the waiter holds. Waiters for those locks depend on this
    /// waiter.
    pub held_locks: Vec<LockId>,
    /// Whether the waiter is part of a deadlock cycle. It gets the lock only after another member
    /// of the cycle gives up.
    pub deadlock: bool,
}

/// A lock with waiters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockingLock {
    /// The group and name of the lock.
    pub lock: LockId,
    /// The owners, ordered by the number of nodes; empty if no owner was observed.
    pub owners: Vec<Owner>,
    /// When the first of `owners` acquired the lock, as far as that is known.
    pub held_since: Option<Timestamp>,
    /// The waiters in queue order, as far as that is known; at most 100.
    pub waiters: Vec<Waiter>,
    /// The total number of waiters, including those that are not listed.
    pub waiter_count: u32,
    /// How many of the listed waiters depend on the release of this lock, directly or through locks
    /// that other waiters hold.
    pub blocked_waiter_count: u32,
    /// The distance to the root lock that blocks this one; 0 for a root, whose owner does not wait.
    pub depth: u32,
    /// Whether the lock is part of a deadlock cycle.
    pub deadlock: bool,
}

/// The wait-for graph of the locks with waiters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitForGraph {
    /// The locks with waiters: deadlocked locks first, then by depth, then by the number of blocked
    /// waiters.
    pub locks: Vec<BlockingLock>,
    /// When the queues were read.
    pub observed_at: Timestamp,
    /// Nodes whose queues could not be read. More waiters may be there.
    pub unread_nodes: Vec<String>,
    /// There are more fair locks than the maximum number of queues that are read.
    pub truncated: bool,
}

impl WaitForGraph {
    /// Computes depth, blocked waiters and deadlocks from the ids, owners and waiters of the locks,
    /// and sorts the locks by impact.
    pub fn sorted_by_impact(mut locks: Vec<BlockingLock>) -> Vec<BlockingLock> {
        let positions = LockDependencies::from_locks(&locks).positions(&locks);
        for (lock, position) in locks.iter_mut().zip(positions) {
            lock.deadlock = position.deadlock;
            lock.depth = position.depth;
            lock.blocked_waiter_count = position.blocked_waiter_count;
            for (waiter, deadlock) in lock.waiters.iter_mut().zip(position.waiters) {
                waiter.deadlock = deadlock;
            }
        }
        locks.sort_by(|a, b| {
            let rank = |lock: &BlockingLock| {
                (
                    !lock.deadlock,
                    lock.depth,
                    u32::MAX - lock.blocked_waiter_count,
                )
            };
            (rank(a), &a.lock).cmp(&(rank(b), &b.lock))
        });
        locks
    }

    /// The roots of the graph, and the first lock of each cycle.
    pub fn roots(&self) -> Vec<&BlockingLock> {
        let mut dependents = BTreeSet::new();
        let mut roots = Vec::new();
        for lock in &self.locks {
            if dependents.contains(&lock.lock) || lock.depth > 0 {
                continue;
            }
            roots.push(lock);
            self.collect_dependents(lock, &mut dependents);
        }
        roots
    }

    /// The chains that contain a match: a lock of the group whose name or whose owner or waiter
    /// matches the text. Matching chains are returned completely, with all their locks.
    pub fn filtered(&self, group: Option<&str>, text: &str) -> Self {
        let client_matches = |label: Option<&str>, fingerprint: &Fingerprint| {
            label.is_some_and(|label| contains(label, text))
                || fingerprint.as_str().starts_with(&text.to_ascii_lowercase())
        };
        let matches = |lock: &BlockingLock| {
            let mut owners = lock.owners.iter();
            let mut waiters = lock.waiters.iter();
            group.is_none_or(|group| group == lock.lock.group)
                && (contains(&lock.lock.key.text(), text)
                    || owners
                        .any(|owner| client_matches(owner.label.as_deref(), &owner.fingerprint))
                    || waiters
                        .any(|waiter| client_matches(waiter.label.as_deref(), &waiter.fingerprint)))
        };
        let (mut visited, mut shown) = (BTreeSet::new(), BTreeSet::new());
        // `held_locks` may be incomplete, so a lock can be unreachable from every root.
        for top in self.roots().into_iter().chain(&self.locks) {
            if visited.contains(&top.lock) {
                continue;
            }
            let mut chain = BTreeSet::new();
            self.collect_dependents(top, &mut chain);
            visited.extend(chain.iter().copied());
            let mut locks = chain.iter().filter_map(|id| self.lock(id));
            if locks.any(matches) {
                shown.append(&mut chain);
            }
        }
        let locks = self.locks.iter();
        Self {
            locks: locks
                .filter(|lock| shown.contains(&lock.lock))
                .cloned()
                .collect(),
            unread_nodes: self.unread_nodes.clone(),
            ..*self
        }
    }

    /// A lock and all locks that depend on its release.
    pub fn dependents_of<'a>(&'a self, lock: &'a BlockingLock) -> Vec<&'a BlockingLock> {
        let mut dependents = BTreeSet::new();
        self.collect_dependents(lock, &mut dependents);
        dependents
            .into_iter()
            .filter_map(|id| self.lock(id))
            .collect()
    }

    /// The lock with this id, if it has waiters.
    pub fn lock(&self, id: &LockId) -> Option<&BlockingLock> {
        self.locks.iter().find(|lock| lock.lock == *id)
    }

    fn collect_dependents<'a>(
        &'a self,
        lock: &'a BlockingLock,
        dependents: &mut BTreeSet<&'a LockId>,
    ) {
        let mut next = vec![lock];
        while let Some(lock) = next.pop() {
            if dependents.insert(&lock.lock) {
                let held = lock.waiters.iter().flat_map(|waiter| &waiter.held_locks);
                next.extend(held.filter_map(|id| self.lock(id)));
            }
        }
    }
}

/// The dependencies between locks, by their index in the list.
///
/// An owner and a waiter with the same fingerprint are the same client. Owner values are random, so
/// this also holds across nodes and groups.
struct LockDependencies<'a> {
    /// For each lock, the locks that its owner waits for.
    parents: Vec<BTreeSet<usize>>,
    waiters: Vec<BTreeSet<&'a Fingerprint>>,
    held: BTreeMap<&'a Fingerprint, BTreeSet<usize>>,
    /// For each lock, all locks that depend on its release.
    dependents: Vec<BTreeSet<usize>>,
}

/// The computed properties of a lock.
struct GraphPosition {
    deadlock: bool,
    depth: u32,
    blocked_waiter_count: u32,
    /// For each waiter, whether it is deadlocked.
    waiters: Vec<bool>,
}

impl<'a> LockDependencies<'a> {
    fn from_locks(locks: &'a [BlockingLock]) -> Self {
        let mut held: BTreeMap<&Fingerprint, BTreeSet<usize>> = BTreeMap::new();
        for (n, lock) in locks.iter().enumerate() {
            for owner in &lock.owners {
                held.entry(&owner.fingerprint).or_default().insert(n);
            }
        }
        let waiters =
            |lock: &'a BlockingLock| lock.waiters.iter().map(|waiter| &waiter.fingerprint);
        let waiters: Vec<BTreeSet<&Fingerprint>> =
            locks.iter().map(|lock| waiters(lock).collect()).collect();
        let children: Vec<BTreeSet<usize>> = waiters
            .iter()
            .enumerate()
            .map(|(n, waiters)| {
                let held = waiters.iter().filter_map(|waiter| held.get(waiter));
                // An owner that also waits for its own lock does not depend on another client.
                held.flatten().copied().filter(|held| *held != n).collect()
            })
            .collect();
        let mut parents = vec![BTreeSet::new(); locks.len()];
        for (parent, children) in children.iter().enumerate() {
            for child in children {
                parents[*child].insert(parent);
            }
        }
        let dependents = (0..locks.len())
            .map(|n| reachable_from(n, &children))
            .collect();
        Self {
            parents,
            waiters,
            held,
            dependents,
        }
    }

    fn positions(&self, locks: &[BlockingLock]) -> Vec<GraphPosition> {
        let position = |(n, lock): (usize, &BlockingLock)| {
            let cycle = self.cycle(n);
            let is_deadlocked = |waiter: &Waiter| {
                let mut held = self.held_by(n, &waiter.fingerprint).into_iter();
                held.any(|held| cycle.contains(&held))
            };
            GraphPosition {
                deadlock: !cycle.is_empty(),
                depth: self.depth(n),
                blocked_waiter_count: self.blocked_waiter_count(n),
                waiters: lock.waiters.iter().map(is_deadlocked).collect(),
            }
        };
        locks.iter().enumerate().map(position).collect()
    }

    /// The other locks of the cycles through this lock, and the lock itself; empty without a cycle.
    fn cycle(&self, n: usize) -> BTreeSet<usize> {
        let mutual = |other: &usize| self.dependents[*other].contains(&n);
        self.dependents[n].iter().copied().filter(mutual).collect()
    }

    /// The shortest distance to a lock that depends on no other lock, or that is in a cycle.
    fn depth(&self, n: usize) -> u32 {
        let (mut level, mut visited, mut depth) = (BTreeSet::from([n]), BTreeSet::from([n]), 0);
        loop {
            let is_top = |n: &usize| self.parents[*n].is_empty() || self.dependents[*n].contains(n);
            if level.is_empty() || level.iter().any(is_top) {
                return depth;
            }
            level = level
                .iter()
                .flat_map(|n| self.parents[*n].iter().copied())
                .collect();
            level.retain(|n| visited.insert(*n));
            depth += 1;
        }
    }

    fn blocked_waiter_count(&self, n: usize) -> u32 {
        let locks = self.dependents[n].iter().copied().chain([n]);
        let waiters: BTreeSet<&Fingerprint> = locks
            .flat_map(|n| self.waiters[n].iter().copied())
            .collect();
        u32::try_from(waiters.len()).unwrap_or(u32::MAX)
    }

    /// The locks that a waiter of lock `n` holds, except lock `n`.
    fn held_by(&self, n: usize, waiter: &Fingerprint) -> BTreeSet<usize> {
        let held = self.held.get(waiter).into_iter().flatten().copied();
        held.filter(|held| *held != n).collect()
    }
}

/// The locks that are reachable from a lock. Includes the lock itself only if it is in a cycle.
fn reachable_from(from: usize, children: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<usize> = children[from].iter().copied().collect();
    while let Some(n) = next.pop() {
        if reached.insert(n) {
            next.extend(&children[n]);
        }
    }
    reached
}

#[cfg(test)]
mod tests;
