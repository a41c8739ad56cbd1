//! Cross-site requests: what a page of another site makes a visitor's browser send. They are refused, and those for an operation get
//! their line in the audit, with the name of whom the console would have taken for the one who acts.
//!
//! `tower_http::csrf` recognises them where something is to be changed, by what the browser says of where they come from.

use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower_http::csrf::ProtectionError;

use super::api::ApiError;
use super::api::extract::LockPath;
use super::limits::Client;
use super::state::AppState;
use crate::domain::{ActKind, Fault};

/// Refuses what another site's page loads, and writes down the operations that the CSRF layer behind this refused.
pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if is_loaded_cross_site(&request) {
        return refusal();
    }
    let operation = BrowserOperation::of(&request);
    let response = next.run(request).await;
    if let Some(operation) = operation
        && response.extensions().get::<ProtectionError>().is_some()
    {
        operation.write_down(&state).await;
    }
    response
}

/// What is kept of a browser's request for an operation until it is known whether it is a cross-site request.
struct BrowserOperation {
    kind: ActKind,
    request: Parts,
}

impl BrowserOperation {
    /// Nothing of a request that is for no operation, or that no browser sent.
    fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let is_of_browser =
            headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
        if !is_of_browser || request.method() != Method::POST {
            return None;
        }
        let kind = operation_at(request.uri().path())?;
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = request.method().clone();
        parts.uri = request.uri().clone();
        parts.headers = headers.clone();
        parts.extensions = request.extensions().clone();
        Some(Self {
            kind,
            request: parts,
        })
    }

    /// Writes it down as refused, within the limits that stand before every operation. Who is nobody here could not have acted
    /// from here either.
    async fn write_down(mut self, state: &AppState) {
        let client = Client::in_extensions(&self.request.extensions);
        let (uri, headers) = (&self.request.uri, &self.request.headers);
        let Ok(_until_it_is_written_down) = state.limits.admit(client, uri, headers) else {
            return;
        };
        let Ok(actor) = state.access.admit_request(&self.request).await else {
            return;
        };
        let lock = LockPath::from_request_parts(&mut self.request, state).await;
        let lock = lock.ok().map(|LockPath(id)| id);
        let operations = &state.operations;
        operations.refused_from_elsewhere(&actor, self.kind, lock.as_ref(), &fault());
    }
}

/// Whether a browser says that a page of another site has it ask for this, other than by leading somebody to a page. Programs say
/// nothing of that kind. What another site cannot read it can still cause: load, and open streams.
fn is_loaded_cross_site(request: &Request) -> bool {
    let says = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.as_bytes())
    };
    let is_from_there = matches!(says("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
    // Other methods are the CSRF layer's, which also knows browsers that tell less.
    let is_read = *request.method() == Method::GET || *request.method() == Method::HEAD;
    if !is_from_there || !is_read {
        return false;
    }
    let leads_to_a_page = says("sec-fetch-mode") == Some(b"navigate")
        && says("sec-fetch-dest") == Some(b"document")
        && !is_data(request.uri().path());
    !leads_to_a_page
}

/// Whether programs read it, and not people.
fn is_data(path: &str) -> bool {
    ["/api/v1/", "/_fn/", "/metrics"]
        .iter()
        .any(|data| path.starts_with(data))
}

/// The answer to a cross-site request.
pub fn refusal() -> Response {
    ApiError::from(fault()).into_response()
}

fn fault() -> Fault {
    let why = "a page of another site sent this, and only the console's own pages act for who visits them";
    Fault::Forbidden {
        why: why.to_owned(),
    }
}

/// The operation that a path is about: the last word of a route, or the name of a server function and digits behind it.
fn operation_at(path: &str) -> Option<ActKind> {
    let (_, last) = path.rsplit_once('/')?;
    let name = last.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some(match name {
        "acquire" => ActKind::Acquire,
        "extend" | "extend_mine" => ActKind::Extend,
        "release" | "release_mine" => ActKind::Release,
        "force-release" | "force_release" | "force-releases" => ActKind::ForceRelease,
        "vouch" | "vouch_for_node" => ActKind::Vouch,
        "take_token" => ActKind::TakeToken,
        "monitor-sample" | "monitor_sample" => ActKind::Sample,
        _ => return None,
    })
}
