//! Full snapshots for subscribers to all changes. Subscribers that connect at about the same time
//! share one serialized copy.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::Index;
use super::event::{EventId, write_sse_event};
use super::snapshot::IndexSnapshot;
use super::stream::{MAX_RETAINED_CHANGES, full_snapshot};
use crate::domain::{OperationError, VisibleGroups};

/// A snapshot is shared while it is at most this many changes old. Its receivers get the later
/// changes next; a quarter of the retained changes leaves them enough time for that.
const MAX_SHARED_AGE: u64 = MAX_RETAINED_CHANGES as u64 / 4;

/// All visible locks and groups at one event id.
#[derive(Debug)]
pub(super) struct FullSnapshot {
    index: Arc<IndexSnapshot>,
    visible_groups: VisibleGroups,
    encoded: OnceCell<Bytes>,
}

/// The latest full snapshot, for as long as it is being sent. The reference is weak because a
/// serialized large index takes too much memory to be kept for later.
#[derive(Clone, Debug, Default)]
pub(super) struct FullSnapshotCache(Arc<Mutex<Weak<FullSnapshot>>>);

impl Index {
    /// The full snapshot for these groups, at most a few changes old.
    pub(super) fn full_snapshot(&self, visible_groups: &VisibleGroups) -> Arc<FullSnapshot> {
        let mut latest = self.full_snapshots.0.lock();
        let newest = self.snapshot();
        let oldest = newest.id().seq.saturating_sub(MAX_SHARED_AGE);
        // The receivers continue with the changes after the snapshot, so these must still be
        // retained.
        let shared = latest.upgrade().filter(|full| {
            full.visible_groups == *visible_groups
                && self.stream.can_resume_from(full.id())
                && !full.id().is_before(oldest)
        });
        shared.unwrap_or_else(|| {
            let full = Arc::new(FullSnapshot {
                index: newest,
                visible_groups: visible_groups.clone(),
                encoded: OnceCell::new(),
            });
            *latest = Arc::downgrade(&full);
            full
        })
    }
}

impl FullSnapshot {
    /// Its event id.
    pub(super) fn id(&self) -> EventId {
        self.index.id()
    }

    /// The snapshot as a server-sent event. Serialized on a blocking thread, because that takes
    /// long for a large index.
    pub(super) async fn frame(&self, index: &Index) -> Result<Bytes, OperationError> {
        let write = || {
            let (snapshot, visible_groups) = (Arc::clone(&self.index), self.visible_groups.clone());
            index.query(move |_, now| {
                let mut frame = Vec::new();
                write_sse_event(
                    &mut frame,
                    "snapshot",
                    snapshot.id(),
                    &full_snapshot(&snapshot, &visible_groups, now),
                );
                Bytes::from(frame)
            })
        };
        self.encoded.get_or_try_init(write).await.cloned()
    }
}
