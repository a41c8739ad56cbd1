//! `GET /healthz` and `GET /readyz`, for process supervisors. They wait for nothing and are not
//! subject to limits.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};

use crate::server::state::AppState;

/// The routes of both probes.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
}

/// Ready once every group was scanned or found to be unreachable.
async fn readiness(State(state): State<AppState>) -> impl IntoResponse {
    let ready = state.operations.is_ready();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut body = serde_json::json!({ "ready": ready });
    if state.access.has_config_error() {
        // The probe is unauthenticated, so it does not contain the error itself.
        body["configuration"] = "not reloaded: the file has an error".into();
    }
    (status, Json(body))
}
