//! The JSON door: routes, the OpenAPI document, and what every answer carries.

mod extract;
pub mod limits;
mod places;
mod problem;
pub mod short_way;
mod v1;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::domain::board::Snapshot;
use crate::domain::{Change, WindowNews};
use crate::server::state::AppState;
use limits::Limits;
use problem::ApiError;

/// What the document says before the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lockkeeper",
        description = include_str!("promises.md")
    ),
    tags((name = "watch", description = "What is observed"), (name = "act", description = "What changes something")),
    components(schemas(Snapshot, Change, WindowNews))
)]
struct Document;

/// Every route of the API, within these limits. Whoever asks whether the server lives is always let in.
pub fn routes(limits: Arc<Limits>) -> Router<AppState> {
    let (api, document) = described().split_for_parts();
    // `{key}` matches no empty segment; the empty key is a key all the same.
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
        .route(
            "/api/{*rest}",
            axum::routing::any(|| async { ApiError::NotFound }),
        )
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(from_fn_with_state(limits, limits::guard));
    let docs = Router::from(SwaggerUi::new("/api/docs").url("/api/openapi.json", document));
    Router::new()
        .merge(api)
        .merge(docs.layer(CompressionLayer::new()))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
}

/// The OpenAPI document, generated from the code.
pub fn document() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

fn described() -> OpenApiRouter<AppState> {
    let watching = OpenApiRouter::new()
        .routes(routes!(v1::groups::groups))
        .routes(routes!(v1::locks::locks))
        .routes(routes!(v1::locks::lock))
        .routes(routes!(v1::samples::monitor_sample))
        .routes(routes!(v1::locks::history))
        .routes(routes!(v1::waits::waits))
        .layer(CompressionLayer::new());
    // Short answers, many of them: looking into whether to compress would cost more than it could spare.
    let acting = OpenApiRouter::new()
        .routes(routes!(v1::acts::acquire))
        .routes(routes!(v1::acts::extend))
        .routes(routes!(v1::acts::release))
        .routes(routes!(v1::acts::force_release));
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(watching)
        .merge(acting)
        .routes(routes!(v1::events::events))
}

/// Ready once every group was looked at, or was found to be out of reach.
async fn readyz(State(state): State<AppState>) -> impl IntoResponse {
    let ready = state.operations.is_ready();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(serde_json::json!({ "ready": ready })))
}
