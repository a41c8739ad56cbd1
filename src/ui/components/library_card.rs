//! The behaviour of the library that wrote a lock: when it renews, and how it reacts to a force
//! release.

use leptos::prelude::*;

use crate::domain::Format;
use crate::ui::format;
use crate::ui::i18n::{libraries, lock as t, punctuation};
use crate::ui::kit::Card;

/// The behaviour of the library of a format.
#[component]
pub fn LibraryCard(
    /// The format of the lock.
    #[prop(into)]
    format: Signal<Format>,
) -> impl IntoView {
    let content = move || {
        let format = format.get();
        let library = format.library();
        let renewal = match format.default_renewal() {
            Some(cadence) => t::renews(
                &format::span(cadence.interval_ms.into()),
                &format::span(cadence.lease_ms.into()),
            ),
            None if format.is_kept_alive() => t::kept_alive().to_owned(),
            None => t::renews_unknown().to_owned(),
        };
        let after = t::after_release(libraries::after_release(format));
        let may_reacquire = format
            .may_reacquire()
            .then(|| t::may_reacquire().to_owned());
        let outlives = format
            .outlives_lease()
            .then(|| t::outlives_lease().to_owned());
        let harm = libraries::harm(format).map(punctuation::sentence);
        let lines = [Some(renewal), Some(after), may_reacquire, outlives, harm];
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
        <Card id="library" title=t::library()>
            {content}
        </Card>
    }
}
