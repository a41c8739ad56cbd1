//! The freshness of the displayed data.

use leptos::prelude::*;

use super::Live;
use crate::domain::Timestamp;

/// Without an event from the server for this long, the data is stale.
const STALE_AFTER_MS: u64 = 5_000;

/// The freshness of the displayed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// No event has been received yet: the page shows the server-rendered data.
    Starting,
    /// Events are being received.
    Live,
    /// No event has been received since then.
    Stale(Timestamp),
}

impl Live {
    /// The current freshness.
    pub fn freshness(self) -> Freshness {
        let last_event = self.last_event_at.get();
        // Before the first event, the rendered page itself is the latest data.
        let Some(last) = last_event.or(self.rendered_at.get()) else {
            return Freshness::Starting;
        };
        if self.now.get().since(last).as_millis() > u128::from(STALE_AFTER_MS) {
            Freshness::Stale(last)
        } else if last_event.is_some() {
            Freshness::Live
        } else {
            Freshness::Starting
        }
    }
}
