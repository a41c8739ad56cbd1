//! `GET /sign-in/provider`, `/sign-in/callback` and `/sign-out/provider`: redirects to and from an
//! OpenID Connect provider.
//!
//! These are links, so that they work without scripts. A GET request is safe here: signing in
//! requires a response of the provider.

use axum::extract::{Query, Request, State};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use http::header;
use serde::Deserialize;

use super::sign_in::{PATH, page_url, safe_next};
use crate::domain::{LockKey, OperationError};
use crate::server::access::client_address;
use crate::server::access::oidc::{CallbackParams, SignInError};
use crate::server::config::oidc::ProviderConfig;
use crate::server::state::AppState;

/// Redirects to the provider.
pub const START_PATH: &str = "/sign-in/provider";
/// The redirect URI.
pub const CALLBACK_PATH: &str = ProviderConfig::CALLBACK_PATH;
/// Redirects to the provider's sign-out page.
pub const SIGN_OUT_PATH: &str = "/sign-out/provider";

/// The URL that starts a sign-in at the provider and continues at `next`.
pub fn start_url(next: &str) -> String {
    let next = LockKey::from(safe_next(next));
    format!("{START_PATH}?next={}", next.encoded())
}

/// The query parameters of the start of a sign-in.
#[derive(Deserialize)]
pub struct StartParams {
    #[serde(default)]
    next: String,
}

/// Starts a sign-in and redirects to the provider.
pub async fn start(
    State(state): State<AppState>,
    params: Result<Query<StartParams>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Response {
    let next = params.map_or_else(|_| String::new(), |Query(params)| params.next);
    let next = safe_next(&next);
    let address = client_address(request.extensions());
    let starting = state
        .access
        .start_provider_sign_in(next, request.headers(), address);
    match starting.await {
        Ok(redirect) => {
            let cookies = redirect.cookies.into_iter();
            let cookies = AppendHeaders(cookies.map(|cookie| (header::SET_COOKIE, cookie)));
            (cookies, Redirect::to(&redirect.url)).into_response()
        }
        Err(error @ SignInError::Failed(OperationError::TooManyRequests { .. })) => {
            redirect_with_error(next, &error)
        }
        Err(error) => {
            tracing::warn!(
                "cannot start a sign-in at the provider: {}",
                error.log_message()
            );
            redirect_with_error(next, &error)
        }
    }
}

/// Completes the sign-in and redirects to `next`, or to the sign-in page with an error.
pub async fn callback(
    State(state): State<AppState>,
    params: Result<Query<CallbackParams>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Response {
    let params = params.map_or_else(|_| CallbackParams::default(), |Query(params)| params);
    let address = client_address(request.extensions());
    let outcome = state
        .access
        .handle_callback(&params, request.headers(), address)
        .await;
    let next = safe_next(&outcome.next);
    match outcome.result {
        Ok(cookie) => {
            let cookies = [
                (header::SET_COOKIE, cookie),
                (header::SET_COOKIE, outcome.clear_cookie),
            ];
            (AppendHeaders(cookies), Redirect::to(next)).into_response()
        }
        Err(error) => redirect_with_error(next, &error),
    }
}

/// Redirects a user who has signed out here to the sign-out page of the provider.
pub async fn sign_out(State(state): State<AppState>) -> Redirect {
    let url = state.access.provider_sign_out_url().await;
    Redirect::to(url.as_deref().unwrap_or(PATH))
}

fn redirect_with_error(next: &str, error: &SignInError) -> Response {
    let mut query = vec![("why", error.slug().to_owned())];
    if let SignInError::Failed(OperationError::TooManyRequests { retry_after_ms, .. }) = error {
        query.push(("seconds", retry_after_ms.div_ceil(1000).to_string()));
    }
    Redirect::to(&page_url(next, &query)).into_response()
}
