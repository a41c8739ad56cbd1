//! Names of locks: any bytes, with one unambiguous text form for URLs and one readable form for people.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The name of a lock: the Redis key's bytes, which may be empty, binary or very long.
///
/// Clones share the bytes: a name stands in many places.
///
/// On the wire it is two fields: `key`, readable (percent-encoded where it is not UTF-8), and `key_encoded`, the
/// percent-encoded path segment that names exactly this key in a URL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "KeyShape", into = "KeyShape")]
pub struct LockKey(Arc<[u8]>);

/// How a key is written in JSON.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct KeyShape {
    /// The key as text; percent-encoded bytes where it is not UTF-8.
    key: String,
    /// The key as one percent-encoded path segment: exact for every key.
    #[serde(default)]
    key_encoded: Option<String>,
}

impl utoipa::PartialSchema for LockKey {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        KeyShape::schema()
    }
}

impl ToSchema for LockKey {}

impl From<KeyShape> for LockKey {
    fn from(shape: KeyShape) -> Self {
        shape
            .key_encoded
            .as_deref()
            .and_then(Self::decode)
            .unwrap_or_else(|| Self::new(shape.key))
    }
}

impl From<LockKey> for KeyShape {
    fn from(key: LockKey) -> Self {
        Self {
            key: key.text().into_owned(),
            key_encoded: Some(key.encoded()),
        }
    }
}

impl LockKey {
    /// The longest name that is looked at, in bytes: far above what any library writes, far below what harms.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// The key with these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Vec<u8> = bytes.into();
        Self(bytes.into())
    }

    /// The bytes as Redis knows them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The readable form: the key itself where it is UTF-8, else its percent-encoded bytes.
    pub fn text(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.encoded()),
        }
    }

    /// The key as one path segment of a URL: everything but `A-Z a-z 0-9 - . _ ~` percent-encoded (RFC 3986 §2.3).
    pub fn encoded(&self) -> String {
        let mut text = String::with_capacity(self.0.len());
        for &byte in &*self.0 {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                text.push(char::from(byte));
            } else {
                let _infallible = write!(text, "%{byte:02X}");
            }
        }
        text
    }

    /// The key that a percent-encoded path segment names, or nothing where a `%` is not followed by two hex digits.
    pub fn decode(segment: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(segment.len());
        let mut rest = segment.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first == b'%' {
                let digits = tail
                    .get(..2)
                    .filter(|pair| pair.iter().all(u8::is_ascii_hexdigit))?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = &tail[2..];
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        Some(Self::new(bytes))
    }
}

impl From<&str> for LockKey {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

/// Escaped, so that a hostile name cannot forge a log line.
impl std::fmt::Debug for LockKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// One lock of one group: what a row, a URL and a change are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct LockId {
    /// The group that the lock lives in.
    pub group: String,
    /// The lock's name.
    #[serde(flatten)]
    pub key: LockKey,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_segment_hides_no_slash_and_no_markup() {
        assert_eq!(
            LockKey::from("lock:a/b?<%#\"'🔒").encoded(),
            "lock%3Aa%2Fb%3F%3C%25%23%22%27%F0%9F%94%92"
        );
    }

    #[test]
    fn a_broken_escape_names_no_key() {
        assert_eq!(LockKey::decode("lock%3"), None);
        assert_eq!(LockKey::decode("lock%zz"), None);
        assert_eq!(LockKey::decode("%+1"), None);
    }

    #[test]
    fn two_keys_that_read_alike_stay_apart_on_the_wire() {
        let binary = LockKey::new([0xff]);
        let text = LockKey::from("%FF");
        assert_eq!(binary.text(), text.text());
        for key in [binary, text] {
            let json = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<LockKey>(&json).unwrap(), key);
        }
    }

    proptest! {
        #[test]
        fn every_key_survives_url_and_json(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let key = LockKey::new(bytes);
            prop_assert_eq!(LockKey::decode(&key.encoded()), Some(key.clone()));
            let id = LockId { group: "g".into(), key };
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(serde_json::from_str::<LockId>(&json).unwrap(), id);
        }
    }
}
