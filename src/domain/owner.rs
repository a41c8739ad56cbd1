//! Owners of locks and their fingerprints.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Format;

/// The first 16 hex digits of the SHA-256 of an owner's bytes. It identifies the owner in the API
/// and in the UI and is not a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[schema(value_type = String, example = "d3c19a0b77e04fd2")]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Parses a fingerprint; `None` unless the text has exactly 16 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| Self(text.to_ascii_lowercase()))
    }

    /// The 16 hex digits in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner of a lock according to the value of its key. The value is a claim, not a proof. An
/// owner never contains the token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct Owner {
    /// Identifies the owner.
    pub fingerprint: Fingerprint,
    /// The readable part of the value, such as a host, process or thread; null if the format has
    /// none.
    pub label: Option<String>,
    /// The format of the value.
    pub format: Format,
    /// How many times the owner holds the lock (Redisson counts re-entries); absent if the format
    /// has no count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_count: Option<u32>,
}

impl Owner {
    /// The label, or the start of the fingerprint.
    pub fn display_name(&self) -> String {
        self.label
            .clone()
            .unwrap_or_else(|| format!("owner {}", &self.fingerprint.as_str()[..8]))
    }
}
