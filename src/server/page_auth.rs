//! Authentication and limits for pages and server functions.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};

use super::api::extract::read_body;
use super::api::{ApiError, provider, sign_in};
use super::assets;
use super::limits::ClientKey;
use super::state::AppState;
use crate::domain::OperationError;

const SERVER_FUNCTION_PREFIX: &str = "/_fn/";

/// Requires authentication. Pages redirect unauthenticated users to the sign-in page; server
/// functions return an error.
pub async fn require_sign_in(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if request.uri().path().starts_with(SERVER_FUNCTION_PREFIX) {
        handle_server_function(&state, request, next).await
    } else {
        Ok(handle_page(&state, request, next).await)
    }
}

async fn handle_server_function(
    state: &AppState,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let client = ClientKey::from_extensions(request.extensions());
    let _permit = state
        .limits
        .admit(client, request.uri(), request.headers())?;
    let (mut parts, body) = request.into_parts();
    let principal = state.access.authenticate_request(&parts).await?;
    parts.extensions.insert(principal);
    let body = Body::from(read_body(&state.limits, body).await?);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

async fn handle_page(state: &AppState, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path != sign_in::PATH && !assets::exists(path) {
        match state.access.authenticate_request(&parts).await {
            Ok(principal) => {
                parts.extensions.insert(principal);
            }
            Err(OperationError::SignInRequired { .. }) => {
                let next_path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
                if state.access.can_sign_in_silently(&parts.headers) {
                    return Redirect::to(&provider::start_url(next_path)).into_response();
                }
                return Redirect::to(&sign_in::page_url(next_path, &[])).into_response();
            }
            // The page renders the error itself.
            Err(_) => {}
        }
    }
    next.run(Request::from_parts(parts, body)).await
}
