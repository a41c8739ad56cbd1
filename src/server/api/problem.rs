//! Fault to status and body (RFC 9457): the only code that knows status codes.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::Fault;
use crate::server::limits::Rejection;

const PROBLEM_JSON: &str = "application/problem+json";

/// An error as the API writes it, `application/problem+json`. Facts that help to act stand beside these fields: `owner`, `nodes`,
/// `retry_after_ms` …
#[derive(Serialize, ToSchema)]
pub struct Problem {
    /// A URN that names the kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "urn:lockkeeper:problem:owner-changed")]
    kind: String,
    /// The kind of problem in a few words.
    title: &'static str,
    /// The HTTP status again.
    status: u16,
    /// What is wrong in this case.
    detail: String,
    /// The stable name of the problem: `bad-request`, `unknown-group`, `not-observed`, `unreachable`, `held`, `no-quorum`, `partly-released`, `not-held`,
    /// `not-owner`, `owner-changed`, `confirm-required`, `impossible`, `sign-in-required`, `forbidden`, `wrong-type`, `audit-unavailable`,
    /// `too-many-requests`, `not-found`,
    /// `method-not-allowed`, `too-large`, `too-slow`, `address-too-long`, `headers-too-large`, `not-json`, `internal`.
    code: &'static str,
    /// What to do about it.
    advice: &'static str,
    #[serde(flatten)]
    #[schema(ignore)]
    facts: Map<String, Value>,
}

/// What an API handler answers when it does not succeed.
#[derive(Debug)]
pub enum ApiError {
    /// Something that people hear about.
    Fault(Fault),
    /// No such address.
    NotFound,
    /// The address exists, the method does not.
    MethodNotAllowed,
    /// The body is larger than is accepted.
    TooLarge {
        /// So many bytes are.
        most: usize,
    },
    /// The body did not arrive in time.
    TooSlow,
    /// The address is longer than any lock's.
    AddressTooLong {
        /// So many bytes are accepted.
        max: usize,
    },
    /// There are too many headers, or too long ones.
    HeadersTooLarge {
        /// So many are accepted.
        max: u32,
        /// So many bytes of them are accepted.
        max_bytes: u32,
    },
    /// The body is not JSON by its content type.
    NotJson,
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Fault(fault) => Self::Fault(fault),
            Rejection::AddressTooLong { max } => Self::AddressTooLong { max },
            Rejection::HeadersTooLarge { max, max_bytes } => {
                Self::HeadersTooLarge { max, max_bytes }
            }
        }
    }
}

impl ApiError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Fault(fault) => match fault {
                Fault::BadRequest { .. } => StatusCode::BAD_REQUEST,
                Fault::Impossible { .. }
                | Fault::ConfirmRequired { .. }
                | Fault::PossibleLock { .. }
                | Fault::NotReleasable { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                Fault::SignInRequired { .. } => StatusCode::UNAUTHORIZED,
                Fault::Forbidden { .. } | Fault::OutsideKeys { .. } => StatusCode::FORBIDDEN,
                Fault::UnknownGroup { .. } | Fault::NotObserved { .. } | Fault::NotHeld { .. } => {
                    StatusCode::NOT_FOUND
                }
                Fault::HoldEnded { .. } => StatusCode::GONE,
                Fault::Held { .. }
                | Fault::NotOwner { .. }
                | Fault::OwnerChanged { .. }
                | Fault::HoldChanged { .. }
                | Fault::WrongType { .. } => StatusCode::CONFLICT,
                Fault::Unreachable { .. }
                | Fault::NoQuorum { .. }
                | Fault::PartlyReleased { .. }
                | Fault::AuditUnavailable { .. }
                | Fault::StorageUnavailable { .. }
                | Fault::Stopping
                | Fault::Unanswered { .. } => StatusCode::SERVICE_UNAVAILABLE,
                Fault::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
                Fault::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::AddressTooLong { .. } => StatusCode::URI_TOO_LONG,
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.code(),
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::TooLarge { .. } => "too-large",
            Self::TooSlow => "too-slow",
            Self::AddressTooLong { .. } => "address-too-long",
            Self::HeadersTooLarge { .. } => "headers-too-large",
            Self::NotJson => "not-json",
        }
    }

    fn words(&self) -> (String, &'static str) {
        match self {
            Self::Fault(fault) => (fault.to_string(), fault.advice()),
            Self::NotFound => (
                "there is nothing at this address".into(),
                "GET /api/openapi.json lists the addresses.",
            ),
            Self::MethodNotAllowed => (
                "this address does not answer to that method".into(),
                "Read with GET, change with POST; the `Allow` header lists what is answered.",
            ),
            Self::TooLarge { most } => (
                format!("the body is larger than {most} bytes"),
                "Send less; nothing was changed.",
            ),
            Self::TooSlow => (
                "the body did not arrive in time".into(),
                "Send it at once; nothing was changed.",
            ),
            Self::AddressTooLong { max } => (
                format!("the address is longer than {max} bytes"),
                "No lock has so long a name; nothing was changed.",
            ),
            Self::HeadersTooLarge { max, max_bytes } => (
                format!("there are more than {max} headers, or {max_bytes} bytes of them"),
                "Send fewer or shorter ones; nothing was changed.",
            ),
            Self::NotJson => (
                "the body must be JSON".into(),
                "Send `Content-Type: application/json`; nothing was changed.",
            ),
        }
    }

    /// The facts of a fault as fields of the problem.
    fn facts(&self) -> Map<String, Value> {
        let Self::Fault(fault) = self else {
            return Map::new();
        };
        let Ok(Value::Object(mut facts)) = serde_json::to_value(fault) else {
            return Map::new();
        };
        for said_elsewhere in ["code", "detail"] {
            facts.remove(said_elsewhere);
        }
        facts
    }
}

impl ApiError {
    /// What the body says.
    pub fn problem(&self) -> Problem {
        let (status, code) = (self.status(), self.code());
        let (detail, advice) = self.words();
        Problem {
            kind: format!("urn:lockkeeper:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail,
            code,
            advice,
            facts: self.facts(),
        }
    }

    /// In how many seconds trying again makes sense.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Fault(
                Fault::Held { retry_after_ms, .. } | Fault::TooMany { retry_after_ms, .. },
            ) => Some(retry_after_ms.div_ceil(1000)),
            Self::Fault(_)
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::AddressTooLong { .. }
            | Self::HeadersTooLarge { .. }
            | Self::NotJson => None,
        }
    }

    /// The whole answer as it goes over the wire, for a connection on which no HTTP is spoken.
    pub fn to_bytes(&self) -> Vec<u8> {
        let problem = self.problem();
        let body = serde_json::to_string(&problem).expect("a problem has no maps with odd keys");
        let retry_after = self
            .retry_after()
            .map(|seconds| format!("retry-after: {seconds}\r\n"))
            .unwrap_or_default();
        format!(
            "HTTP/1.1 {}\r\ncontent-type: {PROBLEM_JSON}\r\n{retry_after}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.status(),
            body.len(),
        )
        .into_bytes()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.problem())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if matches!(self, Self::Fault(Fault::SignInRequired { .. })) {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"lockkeeper\""),
            );
        }
        response
    }
}
