//! Maps errors to HTTP status and body (RFC 9457). No other module chooses status codes of errors.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::{CancelFailure, LeaseRefusal, OperationError};
use crate::server::limits::AdmissionError;

const PROBLEM_JSON: &str = "application/problem+json";

/// The body of an error response, `application/problem+json`. Facts about the error follow as
/// further fields: `cause` (`detail` as data, with a stable `code`), `owner`, `nodes`,
/// `retry_after_ms` …
#[derive(Serialize, ToSchema)]
pub struct Problem {
    /// A URN for the kind of problem: `urn:lockkeeper:problem:` and the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:lockkeeper:problem:owner-changed")]
    kind: String,
    /// The reason phrase of the HTTP status.
    title: &'static str,
    /// The HTTP status code.
    status: u16,
    /// What happened, with the values of this request.
    detail: String,
    /// The stable name of the problem: `bad-request`, `unknown-group`, `not-observed`,
    /// `unreachable`, `held`, `no-quorum`, `partly-released`, `not-held`, `not-owner`,
    /// `owner-changed`, `confirm-required`, `impossible`, `sign-in-required`, `forbidden`,
    /// `wrong-type`, `audit-unavailable`, `too-many-requests`, `not-found`, `method-not-allowed`,
    /// `payload-too-large`, `request-timeout`, `uri-too-long`, `headers-too-large`,
    /// `unsupported-media-type`, `internal`.
    code: &'static str,
    /// What to do about it.
    advice: &'static str,
    #[serde(flatten)]
    #[schema(ignore)]
    facts: Map<String, Value>,
}

/// The error of an API handler.
#[derive(Debug)]
pub enum ApiError {
    /// An operation failed or was rejected.
    Operation(OperationError),
    /// No route matches the path.
    NotFound,
    /// The route does not accept the method.
    MethodNotAllowed,
    /// The body exceeds `max_body_bytes`.
    PayloadTooLarge {
        /// The limit, in bytes.
        max_bytes: usize,
    },
    /// The body did not arrive within `read_timeout`.
    RequestTimeout,
    /// The URI is longer than that of any valid lock name.
    UriTooLong {
        /// The limit, in bytes.
        max: usize,
    },
    /// The headers exceed `max_headers` or `max_header_bytes`.
    HeadersTooLarge {
        /// The limit on their number.
        max: u32,
        /// The limit on their names and values together, in bytes.
        max_bytes: u32,
    },
    /// The `Content-Type` of the body is not JSON.
    UnsupportedMediaType,
}

impl From<OperationError> for ApiError {
    fn from(error: OperationError) -> Self {
        Self::Operation(error)
    }
}

impl From<AdmissionError> for ApiError {
    fn from(rejection: AdmissionError) -> Self {
        match rejection {
            AdmissionError::LimitReached(error) => Self::Operation(error),
            AdmissionError::UriTooLong { max } => Self::UriTooLong { max },
            AdmissionError::HeadersTooLarge { max, max_bytes } => {
                Self::HeadersTooLarge { max, max_bytes }
            }
        }
    }
}

impl ApiError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Operation(error) => match error {
                OperationError::BadRequest { .. } => StatusCode::BAD_REQUEST,
                OperationError::Impossible { .. }
                | OperationError::ConfirmRequired { .. }
                | OperationError::PossibleLock { .. }
                | OperationError::NotReleasable { .. }
                | OperationError::LeaseNotRevoked {
                    cause:
                        LeaseRefusal::NoLease
                        | LeaseRefusal::OutsidePrefixes { .. }
                        | LeaseRefusal::TooManyKeys { .. },
                }
                | OperationError::CancelFailed {
                    cause: CancelFailure::NoConnection | CancelFailure::NoStatement,
                } => StatusCode::UNPROCESSABLE_ENTITY,
                OperationError::SignInRequired { .. } => StatusCode::UNAUTHORIZED,
                OperationError::Forbidden { .. } | OperationError::OutsideKeys { .. } => {
                    StatusCode::FORBIDDEN
                }
                OperationError::UnknownGroup { .. }
                | OperationError::NotObserved { .. }
                | OperationError::NotHeld { .. } => StatusCode::NOT_FOUND,
                OperationError::HoldEnded { .. } => StatusCode::GONE,
                OperationError::Held { .. }
                | OperationError::NotOwner { .. }
                | OperationError::OwnerChanged { .. }
                | OperationError::HoldChanged { .. }
                | OperationError::LeaseNotRevoked {
                    cause: LeaseRefusal::KeysChanged,
                }
                | OperationError::CancelFailed {
                    cause: CancelFailure::LockKept,
                }
                | OperationError::WrongType { .. } => StatusCode::CONFLICT,
                OperationError::Unreachable { .. }
                | OperationError::NoQuorum { .. }
                | OperationError::PartlyReleased { .. }
                | OperationError::AuditUnavailable
                | OperationError::StorageUnavailable { .. }
                | OperationError::Stopping
                | OperationError::NoResponse { .. } => StatusCode::SERVICE_UNAVAILABLE,
                OperationError::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
                OperationError::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::UriTooLong { .. } => StatusCode::URI_TOO_LONG,
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Operation(error) => error.code(),
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::PayloadTooLarge { .. } => "payload-too-large",
            Self::RequestTimeout => "request-timeout",
            Self::UriTooLong { .. } => "uri-too-long",
            Self::HeadersTooLarge { .. } => "headers-too-large",
            Self::UnsupportedMediaType => "unsupported-media-type",
        }
    }

    fn detail_and_advice(&self) -> (String, &'static str) {
        match self {
            Self::Operation(error) => (error.to_string(), error.advice()),
            Self::NotFound => (
                "no route matches this path".into(),
                "GET /api/openapi.json lists all routes.",
            ),
            Self::MethodNotAllowed => (
                "this route does not accept the method".into(),
                "Use GET to read and POST to change; the `Allow` header lists the accepted methods.",
            ),
            Self::PayloadTooLarge { max_bytes } => (
                format!("the body is larger than {max_bytes} bytes"),
                "Send less; nothing was changed.",
            ),
            Self::RequestTimeout => (
                "the request body did not arrive in time".into(),
                "Send the body without delay; nothing was changed.",
            ),
            Self::UriTooLong { max } => (
                format!("the URI is longer than {max} bytes"),
                "Use a shorter lock name; nothing was changed.",
            ),
            Self::HeadersTooLarge { max, max_bytes } => (
                format!(
                    "the request has more than {max} headers, or more than {max_bytes} bytes of headers"
                ),
                "Send fewer or shorter ones; nothing was changed.",
            ),
            Self::UnsupportedMediaType => (
                "the body must be JSON".into(),
                "Send `Content-Type: application/json`; nothing was changed.",
            ),
        }
    }

    /// The fields of the error, for the body.
    fn facts(&self) -> Map<String, Value> {
        let Self::Operation(error) = self else {
            return Map::new();
        };
        let Ok(Value::Object(mut facts)) = serde_json::to_value(error) else {
            return Map::new();
        };
        for own_field in ["code", "detail"] {
            facts.remove(own_field);
        }
        facts
    }
}

impl ApiError {
    /// The body of the response.
    pub fn problem(&self) -> Problem {
        let (status, code) = (self.status(), self.code());
        let (detail, advice) = self.detail_and_advice();
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

    /// The value of `Retry-After`, in seconds.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Operation(
                OperationError::Held { retry_after_ms, .. }
                | OperationError::TooManyRequests { retry_after_ms, .. },
            ) => Some(retry_after_ms.div_ceil(1000)),
            Self::Operation(_)
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::PayloadTooLarge { .. }
            | Self::RequestTimeout
            | Self::UriTooLong { .. }
            | Self::HeadersTooLarge { .. }
            | Self::UnsupportedMediaType => None,
        }
    }

    /// The complete HTTP/1.1 response, for a connection that is rejected before it reaches the HTTP
    /// server.
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
        if matches!(self, Self::Operation(OperationError::SignInRequired { .. })) {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"lockkeeper\""),
            );
        }
        response
    }
}
