//! The JSON door: routes, the OpenAPI document, and what every answer carries.

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

use crate::domain::board::Snapshot;
use crate::domain::{Change, OwnersBy, WindowNews};
use crate::server::headers;
use crate::server::state::AppState;
pub use problem::ApiError;

/// What the document says before the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lockkeeper",
        description = include_str!("promises.md")
    ),
    tags((name = "watch", description = "What is observed"), (name = "act", description = "What changes something")),
    components(schemas(Snapshot, Change, OwnersBy, WindowNews)),
    modifiers(&Credentials)
)]
struct Document;

/// What programs send to be let in, as the document says it.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let about = "An API token, made with `lockkeeper token`. Where nobody needs to sign in, none is needed.";
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(about));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
        let no_scopes: [&str; 0] = [];
        document.security = Some(vec![SecurityRequirement::new("token", no_scopes)]);
    }
}

/// Every route of the API, within its limits, for those who may come in. Whoever asks whether the server lives is always let
/// in, and so is whoever reads what the API is.
pub fn routes(state: &AppState) -> Router<AppState> {
    let (api, document) = described().split_for_parts();
    // `{key}` matches no empty segment; that a key is empty is said all the same.
    let empty_key = Router::new()
        .route("/api/v1/groups/{group}/locks/", get(v1::locks::lock))
        .route(
            "/api/v1/groups/{group}/locks//history",
            get(v1::locks::history),
        )
        .route(
            "/api/v1/groups/{group}/locks//acquire",
            post(v1::acts::acquire),
        )
        .route(
            "/api/v1/groups/{group}/locks//extend",
            post(v1::acts::extend),
        )
        .route(
            "/api/v1/groups/{group}/locks//release",
            post(v1::acts::release),
        )
        .route(
            "/api/v1/groups/{group}/locks//force-release",
            post(v1::acts::force_release),
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
    let signing_in = Router::new()
        .route(sign_in::PATH, post(sign_in::sign_in))
        .route(sign_in::OUT, post(sign_in::sign_out))
        .route(provider::THERE, get(provider::send))
        .route(provider::BACK, get(provider::back))
        .route(provider::OUT, get(provider::out))
        .route(language::PATH, post(language::choose));
    let signing_in = signing_in.layer(from_fn_with_state(state.clone(), admission::limit_sign_ins));
    let api = api
        .layer(from_fn_with_state(state.clone(), admission::limit_requests))
        .merge(signing_in);
    let docs = docs::routes(document);
    Router::new()
        .merge(api)
        .merge(
            docs.layer(CompressionLayer::new())
                .layer(map_response(headers::for_documentation)),
        )
        .merge(probes::routes())
}

/// The OpenAPI document, generated from the code.
pub fn document() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

fn described() -> OpenApiRouter<AppState> {
    let watching = OpenApiRouter::new()
        .routes(routes!(v1::groups::groups))
        .routes(routes!(v1::findings::findings))
        .routes(routes!(v1::locks::locks))
        .routes(routes!(v1::locks_export::export))
        .routes(routes!(v1::locks::lock))
        .routes(routes!(v1::samples::monitor_sample))
        .routes(routes!(v1::locks::history))
        .routes(routes!(v1::waits::waits))
        .routes(routes!(v1::audit::audit))
        .routes(routes!(v1::audit::export))
        .routes(routes!(v1::owners::owners))
        .layer(CompressionLayer::new());
    // Short answers, many of them: looking into whether to compress would cost more than it could spare.
    let acting = OpenApiRouter::new()
        .routes(routes!(v1::acts::acquire))
        .routes(routes!(v1::acts::extend))
        .routes(routes!(v1::acts::release))
        .routes(routes!(v1::acts::force_release))
        .routes(routes!(v1::vouch::vouch))
        .routes(routes!(v1::force_releases::force_releases));
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(watching)
        .merge(acting)
        .routes(routes!(v1::events::events))
}
