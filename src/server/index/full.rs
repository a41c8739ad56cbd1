//! The whole board for those who watch everything: written out once for all who come at about the same time.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::Index;
use super::event::{EventId, write_event};
use super::snapshot::IndexSnapshot;
use super::stream::{KEPT_CHANGES, everything};
use crate::domain::{Fault, Sight};

/// One that is so many changes old is still handed out: those who get it are told the changes next, and are hardly ever too
/// late for them.
const STILL_NEW: u64 = KEPT_CHANGES as u64 / 4;

/// All that somebody may see.
#[derive(Debug)]
pub(super) struct FullSnapshot {
    of: Arc<IndexSnapshot>,
    sight: Sight,
    written: OnceCell<Bytes>,
}

/// The latest one, for as long as it is being sent to somebody: of a large board it takes too much room to be kept for later.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestFull(Arc<Mutex<Weak<FullSnapshot>>>);

impl Index {
    /// All that somebody may see, now or a few changes ago.
    pub(super) fn full(&self, sight: &Sight) -> Arc<FullSnapshot> {
        let mut latest = self.full.0.lock();
        let of = self.snapshot();
        let oldest = of.id().seq.saturating_sub(STILL_NEW);
        let shared = latest.upgrade().filter(|full| {
            full.sight == *sight && self.stream.continues(full.id()) && !full.id().is_before(oldest)
        });
        shared.unwrap_or_else(|| {
            let full = Arc::new(FullSnapshot {
                of,
                sight: sight.clone(),
                written: OnceCell::new(),
            });
            *latest = Arc::downgrade(&full);
            full
        })
    }
}

impl FullSnapshot {
    /// Where in the stream of changes it stands.
    pub(super) fn id(&self) -> EventId {
        self.of.id()
    }

    /// As a server-sent event. Of a large board that takes a while, in which other work goes on.
    pub(super) async fn frame(&self, index: &Index) -> Result<Bytes, Fault> {
        let write = || {
            let (of, sight) = (Arc::clone(&self.of), self.sight.clone());
            index.query(move |_, now| {
                let mut frame = Vec::new();
                write_event(
                    &mut frame,
                    "snapshot",
                    of.id(),
                    &everything(&of, &sight, now),
                );
                Bytes::from(frame)
            })
        };
        self.written.get_or_try_init(write).await.cloned()
    }
}
