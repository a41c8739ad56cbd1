//! `GET /healthz` and `GET /readyz`, for those who look after the process. They are answered on the thread of acts: whatever keeps the
//! rest of the console busy, nobody takes it for dead.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};

use crate::server::state::AppState;
use crate::server::telemetry::traces;

const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Whether the process lives.
    Health,
    /// Whether it has anything to show.
    Readiness,
}

/// Both, for requests that do not come past [`Probe::of`].
pub fn routes() -> Router<AppState> {
    Router::new()
        .route(HEALTH, get(|| async { health() }))
        .route(
            READINESS,
            get(|State(state): State<AppState>| async move { readiness(&state) }),
        )
}

impl Probe {
    /// The probe that a request is, if it is one.
    pub fn of(request: &Request) -> Option<Self> {
        match request.uri().path() {
            _ if *request.method() != Method::GET => None,
            HEALTH => Some(Self::Health),
            READINESS => Some(Self::Readiness),
            _ => None,
        }
    }

    /// Answers it. Nothing is waited for.
    pub fn answer(self, state: &AppState) -> Response {
        let began = Instant::now();
        let (path, answer) = match self {
            Self::Health => (HEALTH, health().into_response()),
            Self::Readiness => (READINESS, readiness(state).into_response()),
        };
        traces::for_route(&Method::GET, path);
        let route = state.operations.telemetry().requests.route(path);
        route.add(answer.status().as_u16(), began.elapsed());
        answer
    }
}

fn health() -> impl IntoResponse {
    "ok\n"
}

/// Ready once every group was looked at, or was found to be out of reach.
fn readiness(state: &AppState) -> impl IntoResponse + use<> {
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
