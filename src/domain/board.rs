//! The board: every lock that is observed, and the groups they live in. One reducer, run in index and browser alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Bundles, Change, Counts, GroupView, Lock, LockId, Timestamp};

/// Every lock that is observed, and the groups.
///
/// A lock of one node takes 2.2 kB of the whole console, everything included that is remembered beside the board; 2.8 kB at
/// most while each changes every twenty seconds. That is 234 MB and 301 MB with 100,000 of them (`make bench`, the section
/// `size`, measures it).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    /// The groups in the order of the configuration.
    pub groups: Vec<GroupView>,
    /// The locks by group and name; shared with everybody who is being told of them.
    pub locks: BTreeMap<LockId, Arc<Lock>>,
}

impl Board {
    /// Applies one change. A change that was applied before, or is about a lock that is not there, does no harm.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::ChangedHands { lock }
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
                .find(|known| known.name == group.name)
            {
                Some(known) => *known = Arc::unwrap_or_clone(group),
                None => self.groups.push(Arc::unwrap_or_clone(group)),
            },
        }
    }

    /// The group with this name.
    pub fn group(&self, name: &str) -> Option<&GroupView> {
        self.groups.iter().find(|group| group.name == name)
    }
}

/// A whole board on its way to somebody who starts watching, or who missed too much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Where in the stream of changes it stands: `<epoch>-<seq>`.
    pub id: String,
    /// The server's clock when it was taken.
    pub observed_at: Timestamp,
    /// The groups.
    pub groups: Vec<GroupView>,
    /// The locks: all of them, or the window that was asked for.
    #[schema(value_type = Vec<Lock>)]
    pub locks: Vec<Arc<Lock>>,
    /// How many locks of the list come before those that are sent.
    #[serde(default)]
    pub from: u32,
    /// The locks that are sent because they are followed, and are not rows of the window.
    #[serde(default)]
    pub apart: Vec<LockId>,
    /// How many pass the filter, sent or not.
    pub total: u32,
    /// How many are in which state, whichever of the states was asked for.
    pub counts: Counts,
    /// The bundles of the list, where they were asked for in place of its locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Bundles>,
}

impl From<Snapshot> for Board {
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

    #[test]
    fn a_lock_that_is_lost_leaves_the_board_as_it_is() {
        let mut board = Board::default();
        board.apply(Change::Lost {
            id: LockId {
                group: "orders".into(),
                key: "lock:a".into(),
            },
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            label: None,
            at: Timestamp::from_millis(1),
            why: "another owner has it".into(),
        });
        assert_eq!(board, Board::default());
    }
}
