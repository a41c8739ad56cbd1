//! The whole board for those who watch everything: looked at and written out once for all who come at about the same time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::event::EventId;
use super::frame;
use super::stream::{KEPT_CHANGES, Stream};
use crate::domain::{Sight, Snapshot, Timestamp};

/// One that is so many changes old is still handed out: those who get it are told the changes next, and are hardly ever too
/// late for them.
const STILL_NEW: u64 = KEPT_CHANGES as u64 / 4;

/// All that there is to see.
#[derive(Debug)]
pub struct Whole {
    /// Where in the stream of changes it stands.
    pub place: EventId,
    sight: Sight,
    snapshot: Arc<Snapshot>,
    written: OnceCell<Bytes>,
}

impl Whole {
    /// As a server-sent event. Of a large board that takes a while, in which other work goes on.
    pub async fn frame(&self) -> Bytes {
        let write = async || {
            let (snapshot, place) = (Arc::clone(&self.snapshot), self.place);
            let written = spawn_blocking(move || {
                let mut written = Vec::new();
                frame::add(&mut written, "snapshot", place, &*snapshot);
                written
            });
            written.await.expect("writing does not panic").into()
        };
        self.written.get_or_init(write).await.clone()
    }
}

/// The latest one, for as long as it is being sent to somebody.
#[derive(Debug, Default)]
pub struct Latest(Mutex<Weak<Whole>>);

impl Stream {
    /// The whole board as far as somebody may see it, now or a few changes ago.
    pub fn whole(&self, sight: &Sight, now: Timestamp) -> Arc<Whole> {
        // One at a time: those who come at the same moment share it.
        let mut latest = self
            .latest_whole()
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let newest = *self.latest().borrow();
        let shared = latest.upgrade().filter(|whole| {
            whole.sight == *sight
                && self.continues(whole.place)
                && !whole.place.is_before(newest.saturating_sub(STILL_NEW))
        });
        shared.unwrap_or_else(|| {
            let (place, snapshot) = self.snapshot(sight, now);
            let whole = Arc::new(Whole {
                place,
                sight: sight.clone(),
                snapshot: Arc::new(snapshot),
                written: OnceCell::new(),
            });
            *latest = Arc::downgrade(&whole);
            whole
        })
    }
}
