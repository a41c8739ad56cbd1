//! The language switch. An HTML form, so that it works without JavaScript: the server stores the
//! choice and renders the page again.

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use strum::VariantArray as _;

use crate::ui::i18n::{Locale, locale, shell};
use crate::ui::paths;

/// One button per language.
#[component]
pub fn LanguageSwitch() -> impl IntoView {
    let location = use_location();
    let next = move || paths::address_of(&location.pathname.read(), &location.search.read());
    let current = locale();
    let button = move |other: Locale| {
        view! {
            <button
                name="language"
                value=other.tag()
                lang=other.tag()
                aria-pressed=(other == current).to_string()
                class="h-8 grow rounded-md px-2.5 text-muted hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-ink"
            >
                {other.name()}
            </button>
        }
    };
    view! {
        <form method="post" action=paths::LANGUAGE class="flex flex-col gap-1" aria-label=shell::language()>
            <span class="text-xs text-muted">{shell::language()}</span>
            <input type="hidden" name="next" value=next />
            <span class="flex gap-1 rounded-md border border-line p-0.5">
                {Locale::VARIANTS.iter().copied().map(button).collect_view()}
            </span>
        </form>
    }
}
