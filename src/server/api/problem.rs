//! Fault to status and body (RFC 9457): the only code that knows status codes.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::Fault;

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
    /// The stable name of the problem: `bad-request`, `unknown-group`, `not-observed`, `unreachable`, `held`, `no-quorum`, `not-held`,
    /// `not-owner`, `owner-changed`, `confirm-required`, `impossible`, `forbidden`, `wrong-type`, `not-found`,
    /// `method-not-allowed`, `too-large`, `not-json`, `internal`.
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
    TooLarge,
    /// The body is not JSON by its content type.
    NotJson,
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl ApiError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Fault(fault) => match fault {
                Fault::BadRequest { .. } => StatusCode::BAD_REQUEST,
                Fault::Impossible { .. } | Fault::ConfirmRequired { .. } => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                Fault::Forbidden { .. } => StatusCode::FORBIDDEN,
                Fault::UnknownGroup { .. } | Fault::NotObserved { .. } | Fault::NotHeld { .. } => {
                    StatusCode::NOT_FOUND
                }
                Fault::Held { .. }
                | Fault::NotOwner { .. }
                | Fault::OwnerChanged { .. }
                | Fault::WrongType { .. } => StatusCode::CONFLICT,
                Fault::Unreachable { .. } | Fault::NoQuorum { .. } | Fault::Unanswered { .. } => {
                    StatusCode::SERVICE_UNAVAILABLE
                }
                Fault::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
                Fault::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.code(),
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::TooLarge => "too-large",
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
            Self::TooLarge => (
                format!(
                    "the body is larger than {} bytes",
                    super::extract::LARGEST_BODY
                ),
                "Send less; nothing was changed.",
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

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        let code = self.code();
        let (detail, advice) = self.words();
        let problem = Problem {
            kind: format!("urn:lockkeeper:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail,
            code,
            advice,
            facts: self.facts(),
        };
        let mut response = (status, Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Self::Fault(
            Fault::Held { retry_after_ms, .. } | Fault::TooMany { retry_after_ms, .. },
        ) = &self
        {
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(retry_after_ms.div_ceil(1000)),
            );
        }
        response
    }
}
