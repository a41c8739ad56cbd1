//! `POST /sign-in` and `POST /sign-out`: forms, so that they work without scripts.

use axum::body::Body;
use axum::extract::{Form, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::extract::{bad_request, read_form_body};
use super::problem::ApiError;
use crate::domain::operation_error::RequestError;
use crate::domain::{LockKey, OperationError};
use crate::server::access::{SignInCookies, client_address};
use crate::server::state::AppState;

/// The sign-in page.
pub const PATH: &str = "/sign-in";
/// The path of the sign-out form.
pub const SIGN_OUT_PATH: &str = "/sign-out";

#[derive(Deserialize)]
struct SignInForm {
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignOutForm {
    #[serde(default)]
    everywhere: String,
}

/// Signs a user in and redirects to `next`, or to the sign-in page with an error.
pub async fn sign_in(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let address = client_address(request.extensions());
    let (headers, form) = read_form::<SignInForm>(&state, request).await?;
    let next = safe_next(&form.next);
    if state.access.is_auth_disabled() {
        return Ok(Redirect::to(next).into_response());
    }
    let (name, password) = (form.name.trim(), form.password);
    let signing_in = state
        .access
        .sign_in(name, password, &headers, address)
        .await;
    let redirect =
        |error: &[(&str, String)]| Ok(Redirect::to(&page_url(next, error)).into_response());
    match signing_in {
        Ok(SignInCookies {
            session,
            known_browser: known,
        }) => {
            let cookies = [(header::SET_COOKIE, session), (header::SET_COOKIE, known)];
            Ok((AppendHeaders(cookies), Redirect::to(next)).into_response())
        }
        Err(OperationError::SignInRequired { .. }) => redirect(&[("why", "wrong".to_owned())]),
        Err(OperationError::StorageUnavailable { .. }) => {
            redirect(&[("why", "storage".to_owned())])
        }
        Err(OperationError::TooManyRequests { retry_after_ms, .. }) => redirect(&[
            ("why", "later".to_owned()),
            ("seconds", retry_after_ms.div_ceil(1000).to_string()),
        ]),
        Err(error) => Err(error.into()),
    }
}

/// Signs a user out of this session or of all sessions.
pub async fn sign_out(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let (headers, form) = read_form::<SignOutForm>(&state, request).await?;
    let everywhere = form.everywhere == "yes";
    let (cookie, is_from_provider) = state.access.sign_out(&headers, everywhere).await;
    let provider_url = if is_from_provider {
        state.access.provider_sign_out_url().await
    } else {
        None
    };
    // The page offers to sign out at the provider too. It is not done automatically, because other
    // applications may use that session.
    let to = provider_url.map_or(PATH.to_owned(), |_| format!("{PATH}?out=provider"));
    Ok((with_cookie(cookie), Redirect::to(&to)).into_response())
}

pub(super) fn with_cookie(
    cookie: HeaderValue,
) -> AppendHeaders<[(header::HeaderName, HeaderValue); 1]> {
    AppendHeaders([(header::SET_COOKIE, cookie)])
}

/// Reads and parses a form.
pub(super) async fn read_form<T: DeserializeOwned>(
    state: &AppState,
    request: Request,
) -> Result<(HeaderMap, T), ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = read_form_body(&state.limits, body).await?;
    let headers = parts.headers.clone();
    let request = Request::from_parts(parts, Body::from(bytes));
    let form = Form::<T>::from_request(request, &()).await;
    let Form(form) = form.map_err(|_| bad_request(RequestError::InvalidForm))?;
    Ok((headers, form))
}

/// The URL of the sign-in page that continues at `next`, with these query parameters.
pub fn page_url(next: &str, params: &[(&str, String)]) -> String {
    let mut path = format!("{PATH}?next={}", LockKey::from(safe_next(next)).encoded());
    for (name, value) in params {
        path.push_str(&format!("&{name}={value}"));
    }
    path
}

/// The maximum length of `next` in bytes. It is stored before authentication.
const MAX_NEXT_BYTES: usize = 2 * 1024;

/// Returns `next` if it is a local path of acceptable length and not a sign-in path, otherwise `/`.
/// Prevents open redirects.
pub(super) fn safe_next(next: &str) -> &str {
    let is_signing = next.starts_with(PATH) || next.starts_with(SIGN_OUT_PATH);
    if next.len() <= MAX_NEXT_BYTES && is_local_path(next) && !is_signing {
        next
    } else {
        "/"
    }
}

/// Whether this is a path on this host. `//host` and `/\host` are URLs of other hosts in browsers.
pub(super) fn is_local_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_host() {
        for (next, path) in [
            ("/", "/"),
            (
                "/groups/orders/locks/lock%3Aa?x=1",
                "/groups/orders/locks/lock%3Aa?x=1",
            ),
            ("", "/"),
            ("nodes", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/\r\nSet-Cookie: a=b", "/"),
            ("/a b", "/"),
            ("/\u{e9}", "/"),
            ("/sign-in?next=/", "/"),
            ("/sign-out", "/"),
        ] {
            assert_eq!(safe_next(next), path, "{next}");
        }
        let longest = format!("/{}", "a".repeat(MAX_NEXT_BYTES - 1));
        assert_eq!(safe_next(&longest), longest);
        assert_eq!(safe_next(&format!("{longest}a")), "/");
    }

    #[test]
    fn the_next_path_is_one_encoded_query_value() {
        let page = page_url("/nodes?a=b&c=d", &[("why", "wrong".to_owned())]);
        assert_eq!(page, "/sign-in?next=%2Fnodes%3Fa%3Db%26c%3Dd&why=wrong");
    }
}
