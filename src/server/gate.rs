//! What stands before pages and server functions: who may come in, and how much is taken in of what they send.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};

use super::api::extract::whole;
use super::api::{ApiError, provider, sign_in};
use super::assets;
use super::limits::Client;
use super::state::AppState;
use crate::domain::Fault;

/// Where server functions are.
const FUNCTIONS: &str = "/_fn/";

/// Lets in whoever may come in. A page sends others to sign in; a server function says so.
pub async fn before_pages(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if request.uri().path().starts_with(FUNCTIONS) {
        call(&state, request, next).await
    } else {
        Ok(page(&state, request, next).await)
    }
}

async fn call(state: &AppState, request: Request, next: Next) -> Result<Response, ApiError> {
    let client = Client::in_extensions(request.extensions());
    let admitted = state.limits.admit(client, request.uri(), request.headers());
    let _until_it_is_answered = admitted?;
    let (mut parts, body) = request.into_parts();
    let actor = state.access.admit_request(&parts).await?;
    parts.extensions.insert(actor);
    let body = Body::from(whole(&state.limits, body).await?);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

async fn page(state: &AppState, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path != sign_in::PATH && !assets::has(path) {
        match state.access.admit_request(&parts).await {
            Ok(actor) => {
                parts.extensions.insert(actor);
            }
            Err(Fault::SignInRequired { .. }) => {
                let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
                if state.access.can_sign_in_silently(&parts.headers) {
                    return Redirect::to(&provider::begin_at(wanted)).into_response();
                }
                return Redirect::to(&sign_in::page(wanted, &[])).into_response();
            }
            // The page itself tells it.
            Err(_) => {}
        }
    }
    next.run(Request::from_parts(parts, body)).await
}
