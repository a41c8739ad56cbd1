//! The web console. Compiled for the server (first render) and for the browser.

pub mod activity_view;
pub mod audit_query;
pub mod calls;
pub mod components;
pub mod i18n;
pub mod initial_view;
pub mod json;
pub mod kit;
pub mod lazy;
pub mod live;
pub mod local_storage;
pub mod locks_query;
pub mod nodes_query;
pub mod owners_query;
pub mod pages;
pub mod paths;
pub mod preferences;
pub mod routes;
pub mod shortcuts;
pub mod time_zone;
mod title;
pub mod waits_query;

pub use self::i18n::format;

use leptos::WasmSplitManifest;
use leptos::prelude::*;
use leptos_meta::{MetaTags, Title, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{Lazy, SsrMode, path};

use self::components::layout::Layout;
use self::components::lease_bar::ReducedMotion;
use self::lazy::SlowPage;
use self::live::Live;
use self::pages::locks::LocksPage;
use self::pages::not_found::NotFoundPage;
use self::routes::{
    ActivityRoute, AuditRoute, HelpRoute, KitRoute, LockRoute, MineRoute, NodesRoute, OwnerRoute,
    OwnersRoute, SignInRoute, WaitsRoute, WebhooksRoute,
};
use self::shortcuts::Shortcuts;
use self::time_zone::TimeZone;

/// The HTML document. `files` is the URL prefix of the files of this build.
pub fn shell(options: LeptosOptions, files: &'static str) -> impl IntoView {
    let language = i18n::locale();
    let is_cut = use_context::<WasmSplitManifest>().is_some();
    view! {
        <!DOCTYPE html>
        <html lang=language.tag()>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <script src="/theme.js"></script>
                <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                <link rel="stylesheet" href=format!("{files}/pkg/lockkeeper.css") />
                // The chunk loader: a split program does not start without it.
                {is_cut.then(|| view! { <link rel="modulepreload" href=format!("{files}/pkg/{}", lazy::LOADER_FILE) /> })}
                <AutoReload options=options.clone() />
                <HydrationScripts options root=files />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// Shows that the program of the page has crashed. The page is not updated any more.
pub fn show_fatal_error() {
    if let Some(notice) = document().get_element_by_id("broken") {
        // Fails only for an invalid attribute name.
        let _infallible = notice.remove_attribute("hidden");
    }
}

/// The console.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    Live::provide();
    ReducedMotion::provide();
    Shortcuts::provide();
    SlowPage::provide();
    TimeZone::provide();
    view! {
        <Title text="Lockkeeper" formatter=title::format_title />
        <Router>
            <Layout>
                // Each page is rendered completely, so that it can be read before hydration and
                // without JavaScript.
                <FlatRoutes fallback=NotFoundPage>
                    <Route path=path!("/") view=LocksPage ssr=SsrMode::Async />
                    <Route path=path!("/groups/:group/locks") view={Lazy::<LockRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/groups/:group/locks/*key") view={Lazy::<LockRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/nodes") view={Lazy::<NodesRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/owners") view={Lazy::<OwnersRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/owners/:owner") view={Lazy::<OwnerRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/waits") view={Lazy::<WaitsRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/activity") view={Lazy::<ActivityRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/mine") view={Lazy::<MineRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/audit") view={Lazy::<AuditRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/webhooks") view={Lazy::<WebhooksRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/help") view={Lazy::<HelpRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/kit") view={Lazy::<KitRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/sign-in") view={Lazy::<SignInRoute>::new()} ssr=SsrMode::Async />
                </FlatRoutes>
            </Layout>
        </Router>
    }
}
