//! What stands around every page: name, navigation, whether it is live, settings, who is here.

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;

use super::account::{Account, Openness, OpennessBelow};
use super::attention::Attention;
use super::banners::Banners;
use super::config_trouble::ConfigTrouble;
use super::keys_dialog::KeysDialog;
use super::live_indicator::LiveIndicator;
use super::palette::Palette;
use super::settings::Settings;
use crate::ui::kit::{Icon, Sign};
use crate::ui::lazy::SlowPageNote;
use crate::ui::paths;
use crate::ui::shortcuts::Shortcuts;
use crate::ui::words::{frame, palette};

/// The frame of every page.
#[component]
pub fn Layout(
    /// The page.
    children: Children,
) -> impl IntoView {
    let location = use_location();
    let is_sign_in = Memo::new(move |_| location.pathname.with(|path| path == paths::SIGN_IN));
    Shortcuts::expect().listen();
    view! {
        <Attention />
        // `external`: the router would scroll there and leave the focus behind.
        <a
            href="#main"
            rel="external"
            class="sr-only z-20 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:not-sr-only focus:absolute focus:start-2 focus:top-2"
        >
            {frame::skip()}
        </a>
        <div class="page-frame">
            <header class="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5 md:px-6">
                <a href=paths::LOCKS class="inline-flex items-center gap-2 rounded text-base font-semibold">
                    <img src="/favicon.svg" alt="" width="26" height="26" />
                    <span class="max-sm:sr-only">"Lockkeeper"</span>
                </a>
                <Navigation is_sign_in />
                <div class="ms-auto flex items-center gap-1.5 sm:gap-3">
                    {move || (!is_sign_in.get()).then(|| view! { <LiveIndicator /> })}
                    <PaletteButton is_sign_in />
                    <Settings />
                    <Account />
                </div>
            </header>
            <main id="main" tabindex="-1" class="grow px-4 pb-10 pt-2 outline-none md:px-6">
                <noscript>
                    <p class="mb-4 text-muted">{frame::no_script()}</p>
                </noscript>
                <Broken />
                <Openness />
                <ConfigTrouble />
                <Banners />
                <SlowPageNote />
                {children()}
            </main>
            <footer class="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-4 py-4 text-xs text-muted md:px-6">
                <span>{concat!("Lockkeeper ", env!("CARGO_PKG_VERSION"))}</span>
                <span>{frame::as_last_seen()}</span>
                <OpennessBelow />
                <a href=paths::HELP rel="external" class="underline underline-offset-2 hover:text-ink">
                    {frame::help()}
                </a>
                <a href=paths::API_DOCS rel="external" class="underline underline-offset-2 hover:text-ink">
                    "API"
                </a>
            </footer>
        </div>
        <Palette />
        <KeysDialog />
    }
}

/// The pages. On a phone they stand at the lower edge, where thumbs are.
#[component]
fn Navigation(is_sign_in: Memo<bool>) -> impl IntoView {
    let tab = |path: &'static str, words: &'static str| {
        view! {
            <A href=path exact=path == paths::LOCKS>
                {words}
            </A>
        }
    };
    view! {
        <nav aria-label=frame::pages() class="page-nav" hidden=move || is_sign_in.get()>
            {tab(paths::LOCKS, frame::locks())}
            {tab(paths::OWNERS, frame::owners())}
            {tab(paths::NODES, frame::nodes())}
            {tab(paths::WAITS, frame::waits())}
            {tab(paths::MINE, frame::mine())}
            {tab(paths::AUDIT, frame::audit())}
        </nav>
    }
}

/// Opens the palette, for whoever has no keyboard or does not know the key.
#[component]
fn PaletteButton(is_sign_in: Memo<bool>) -> impl IntoView {
    let open = Shortcuts::expect().palette;
    view! {
        <button
            type="button"
            class="needs-script inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink"
            aria-haspopup="dialog"
            aria-keyshortcuts="Control+K Meta+K"
            hidden=move || is_sign_in.get()
            on:click=move |_| open.set(true)
        >
            <Icon sign=Sign::Search />
            <span class="sr-only lg:not-sr-only">{palette::find()}</span>
            <kbd class="key max-lg:hidden" aria-hidden="true">
                "Ctrl K"
            </kbd>
        </button>
    }
}

/// Shown by `public/theme.js` and by what catches a panic, when the page's program could not start or has ended.
#[component]
fn Broken() -> impl IntoView {
    view! {
        <div id="broken" role="alert" class="mb-4 rounded-lg bg-alarm-soft px-3.5 py-2.5 text-alarm" hidden=true>
            <p class="font-semibold">{frame::broken()}</p>
            <p>
                {frame::broken_advice()}
                // An empty address is this very page.
                <a href="" rel="external" class="font-medium underline underline-offset-2">
                    {frame::load_again()}
                </a>
            </p>
        </div>
    }
}
