//! `GET /healthz` and `GET /readyz`, for those who look after the process. Nothing is waited for, and no limit holds them up.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};

use crate::server::state::AppState;

/// Both.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
}

/// Ready once every group was looked at, or was found to be out of reach.
async fn readiness(State(state): State<AppState>) -> impl IntoResponse {
    let ready = state.operations.is_ready();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut told = serde_json::json!({ "ready": ready });
    if state.access.has_trouble() {
        // What is wrong with it, those are told who may know.
        told["configuration"] = "as it was before: the file has a mistake".into();
    }
    (status, Json(told))
}
