//! Searches locks while the user types.

use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::SearchHit;
use crate::ui::calls;

/// The delay between the last key press and the request.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// Longer texts are cut before the request.
const MAX_QUERY_CHARS: usize = 200;

/// The search for locks on the server. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct LockFinder {
    /// The last result. An error if the request failed.
    pub(super) found: RwSignal<Result<Vec<SearchHit>, ()>>,
    /// The number of searches, to discard outdated replies.
    request_count: StoredValue<u32>,
}

impl LockFinder {
    /// No result.
    pub(super) fn new() -> Self {
        Self {
            found: RwSignal::new(Ok(Vec::new())),
            request_count: StoredValue::new(0),
        }
    }

    /// Searches after the delay, unless the user types more.
    pub(super) fn search(self, typed: &str) {
        let request_count = self.request_count;
        let number = request_count.with_value(|request_count| request_count.wrapping_add(1));
        request_count.set_value(number);
        let search_text: String = typed.trim().chars().take(MAX_QUERY_CHARS).collect();
        if search_text.is_empty() {
            self.found.set(Ok(Vec::new()));
            return;
        }
        let is_latest = move || request_count.try_get_value() == Some(number);
        let fetch = async move {
            let reply = calls::find(search_text).await;
            // An older reply may arrive after a newer one, and the palette may be closed meanwhile.
            if is_latest() {
                self.found.try_set(reply.map_err(|_| ()));
            }
        };
        set_timeout(
            move || {
                if is_latest() {
                    spawn_local(fetch);
                }
            },
            DEBOUNCE,
        );
    }
}
