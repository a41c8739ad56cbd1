//! What stands around every page: name, navigation, whether it is live, theme.

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;

use super::account::{Account, Openness};
use super::banners::Banners;
use super::live_indicator::LiveIndicator;
use super::theme_switch::ThemeSwitch;
use crate::ui::paths;

/// The frame of every page.
#[component]
pub fn Layout(
    /// The page.
    children: Children,
) -> impl IntoView {
    let location = use_location();
    let is_sign_in = move || location.pathname.with(|path| path == paths::SIGN_IN);
    let tab = "inline-flex h-8 items-center rounded-md px-2.5 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    view! {
        // `external`: the router would scroll there and leave the focus behind.
        <a
            href="#main"
            rel="external"
            class="sr-only z-20 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:not-sr-only focus:absolute focus:start-2 focus:top-2"
        >
            "Skip to the content"
        </a>
        <div class="mx-auto flex min-h-dvh max-w-[90rem] flex-col">
            <header class="flex flex-wrap items-center gap-x-5 gap-y-2 px-4 py-3 md:px-6">
                <a href=paths::LOCKS class="inline-flex items-center gap-2 rounded text-base font-semibold">
                    <img src="/favicon.svg" alt="" width="24" height="24" />
                    "Lockkeeper"
                </a>
                <nav aria-label="Pages" class="flex flex-wrap gap-1" hidden=is_sign_in>
                    <A href=paths::LOCKS exact=true attr:class=tab>
                        "Locks"
                    </A>
                    <A href=paths::OWNERS attr:class=tab>
                        "Owners"
                    </A>
                    <A href=paths::NODES attr:class=tab>
                        "Nodes"
                    </A>
                    <A href=paths::WAITS attr:class=tab>
                        "Waits"
                    </A>
                    <A href=paths::MINE attr:class=tab>
                        "Mine"
                    </A>
                    <A href=paths::AUDIT attr:class=tab>
                        "Audit"
                    </A>
                </nav>
                <div class="ms-auto flex items-center gap-3">
                    {move || (!is_sign_in()).then(|| view! { <LiveIndicator /> }.into_any())}
                    <ThemeSwitch />
                    <Account />
                </div>
            </header>
            <main id="main" tabindex="-1" class="grow px-4 pb-10 pt-2 outline-none md:px-6">
                <noscript>
                    <p class="mb-4 text-muted">
                        "Without JavaScript this page does not follow what happens: load it again for news."
                    </p>
                </noscript>
                <Openness />
                <Banners />
                {children()}
            </main>
            <footer class="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-4 py-4 text-xs text-muted md:px-6">
                <span>{concat!("Lockkeeper ", env!("CARGO_PKG_VERSION"))}</span>
                <span>"Everything here is what the nodes showed when they were last asked."</span>
                <a href="/api/docs" rel="external" class="underline underline-offset-2 hover:text-ink">
                    "API"
                </a>
            </footer>
        </div>
    }
}
