//! Whether moments are told as times of day, and not by how long ago they were: remembered by this browser.

use leptos::prelude::*;

use crate::ui::preferences::Preference;

/// How moments are told in the table. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Times(pub RwSignal<bool>);

impl Times {
    /// Provides the usual, and in the browser what was chosen before.
    pub fn provide() -> Self {
        let times = Self(RwSignal::new(false));
        provide_context(times);
        // After the page has woken up with the server's own words.
        Effect::new(move || times.0.set(Preference::Times.chosen() == "absolute"));
        times
    }

    /// What was provided.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Has moments told as times of day, or by how long ago they were.
    pub fn set(self, as_times: bool) {
        self.0.set(as_times);
        Preference::Times.choose(if as_times { "absolute" } else { "" });
    }
}
