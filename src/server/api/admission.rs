//! Middleware of the API routes: request limits and authentication.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::ApiError;
use crate::server::limits::ClientKey;
use crate::server::state::AppState;

/// Holds a request permit until the response is complete.
pub async fn limit_requests(
    State(state): State<AppState>,
    client: ClientKey,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let admitted = state.limits.admit(client, request.uri(), request.headers());
    let _permit = admitted?;
    Ok(next.run(request).await)
}

/// Holds a sign-in permit until the response is complete.
pub async fn limit_sign_ins(
    State(state): State<AppState>,
    client: ClientKey,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let admitted = state
        .limits
        .admit_sign_in(client, request.uri(), request.headers());
    let _permit = admitted?;
    Ok(next.run(request).await)
}

/// Authenticates the request, before routing errors: unauthenticated clients cannot learn which
/// routes exist.
pub async fn authenticate(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let principal = state.access.authenticate_request(&parts).await?;
    parts.extensions.insert(principal);
    Ok(next.run(Request::from_parts(parts, body)).await)
}
