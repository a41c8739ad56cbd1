//! Whether the page is live, with the age of its data if that is notable, or since when it is
//! stale.

use leptos::prelude::*;

use crate::ui::format;
use crate::ui::i18n::shell;
use crate::ui::live::{Freshness, Live};

/// The age of data up to which it is not shown, in milliseconds.
const RECENT_MS: i64 = 3_000;

/// Whether the page is live.
#[component]
pub fn LiveIndicator() -> impl IntoView {
    let live = Live::expect();
    let freshness = Memo::new(move |_| live.freshness());
    let text = move || match freshness.get() {
        Freshness::Starting => shell::connecting().to_owned(),
        Freshness::Live => match live.last_polled_at() {
            // A small number would change all the time.
            Some(polled_at) if live.now.get().millis_since(polled_at) > RECENT_MS => {
                shell::live_since(format::ago(polled_at, live.now.get()))
            }
            Some(_) | None => shell::live().to_owned(),
        },
        Freshness::Stale(last_heard) => {
            shell::not_live_since(format::ago(last_heard, live.now.get()))
        }
    };
    // Screen readers announce only changes, not every tick of the clock.
    let announcement = move || match freshness.get() {
        Freshness::Starting => "",
        Freshness::Live => shell::live_announcement(),
        Freshness::Stale(_) => shell::stale_announcement(),
    };
    let colour = move || match freshness.get() {
        Freshness::Starting => "fill-faint",
        Freshness::Live => "fill-held",
        Freshness::Stale(_) => "fill-alarm",
    };
    view! {
        <span class="needs-script inline-flex items-center gap-1.5 whitespace-nowrap text-muted" title=shell::live_tooltip()>
            <svg class="size-2.5" viewBox="0 0 10 10" aria-hidden="true">
                <circle class=colour cx="5" cy="5" r="4"></circle>
            </svg>
            <span aria-hidden="true" class="min-w-28">
                {move || text()}
            </span>
            <span class="sr-only" role="status">
                {move || announcement()}
            </span>
        </span>
    }
}
