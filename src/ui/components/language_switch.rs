//! The language: a form, so that the choice works without any script. The server remembers it and paints the page anew.

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use strum::VariantArray as _;

use crate::ui::paths;
use crate::ui::words::{Language, frame, language};

/// A button for each language.
#[component]
pub fn LanguageSwitch() -> impl IntoView {
    let location = use_location();
    let next = move || paths::here(&location.pathname.read(), &location.search.read());
    let spoken = language();
    let button = move |other: Language| {
        view! {
            <button
                name="language"
                value=other.tag()
                lang=other.tag()
                aria-pressed=(other == spoken).to_string()
                class="h-8 grow rounded-md px-2.5 text-muted hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-ink"
            >
                {other.name()}
            </button>
        }
    };
    view! {
        <form method="post" action=paths::LANGUAGE class="flex flex-col gap-1" aria-label=frame::speak()>
            <span class="text-xs text-muted">{frame::speak()}</span>
            <input type="hidden" name="next" value=next />
            <span class="flex gap-1 rounded-md border border-line p-0.5">
                {Language::VARIANTS.iter().copied().map(button).collect_view()}
            </span>
        </form>
    }
}
