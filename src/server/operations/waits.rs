//! The wait-for graph: this console's own waiters, and those in the queues on the nodes, which are
//! read on request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::{Operations, count};
use crate::domain::{
    BlockingLock, Fingerprint, Lock, LockId, LockKey, OperationError, Timestamp, WaitForGraph,
    WaitQueue, Waiter,
};
use crate::server::access::Principal;
use crate::server::stores::reading::{MAX_QUEUE_ENTRIES, NodeQueue};
use crate::server::stores::{Group, WaiterInfo};

/// How long the graph is cached, so that the number of requests does not multiply the load on the
/// nodes.
const MAX_AGE: Duration = Duration::from_secs(1);
/// The maximum number of queues that are read per group.
const MAX_QUEUES: usize = 2_000;
/// The maximum number of contended locks returned per group.
const MAX_LOCKS: usize = 1_000;
/// The maximum number of held locks returned per waiter.
const MAX_HELD_LOCKS: usize = 20;

impl Operations {
    /// The wait-for graph of one group or all visible ones.
    pub async fn waits(
        &self,
        principal: &Principal,
        group: Option<&str>,
    ) -> Result<WaitForGraph, OperationError> {
        let groups = match group {
            Some(name) => vec![self.visible_group(principal, name)?],
            None => {
                let visible_groups = principal.grant().visible_groups();
                let mut groups = self.all_groups().to_vec();
                groups.retain(|group| visible_groups.contains(&group.config.name));
                groups
            }
        };
        let reading = groups.iter().map(|group| self.cached_waits(group));
        let mut all = WaitForGraph {
            locks: Vec::new(),
            observed_at: self.index().now(),
            unread_nodes: Vec::new(),
            truncated: false,
        };
        for waits in futures::future::join_all(reading).await {
            all.locks.extend(waits.locks);
            all.observed_at = all.observed_at.min(waits.observed_at);
            all.unread_nodes.extend(waits.unread_nodes);
            all.truncated |= waits.truncated;
        }
        all.locks = WaitForGraph::sorted_by_impact(all.locks);
        Ok(all)
    }

    /// The graph of one group, from the cache if it is recent. Simultaneous requests share one
    /// read.
    async fn cached_waits(&self, group: &Group) -> WaitForGraph {
        let (now, read) = (|| self.index().now(), |now| self.read_waits(group, now));
        self.wait_graphs
            .get_or_load(&group.config.name, now, MAX_AGE, read)
            .await
    }

    /// The wait queue of one lock: this console's and that on the nodes. `None` if there is none, or
    /// if it cannot be read.
    pub(super) async fn queue_of_lock(&self, group: &Group, lock: &Lock) -> Option<BlockingLock> {
        let (name, key) = (&group.config.name, &lock.id.key);
        let mut queue = MergedQueue::default();
        let waiting = self.queues(name).all_waiters(MAX_QUEUE_ENTRIES);
        if let Some(waiting) = waiting.into_iter().find(|waiting| waiting.key == *key) {
            queue.count = waiting.count;
            queue.waiters = waiting.first.into_iter().map(console_waiter).collect();
        }
        if group.has_queue(lock.format) {
            let keys = std::slice::from_ref(key);
            let reads = group.read_queues(keys).await.into_iter();
            let replies = reads.filter_map(|read| read.result.ok()).flatten();
            replies.for_each(|reply| queue.add(reply));
        }
        let is_empty = queue.count == 0;
        (!is_empty).then(|| queue.into_waited_for(lock.id.clone(), Some(lock)))
    }

    async fn read_waits(&self, group: &Group, now: Timestamp) -> WaitForGraph {
        let name = &group.config.name;
        let (queued, is_truncated) = self.locks_with_queue(group);
        let mut merged: HashMap<LockKey, MergedQueue> = HashMap::new();
        for waiting in self.queues(name).all_waiters(MAX_QUEUE_ENTRIES) {
            let queue = merged.entry(waiting.key).or_default();
            queue.count = waiting.count;
            queue.waiters = waiting.first.into_iter().map(console_waiter).collect();
        }
        let mut unread = Vec::new();
        if !queued.is_empty() {
            for read in group.read_queues(&queued).await {
                match read.result {
                    Ok(queues) => {
                        for (key, queue) in queued.iter().zip(queues) {
                            if queue.length > 0 {
                                merged.entry(key.clone()).or_default().add(queue);
                            }
                        }
                    }
                    Err(_) => unread.push(format!("{name}/{}", read.node)),
                }
            }
        }
        merged.retain(|_, queue| queue.count > 0);
        let mut locks = self.with_owners(name, merged);
        locks = WaitForGraph::sorted_by_impact(locks);
        let is_truncated = is_truncated || locks.len() > MAX_LOCKS;
        locks.truncate(MAX_LOCKS);
        WaitForGraph {
            locks,
            observed_at: now,
            unread_nodes: unread,
            truncated: is_truncated,
        }
    }

    /// The locks in the index that may have a queue, and whether there are more than the limit.
    fn locks_with_queue(&self, group: &Group) -> (Vec<LockKey>, bool) {
        let has_queue = |lock: &&Arc<Lock>| group.has_queue(lock.format);
        let index = self.index().snapshot();
        let locks = index.locks_of(&group.config.name).filter(has_queue);
        let queued = locks.take(MAX_QUEUES + 1);
        let mut keys: Vec<LockKey> = queued.map(|lock| lock.id.key.clone()).collect();
        let is_truncated = keys.len() > MAX_QUEUES;
        keys.truncate(MAX_QUEUES);
        (keys, is_truncated)
    }

    /// Adds the owners of the contended locks, and the locks that the waiters hold.
    fn with_owners(
        &self,
        group: &str,
        mut merged: HashMap<LockKey, MergedQueue>,
    ) -> Vec<BlockingLock> {
        let waiters: HashSet<Fingerprint> = merged
            .values()
            .flat_map(|queue| &queue.waiters)
            .map(|waiter| waiter.fingerprint)
            .collect();
        let mut held: HashMap<Fingerprint, Vec<LockId>> = HashMap::new();
        let mut locks = Vec::with_capacity(merged.len());
        for lock in self.index().snapshot().locks_of(group) {
            for owner in &lock.owners {
                if waiters.contains(&owner.fingerprint) {
                    let held = held.entry(owner.fingerprint).or_default();
                    held.push(lock.id.clone());
                }
            }
            if let Some(queue) = merged.remove(&lock.id.key) {
                locks.push(queue.into_waited_for(lock.id.clone(), Some(lock)));
            }
        }
        // No owner in the index: the lock has just been released, or has not been observed.
        for (key, queue) in merged {
            let id = LockId {
                group: group.to_owned(),
                key,
            };
            locks.push(queue.into_waited_for(id, None));
        }
        for lock in &mut locks {
            for waiter in &mut lock.waiters {
                let held = held.get(&waiter.fingerprint).into_iter().flatten();
                let others = held.filter(|id| **id != lock.lock);
                waiter.held_locks = others.take(MAX_HELD_LOCKS).cloned().collect();
            }
        }
        locks
    }
}

/// The waiters for one lock.
#[derive(Default)]
struct MergedQueue {
    waiters: Vec<Waiter>,
    count: usize,
}

impl MergedQueue {
    /// Adds the queue of one node. A waiter can be in the queues of several nodes, and wait in this
    /// console too.
    fn add(&mut self, queue: NodeQueue) {
        let length = usize::try_from(queue.length).unwrap_or(usize::MAX);
        let unlisted = length.saturating_sub(queue.head.len());
        for entry in queue.head {
            let mut known = self.waiters.iter_mut();
            let known = known.find(|waiter| waiter.fingerprint == entry.fingerprint);
            if let Some(waiter) = known {
                waiter.expires_at = waiter.expires_at.max(entry.expires_at);
                continue;
            }
            self.count += 1;
            if self.waiters.len() < MAX_QUEUE_ENTRIES {
                self.waiters.push(entry);
            }
        }
        self.count = self.count.max(self.waiters.len().saturating_add(unlisted));
    }

    fn into_waited_for(self, id: LockId, lock: Option<&Lock>) -> BlockingLock {
        BlockingLock {
            lock: id,
            owners: lock.map_or_else(Vec::new, |lock| lock.owners.clone()),
            held_since: lock.map(|lock| lock.acquired_at),
            waiters: self.waiters,
            waiter_count: count(self.count),
            blocked_waiter_count: 0,
            depth: 0,
            deadlock: false,
        }
    }
}

fn console_waiter(waiter: WaiterInfo) -> Waiter {
    Waiter {
        queue: WaitQueue::Console,
        label: waiter.label,
        fingerprint: waiter.fingerprint,
        waiting_since: Some(waiter.since),
        expires_at: None,
        held_locks: Vec::new(),
        deadlock: false,
    }
}
