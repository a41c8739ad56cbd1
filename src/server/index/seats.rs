//! What the index keeps for each group that it observes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{RwLock, RwLockWriteGuard};
use tokio::sync::mpsc;

use super::due::Due;
use crate::domain::LockKey;
use crate::server::nodes::Group;

/// What is particular to one group. Cheap to clone.
#[derive(Clone)]
pub(super) struct Seat {
    /// How long a lock may go on being renewed.
    pub longest_hold: Duration,
    /// When its locks want to be looked at.
    pub due: Arc<Due>,
    /// Keys to look at soon, because something was done to them; nothing where nobody watches.
    pub acted: Option<mpsc::Sender<LockKey>>,
}

/// One for each group; shared by all who observe.
#[derive(Clone, Default)]
pub(super) struct Seats(Arc<RwLock<BTreeMap<String, Seat>>>);

impl Seats {
    /// Observes a group; where it was observed before, as it is now.
    pub fn put(&self, group: &Group, acted: Option<mpsc::Sender<LockKey>>) {
        let seat = Seat {
            longest_hold: group.config.locking.longest_hold,
            due: Arc::default(),
            acted,
        };
        self.all_to_change().insert(group.config.name.clone(), seat);
    }

    /// Keeps those of these groups.
    pub fn keep(&self, names: &[&str]) {
        self.all_to_change()
            .retain(|name, _| names.contains(&name.as_str()));
    }

    /// That of a group, if it is observed.
    pub fn of(&self, group: &str) -> Option<Seat> {
        // Only ever changed by whole seats.
        let seats = self.0.read();
        seats.get(group).cloned()
    }

    fn all_to_change(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Seat>> {
        self.0.write()
    }
}
