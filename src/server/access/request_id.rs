//! The name of a request: the client's own if it is plain, else one that is made here. It stands in the answer, in the log and in
//! the audit, so that what somebody asked can be followed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::http::{HeaderMap, HeaderValue};

/// The longest name that is taken from a client.
const LONGEST: usize = 64;

/// Where the names that are made here begin: another one at every start.
static START: LazyLock<u32> = LazyLock::new(rand::random);
static MADE: AtomicU64 = AtomicU64::new(0);

/// What one request is called in logs, in the audit and in its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// The header that carries it, both ways.
    pub const HEADER: &'static str = "x-request-id";

    /// The client's own, or a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(Self::HEADER);
        given
            .and_then(|given| Self::given(given.as_bytes()))
            .unwrap_or_else(Self::make)
    }

    /// As it stands in the answer.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("a request's name is plain")
    }

    fn make() -> Self {
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        Self(format!("{:08x}-{n:x}", *START).into())
    }

    /// The one that a client gave, if it is nothing but a name.
    ///
    /// It goes into the log and the audit as it is, so it may neither look like something else there nor be long.
    fn given(bytes: &[u8]) -> Option<Self> {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if bytes.is_empty() || bytes.len() > LONGEST || !bytes.iter().all(plain) {
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
    fn a_plain_name_is_taken_and_anything_else_is_not() {
        for plain in ["a", "7f3a-1", "01J9.x_Y", &"x".repeat(64)] {
            let given = RequestId::given(plain.as_bytes()).unwrap();
            assert_eq!(given.to_string(), plain);
        }
        for odd in [
            "",
            "a b",
            "a\nb",
            "a\"b",
            "<b>",
            "a=b",
            "ä",
            &"x".repeat(65),
        ] {
            assert_eq!(RequestId::given(odd.as_bytes()), None, "{odd:?}");
        }
        assert_eq!(RequestId::given(b"a\xff"), None);
    }

    #[test]
    fn every_name_that_is_made_is_another_one_and_plain() {
        let (one, other) = (RequestId::make().to_string(), RequestId::make().to_string());
        assert_ne!(one, other);
        assert!(RequestId::given(one.as_bytes()).is_some());
    }
}
