//! Spans of HTTP requests. [`super::OperationMetrics`] starts the spans of operations, and
//! `locking` those of node calls.
//!
//! No span contains the name of a lock, an owner, a token or a user, so that traces can be stored
//! where access is less restricted.

use http::{HeaderMap, Method};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::otel;
use crate::domain::OperationError;

/// The span of a request in progress.
pub struct RequestSpan {
    span: Span,
    is_finished: bool,
}

impl RequestSpan {
    /// Starts the span as part of the caller's trace (`traceparent`), if the request has one.
    /// Health checks and scrapes are frequent and not traced.
    pub fn start(method: &Method, path: &str, headers: &HeaderMap) -> Option<Self> {
        if matches!(path, "/healthz" | "/readyz" | "/metrics") {
            return None;
        }
        let method = method_name(method);
        let span = info_span!(
            parent: None,
            "request",
            otel.name = method,
            otel.kind = "server",
            otel.status_code = Empty,
            http.request.method = method,
            http.route = Empty,
            http.response.status_code = Empty,
            error.type = Empty,
            lockkeeper.request_id = Empty,
        );
        otel::set_parent(&span, headers);
        Some(Self {
            span,
            is_finished: false,
        })
    }

    /// Runs the future inside the span. `id` is the request id in the log.
    pub fn instrument<F: Future>(
        &self,
        id: &str,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        self.span.record("lockkeeper.request_id", id);
        future.instrument(self.span.clone())
    }

    /// Records the response status.
    pub fn finish(mut self, status: u16) {
        self.is_finished = true;
        let status = i64::from(status);
        self.span.record("http.response.status_code", status);
        if status >= 500 {
            self.span.record("otel.status_code", "error");
        }
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        if !self.is_finished {
            self.span.record("error.type", "cancelled");
        }
    }
}

/// The method as a span attribute. Unknown methods become `_OTHER` (OpenTelemetry semantic
/// conventions), because a client could send any number of them.
fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}

/// Records the route of the current request (`/api/v1/groups/{group}/locks/{key}`). The path itself
/// is not recorded, because it contains the name of the lock.
pub fn set_route(method: &Method, pattern: &str) {
    let span = Span::current();
    if !span.is_disabled() {
        otel::rename_current_span(format!("{} {pattern}", method_name(method)));
        span.record("http.route", pattern);
    }
}

/// Runs the future inside the current span, also if another task polls it.
pub fn in_current_span<F: Future>(future: F) -> impl Future<Output = F::Output> + use<F> {
    future.in_current_span()
}

/// Whether the error indicates a problem of the installation, so that the span is marked as failed.
/// A held lock or a missing permission is normal operation.
pub(super) fn is_operational_error(error: &OperationError) -> bool {
    match error {
        OperationError::Unreachable { .. }
        | OperationError::NoQuorum { .. }
        | OperationError::PartlyReleased { .. }
        | OperationError::AuditUnavailable
        | OperationError::StorageUnavailable { .. }
        | OperationError::NoResponse { .. }
        | OperationError::Internal { .. } => true,
        OperationError::BadRequest { .. }
        | OperationError::Stopping
        | OperationError::Impossible { .. }
        | OperationError::ConfirmRequired { .. }
        | OperationError::PossibleLock { .. }
        | OperationError::NotReleasable { .. }
        | OperationError::SignInRequired { .. }
        | OperationError::Forbidden { .. }
        | OperationError::OutsideKeys { .. }
        | OperationError::UnknownGroup { .. }
        | OperationError::NotObserved { .. }
        | OperationError::Held { .. }
        | OperationError::NotHeld { .. }
        | OperationError::NotOwner { .. }
        | OperationError::OwnerChanged { .. }
        | OperationError::HoldChanged { .. }
        | OperationError::LeaseNotRevoked { .. }
        | OperationError::CancelFailed { .. }
        | OperationError::HoldEnded { .. }
        | OperationError::WrongType { .. }
        | OperationError::TooManyRequests { .. } => false,
    }
}
