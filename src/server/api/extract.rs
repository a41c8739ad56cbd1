//! What handlers take from a request: the lock in the path, the JSON body, the query. Every mistake becomes a problem.

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, OriginalUri, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::problem::ApiError;
use crate::domain::{Fault, LockId, LockKey};

/// The largest body that is read: a 16 kB key in the worst escaping, and room for the rest.
pub const LARGEST_BODY: usize = 128 * 1024;

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

/// A JSON body, read whole and strictly.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Self::Rejection> {
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
        let bytes = to_bytes(request.into_body(), LARGEST_BODY)
            .await
            .map_err(|_| ApiError::TooLarge)?;
        serde_json::from_slice(&bytes).map(Self).map_err(|why| {
            bad(format!(
                "the body cannot be read: {}",
                without_values(&why.to_string())
            ))
        })
    }
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
