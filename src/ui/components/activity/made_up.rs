//! A note that a history is made up, as in the demo.

use leptos::prelude::*;

use crate::domain::Timestamp;
use crate::ui::format;
use crate::ui::i18n::activity as t;

/// The note.
#[component]
pub fn MadeUpNote(
    /// Until when the history is made up.
    until: Timestamp,
) -> impl IntoView {
    view! {
        <p role="note" class="mb-3 rounded-lg bg-unsure-soft px-3.5 py-2 text-unsure">
            {move || t::made_up_until(format::date_time(until))}
        </p>
    }
}
