//! The layout of every page: name, navigation, live indicator, settings and account.

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;

use super::account::{AccountMenu, NoAuthFooterNotice, NoAuthNotice};
use super::attention::AttentionIndicator;
use super::banners::Banners;
use super::config_warnings::ConfigWarnings;
use super::live_indicator::LiveIndicator;
use super::palette::Palette;
use super::settings::Settings;
use super::shortcuts_dialog::ShortcutsDialog;
use crate::ui::i18n::{palette, shell};
use crate::ui::kit::menu::{MENU_ENTRY, Menu};
use crate::ui::kit::{Icon, IconName};
use crate::ui::lazy::SlowPageNote;
use crate::ui::paths;
use crate::ui::shortcuts::Shortcuts;

/// The layout of every page.
#[component]
pub fn Layout(
    /// The content of the page.
    children: Children,
) -> impl IntoView {
    let location = use_location();
    let is_sign_in = Memo::new(move |_| location.pathname.with(|path| path == paths::SIGN_IN));
    Shortcuts::expect().listen();
    view! {
        <AttentionIndicator />
        // `external`: the router would scroll without moving the focus.
        <a
            href="#main"
            rel="external"
            class="sr-only z-20 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:not-sr-only focus:absolute focus:start-2 focus:top-2"
        >
            {shell::skip()}
        </a>
        <div class="page-frame">
            <header class="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-1.5 md:px-6">
                <a href=paths::LOCKS class="inline-flex items-center gap-2 rounded text-base font-semibold">
                    <img src="/favicon.svg" alt="" width="26" height="26" />
                    <span class="max-sm:sr-only">"Lockkeeper"</span>
                </a>
                <Navigation is_sign_in />
                <div class="ms-auto flex items-center gap-1.5 sm:gap-3">
                    {move || (!is_sign_in.get()).then(|| view! { <LiveIndicator /> })}
                    <PaletteButton is_sign_in />
                    <Settings />
                    <AccountMenu />
                </div>
            </header>
            <main id="main" tabindex="-1" class="grow px-4 pb-10 pt-2 outline-none md:px-6">
                <noscript>
                    <p class="mb-4 text-muted">{shell::javascript_disabled()}</p>
                </noscript>
                <FatalErrorBanner />
                <NoAuthNotice />
                <ConfigWarnings />
                <Banners />
                <SlowPageNote />
                {children()}
            </main>
            <footer class="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-4 py-4 text-xs text-muted md:px-6">
                <span>{concat!("Lockkeeper ", env!("CARGO_PKG_VERSION"))}</span>
                <NoAuthFooterNotice />
                <a href=paths::HELP rel="external" class="underline underline-offset-2 hover:text-ink">
                    {shell::help()}
                </a>
                <a href=paths::API_DOCS rel="external" class="underline underline-offset-2 hover:text-ink">
                    "API"
                </a>
            </footer>
        </div>
        <Palette />
        <ShortcutsDialog />
    }
}

/// The navigation. On phones it is at the lower edge of the screen, with a menu for the pages that
/// have no space there.
#[component]
fn Navigation(is_sign_in: Memo<bool>) -> impl IntoView {
    let link = |path: &'static str, label: &'static str, class: &'static str| {
        view! {
            <A href=path exact=path == paths::LOCKS attr:class=class>
                {label}
            </A>
        }
    };
    let tab = move |path, label| link(path, label, "");
    let wide_tab = move |path, label| link(path, label, "wide-tab");
    let entry = move |path, label| link(path, label, MENU_ENTRY);
    view! {
        <nav aria-label=shell::pages() class="page-nav" hidden=move || is_sign_in.get()>
            {tab(paths::LOCKS, shell::locks())}
            {wide_tab(paths::OWNERS, shell::owners())}
            {tab(paths::NODES, shell::nodes())}
            {tab(paths::WAITS, shell::waits())}
            {tab(paths::ACTIVITY, shell::activity())}
            {wide_tab(paths::MINE, shell::mine())}
            {wide_tab(paths::AUDIT, shell::audit())}
            <Menu label=shell::menu().to_owned() class="more-tabs" list_class="is-end flex-col">
                {entry(paths::OWNERS, shell::owners())}
                {entry(paths::MINE, shell::mine())}
                {entry(paths::AUDIT, shell::audit())}
            </Menu>
        </nav>
    }
}

/// Opens the command palette by click or touch.
#[component]
fn PaletteButton(is_sign_in: Memo<bool>) -> impl IntoView {
    let open = Shortcuts::expect().palette_open;
    view! {
        <button
            type="button"
            class="needs-script inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink"
            aria-haspopup="dialog"
            aria-keyshortcuts="Control+K Meta+K"
            hidden=move || is_sign_in.get()
            on:click=move |_| open.set(true)
        >
            <Icon name=IconName::Search />
            <span class="sr-only lg:not-sr-only">{palette::find()}</span>
            <kbd class="key max-lg:hidden" aria-hidden="true">
                "Ctrl K"
            </kbd>
        </button>
    }
}

/// Hidden until `public/theme.js` or the panic hook shows it, because the WASM module failed to
/// start or panicked.
#[component]
fn FatalErrorBanner() -> impl IntoView {
    view! {
        <div id="broken" role="alert" class="mb-4 rounded-lg bg-alarm-soft px-3.5 py-2.5 text-alarm" hidden=true>
            <p class="font-semibold">{shell::page_crashed()}</p>
            <p>
                {shell::page_crashed_advice()}
                // An empty link is the current page.
                <a href="" rel="external" class="font-medium underline underline-offset-2">
                    {shell::reload()}
                </a>
            </p>
        </div>
    }
}
