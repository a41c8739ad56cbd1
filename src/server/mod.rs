//! The machine: compiled only with `ssr`. Builds the parts, starts the tasks, opens the doors.

pub mod access;
pub mod api;
mod assets;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
mod connections;
mod cross_site;
pub mod demo;
pub mod doctor;
pub mod formats;
mod gate;
mod headers;
pub mod http_client;
pub mod index;
pub mod limits;
pub mod locking;
mod middleware;
pub mod nodes;
pub mod operations;
mod reload;
pub mod restarts;
pub mod seal;
mod serve;
pub mod sighting;
pub mod state;
pub mod storage;
pub mod telemetry;
pub mod tls;
mod webhooks;

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use leptos::WasmSplitManifest;
use leptos::config::LeptosOptions;
use leptos::nonce::use_nonce;
use leptos::prelude::{ArcStoredValue, provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes as _, ResponseOptions, generate_route_list};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use crate::domain::Language;
use crate::ui::lazy::LOADER;
use crate::ui::{App, paths, shell};
pub use serve::serve;
use state::AppState;

/// Whether there is a page of the kit: while the console is worked on, not where it is shipped.
const HAS_KIT: bool = cfg!(debug_assertions);

/// The pages. Listed once: while it does so, leptos holds back the data of every page in this process.
static PAGES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| {
    let mut pages = generate_route_list(App);
    pages.retain(|page| HAS_KIT || page.path() != paths::KIT);
    pages
});

/// Every route: API, pages, files; and what all requests pass on the way there.
fn router(state: AppState) -> Router {
    let options = state.leptos.clone();
    let console = Router::new()
        .leptos_routes_with_context(&state, PAGES.clone(), before_painting, move || {
            shell(options.clone(), assets::folder())
        })
        .fallback(file_or_page)
        .layer(from_fn_with_state(state.clone(), gate::before_pages))
        // A tenth smaller than as it is otherwise, for 0.2 ms of a page of 130 kB.
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(5)));
    let routes = api::routes(&state).merge(console);
    middleware::apply(&state, routes.with_state(state.clone()))
}

/// What a page is painted with, beside what it shows.
fn before_painting() {
    say_what_a_page_may();
    speak_as_asked();
    if let Some(state) = use_context::<AppState>() {
        provide_context(state.access.ways_in());
    }
    if let Some(parts) = PARTS.clone() {
        provide_context(parts);
    }
}

/// What a page has the browser fetch early of the parts that it is made of; nothing in a build that has no parts.
static PARTS: LazyLock<Option<WasmSplitManifest>> = LazyLock::new(|| {
    let parts = assets::parts();
    let below = format!("{}/pkg", assets::folder());
    (!parts.is_empty())
        .then(|| WasmSplitManifest(ArcStoredValue::new((below, parts, LOADER.to_owned()))))
});

/// Has the page speak the language of the request.
fn speak_as_asked() {
    if let Some(asked) = use_context::<Parts>() {
        let text = |name| {
            let value = asked.headers.get(name);
            value.and_then(|value: &HeaderValue| value.to_str().ok())
        };
        provide_context(Language::asked_for(
            text(header::COOKIE).unwrap_or_default(),
            text(header::ACCEPT_LANGUAGE).unwrap_or_default(),
        ));
    }
}

/// Has the browser told what a page may do; the answer of a server function is no page.
fn say_what_a_page_may() {
    if let (Some(answer), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) {
        for (name, value) in headers::for_page(&nonce) {
            answer.insert_header(name, value);
        }
    }
}

/// A file of the site, else the console's own page for addresses that do not exist.
async fn file_or_page(State(state): State<AppState>, request: Request) -> Response {
    if *request.method() == Method::GET
        && let Some(file) = assets::find(request.uri().path(), request.headers())
    {
        return file;
    }
    // The console's own page would wake up as the page of the kit, which its program has.
    if !HAS_KIT && request.uri().path().trim_end_matches('/') == paths::KIT {
        return (StatusCode::NOT_FOUND, "There is no such page.\n").into_response();
    }
    let options = state.leptos.clone();
    let context = state.clone();
    let render = leptos_axum::render_app_to_stream_with_context(
        move || {
            provide_context(context.clone());
            before_painting();
        },
        move || shell(options.clone(), assets::folder()),
    );
    let (parts, _body) = request.into_parts();
    let mut page = render(Request::from_parts(parts, Body::empty()))
        .await
        .into_response();
    *page.status_mut() = StatusCode::NOT_FOUND;
    page
}

/// Built in code: reading them from the environment would let a user's variables break the console.
fn leptos_options() -> LeptosOptions {
    LeptosOptions::builder()
        .output_name("lockkeeper")
        .site_pkg_dir("pkg")
        .build()
}
