//! The HTTP API: routes, the OpenAPI document, and forms for sign-in.

mod admission;
mod docs;
pub mod extract;
mod language;
pub mod metrics;
mod probes;
mod problem;
pub mod provider;
pub mod sign_in;
mod v1;

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::index_state::Snapshot;
use crate::domain::{Change, OwnerGrouping, WindowUpdate};
use crate::server::security_headers;
use crate::server::state::AppState;
pub use problem::ApiError;

/// The OpenAPI document without the routes, which are added from the handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lockkeeper",
        description = include_str!("description.md")
    ),
    tags((name = "observation", description = "Read-only requests"), (name = "operations", description = "Requests that change a lock or a node")),
    components(schemas(Snapshot, Change, OwnerGrouping, WindowUpdate)),
    modifiers(&TokenSecurity)
)]
struct ApiDocument;

/// Adds the API token as security scheme.
struct TokenSecurity;

impl Modify for TokenSecurity {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let description = "An API token, created with `lockkeeper create-token`. Not required if authentication is disabled.";
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(description));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
        let no_scopes: [&str; 0] = [];
        document.security = Some(vec![SecurityRequirement::new("token", no_scopes)]);
    }
}

/// All routes of the API, with limits and authentication. Health probes and the documentation need
/// no authentication.
pub fn routes(state: &AppState) -> Router<AppState> {
    let (api, document) = documented_routes().split_for_parts();
    // `{key}` does not match an empty segment. These routes return the proper error for an empty
    // key.
    let empty_key = Router::new()
        .route("/api/v1/groups/{group}/locks/", get(v1::locks::lock))
        .route(
            "/api/v1/groups/{group}/locks//history",
            get(v1::locks::history),
        )
        .route(
            "/api/v1/groups/{group}/locks//lease-keys",
            get(v1::lease_keys::lease_keys),
        )
        .route(
            "/api/v1/groups/{group}/locks//acquire",
            post(v1::operations::acquire),
        )
        .route(
            "/api/v1/groups/{group}/locks//extend",
            post(v1::operations::extend),
        )
        .route(
            "/api/v1/groups/{group}/locks//release",
            post(v1::operations::release),
        )
        .route(
            "/api/v1/groups/{group}/locks//force-release",
            post(v1::operations::force_release),
        )
        .route(
            "/api/v1/groups/{group}/prefixes/",
            post(v1::prefixes::change_prefix),
        );
    let api = api
        .merge(empty_key)
        .route("/metrics", get(metrics::metrics))
        .route(
            "/api/{*rest}",
            axum::routing::any(|| async { ApiError::NotFound }),
        )
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(from_fn_with_state(state.clone(), admission::authenticate));
    let sign_in_routes = Router::new()
        .route(sign_in::PATH, post(sign_in::sign_in))
        .route(sign_in::SIGN_OUT_PATH, post(sign_in::sign_out))
        .route(provider::START_PATH, get(provider::start))
        .route(provider::CALLBACK_PATH, get(provider::callback))
        .route(provider::SIGN_OUT_PATH, get(provider::sign_out))
        .route(language::PATH, post(language::set_language));
    let sign_in_routes =
        sign_in_routes.layer(from_fn_with_state(state.clone(), admission::limit_sign_ins));
    let api = api
        .layer(from_fn_with_state(state.clone(), admission::limit_requests))
        .merge(sign_in_routes);
    let docs = docs::routes(document);
    Router::new()
        .merge(api)
        .merge(
            docs.layer(CompressionLayer::new())
                .layer(map_response(security_headers::set_docs_policy)),
        )
        .merge(probes::routes())
}

/// The OpenAPI document, generated from the handlers.
pub fn document() -> utoipa::openapi::OpenApi {
    documented_routes().split_for_parts().1
}

fn documented_routes() -> OpenApiRouter<AppState> {
    let read_routes = OpenApiRouter::new()
        .routes(routes!(v1::groups::groups))
        .routes(routes!(v1::findings::findings))
        .routes(routes!(v1::locks::locks))
        .routes(routes!(v1::locks_export::export))
        .routes(routes!(v1::locks::lock))
        .routes(routes!(v1::samples::monitor_sample))
        .routes(routes!(v1::locks::history))
        .routes(routes!(v1::history::recorded_history))
        .routes(routes!(v1::lease_keys::lease_keys))
        .routes(routes!(v1::waits::waits))
        .routes(routes!(v1::audit::audit))
        .routes(routes!(v1::audit::export))
        .routes(routes!(v1::owners::owners))
        .routes(routes!(v1::owners::owner))
        .routes(routes!(v1::prefixes::prefixes))
        .routes(routes!(v1::webhooks::webhooks))
        .routes(routes!(v1::views::views))
        .layer(CompressionLayer::new());
    // Many short responses: checking whether to compress them would cost more than it saves.
    let operation_routes = OpenApiRouter::new()
        .routes(routes!(v1::operations::acquire))
        .routes(routes!(v1::operations::extend))
        .routes(routes!(v1::operations::release))
        .routes(routes!(v1::operations::force_release))
        .routes(routes!(v1::clear_restart_hazard::clear_restart_hazard))
        .routes(routes!(v1::force_releases::force_releases))
        .routes(routes!(v1::prefixes::change_prefix))
        .routes(routes!(v1::webhooks::test_webhook))
        .routes(routes!(v1::views::save_view, v1::views::delete_view));
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .merge(read_routes)
        .merge(operation_routes)
        .routes(routes!(v1::events::events))
}
