//! A key as its nodes have it, without what proves ownership: type, time to live, and its parts.

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// What one node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawNode {
    /// The node's name in the configuration.
    pub node: String,
    /// What it has, or why that cannot be told.
    pub shown: Result<Option<RawKey>, String>,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawKey {
    /// Its type as `TYPE` names it; nothing where it is too large to be a lock and is not read.
    pub kind: Option<String>,
    /// Milliseconds it lives on; nothing where it does not expire.
    pub ttl_ms: Option<u64>,
    /// Its fields, members or elements; of a string the one value.
    pub parts: Vec<RawPart>,
}

/// A field with its value, a member with its score, an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawPart {
    /// The field, or the member.
    pub name: Option<RawText>,
    /// The value, or the score.
    pub value: Option<RawText>,
}

/// Some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RawText {
    /// As they are, what cannot be seen as escapes.
    Shown(String),
    /// They may prove ownership: only what tells them from others is shown.
    Masked {
        /// Their fingerprint.
        fingerprint: Fingerprint,
        /// How many there are.
        bytes: u32,
    },
    /// They are of no lock, so nothing of them is shown.
    Hidden {
        /// How many there are.
        bytes: u32,
    },
}
