//! Whether what is on screen is now: "live, 0.2 s ago", or since when it is not.

use leptos::prelude::*;

use crate::ui::format;
use crate::ui::live::{Freshness, Live};
use crate::ui::words::frame;

/// Whether what is on screen is now.
#[component]
pub fn LiveIndicator() -> impl IntoView {
    let live = Live::expect();
    let freshness = Memo::new(move |_| live.freshness());
    let words = move || match freshness.get() {
        Freshness::Starting => frame::connecting().to_owned(),
        Freshness::Live => match live.looked_at() {
            Some(looked) => frame::live_since(format::ago(looked, live.now.get())),
            None => frame::live().to_owned(),
        },
        Freshness::Stale(heard) => frame::not_live_since(format::ago(heard, live.now.get())),
    };
    // Spoken only when it changes, not at every tick.
    let spoken = move || match freshness.get() {
        Freshness::Starting => "",
        Freshness::Live => frame::now_live(),
        Freshness::Stale(_) => frame::now_not_live(),
    };
    let colour = move || match freshness.get() {
        Freshness::Starting => "fill-faint",
        Freshness::Live => "fill-held",
        Freshness::Stale(_) => "fill-alarm",
    };
    view! {
        <span class="needs-script inline-flex items-center gap-1.5 whitespace-nowrap text-muted" title=frame::what_live_means()>
            <svg class="size-2.5" viewBox="0 0 10 10" aria-hidden="true">
                <circle class=colour cx="5" cy="5" r="4"></circle>
            </svg>
            <span aria-hidden="true" class="min-w-28">
                {move || words()}
            </span>
            <span class="sr-only" role="status">
                {move || spoken()}
            </span>
        </span>
    }
}
