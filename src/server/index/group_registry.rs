//! Per-group settings and channels of the index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{RwLock, RwLockWriteGuard};
use tokio::sync::mpsc;

use super::recheck_timers::RecheckTimers;
use crate::domain::LockKey;
use crate::server::stores::{Group, LockPrefixes};

/// Settings and channels of one group. Cheap to clone.
#[derive(Clone)]
pub(super) struct GroupEntry {
    /// The longest time for which a lock may be renewed before it is flagged `endless`.
    pub max_hold: Duration,
    /// Timers for re-checking locks.
    pub recheck_timers: Arc<RecheckTimers>,
    /// The prefixes of the group. Names with an excluded one are not indexed.
    pub prefixes: Arc<LockPrefixes>,
    /// Requests for an immediate poll; `None` without a watcher.
    pub poll_requests: Option<mpsc::Sender<LockKey>>,
}

/// The observed groups. Clones share one map.
#[derive(Clone, Default)]
pub(super) struct GroupRegistry(Arc<RwLock<BTreeMap<String, GroupEntry>>>);

impl GroupRegistry {
    /// Adds a group or replaces its entry.
    pub fn insert(&self, group: &Group, poll_requests: Option<mpsc::Sender<LockKey>>) {
        let entry = GroupEntry {
            max_hold: group.config.locking.max_hold,
            recheck_timers: Arc::default(),
            prefixes: Arc::clone(group.prefixes()),
            poll_requests,
        };
        self.write().insert(group.config.name.clone(), entry);
    }

    /// Removes all groups but these.
    pub fn retain(&self, names: &[&str]) {
        self.write()
            .retain(|name, _| names.contains(&name.as_str()));
    }

    /// The entry of a group, if the group is observed.
    pub fn get(&self, group: &str) -> Option<GroupEntry> {
        let groups = self.0.read();
        // Cloned, so that the lock is not held while the caller uses the entry.
        groups.get(group).cloned()
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, GroupEntry>> {
        self.0.write()
    }
}
