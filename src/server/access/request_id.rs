//! The id of a request: the client's own `X-Request-Id` if it is plain, otherwise a generated one.
//! It is returned in the response and written to the log and the audit log.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::http::{HeaderMap, HeaderValue};

/// The maximum length of an id from a client.
const MAX_LENGTH: usize = 64;

/// The prefix of generated ids, random per process.
static PROCESS_PREFIX: LazyLock<u32> = LazyLock::new(rand::random);
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The id of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// The name of the request and response header.
    pub const HEADER: &'static str = "x-request-id";

    /// The client's id, or a new one.
    pub fn from_headers_or_new(headers: &HeaderMap) -> Self {
        let header_value = headers.get(Self::HEADER);
        header_value
            .and_then(|header_value| Self::parse(header_value.as_bytes()))
            .unwrap_or_else(Self::generate)
    }

    /// The value of the response header.
    pub fn to_header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("request ids are ASCII")
    }

    fn generate() -> Self {
        let n = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(format!("{:08x}-{n:x}", *PROCESS_PREFIX).into())
    }

    /// Parses an id from a client.
    ///
    /// It is logged verbatim, so it must be short and cannot contain characters that could be
    /// mistaken for other log fields.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let is_plain =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if bytes.is_empty() || bytes.len() > MAX_LENGTH || !bytes.iter().all(is_plain) {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        Some(Self(text.into()))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_are_accepted() {
        for valid in ["a", "7f3a-1", "01J9.x_Y", &"x".repeat(64)] {
            let id = RequestId::parse(valid.as_bytes()).unwrap();
            assert_eq!(id.to_string(), valid);
        }
        for invalid in [
            "",
            "a b",
            "a\nb",
            "a\"b",
            "<b>",
            "a=b",
            "ä",
            &"x".repeat(65),
        ] {
            assert_eq!(RequestId::parse(invalid.as_bytes()), None, "{invalid:?}");
        }
        assert_eq!(RequestId::parse(b"a\xff"), None);
    }

    #[test]
    fn generated_ids_are_unique_and_valid() {
        let (one, other) = (
            RequestId::generate().to_string(),
            RequestId::generate().to_string(),
        );
        assert_ne!(one, other);
        assert!(RequestId::parse(one.as_bytes()).is_some());
    }
}
