//! The state of the index: every observed lock and every group. The server and the browser apply
//! the same changes to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Buckets, Change, GroupView, Lock, LockCounts, LockId, Timestamp};

/// Every observed lock and every group.
///
/// A lock on one node takes 2.2 kB of the console's memory, including the data that other modules
/// keep for it, and at most 2.8 kB while it changes every twenty seconds. 100,000 locks take
/// 234 MB and 301 MB (measured by the section `large-index` of `make bench`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexState {
    /// The groups in the order of the configuration.
    pub groups: Vec<GroupView>,
    /// The locks by group and name. Subscribers share the `Arc`s.
    pub locks: BTreeMap<LockId, Arc<Lock>>,
}

impl IndexState {
    /// Applies one change. Applying a change twice, or removing an unknown lock, has no effect.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::OwnerChanged { lock }
            | Change::Updated { lock } => {
                self.locks.insert(lock.id.clone(), lock);
            }
            Change::Gone { id, .. } => {
                self.locks.remove(&id);
            }
            Change::Lost { .. } => {}
            Change::Group { group } => match self
                .groups
                .iter_mut()
                .find(|existing| existing.name == group.name)
            {
                Some(existing) => *existing = Arc::unwrap_or_clone(group),
                None => self.groups.push(Arc::unwrap_or_clone(group)),
            },
        }
    }

    /// The group with this name.
    pub fn group(&self, name: &str) -> Option<&GroupView> {
        self.groups.iter().find(|group| group.name == name)
    }
}

/// The full state that a new subscriber receives, or one that missed too many changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// The position in the change stream: `<epoch>-<seq>`.
    pub id: String,
    /// The server's clock when the snapshot was taken.
    pub observed_at: Timestamp,
    /// The groups in the order of the configuration.
    pub groups: Vec<GroupView>,
    /// All locks, or the requested window.
    #[schema(value_type = Vec<Lock>)]
    pub locks: Vec<Arc<Lock>>,
    /// The number of locks of the list before the first one in `locks`.
    #[serde(default)]
    pub offset: u32,
    /// Locks that are included because the subscriber follows them. They are not rows of the
    /// window.
    #[serde(default)]
    pub pinned: Vec<LockId>,
    /// The number of locks that match the filter, including those outside the window.
    pub total: u32,
    /// The number of locks per state. The requested states do not affect the counts.
    pub counts: LockCounts,
    /// The buckets, if the window is grouped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
}

impl From<Snapshot> for IndexState {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            groups: snapshot.groups,
            locks: snapshot
                .locks
                .into_iter()
                .map(|lock| (lock.id.clone(), lock))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Fingerprint;
    use crate::domain::reason::Reason;

    #[test]
    fn a_lost_lock_does_not_change_the_state() {
        let mut index = IndexState::default();
        index.apply(Change::Lost {
            id: LockId {
                group: "orders".into(),
                key: "lock:a".into(),
            },
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            label: None,
            at: Timestamp::from_millis(1),
            reason: Reason::LockGone,
        });
        assert_eq!(index, IndexState::default());
    }
}
