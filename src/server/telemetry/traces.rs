//! Spans of requests. Those of acts begin in [`super::Acts`], those of nodes that are asked in `locking::meaning`.
//!
//! No span names a lock, an owner, a token or a person, so a trace may be kept where not everybody may see those.

use http::{HeaderMap, Method};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::otel;
use crate::domain::Fault;

/// A request that is being answered.
pub struct Request {
    span: Span,
    is_answered: bool,
}

impl Request {
    /// Begins: as a part of the caller's trace, where it sent one along. Those who only look whether the console lives are many, and
    /// of no interest.
    pub fn begin(method: &Method, path: &str, headers: &HeaderMap) -> Option<Self> {
        if matches!(path, "/healthz" | "/readyz" | "/metrics") {
            return None;
        }
        let method = name_of(method);
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
            is_answered: false,
        })
    }

    /// What is done while this future is worked on is done for the request, which is called so in the log.
    pub fn around<F: Future>(
        &self,
        id: &str,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        self.span.record("lockkeeper.request_id", id);
        future.instrument(self.span.clone())
    }

    /// It was answered.
    pub fn answered(mut self, status: u16) {
        self.is_answered = true;
        let status = i64::from(status);
        self.span.record("http.response.status_code", status);
        if status >= 500 {
            self.span.record("otel.status_code", "error");
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_answered {
            self.span.record("error.type", "given-up");
        }
    }
}

/// A method, for names of which there are few: whatever else somebody made up is `_OTHER`.
fn name_of(method: &Method) -> &'static str {
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

/// The request that is being answered is for this route (`/api/v1/groups/{group}/locks/{key}`). The address itself is not told: a
/// lock's name is in it.
pub fn for_route(method: &Method, pattern: &str) {
    let span = Span::current();
    if !span.is_disabled() {
        otel::name_current(format!("{} {pattern}", name_of(method)));
        span.record("http.route", pattern);
    }
}

/// What is begun while this future is worked on belongs to what is done right now, also where somebody else works on it.
pub fn carried<F: Future>(future: F) -> impl Future<Output = F::Output> + use<F> {
    future.in_current_span()
}

/// Whether somebody has to look after the set-up. That a lock is held, or that somebody may not take it, is in the nature of locks.
pub(super) fn is_trouble(fault: &Fault) -> bool {
    match fault {
        Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::PartlyReleased { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => true,
        Fault::BadRequest { .. }
        | Fault::Stopping
        | Fault::Impossible { .. }
        | Fault::ConfirmRequired { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::UnknownGroup { .. }
        | Fault::NotObserved { .. }
        | Fault::Held { .. }
        | Fault::NotHeld { .. }
        | Fault::NotOwner { .. }
        | Fault::OwnerChanged { .. }
        | Fault::HoldChanged { .. }
        | Fault::HoldEnded { .. }
        | Fault::WrongType { .. }
        | Fault::TooMany { .. } => false,
    }
}
