//! `POST /sign-in` and `POST /sign-out`: forms of the pages, so that they work before and without any script.

use axum::body::Body;
use axum::extract::{Form, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::extract::{bad, whole_form};
use super::problem::ApiError;
use crate::domain::{Fault, LockKey};
use crate::server::access::{SignedIn, address_in};
use crate::server::state::AppState;

/// The page on which people sign in.
pub const PATH: &str = "/sign-in";
/// Where they sign out.
pub const OUT: &str = "/sign-out";

#[derive(Deserialize)]
struct SignIn {
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignOut {
    #[serde(default)]
    everywhere: String,
}

/// Signs somebody in and sends them where they wanted to go, or back to the page with the reason why not.
pub async fn sign_in(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let address = address_in(request.extensions());
    let (headers, form) = read::<SignIn>(&state, request).await?;
    let next = own_path(&form.next);
    if state.access.is_open() {
        return Ok(Redirect::to(next).into_response());
    }
    let (name, password) = (form.name.trim(), form.password);
    let signing_in = state
        .access
        .sign_in(name, password, &headers, address)
        .await;
    let back = |why: &[(&str, String)]| Ok(Redirect::to(&page(next, why)).into_response());
    match signing_in {
        Ok(SignedIn { session, known }) => {
            let cookies = [(header::SET_COOKIE, session), (header::SET_COOKIE, known)];
            Ok((AppendHeaders(cookies), Redirect::to(next)).into_response())
        }
        Err(Fault::SignInRequired { .. }) => back(&[("why", "wrong".to_owned())]),
        Err(Fault::StorageUnavailable { .. }) => back(&[("why", "storage".to_owned())]),
        Err(Fault::TooMany { retry_after_ms, .. }) => back(&[
            ("why", "later".to_owned()),
            ("seconds", retry_after_ms.div_ceil(1000).to_string()),
        ]),
        Err(fault) => Err(fault.into()),
    }
}

/// Signs somebody out, here or everywhere.
pub async fn sign_out(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let (headers, form) = read::<SignOut>(&state, request).await?;
    let everywhere = form.everywhere == "yes";
    let (cookie, is_from_provider) = state.access.sign_out(&headers, everywhere).await;
    let there = if is_from_provider {
        state.access.provider_sign_out().await
    } else {
        None
    };
    // The page offers to go there: somebody may want to stay signed in at a provider that others ask as well.
    let to = there.map_or(PATH.to_owned(), |_| format!("{PATH}?out=provider"));
    Ok((with_cookie(cookie), Redirect::to(&to)).into_response())
}

pub(super) fn with_cookie(
    cookie: HeaderValue,
) -> AppendHeaders<[(header::HeaderName, HeaderValue); 1]> {
    AppendHeaders([(header::SET_COOKIE, cookie)])
}

/// A form, read whole and in time.
pub(super) async fn read<T: DeserializeOwned>(
    state: &AppState,
    request: Request,
) -> Result<(HeaderMap, T), ApiError> {
    let (parts, body) = request.into_parts();
    let whole = whole_form(&state.limits, body).await?;
    let headers = parts.headers.clone();
    let request = Request::from_parts(parts, Body::from(whole));
    let form = Form::<T>::from_request(request, &()).await;
    let Form(form) = form.map_err(|_| bad("the form cannot be read".to_owned()))?;
    Ok((headers, form))
}

/// The address of the page, for somebody who wants to go on to `next`, with what it is to say.
pub fn page(next: &str, says: &[(&str, String)]) -> String {
    let mut path = format!("{PATH}?next={}", LockKey::from(own_path(next)).encoded());
    for (name, value) in says {
        path.push_str(&format!("&{name}={value}"));
    }
    path
}

/// The longest path that is remembered while somebody signs in, in bytes: it is kept before anybody is known.
const LONGEST_NEXT: usize = 2 * 1024;

/// Where somebody may be sent: a path of this console, and no other place in disguise. One that is too long is forgotten.
pub(super) fn own_path(next: &str) -> &str {
    let is_signing = next.starts_with(PATH) || next.starts_with(OUT);
    if next.len() <= LONGEST_NEXT && is_here(next) && !is_signing {
        next
    } else {
        "/"
    }
}

/// Whether this is a path of this console, and no other place in disguise.
pub(super) fn is_here(path: &str) -> bool {
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
    fn nobody_is_sent_to_another_place() {
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
            assert_eq!(own_path(next), path, "{next}");
        }
        let longest = format!("/{}", "a".repeat(LONGEST_NEXT - 1));
        assert_eq!(own_path(&longest), longest);
        assert_eq!(own_path(&format!("{longest}a")), "/");
    }

    #[test]
    fn where_somebody_wanted_to_go_is_one_value_of_the_query() {
        let page = page("/nodes?a=b&c=d", &[("why", "wrong".to_owned())]);
        assert_eq!(page, "/sign-in?next=%2Fnodes%3Fa%3Db%26c%3Dd&why=wrong");
    }
}
