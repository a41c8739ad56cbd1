//! One owner across groups and lock services: the locks that it holds and those that it waits for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AdviceLevel, Confidence, Fingerprint, Lock, LockId, OwnerIdentity, Timestamp, WaitForGraph,
    Waiter,
};

/// The maximum number of held locks in a response.
pub const MAX_OWNED_LOCKS: usize = 200;
/// The maximum number of locks in a response for which the owner waits.
pub const MAX_OWNER_WAITS: usize = 200;
/// The maximum number of labels in a response.
pub const MAX_LABELS: usize = 50;

/// One owner: a host with its processes, or an owner without a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnerDetail {
    /// The host; null for an owner without a label.
    pub host: Option<String>,
    /// The fingerprint of an owner without a label; null for a host.
    pub fingerprint: Option<Fingerprint>,
    /// The labels of its processes or threads that hold a lock or wait for one; at most 50.
    pub labels: Vec<String>,
    /// The groups of the locks that it holds or waits for.
    pub groups: Vec<String>,
    /// The locks that it holds: those that need attention first, then the oldest; at most 200.
    pub held: Vec<OwnedLock>,
    /// The number of locks that it holds, including those that are not listed.
    pub held_count: u32,
    /// The locks that it waits for in a visible queue; at most 200. Most libraries have no queue.
    pub waits: Vec<OwnerWait>,
    /// The number of visible queues in which it waits, including those that are not listed.
    pub wait_count: u32,
    /// Nodes whose queues could not be read. The owner may wait there too.
    pub unread_nodes: Vec<String>,
    /// The server's clock when the answer was created.
    pub observed_at: Timestamp,
}

/// A lock that the owner holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnedLock {
    /// The lock.
    pub lock: Lock,
    /// The first of its owners with this identity.
    pub owner: Fingerprint,
    /// Whether this owner shows signs of life, as in the `release_advice` of the lock.
    pub advice: AdviceLevel,
}

/// A lock that the owner waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnerWait {
    /// The lock.
    pub lock: LockId,
    /// The entry in the queue.
    pub waiter: Waiter,
    /// The position in the queue, from 1.
    pub position: u32,
}

impl OwnerDetail {
    /// An owner of whom nothing was observed.
    pub fn unknown(identity: &OwnerIdentity, now: Timestamp) -> Self {
        let (host, fingerprint) = match identity.clone() {
            OwnerIdentity::Host(name) => (Some(name), None),
            OwnerIdentity::Fingerprint(fingerprint) => (None, Some(fingerprint)),
        };
        Self {
            host,
            fingerprint,
            labels: Vec::new(),
            groups: Vec::new(),
            held: Vec::new(),
            held_count: 0,
            waits: Vec::new(),
            wait_count: 0,
            unread_nodes: Vec::new(),
            observed_at: now,
        }
    }

    /// The identity; `None` if the answer has neither a host nor a fingerprint.
    pub fn identity(&self) -> Option<OwnerIdentity> {
        let host = self.host.clone().map(OwnerIdentity::Host);
        host.or_else(|| self.fingerprint.map(OwnerIdentity::Fingerprint))
    }

    /// Whether the owner neither holds a lock nor waits for one.
    pub fn is_idle(&self) -> bool {
        self.held_count == 0 && self.wait_count == 0
    }

    /// Adds the locks that it waits for.
    pub fn add_waits(&mut self, identity: &OwnerIdentity, graph: &WaitForGraph) {
        let (mut labels, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for lock in &graph.locks {
            for (index, waiter) in lock.waiters.iter().enumerate() {
                if !identity.matches(waiter.label.as_deref(), &waiter.fingerprint) {
                    continue;
                }
                self.wait_count = self.wait_count.saturating_add(1);
                labels.extend(waiter.label.clone());
                groups.insert(lock.lock.group.clone());
                if self.waits.len() < MAX_OWNER_WAITS {
                    self.waits.push(OwnerWait {
                        lock: lock.lock.clone(),
                        waiter: waiter.clone(),
                        position: u32::try_from(index + 1).unwrap_or(u32::MAX),
                    });
                }
            }
        }
        self.unread_nodes.clone_from(&graph.unread_nodes);
        labels.extend(std::mem::take(&mut self.labels));
        self.labels = labels.into_iter().take(MAX_LABELS).collect();
        groups.extend(std::mem::take(&mut self.groups));
        self.groups = groups.into_iter().collect();
    }
}

/// The locks of one owner, without their advice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnedLocks {
    /// The locks with the fingerprint of the owner: those that need attention first, then the
    /// oldest; at most 200.
    pub locks: Vec<(Lock, Fingerprint)>,
    /// The total number.
    pub total: u32,
    /// The labels, at most 50.
    pub labels: BTreeSet<String>,
    /// The groups.
    pub groups: BTreeSet<String>,
}

impl OwnedLocks {
    /// Collects the locks of an owner. Possible locks are ignored.
    pub fn of<'a>(identity: &OwnerIdentity, locks: impl Iterator<Item = &'a Lock>) -> Self {
        let mut owned = Self::default();
        let mut held = Vec::new();
        for lock in locks.filter(|lock| lock.confidence != Confidence::Possible) {
            let mut owners = lock.owners.iter().filter(|it| identity.matches_owner(it));
            let Some(first) = owners.next() else {
                continue;
            };
            for owner in std::iter::once(first).chain(owners) {
                if owned.labels.len() < MAX_LABELS {
                    owned.labels.extend(owner.label.clone());
                }
            }
            if !owned.groups.contains(&lock.id.group) {
                owned.groups.insert(lock.id.group.clone());
            }
            held.push((lock, &first.fingerprint));
        }
        owned.total = u32::try_from(held.len()).unwrap_or(u32::MAX);
        held.sort_by_key(|(lock, _)| (!lock.needs_attention(), lock.acquired_at));
        held.truncate(MAX_OWNED_LOCKS);
        let copied = held.into_iter().map(|(lock, owner)| (lock.clone(), *owner));
        owned.locks = copied.collect();
        owned
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, lock, owner};
    use super::super::{BlockingLock, Format, WaitQueue};
    use super::*;

    fn labelled(group: &str, format: Format, label: &str, age_ms: i64) -> Lock {
        let mut held = lock(&[1], NOW.plus_millis(-age_ms), NOW).with_format(format);
        held.id.group = group.into();
        held.owners[0].label = Some(label.into());
        held
    }

    #[test]
    fn locks_of_all_lock_services_of_one_host_belong_to_one_owner() {
        let locks = [
            labelled("orders", Format::ShedLock, "worker-3", 10),
            labelled("zk", Format::Curator, "worker-3 pid 7", 20),
            labelled("etcd", Format::EtcdMutex, "worker-3 pid 7 thread 2", 30),
            labelled("pg", Format::AdvisoryLock, "worker-3 pid 9", 40),
            labelled("orders", Format::Plain, "worker-31", 50),
        ];
        let worker = OwnerIdentity::Host("worker-3".into());
        let owned = OwnedLocks::of(&worker, locks.iter());
        let groups: Vec<&str> = owned
            .locks
            .iter()
            .map(|(lock, _)| lock.id.group.as_str())
            .collect();
        assert_eq!(
            (groups, owned.total),
            (vec!["pg", "etcd", "zk", "orders"], 4)
        );
        assert_eq!(owned.labels.len(), 4);
    }

    #[test]
    fn a_shared_lock_is_listed_once_and_lists_are_bounded() {
        let mut shared = labelled("orders", Format::Plain, "web pid 1", 10);
        let mut second = owner(2);
        second.label = Some("web pid 2".into());
        shared.owners.push(second);
        let web = OwnerIdentity::Host("web".into());
        let owned = OwnedLocks::of(&web, std::iter::once(&shared));
        assert_eq!((owned.locks.len(), owned.labels.len()), (1, 2));
        let many: Vec<Lock> = (0..500)
            .map(|n| labelled("orders", Format::Plain, &format!("web pid {n}"), n))
            .collect();
        let owned = OwnedLocks::of(&web, many.iter());
        assert_eq!((owned.locks.len(), owned.total), (MAX_OWNED_LOCKS, 500));
        assert!(owned.labels.len() <= MAX_LABELS);
    }

    #[test]
    fn the_locks_that_it_waits_for_are_listed_with_the_position() {
        let waiter = |n: u8, label: Option<&str>| Waiter {
            queue: WaitQueue::Service,
            label: label.map(str::to_owned),
            fingerprint: owner(n).fingerprint,
            waiting_since: None,
            expires_at: None,
            held_locks: Vec::new(),
            deadlock: false,
        };
        let blocking = BlockingLock {
            lock: lock(&[9], NOW, NOW).id,
            owners: vec![owner(9)],
            held_since: None,
            waiters: vec![waiter(1, None), waiter(2, Some("web pid 2"))],
            waiter_count: 2,
            blocked_waiter_count: 2,
            depth: 0,
            deadlock: false,
        };
        let graph = WaitForGraph {
            locks: vec![blocking],
            observed_at: NOW,
            unread_nodes: vec!["b".into()],
            truncated: false,
        };
        for (identity, position) in [
            (OwnerIdentity::Host("web".into()), 2),
            (OwnerIdentity::Fingerprint(owner(1).fingerprint), 1),
        ] {
            let mut detail = OwnerDetail::unknown(&identity, NOW);
            assert!(detail.is_idle());
            detail.add_waits(&identity, &graph);
            let positions: Vec<u32> = detail.waits.iter().map(|wait| wait.position).collect();
            assert_eq!((positions, detail.is_idle()), (vec![position], false));
            assert_eq!(detail.unread_nodes, ["b"]);
        }
    }
}
