//! What the observer is told: by watchers of what they saw, by others of what only they know.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Looked;
use super::merge::Entry;
use crate::domain::{Change, Fingerprint, GroupView, LockId, LockKey, Timestamp};
use crate::server::clock::{Moment, Steady};

/// Something to be told.
#[derive(Debug)]
pub(super) enum Report {
    /// What the nodes showed of some keys.
    Looked {
        /// The group.
        group: String,
        /// When they were asked: older answers never overwrite newer ones.
        asked: Moment,
        /// One per key.
        entries: Vec<Entry>,
        /// Told what the first entry came to.
        reply: Option<oneshot::Sender<Looked>>,
    },
    /// Signs of contention changed, which no look would find.
    Signs {
        /// The group.
        group: String,
        /// When.
        at: Steady,
        /// The locks.
        keys: Vec<LockKey>,
    },
    /// A group's health and coverage.
    Group(Arc<GroupView>),
    /// These are the groups from now on, and of those that are named nothing is known yet.
    Groups {
        /// As they stand before anything was observed.
        views: Vec<GroupView>,
        /// Which are new or other ones.
        changed: Vec<String>,
    },
    /// Something that was not seen on the nodes, and leaves the board as it is.
    Told(Box<Change>),
    /// An owner's lock was released by force: how its hold ends. The board shows what the nodes show.
    Forced {
        /// Which lock.
        id: LockId,
        /// Whose.
        owner: Fingerprint,
        /// When.
        at: Timestamp,
    },
}
