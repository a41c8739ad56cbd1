//! Who waits for whom: the locks that somebody is seen to wait for, put in order, and those among them that wait in a circle.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::contains;
use super::{Fingerprint, LockId, Owner, Timestamp};

/// Where a waiter is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsIn {
    /// It asked this console, which tries for it.
    Console,
    /// It stands in the queue of Redisson's fair lock, on the nodes.
    RedissonQueue,
}

/// One who waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Waiter {
    /// Where it is seen.
    pub waits_in: WaitsIn,
    /// What it calls itself, or the readable part of what it would write.
    pub label: Option<String>,
    /// What would tell its hold from others.
    pub fingerprint: Fingerprint,
    /// Since when it waits; null where the queue does not tell.
    pub since: Option<Timestamp>,
    /// When it is taken for gone unless its turn has come; null where that is not known.
    pub until: Option<Timestamp>,
    /// The locks of the same group that it holds meanwhile: whoever waits for those waits for this waiter.
    pub holds: Vec<LockId>,
    /// Whether it waits in a circle: it will get this lock only when somebody in the circle gives up.
    pub deadlock: bool,
}

/// A lock that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitedFor {
    /// Which.
    pub lock: LockId,
    /// Who has it, the one on most nodes first; empty where nobody is seen with it.
    pub owners: Vec<Owner>,
    /// Since when the first of them is known to have it.
    pub held_since: Option<Timestamp>,
    /// Those who wait, in the order in which they will get it as far as that is known; at most 100.
    pub waiters: Vec<Waiter>,
    /// How many wait for it altogether.
    pub waiting: u32,
    /// How many of the waiters listed here would get on if it were released: for it, and for what they hold in turn.
    pub blocks: u32,
    /// How many locks lie between it and the one that blocks them all: 0 for a root, whose owner waits for nobody.
    pub depth: u32,
    /// Whether its owner waits in a circle of owners who wait for one another.
    pub deadlock: bool,
}

/// Who waits for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Waits {
    /// The locks that are waited for: circles first, then roots, those that block most before the others.
    pub locks: Vec<WaitedFor>,
    /// When the queues were read.
    pub observed_at: Timestamp,
    /// The nodes whose queues could not be read: others may wait there.
    pub unread: Vec<String>,
    /// Whether there are more fair locks than queues are read at once.
    pub is_cut: bool,
}

impl Waits {
    /// Puts the locks in order, and finds the circles. Of each lock only id, owners and waiters are looked at.
    pub fn arrange(mut locks: Vec<WaitedFor>) -> Vec<WaitedFor> {
        let places = Graph::of(&locks).places(&locks);
        for (lock, place) in locks.iter_mut().zip(places) {
            lock.deadlock = place.deadlock;
            lock.depth = place.depth;
            lock.blocks = place.blocks;
            for (waiter, deadlock) in lock.waiters.iter_mut().zip(place.waiters) {
                waiter.deadlock = deadlock;
            }
        }
        locks.sort_by(|a, b| {
            let rank = |lock: &WaitedFor| (!lock.deadlock, lock.depth, u32::MAX - lock.blocks);
            (rank(a), &a.lock).cmp(&(rank(b), &b.lock))
        });
        locks
    }

    /// The locks that stand at the top of the picture: roots, and of each circle the first one.
    pub fn roots(&self) -> Vec<&WaitedFor> {
        let mut below = BTreeSet::new();
        let mut roots = Vec::new();
        for lock in &self.locks {
            if below.contains(&lock.lock) || lock.depth > 0 {
                continue;
            }
            roots.push(lock);
            self.note_below(lock, &mut below);
        }
        roots
    }

    /// The same with those pictures only in which the name of a lock, or the label or the beginning of the fingerprint of an owner
    /// or a waiter has this text, and which are about this group: of a chain that matches nothing is left out.
    pub fn narrowed(&self, group: Option<&str>, text: &str) -> Self {
        let is_found = |label: Option<&str>, fingerprint: &Fingerprint| {
            label.is_some_and(|label| contains(label, text))
                || fingerprint.as_str().starts_with(&text.to_ascii_lowercase())
        };
        let matches = |lock: &WaitedFor| {
            let mut owners = lock.owners.iter();
            let mut waiters = lock.waiters.iter();
            group.is_none_or(|group| group == lock.lock.group)
                && (contains(&lock.lock.key.text(), text)
                    || owners.any(|one| is_found(one.label.as_deref(), &one.fingerprint))
                    || waiters.any(|one| is_found(one.label.as_deref(), &one.fingerprint)))
        };
        let (mut seen, mut shown) = (BTreeSet::new(), BTreeSet::new());
        // What a waiter holds is not told whole: a lock may hang below none that is here.
        for top in self.roots().into_iter().chain(&self.locks) {
            if seen.contains(&top.lock) {
                continue;
            }
            let mut chain = BTreeSet::new();
            self.note_below(top, &mut chain);
            seen.extend(chain.iter().copied());
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
            unread: self.unread.clone(),
            ..*self
        }
    }

    /// A lock and all that hang on it.
    pub fn chain<'a>(&'a self, lock: &'a WaitedFor) -> Vec<&'a WaitedFor> {
        let mut below = BTreeSet::new();
        self.note_below(lock, &mut below);
        below.into_iter().filter_map(|id| self.lock(id)).collect()
    }

    /// The lock with this id, if somebody waits for it.
    pub fn lock(&self, id: &LockId) -> Option<&WaitedFor> {
        self.locks.iter().find(|lock| lock.lock == *id)
    }

    fn note_below<'a>(&'a self, lock: &'a WaitedFor, below: &mut BTreeSet<&'a LockId>) {
        let mut next = vec![lock];
        while let Some(lock) = next.pop() {
            if below.insert(&lock.lock) {
                let held = lock.waiters.iter().flat_map(|waiter| &waiter.holds);
                next.extend(held.filter_map(|id| self.lock(id)));
            }
        }
    }
}

/// Which locks hang on which, by their place in the list. Owners and waiters are the same if they have the same fingerprint:
/// the bytes are random, so that also holds across nodes and groups.
struct Graph<'a> {
    /// For each lock, those that its owner waits for.
    parents: Vec<BTreeSet<usize>>,
    waiters: Vec<BTreeSet<&'a Fingerprint>>,
    held: BTreeMap<&'a Fingerprint, BTreeSet<usize>>,
    /// For each lock, all that hang on it.
    below: Vec<BTreeSet<usize>>,
}

/// Where a lock stands.
struct Place {
    deadlock: bool,
    depth: u32,
    blocks: u32,
    /// Which of its waiters wait in a circle.
    waiters: Vec<bool>,
}

impl<'a> Graph<'a> {
    fn of(locks: &'a [WaitedFor]) -> Self {
        let mut held: BTreeMap<&Fingerprint, BTreeSet<usize>> = BTreeMap::new();
        for (n, lock) in locks.iter().enumerate() {
            for owner in &lock.owners {
                held.entry(&owner.fingerprint).or_default().insert(n);
            }
        }
        let waiters = |lock: &'a WaitedFor| lock.waiters.iter().map(|waiter| &waiter.fingerprint);
        let waiters: Vec<BTreeSet<&Fingerprint>> =
            locks.iter().map(|lock| waiters(lock).collect()).collect();
        let children: Vec<BTreeSet<usize>> = waiters
            .iter()
            .enumerate()
            .map(|(n, waiters)| {
                let held = waiters.iter().filter_map(|waiter| held.get(waiter));
                // Who stands in the queue of what it has waits for nobody.
                held.flatten().copied().filter(|held| *held != n).collect()
            })
            .collect();
        let mut parents = vec![BTreeSet::new(); locks.len()];
        for (parent, children) in children.iter().enumerate() {
            for child in children {
                parents[*child].insert(parent);
            }
        }
        let below = (0..locks.len()).map(|n| reach(n, &children)).collect();
        Self {
            parents,
            waiters,
            held,
            below,
        }
    }

    fn places(&self, locks: &[WaitedFor]) -> Vec<Place> {
        let place = |(n, lock): (usize, &WaitedFor)| {
            let circle = self.circle(n);
            let waits_in_it = |waiter: &Waiter| {
                let mut held = self.held_by(n, &waiter.fingerprint).into_iter();
                held.any(|held| circle.contains(&held))
            };
            Place {
                deadlock: !circle.is_empty(),
                depth: self.depth(n),
                blocks: self.blocks(n),
                waiters: lock.waiters.iter().map(waits_in_it).collect(),
            }
        };
        locks.iter().enumerate().map(place).collect()
    }

    /// All locks that hang on this one and it on them; empty where there is none.
    fn circle(&self, n: usize) -> BTreeSet<usize> {
        let mutual = |other: &usize| self.below[*other].contains(&n);
        self.below[n].iter().copied().filter(mutual).collect()
    }

    /// The shortest way up to a lock that hangs on none, or that is in a circle.
    fn depth(&self, n: usize) -> u32 {
        let (mut level, mut seen, mut depth) = (BTreeSet::from([n]), BTreeSet::from([n]), 0);
        loop {
            let is_top = |n: &usize| self.parents[*n].is_empty() || self.below[*n].contains(n);
            if level.is_empty() || level.iter().any(is_top) {
                return depth;
            }
            level = level
                .iter()
                .flat_map(|n| self.parents[*n].iter().copied())
                .collect();
            level.retain(|n| seen.insert(*n));
            depth += 1;
        }
    }

    fn blocks(&self, n: usize) -> u32 {
        let locks = self.below[n].iter().copied().chain([n]);
        let waiters: BTreeSet<&Fingerprint> = locks
            .flat_map(|n| self.waiters[n].iter().copied())
            .collect();
        u32::try_from(waiters.len()).unwrap_or(u32::MAX)
    }

    /// What a waiter of one lock holds, other than that lock.
    fn held_by(&self, n: usize, waiter: &Fingerprint) -> BTreeSet<usize> {
        let held = self.held.get(waiter).into_iter().flatten().copied();
        held.filter(|held| *held != n).collect()
    }
}

/// What can be reached from here; itself only where a way leads back.
fn reach(from: usize, children: &[BTreeSet<usize>]) -> BTreeSet<usize> {
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
#[path = "waits_tests.rs"]
mod tests;
