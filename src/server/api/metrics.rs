//! `GET /metrics` for Prometheus, and request metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::server::access::Principal;
use crate::server::state::AppState;
use crate::server::telemetry::{CONTENT_TYPE, ScrapeContext, traces};

/// Renders the metrics of the groups that the principal may see. Requires the role `viewer`, like
/// other reads.
pub async fn metrics(State(state): State<AppState>, principal: Principal) -> impl IntoResponse {
    let groups = state.operations.groups(&principal);
    let now = ScrapeContext {
        groups: &groups,
        index: state.operations.index(),
        checkups: &state.operations.latest_diagnoses(&groups),
        auto_renewed_locks: state.operations.renewal_count(),
        audit_head: state.operations.audit_head(),
        requests_in_flight: &state.limits.in_use(),
    };
    let text = state.operations.telemetry().render(&now);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text)
}

/// Records the duration and status of a request, by route pattern.
pub async fn record_request(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let pattern = request.extensions().get::<MatchedPath>().cloned();
    if let Some(pattern) = &pattern {
        traces::set_route(request.method(), pattern.as_str());
    }
    let began = Instant::now();
    let answer = next.run(request).await;
    // Requests without a route are static files, or do not exist.
    let pattern = pattern.as_ref().map_or("(file)", MatchedPath::as_str);
    let requests = &state.operations.telemetry().requests;
    requests.record(pattern, answer.status().as_u16(), began.elapsed());
    answer
}
