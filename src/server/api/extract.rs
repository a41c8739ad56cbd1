//! Extractors: the lock in the path, the JSON body, and the query. Invalid input is rejected with a
//! problem response.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{FromRef, FromRequest, FromRequestParts, OriginalUri, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use utoipa::IntoParams;

use super::problem::ApiError;
use crate::domain::operation_error::{InvalidValue, RequestError};
use crate::domain::{LockId, LockKey, OperationError};
use crate::server::access::Principal;
use crate::server::limits::RequestLimits;
use crate::server::operations::idempotency::IdempotencyKey;
use crate::server::state::AppState;

/// How much of an oversized body is read and discarded. If the server closes the connection while
/// the client is still sending, the client may not receive the response.
const MAX_DISCARDED_BYTES: usize = 1024 * 1024;

/// The maximum size of a form, and how long it may take to arrive. Lower than for JSON bodies,
/// because forms are sent before authentication.
const MAX_FORM_BYTES: usize = 8 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// The path parameters of a lock, for the OpenAPI document. [`LockPath`] parses them.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only used for the OpenAPI document")]
pub struct LockParams {
    /// The group's name.
    group: String,
    /// The lock's name: one percent-encoded segment.
    key: String,
}

/// The lock in the path `…/groups/{group}/locks/{key}`. Keys are arbitrary bytes, so the raw path
/// is parsed.
pub struct LockPath(pub LockId);

impl<S: Send + Sync> FromRequestParts<S> for LockPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Ok(OriginalUri(uri)) = OriginalUri::from_request_parts(parts, state).await;
        let mut segments = uri
            .path()
            .split('/')
            .skip_while(|segment| *segment != "groups")
            .skip(1);
        let (group, key) = (segments.next(), segments.nth(1));
        let (Some(group), Some(key)) = (group, key) else {
            return Err(ApiError::NotFound);
        };
        let decode = |segment| {
            LockKey::decode(segment).ok_or_else(|| bad_request(RequestError::InvalidPath))
        };
        let group = decode(group)?.text().into_owned();
        Ok(Self(LockId {
            group,
            key: decode(key)?,
        }))
    }
}

/// The text of the only parameter in the path. One that is not UTF-8 is rejected.
pub struct PathText(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| bad_request(RequestError::InvalidPath))?;
        Ok(Self(text))
    }
}

/// The authenticated sender of the request.
impl FromRequestParts<AppState> for Principal {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, Self::Rejection> {
        Ok(state.access.authenticate_request(parts).await?)
    }
}

/// The `Idempotency-Key` header, if present.
pub struct IdempotencyKeyHeader(pub Option<IdempotencyKey>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKeyHeader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        let mut values = parts.headers.get_all(IdempotencyKey::NAME).iter();
        let Some(key) = values.next() else {
            return Ok(Self(None));
        };
        if values.next().is_some() {
            return Err(ApiError::Operation(OperationError::invalid_field(
                IdempotencyKey::NAME,
                InvalidValue::SentTwice,
            )));
        }
        Ok(Self(Some(IdempotencyKey::parse(key.as_bytes())?)))
    }
}

/// A JSON body, parsed strictly.
pub struct JsonBody<T>(pub T);

impl<S, T> FromRequest<S> for JsonBody<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
    Arc<RequestLimits>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let content_type = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("");
        let essence = content_type
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase();
        if essence != "application/json"
            && !(essence.starts_with("application/") && essence.ends_with("+json"))
        {
            return Err(ApiError::UnsupportedMediaType);
        }
        let limits = Arc::<RequestLimits>::from_ref(state);
        let bytes = read_body(&limits, request.into_body()).await?;
        // serde would also deserialize a struct from an array.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(bad_request(RequestError::NotAnObject));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            bad_request(RequestError::InvalidBody {
                text: redact_value(&error.to_string()),
            })
        })
    }
}

/// Reads a body within the limits on size and time.
pub async fn read_body(
    limits: &RequestLimits,
    body: axum::body::Body,
) -> Result<Vec<u8>, ApiError> {
    read_body_within(limits.max_body_bytes(), limits.read_timeout(), body).await
}

/// Reads the body of a form, with lower limits because it is sent before authentication.
pub async fn read_form_body(
    limits: &RequestLimits,
    body: axum::body::Body,
) -> Result<Vec<u8>, ApiError> {
    let max_bytes = limits.max_body_bytes().min(MAX_FORM_BYTES);
    read_body_within(max_bytes, limits.read_timeout().min(FORM_TIMEOUT), body).await
}

async fn read_body_within(
    max_bytes: usize,
    read_timeout: Duration,
    body: axum::body::Body,
) -> Result<Vec<u8>, ApiError> {
    let read = timeout(read_timeout, collect_body(body, max_bytes)).await;
    read.map_err(|_| ApiError::RequestTimeout)?
}

/// Reads the body. The received bytes count, not the announced length; only a body announced far
/// above the limit is rejected immediately.
async fn collect_body(body: axum::body::Body, max_bytes: usize) -> Result<Vec<u8>, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > max_bytes.saturating_add(MAX_DISCARDED_BYTES) {
        return Err(ApiError::PayloadTooLarge { max_bytes });
    }
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut arrived) = (Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| bad_request(RequestError::IncompleteBody))?;
        arrived = arrived.saturating_add(chunk.len());
        if arrived <= max_bytes {
            bytes.extend_from_slice(&chunk);
        } else if arrived > max_bytes.saturating_add(MAX_DISCARDED_BYTES) {
            break;
        }
    }
    if arrived > max_bytes {
        return Err(ApiError::PayloadTooLarge { max_bytes });
    }
    Ok(bytes)
}

/// The query string, parsed strictly.
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(params)| Self(params)).map_err(|error| {
            bad_request(RequestError::InvalidQuery {
                text: redact_value(&error.body_text()),
            })
        })
    }
}

/// A 400 response with this cause.
pub fn bad_request(cause: RequestError) -> ApiError {
    ApiError::Operation(OperationError::BadRequest { cause })
}

/// Removes the offending value from an error of serde: it could be a token.
fn redact_value(message: &str) -> String {
    match (message.find("string \""), message.rfind('"')) {
        (Some(from), Some(to)) if to > from + 8 => {
            format!("{}a string{}", &message[..from], &message[to + 1..])
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_value_is_not_repeated_in_the_error() {
        let message = serde_json::from_str::<u64>(r#""my \"secret\" token""#)
            .unwrap_err()
            .to_string();
        assert_eq!(
            redact_value(&message),
            "invalid type: a string, expected u64 at line 1 column 21"
        );
        assert_eq!(
            redact_value("unknown field `x`, expected `y`"),
            "unknown field `x`, expected `y`"
        );
    }
}
