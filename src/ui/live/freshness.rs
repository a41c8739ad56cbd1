//! How far what is on screen can be trusted to be now.

use leptos::prelude::*;

use super::Live;
use crate::domain::Timestamp;

/// Nothing heard from the server for this long: what is on screen is called stale.
const STALE_AFTER_MS: u64 = 5_000;

/// How far what is on screen can be trusted to be now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing has been heard yet: the page shows what the server painted.
    Starting,
    /// Changes arrive.
    Live,
    /// Nothing heard since then.
    Stale(Timestamp),
}

impl Live {
    /// How far what is on screen can be trusted to be now.
    pub fn freshness(self) -> Freshness {
        let heard = self.heard_at.get();
        // Before anything was heard, the page itself is the last word of the server.
        let Some(last) = heard.or(self.painted_at.get()) else {
            return Freshness::Starting;
        };
        if self.now.get().since(last).as_millis() > u128::from(STALE_AFTER_MS) {
            Freshness::Stale(last)
        } else if heard.is_some() {
            Freshness::Live
        } else {
            Freshness::Starting
        }
    }
}
