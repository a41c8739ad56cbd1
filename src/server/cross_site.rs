//! Rejects cross-site requests: requests that a page of another site causes a user's browser to
//! send. Rejected operations are recorded in the audit log under the principal whose credentials
//! the browser sent.
//!
//! State-changing requests are checked by `tower_http::csrf`, from the headers in which
//! browsers report the origin. This module checks reads.

use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower_http::csrf::ProtectionError;

use super::api::ApiError;
use super::api::extract::LockPath;
use super::limits::ClientKey;
use super::state::AppState;
use crate::domain::operation_error::DenialReason;
use crate::domain::{OperationError, OperationKind};

/// Rejects cross-site reads, and records the operations that the inner CSRF layer rejected.
pub async fn reject_cross_site(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if is_cross_site_read(&request) {
        return rejection_response();
    }
    let operation = BrowserOperation::from_request(&request);
    let response = next.run(request).await;
    if let Some(operation) = operation
        && response.extensions().get::<ProtectionError>().is_some()
    {
        operation.record_rejection(&state).await;
    }
    response
}

/// A copy of the request head of an operation that a browser sent, kept in case the CSRF layer
/// rejects it.
struct BrowserOperation {
    kind: OperationKind,
    request: Parts,
}

impl BrowserOperation {
    /// `None` if the request is not an operation or was not sent by a browser.
    fn from_request(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let is_from_browser =
            headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
        if !is_from_browser {
            return None;
        }
        let kind = operation_for(request.method(), request.uri().path())?;
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

    /// Records the rejection in the audit log, subject to the request limits. Requests that
    /// fail authentication could not have changed anything and are not recorded.
    async fn record_rejection(mut self, state: &AppState) {
        let client = ClientKey::from_extensions(&self.request.extensions);
        let (uri, headers) = (&self.request.uri, &self.request.headers);
        let Ok(_permit) = state.limits.admit(client, uri, headers) else {
            return;
        };
        let Ok(principal) = state.access.authenticate_request(&self.request).await else {
            return;
        };
        let lock = LockPath::from_request_parts(&mut self.request, state).await;
        let lock = lock.ok().map(|LockPath(id)| id);
        let operations = &state.operations;
        operations.audit_cross_site_request(
            &principal,
            self.kind,
            lock.as_ref(),
            &cross_site_error(),
        );
    }
}

/// Whether a browser reports that another site caused this read, other than by navigation to a
/// page. API clients do not send these headers. Another site cannot read the response, but could
/// cause load and open event streams.
fn is_cross_site_read(request: &Request) -> bool {
    let header_value = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.as_bytes())
    };
    let is_cross_site = matches!(
        header_value("sec-fetch-site"),
        Some(b"cross-site" | b"same-site")
    );
    // The CSRF layer checks all other methods. It also supports browsers that send only
    // `Origin`.
    let is_read = *request.method() == Method::GET || *request.method() == Method::HEAD;
    if !is_cross_site || !is_read {
        return false;
    }
    let is_navigation = header_value("sec-fetch-mode") == Some(b"navigate")
        && header_value("sec-fetch-dest") == Some(b"document")
        && !is_data_path(request.uri().path());
    !is_navigation
}

/// Whether the path serves data instead of pages.
fn is_data_path(path: &str) -> bool {
    ["/api/v1/", "/_fn/", "/metrics"]
        .iter()
        .any(|data| path.starts_with(data))
}

pub fn rejection_response() -> Response {
    ApiError::from(cross_site_error()).into_response()
}

fn cross_site_error() -> OperationError {
    OperationError::Forbidden {
        cause: DenialReason::CrossSite,
    }
}

/// The operation behind a method and path.
fn operation_for(method: &Method, path: &str) -> Option<OperationKind> {
    let is_view = path.starts_with("/api/v1/views/");
    match *method {
        Method::POST => operation_for_path(path),
        Method::PUT if is_view => Some(OperationKind::SaveView),
        Method::DELETE if is_view => Some(OperationKind::DeleteView),
        _ => None,
    }
}

/// The operation behind the path of a POST request: the last segment of an API route, or the name
/// of a server function, which ends in a hash of digits.
fn operation_for_path(path: &str) -> Option<OperationKind> {
    let (parent, last) = path.rsplit_once('/')?;
    if parent.starts_with("/api/v1/groups/") && parent.ends_with("/prefixes") {
        return Some(OperationKind::ChangePrefix);
    }
    if parent.starts_with("/api/v1/webhooks/") && last == "test" {
        return Some(OperationKind::TestWebhook);
    }
    let name = last.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some(match name {
        "acquire" => OperationKind::Acquire,
        "extend" | "extend_mine" => OperationKind::Extend,
        "release" | "release_mine" => OperationKind::Release,
        "force-release" | "force_release" | "force-releases" => OperationKind::ForceRelease,
        "clear-restart-hazard" | "clear_restart_hazard" => OperationKind::ClearRestartHazard,
        "change_prefix" => OperationKind::ChangePrefix,
        "save_team_view" => OperationKind::SaveView,
        "delete_team_view" => OperationKind::DeleteView,
        "test_webhook" => OperationKind::TestWebhook,
        "take_token" => OperationKind::RevealToken,
        "monitor-sample" | "monitor_sample" => OperationKind::Monitor,
        _ => return None,
    })
}
