//! What handlers take from a request: the lock in the path, the JSON body, the query. Every mistake becomes a problem.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{FromRef, FromRequest, FromRequestParts, OriginalUri, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use utoipa::IntoParams;

use super::problem::ApiError;
use crate::domain::{Fault, LockId, LockKey};
use crate::server::access::Actor;
use crate::server::limits::Limits;
use crate::server::operations::idempotency::IdempotencyKey;
use crate::server::state::AppState;

/// How much of a body that is too large is still taken in: who hangs up on a client that is sending is not heard by it.
const THROWN_AWAY: usize = 1024 * 1024;

/// The largest form, and how long it may take to arrive.
const FORM_BYTES: usize = 8 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// How the document describes the path of a lock; it is read by [`LockPath`].
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it only describes")]
pub struct LockParams {
    /// The group's name.
    group: String,
    /// The lock's name: one percent-encoded segment.
    key: String,
}

/// The lock that `…/groups/{group}/locks/{key}` names. Keys are bytes, so the path is read as it was sent.
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
            LockKey::decode(segment).ok_or_else(|| {
                bad("the path has a `%` that is not followed by two hex digits".into())
            })
        };
        let group = decode(group)?.text().into_owned();
        Ok(Self(LockId {
            group,
            key: decode(key)?,
        }))
    }
}

/// Who asks; those who may not come in get no further.
impl FromRequestParts<AppState> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, Self::Rejection> {
        Ok(state.access.admit_request(parts).await?)
    }
}

/// The `Idempotency-Key`, if the request has one.
pub struct Repeatable(pub Option<IdempotencyKey>);

impl<S: Send + Sync> FromRequestParts<S> for Repeatable {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        let mut given = parts.headers.get_all(IdempotencyKey::NAME).iter();
        let Some(key) = given.next() else {
            return Ok(Self(None));
        };
        if given.next().is_some() {
            return Err(ApiError::Fault(Fault::Impossible {
                field: IdempotencyKey::NAME.to_owned(),
                detail: "is there more than once".to_owned(),
                min_ttl_ms: None,
            }));
        }
        Ok(Self(Some(IdempotencyKey::parse(key.as_bytes())?)))
    }
}

/// A JSON body, read whole and strictly.
pub struct Body<T>(pub T);

impl<S, T> FromRequest<S> for Body<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
    Arc<Limits>: FromRef<S>,
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
            return Err(ApiError::NotJson);
        }
        let limits = Arc::<Limits>::from_ref(state);
        let bytes = whole(&limits, request.into_body()).await?;
        // Fields in a list, by their place alone, would be read as well.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(bad("the body must be a JSON object".to_owned()));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|why| {
            bad(format!(
                "the body cannot be read: {}",
                without_values(&why.to_string())
            ))
        })
    }
}

/// A whole body, within the limits of size and time.
pub async fn whole(limits: &Limits, body: axum::body::Body) -> Result<Vec<u8>, ApiError> {
    whole_within(limits.body_bytes(), limits.read_timeout(), body).await
}

/// The body of a form, which is short: nobody is known who sends it.
pub async fn whole_form(limits: &Limits, body: axum::body::Body) -> Result<Vec<u8>, ApiError> {
    let most = limits.body_bytes().min(FORM_BYTES);
    whole_within(most, limits.read_timeout().min(FORM_TIMEOUT), body).await
}

async fn whole_within(
    most: usize,
    longest: Duration,
    body: axum::body::Body,
) -> Result<Vec<u8>, ApiError> {
    let read = timeout(longest, read_whole(body, most)).await;
    read.map_err(|_| ApiError::TooSlow)?
}

/// Everything that a body says, as it comes in: its length is what arrives. One that is announced far too large is not waited for.
async fn read_whole(body: axum::body::Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > most.saturating_add(THROWN_AWAY) {
        return Err(ApiError::TooLarge { most });
    }
    let mut chunks = body.into_data_stream();
    let (mut kept, mut arrived) = (Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| bad("the body ended before it was complete".to_owned()))?;
        arrived = arrived.saturating_add(chunk.len());
        if arrived <= most {
            kept.extend_from_slice(&chunk);
        } else if arrived > most.saturating_add(THROWN_AWAY) {
            break;
        }
    }
    if arrived > most {
        return Err(ApiError::TooLarge { most });
    }
    Ok(kept)
}

/// The query string, read strictly.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(params)| Self(params)).map_err(|why| {
            bad(format!(
                "the query cannot be read: {}",
                without_values(&why.body_text())
            ))
        })
    }
}

/// A 400 that says what is wrong.
pub fn bad(detail: String) -> ApiError {
    ApiError::Fault(Fault::BadRequest { detail })
}

/// What serde says, without the value it stumbled over: that could be a token.
fn without_values(message: &str) -> String {
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
    fn a_mistake_in_a_body_does_not_repeat_the_value() {
        let said = serde_json::from_str::<u64>(r#""my \"secret\" token""#)
            .unwrap_err()
            .to_string();
        assert_eq!(
            without_values(&said),
            "invalid type: a string, expected u64 at line 1 column 21"
        );
        assert_eq!(
            without_values("unknown field `x`, expected `y`"),
            "unknown field `x`, expected `y`"
        );
    }
}
