//! Whether the table shows absolute times or durations. Stored in the browser.

use leptos::prelude::*;

use crate::ui::preferences::Preference;

/// Whether times are absolute. A copyable handle.
#[derive(Clone, Copy)]
pub struct TimeDisplay(pub RwSignal<bool>);

impl TimeDisplay {
    /// Provides the default, and in the browser the stored choice.
    pub fn provide() -> Self {
        let display = Self(RwSignal::new(false));
        provide_context(display);
        // An effect runs after hydration, which must render what the server rendered.
        Effect::new(move || display.0.set(Preference::Times.get() == "absolute"));
        display
    }

    /// Returns the provided handle.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Stores the choice.
    pub fn set(self, is_absolute: bool) {
        self.0.set(is_absolute);
        Preference::Times.set(if is_absolute { "absolute" } else { "" });
    }
}
