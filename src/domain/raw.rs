//! The raw contents of a key: type, TTL and parts, with owner values masked.

use serde::{Deserialize, Serialize};

use super::Fingerprint;
use super::reason::Reason;

/// The contents of a key on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawNode {
    /// The node's name in the configuration.
    pub node: String,
    /// The contents, `None` if the key does not exist, or the error.
    pub content: Result<Option<RawKey>, Reason>,
}

/// The contents of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawKey {
    /// The type as reported by `TYPE`; `None` if the value is too large for a lock and was not read.
    pub kind: Option<String>,
    /// The TTL in milliseconds; `None` if the key does not expire.
    pub ttl_ms: Option<u64>,
    /// The fields, members or elements; for a string the single value.
    pub parts: Vec<RawPart>,
}

/// A field with its value, a member with its score, or an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawPart {
    /// The field, member or element.
    pub name: Option<RawText>,
    /// The value or score.
    pub value: Option<RawText>,
}

/// Bytes of a key, possibly masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RawText {
    /// Readable text.
    Shown(String),
    /// Bytes that may prove ownership. Only their fingerprint is shown.
    Masked {
        /// The fingerprint of the bytes.
        fingerprint: Fingerprint,
        /// The number of bytes.
        bytes: u32,
    },
    /// Bytes of a key that is not a lock. Nothing of them is shown.
    Hidden {
        /// The number of bytes.
        bytes: u32,
    },
}
