//! `GET /metrics`: what the console and its groups are like, for Prometheus.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::server::access::Actor;
use crate::server::state::AppState;
use crate::server::telemetry::{CONTENT_TYPE, Now, traces};

/// Everything there is to say about the groups that they may see. It takes the role `viewer`, as every other look does.
pub async fn metrics(State(state): State<AppState>, actor: Actor) -> impl IntoResponse {
    let groups = state.operations.groups(&actor);
    let now = Now {
        groups: &groups,
        index: state.operations.index(),
        checkups: &state.operations.last_checkups(&groups),
        kept: state.operations.kept_locks(),
        audit_head: state.operations.audit_head(),
        taken: &state.limits.taken(),
    };
    let text = state.operations.telemetry().text(&now);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text)
}

/// Times what a router serves, by the route's pattern.
pub async fn timed(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let pattern = request.extensions().get::<MatchedPath>().cloned();
    if let Some(pattern) = &pattern {
        traces::for_route(request.method(), pattern.as_str());
    }
    let began = Instant::now();
    let answer = next.run(request).await;
    // What no route matches is a file of the site, or nothing.
    let pattern = pattern.as_ref().map_or("(file)", MatchedPath::as_str);
    let requests = &state.operations.telemetry().requests;
    requests.add(pattern, answer.status().as_u16(), began.elapsed());
    answer
}
