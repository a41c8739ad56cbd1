//! Finds locks while somebody types.

use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::Found;
use crate::ui::calls;

/// The server is asked this long after the last key.
const PAUSE: Duration = Duration::from_millis(150);
/// The server is asked for no longer texts.
const LONGEST: usize = 200;

/// The locks that fit what is typed, as the server finds them.
#[derive(Clone, Copy)]
pub(super) struct Finder {
    /// What was found last; an error where the server could not be asked.
    pub(super) found: RwSignal<Result<Vec<Found>, ()>>,
    /// How many times it was asked.
    asked: StoredValue<u32>,
}

impl Finder {
    /// Nothing is found yet.
    pub(super) fn new() -> Self {
        Self {
            found: RwSignal::new(Ok(Vec::new())),
            asked: StoredValue::new(0),
        }
    }

    /// Asks the server soon, unless more is typed.
    pub(super) fn ask(self, typed: &str) {
        let asked = self.asked;
        let turn = asked.with_value(|asked| asked.wrapping_add(1));
        asked.set_value(turn);
        let wanted: String = typed.trim().chars().take(LONGEST).collect();
        if wanted.is_empty() {
            self.found.set(Ok(Vec::new()));
            return;
        }
        let is_latest = move || asked.try_get_value() == Some(turn);
        let fetch = async move {
            let answer = calls::find(wanted).await;
            // An older answer may come after a newer one, and the palette may be closed meanwhile.
            if is_latest() {
                self.found.try_set(answer.map_err(|_| ()));
            }
        };
        set_timeout(
            move || {
                if is_latest() {
                    spawn_local(fetch);
                }
            },
            PAUSE,
        );
    }
}
