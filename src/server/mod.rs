//! The server layer, compiled with the feature `ssr`: the router and the modules behind it.

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
pub mod history;
pub mod http_client;
pub mod index;
pub mod limits;
mod middleware;
pub mod operations;
mod page_auth;
pub mod prefixes;
mod reload;
pub mod seal;
mod security_headers;
mod serve;
pub mod state;
pub mod storage;
pub mod stores;
pub mod team_views;
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

use crate::domain::Locale;
use crate::ui::lazy::LOADER_FILE;
use crate::ui::{App, paths, shell};
pub use serve::serve;
use state::AppState;

/// Whether the page with all UI kit components is served: in debug builds only.
const HAS_KIT: bool = cfg!(debug_assertions);

/// The routes of all pages. Generated once: while `generate_route_list` runs, Leptos suppresses
/// resource loading in the whole process.
static PAGE_ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| {
    let mut pages = generate_route_list(App);
    pages.retain(|page| HAS_KIT || page.path() != paths::KIT);
    pages
});

/// All routes (API, pages, static files) with the middleware stack.
fn router(state: AppState) -> Router {
    let options = state.leptos.clone();
    let console = Router::new()
        .leptos_routes_with_context(
            &state,
            PAGE_ROUTES.clone(),
            provide_page_context,
            move || shell(options.clone(), assets::build_path()),
        )
        .fallback(serve_file_or_not_found)
        .layer(from_fn_with_state(
            state.clone(),
            page_auth::require_sign_in,
        ))
        // Level 5 makes a page of 130 kB 10 % smaller than the default level, and takes 0.2 ms
        // more.
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(5)));
    let routes = api::routes(&state).merge(console);
    middleware::apply(&state, routes.with_state(state.clone()))
}

/// Provides the Leptos context of a page: headers, language, sign-in options and the WASM split
/// manifest.
fn provide_page_context() {
    set_page_headers();
    provide_language();
    if let Some(state) = use_context::<AppState>() {
        provide_context(state.access.sign_in_options());
    }
    if let Some(manifest) = SPLIT_MANIFEST.clone() {
        provide_context(manifest);
    }
}

/// Lets pages preload the WASM chunks that they use. `None` in builds without code splitting.
static SPLIT_MANIFEST: LazyLock<Option<WasmSplitManifest>> = LazyLock::new(|| {
    let chunks = assets::split_chunks();
    let package_path = format!("{}/pkg", assets::build_path());
    (!chunks.is_empty()).then(|| {
        WasmSplitManifest(ArcStoredValue::new((
            package_path,
            chunks,
            LOADER_FILE.to_owned(),
        )))
    })
});

/// Sets the language from the cookie or `Accept-Language`.
fn provide_language() {
    if let Some(request) = use_context::<Parts>() {
        let text = |name| {
            let value = request.headers.get(name);
            value.and_then(|value: &HeaderValue| value.to_str().ok())
        };
        provide_context(Locale::negotiate(
            text(header::COOKIE).unwrap_or_default(),
            text(header::ACCEPT_LANGUAGE).unwrap_or_default(),
        ));
    }
}

/// Sets the security headers of a page. Server functions have no nonce and keep the default
/// headers.
fn set_page_headers() {
    if let (Some(response), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) {
        for (name, value) in security_headers::page_headers(&nonce) {
            response.insert_header(name, value);
        }
    }
}

/// Serves a static file, or the console's 404 page.
async fn serve_file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    if *request.method() == Method::GET
        && let Some(file) = assets::respond(request.uri().path(), request.headers())
    {
        return file;
    }
    // The 404 page would hydrate as the kit page, because the browser code contains its route.
    if !HAS_KIT && request.uri().path().trim_end_matches('/') == paths::KIT {
        return (StatusCode::NOT_FOUND, "Page not found.\n").into_response();
    }
    let options = state.leptos.clone();
    let context = state.clone();
    let render = leptos_axum::render_app_to_stream_with_context(
        move || {
            provide_context(context.clone());
            provide_page_context();
        },
        move || shell(options.clone(), assets::build_path()),
    );
    let (parts, _body) = request.into_parts();
    let mut page = render(Request::from_parts(parts, Body::empty()))
        .await
        .into_response();
    *page.status_mut() = StatusCode::NOT_FOUND;
    page
}

/// Set in code: with options from the environment, a user's `LEPTOS_*` variables could break
/// the console.
fn default_leptos_options() -> LeptosOptions {
    LeptosOptions::builder()
        .output_name("lockkeeper")
        .site_pkg_dir("pkg")
        .build()
}
