//! What stands before the routes of the API: the limits, and who is let in.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::ApiError;
use crate::server::limits::Client;
use crate::server::state::AppState;

/// Holds one of the permits for requests until the request is answered.
pub async fn limit_requests(
    State(state): State<AppState>,
    client: Client,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let admitted = state.limits.admit(client, request.uri(), request.headers());
    let _until_it_is_answered = admitted?;
    Ok(next.run(request).await)
}

/// The same with the permits for signing in and out.
pub async fn limit_sign_ins(
    State(state): State<AppState>,
    client: Client,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let admitted = state
        .limits
        .admit_sign_in(client, request.uri(), request.headers());
    let _until_it_is_answered = admitted?;
    Ok(next.run(request).await)
}

/// Who may not come in gets no further: not to what is there, nor to what is not.
pub async fn authenticate(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let actor = state.access.admit_request(&parts).await?;
    parts.extensions.insert(actor);
    Ok(next.run(Request::from_parts(parts, body)).await)
}
