//! What the library does that wrote a lock: when it renews, and what follows when somebody else releases it.

use leptos::prelude::*;

use crate::domain::Format;
use crate::ui::format;
use crate::ui::kit::Card;
use crate::ui::words::{libraries, lock as words, punctuation};

/// What is known of a format.
#[component]
pub fn LibraryBox(
    /// Which.
    #[prop(into)]
    format: Signal<Format>,
) -> impl IntoView {
    let said = move || {
        let format = format.get();
        let library = format.library();
        let renews = match format.cadence() {
            Some(cadence) => words::renews(
                &format::span(cadence.every_ms.into()),
                &format::span(cadence.lease_ms.into()),
            ),
            None => words::renews_unknown().to_owned(),
        };
        let after = words::after_release(libraries::after_release(format));
        let back = format
            .may_come_back()
            .then(|| words::comes_back().to_owned());
        let outlives = format
            .outlives_its_lease()
            .then(|| words::outlives().to_owned());
        let harm = libraries::harm(format).map(punctuation::sentence);
        let lines = [Some(renews), Some(after), back, outlives, harm];
        let line = |text| view! { <li>{text}</li> };
        view! {
            <p class="mb-1">
                <span class="font-medium">{library.name}</span>
                " "
                <span class="font-mono text-xs text-muted">{library.slug}</span>
            </p>
            <ul class="flex list-disc flex-col gap-1 ps-4">{lines.into_iter().flatten().map(line).collect_view()}</ul>
        }
    };
    view! {
        <Card id="library" title=words::library()>
            {said}
        </Card>
    }
}
