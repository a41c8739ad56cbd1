//! Messages to the observer, from watchers and from other parts of the server.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::LockInspection;
use super::merge::KeyObservation;
use crate::domain::{Change, Fingerprint, GroupView, LockId, LockKey, Timestamp};
use crate::server::clock::{ClockReading, MonotonicTime};

/// A message to the observer.
#[derive(Debug)]
pub(super) enum Report {
    /// The nodes were read for some keys.
    KeysRead {
        /// The group.
        group: String,
        /// When the nodes were read. Older readings never overwrite newer ones.
        read_at: ClockReading,
        /// One observation per key.
        observations: Vec<KeyObservation>,
        /// Receives the resulting state of the first key.
        reply: Option<oneshot::Sender<LockInspection>>,
    },
    /// Evidence of contention changed, which a poll does not show.
    ContentionChanged {
        /// The group.
        group: String,
        /// Monotonic time of the evidence.
        at: MonotonicTime,
        /// The affected locks.
        keys: Vec<LockKey>,
    },
    /// Health and scan coverage of a group.
    GroupStatus(Arc<GroupView>),
    /// The set of groups changed. Groups in `changed` start with an empty index.
    GroupsReplaced {
        /// The initial views of all groups.
        views: Vec<GroupView>,
        /// The names of new and reconfigured groups.
        changed: Vec<String>,
        /// When they were replaced.
        at: Timestamp,
    },
    /// An admin excluded a prefix of the group.
    PrefixExcluded {
        /// The group.
        group: String,
        /// When the prefix was excluded.
        at: Timestamp,
    },
    /// A change that cannot be observed on the nodes. It is published but does not modify the
    /// index.
    Publish(Box<Change>),
    /// A lock was force-released. This affects only the recorded end of the hold; the index shows
    /// what the nodes show.
    ForceReleased {
        /// The lock.
        id: LockId,
        /// The owner whose lock was released.
        owner: Fingerprint,
        /// The time of the release.
        at: Timestamp,
    },
}
