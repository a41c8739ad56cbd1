//! What a person sees. Compiled for the server (first paint) and the browser.

pub mod audit_query;
pub mod calls;
pub mod components;
pub mod first_view;
pub mod kit;
pub mod lazy;
pub mod live;
pub mod nodes_query;
pub mod owners_query;
pub mod pages;
pub mod paths;
pub mod preferences;
pub mod query;
pub mod routes;
pub mod shortcuts;
mod title;
pub mod traces;
pub mod waits_query;
pub mod words;

pub use self::words::format;

use leptos::WasmSplitManifest;
use leptos::prelude::*;
use leptos_meta::{MetaTags, Title, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{Lazy, SsrMode, path};

use self::components::layout::Layout;
use self::components::lease_bar::Calm;
use self::lazy::SlowPage;
use self::live::Live;
use self::pages::locks::LocksPage;
use self::pages::not_found::NotFoundPage;
use self::routes::{
    AuditRoute, HelpRoute, KitRoute, LockRoute, MineRoute, NodesRoute, OwnersRoute, SignInRoute,
    WaitsRoute,
};
use self::shortcuts::Shortcuts;

/// The document that the server sends; `files` is where those of this build are found.
pub fn shell(options: LeptosOptions, files: &'static str) -> impl IntoView {
    let language = words::language();
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
                // What loads the later parts: a program that was cut into parts does not start without it.
                {is_cut.then(|| view! { <link rel="modulepreload" href=format!("{files}/pkg/{}", lazy::LOADER) /> })}
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

/// Shows that the page's program has ended: whatever is on screen stays as it is from now on.
pub fn say_that_it_is_broken() {
    if let Some(notice) = document().get_element_by_id("broken") {
        // Fails only where the name of the attribute is none.
        let _infallible = notice.remove_attribute("hidden");
    }
}

/// The console.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    Live::provide();
    Calm::provide();
    Shortcuts::provide();
    SlowPage::provide();
    view! {
        <Title text="Lockkeeper" formatter=title::written />
        <Router>
            <Layout>
                // Each page is sent whole, so that it can be read before it wakes up and without JavaScript.
                <FlatRoutes fallback=NotFoundPage>
                    <Route path=path!("/") view=LocksPage ssr=SsrMode::Async />
                    <Route path=path!("/groups/:group/locks") view={Lazy::<LockRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/groups/:group/locks/*key") view={Lazy::<LockRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/nodes") view={Lazy::<NodesRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/owners") view={Lazy::<OwnersRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/waits") view={Lazy::<WaitsRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/mine") view={Lazy::<MineRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/audit") view={Lazy::<AuditRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/help") view={Lazy::<HelpRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/kit") view={Lazy::<KitRoute>::new()} ssr=SsrMode::Async />
                    <Route path=path!("/sign-in") view={Lazy::<SignInRoute>::new()} ssr=SsrMode::Async />
                </FlatRoutes>
            </Layout>
        </Router>
    }
}
