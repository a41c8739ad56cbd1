//! Who waits for whom: this console's own waiters, and those in the queues of Redisson's fair locks, read when it is asked.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Operations, count};
use crate::domain::{
    Fault, Fingerprint, Format, Lock, LockId, LockKey, Timestamp, WaitedFor, Waiter, Waits, WaitsIn,
};
use crate::server::access::Actor;
use crate::server::formats;
use crate::server::locking::fair_queue;
use crate::server::nodes::queues::{self, MOST_READ, Queue};
use crate::server::nodes::{Group, node::Node};

/// Nodes are asked at most this often, however many ask here.
const FRESH: Duration = Duration::from_secs(1);
/// So many queues of one group are read.
const MOST_QUEUES: usize = 2_000;
/// So many locks that somebody waits for are told of one group.
const MOST_LOCKS: usize = 1_000;
/// So many locks that a waiter holds are told.
const MOST_HELD: usize = 20;

impl Operations {
    /// Who waits for whom, in one group or all.
    pub async fn waits(&self, actor: &Actor, group: Option<&str>) -> Result<Waits, Fault> {
        let wanted = match group {
            Some(name) => vec![self.group_to_see(actor, name)?],
            None => {
                let sight = actor.rights().sight();
                let mut groups = self.all_groups().to_vec();
                groups.retain(|group| sight.shows(&group.config.name));
                groups
            }
        };
        let asking = wanted.iter().map(|group| self.waits_in(group));
        let mut all = Waits {
            locks: Vec::new(),
            observed_at: self.index().now(),
            unread: Vec::new(),
            is_cut: false,
        };
        for told in futures::future::join_all(asking).await {
            all.locks.extend(told.locks);
            all.observed_at = all.observed_at.min(told.observed_at);
            all.unread.extend(told.unread);
            all.is_cut |= told.is_cut;
        }
        all.locks = Waits::arrange(all.locks);
        Ok(all)
    }

    /// One group, read again where that was not just done. Those who ask meanwhile wait for the same answer.
    async fn waits_in(&self, group: &Group) -> Waits {
        let (now, read) = (|| self.index().now(), |now| self.read_waits(group, now));
        self.waits.get(&group.config.name, now, FRESH, read).await
    }

    async fn read_waits(&self, group: &Group, now: Timestamp) -> Waits {
        let name = &group.config.name;
        let (fair, is_cut) = self.fair_locks(name);
        let names: Vec<_> = fair.iter().map(fair_queue).collect();
        let read = |node: std::sync::Arc<Node>| {
            let names = &names;
            async move { (node.name().to_owned(), queues::read(&node, names).await) }
        };
        let mut lines: HashMap<LockKey, Line> = HashMap::new();
        for waiting in self.queues(name).all(MOST_READ) {
            let line = lines.entry(waiting.key).or_default();
            line.many = waiting.many;
            line.waiters = waiting.first.into_iter().map(of_console).collect();
        }
        let mut unread = Vec::new();
        if !names.is_empty() {
            for (node, read) in group.on_each(read).await {
                match read {
                    Ok(queues) => {
                        for (key, queue) in fair.iter().zip(queues) {
                            if queue.length > 0 {
                                lines.entry(key.clone()).or_default().add(queue);
                            }
                        }
                    }
                    Err(_) => unread.push(format!("{name}/{node}")),
                }
            }
        }
        lines.retain(|_, line| line.many > 0);
        let mut locks = self.owners_of(name, lines);
        locks = Waits::arrange(locks);
        let is_cut = is_cut || locks.len() > MOST_LOCKS;
        locks.truncate(MOST_LOCKS);
        Waits {
            locks,
            observed_at: now,
            unread,
            is_cut,
        }
    }

    /// The locks on the board that may have a queue, and whether there are more.
    fn fair_locks(&self, group: &str) -> (Vec<LockKey>, bool) {
        let is_fair = |lock: &&std::sync::Arc<Lock>| {
            matches!(lock.format, Format::Redisson | Format::RedissonFair)
        };
        let index = self.index().snapshot();
        let fair = index.locks_of(group).filter(is_fair).take(MOST_QUEUES + 1);
        let mut keys: Vec<LockKey> = fair.map(|lock| lock.id.key.clone()).collect();
        let is_cut = keys.len() > MOST_QUEUES;
        keys.truncate(MOST_QUEUES);
        (keys, is_cut)
    }

    /// Who has the locks that are waited for, and which locks the waiters have.
    fn owners_of(&self, group: &str, mut lines: HashMap<LockKey, Line>) -> Vec<WaitedFor> {
        let waiters: HashSet<Fingerprint> = lines
            .values()
            .flat_map(|line| &line.waiters)
            .map(|waiter| waiter.fingerprint.clone())
            .collect();
        let mut held: HashMap<Fingerprint, Vec<LockId>> = HashMap::new();
        let mut locks = Vec::with_capacity(lines.len());
        for lock in self.index().snapshot().locks_of(group) {
            for owner in &lock.owners {
                if waiters.contains(&owner.fingerprint) {
                    let held = held.entry(owner.fingerprint.clone()).or_default();
                    held.push(lock.id.clone());
                }
            }
            if let Some(line) = lines.remove(&lock.id.key) {
                locks.push(line.for_lock(lock.id.clone(), Some(lock)));
            }
        }
        // Nobody is seen with them: free just now, or not looked at.
        for (key, line) in lines {
            let id = LockId {
                group: group.to_owned(),
                key,
            };
            locks.push(line.for_lock(id, None));
        }
        for lock in &mut locks {
            for waiter in &mut lock.waiters {
                let held = held.get(&waiter.fingerprint).into_iter().flatten();
                let others = held.filter(|id| **id != lock.lock);
                waiter.holds = others.take(MOST_HELD).cloned().collect();
            }
        }
        locks
    }
}

/// Those who wait for one lock.
#[derive(Default)]
struct Line {
    waiters: Vec<Waiter>,
    many: usize,
}

impl Line {
    /// Adds those who stand in a node's queue. One may stand in that of every node, and wait here as well.
    fn add(&mut self, queue: Queue) {
        let length = usize::try_from(queue.length).unwrap_or(usize::MAX);
        let beyond = length.saturating_sub(queue.head.len());
        for standing in queue.head {
            let fingerprint = formats::fingerprint(&standing.field);
            let known = self
                .waiters
                .iter_mut()
                .find(|waiter| waiter.fingerprint == fingerprint);
            if let Some(known) = known {
                known.until = known.until.max(standing.until);
                continue;
            }
            self.many += 1;
            if self.waiters.len() < MOST_READ {
                self.waiters.push(Waiter {
                    waits_in: WaitsIn::RedissonQueue,
                    label: formats::redisson_owner::label(&standing.field),
                    fingerprint,
                    since: None,
                    until: standing.until,
                    holds: Vec::new(),
                    deadlock: false,
                });
            }
        }
        self.many = self.many.max(self.waiters.len().saturating_add(beyond));
    }

    fn for_lock(self, id: LockId, seen: Option<&Lock>) -> WaitedFor {
        WaitedFor {
            lock: id,
            owners: seen.map_or_else(Vec::new, |lock| lock.owners.clone()),
            held_since: seen.map(|lock| lock.acquired_at),
            waiters: self.waiters,
            waiting: count(self.many),
            blocks: 0,
            depth: 0,
            deadlock: false,
        }
    }
}

fn of_console(named: crate::server::locking::wait::Named) -> Waiter {
    Waiter {
        waits_in: WaitsIn::Console,
        label: named.label,
        fingerprint: named.fingerprint,
        since: Some(named.since),
        until: None,
        holds: Vec::new(),
        deadlock: false,
    }
}
