//! `GET /sign-in/provider`, `/sign-in/back` and `/sign-out/provider`: the way to an OpenID Connect provider and back.
//!
//! Links, so that they work before and without any script; what changes something needs the provider's word.

use axum::extract::{Query, Request, State};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use http::header;
use serde::Deserialize;

use super::sign_in::{PATH, own_path, page};
use crate::domain::{Fault, LockKey};
use crate::server::access::address_in;
use crate::server::access::oidc::{Refusal, Told};
use crate::server::config::oidc::ProviderConfig;
use crate::server::state::AppState;

/// Where somebody is sent to the provider from.
pub const THERE: &str = "/sign-in/provider";
/// Where they come back to.
pub const BACK: &str = ProviderConfig::BACK;
/// Where they sign out there, too.
pub const OUT: &str = "/sign-out/provider";

/// The address that sends somebody to the provider who wants to go on to `next`.
pub fn begin_at(next: &str) -> String {
    let next = LockKey::from(own_path(next));
    format!("{THERE}?next={}", next.encoded())
}

/// What somebody wants who is sent to the provider.
#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    next: String,
}

/// Sends somebody to the provider.
pub async fn send(
    State(state): State<AppState>,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Response {
    let wanted = wanted.map_or_else(|_| String::new(), |Query(wanted)| wanted.next);
    let next = own_path(&wanted);
    let address = address_in(request.extensions());
    let sending = state
        .access
        .send_to_provider(next, request.headers(), address);
    match sending.await {
        Ok(sent) => {
            let cookies = sent.cookies.into_iter();
            let cookies = AppendHeaders(cookies.map(|cookie| (header::SET_COOKIE, cookie)));
            (cookies, Redirect::to(&sent.to)).into_response()
        }
        Err(refusal @ Refusal::NotNow(Fault::TooMany { .. })) => refused(next, &refusal),
        Err(refusal) => {
            tracing::warn!("nobody can be sent to the provider: {}", refusal.told());
            refused(next, &refusal)
        }
    }
}

/// Lets somebody in who comes back, and sends them where they wanted to go; or to the page with the reason why not.
pub async fn back(
    State(state): State<AppState>,
    told: Result<Query<Told>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Response {
    let told = told.map_or_else(|_| Told::default(), |Query(told)| told);
    let address = address_in(request.extensions());
    let back = state
        .access
        .come_back(&told, request.headers(), address)
        .await;
    let next = own_path(&back.next);
    match back.ended {
        Ok(cookie) => {
            let cookies = [
                (header::SET_COOKIE, cookie),
                (header::SET_COOKIE, back.forget),
            ];
            (AppendHeaders(cookies), Redirect::to(next)).into_response()
        }
        Err(refusal) => refused(next, &refusal),
    }
}

/// Sends somebody who has signed out here to sign out at the provider.
pub async fn out(State(state): State<AppState>) -> Redirect {
    let there = state.access.provider_sign_out().await;
    Redirect::to(there.as_deref().unwrap_or(PATH))
}

fn refused(next: &str, refusal: &Refusal) -> Response {
    let mut says = vec![("why", refusal.slug().to_owned())];
    if let Refusal::NotNow(Fault::TooMany { retry_after_ms, .. }) = refusal {
        says.push(("seconds", retry_after_ms.div_ceil(1000).to_string()));
    }
    Redirect::to(&page(next, &says)).into_response()
}
