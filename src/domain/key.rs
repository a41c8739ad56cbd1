//! Lock names. A name is any byte string, with an exact encoding for URLs and a readable form.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The name of a lock: the bytes of a Redis key, which may be empty, binary or very long.
///
/// Clones share the bytes.
///
/// In JSON a name has two fields: `key`, the readable form (percent-encoded if it is not valid
/// UTF-8), and `key_encoded`, the percent-encoded path segment that is exact for every key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "KeyJson", into = "KeyJson")]
pub struct LockKey(Arc<[u8]>);

/// The JSON representation of a key.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct KeyJson {
    /// The key as text; percent-encoded if it is not valid UTF-8.
    key: String,
    /// The key as one percent-encoded path segment, which is exact for every key.
    #[serde(default)]
    key_encoded: Option<String>,
}

impl utoipa::PartialSchema for LockKey {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        KeyJson::schema()
    }
}

impl ToSchema for LockKey {}

impl From<KeyJson> for LockKey {
    fn from(json: KeyJson) -> Self {
        // `key` is ambiguous: binary names and names with a `%` can have the same readable form.
        json.key_encoded
            .as_deref()
            .and_then(Self::decode)
            .unwrap_or_else(|| Self::new(json.key))
    }
}

impl From<LockKey> for KeyJson {
    fn from(key: LockKey) -> Self {
        Self {
            key: key.text().into_owned(),
            key_encoded: Some(key.encoded()),
        }
    }
}

impl LockKey {
    /// The maximum length of a name in bytes. Longer names are ignored. No known library writes
    /// names of this length.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// Creates a key from its bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Vec<u8> = bytes.into();
        Self(bytes.into())
    }

    /// The bytes of the Redis key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The readable form: the key itself if it is valid UTF-8, else the percent-encoded bytes.
    pub fn text(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.encoded()),
        }
    }

    /// The key as one path segment of a URL. All bytes except `A-Z a-z 0-9 - . _ ~` are
    /// percent-encoded (RFC 3986 §2.3).
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

    /// Decodes a percent-encoded path segment. Returns `None` if a `%` is not followed by two hex
    /// digits.
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

/// Escapes control characters, so that a malicious name cannot forge a log line.
impl std::fmt::Debug for LockKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// Identifies a lock by its group and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct LockId {
    /// The name of the group.
    pub group: String,
    /// The lock's name.
    #[serde(flatten)]
    pub key: LockKey,
}

impl LockId {
    /// The path of the lock's page in the console.
    pub fn page_path(&self) -> String {
        let group = LockKey::new(self.group.as_bytes()).encoded();
        let key = self.key.encoded();
        match key.as_str() {
            // Browsers remove the path segments `.` and `..` (and `%2E`) before they send a
            // request, so these two names are sent as a query parameter.
            "" => format!("/groups/{group}/locks"),
            "." | ".." => format!("/groups/{group}/locks?key={key}"),
            _ => format!("/groups/{group}/locks/{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slashes_and_markup_are_percent_encoded() {
        assert_eq!(
            LockKey::from("lock:a/b?<%#\"'🔒").encoded(),
            "lock%3Aa%2Fb%3F%3C%25%23%22%27%F0%9F%94%92"
        );
    }

    #[test]
    fn an_invalid_escape_is_rejected() {
        assert_eq!(LockKey::decode("lock%3"), None);
        assert_eq!(LockKey::decode("lock%zz"), None);
        assert_eq!(LockKey::decode("%+1"), None);
    }

    #[test]
    fn keys_with_the_same_readable_form_are_distinct_in_json() {
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
        fn every_key_round_trips_through_urls_and_json(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let key = LockKey::new(bytes);
            prop_assert_eq!(LockKey::decode(&key.encoded()), Some(key.clone()));
            let id = LockId { group: "g".into(), key };
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(serde_json::from_str::<LockId>(&json).unwrap(), id);
        }
    }
}
