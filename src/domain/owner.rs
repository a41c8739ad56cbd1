//! Owners of locks and their fingerprints.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::Format;

/// The first 16 hex digits of the SHA-256 of an owner's bytes. It identifies the owner in the API
/// and in the UI and is not a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, example = "d3c19a0b77e04fd2")]
pub struct Fingerprint([u8; Self::DIGITS]);

impl Fingerprint {
    /// The number of hex digits.
    const DIGITS: usize = 16;
    /// The digits that distinguish owners on a page. Titles and copies have all of them.
    const SHORT_DIGITS: usize = 8;

    /// Parses a fingerprint; `None` unless the text has exactly 16 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digits: [u8; Self::DIGITS] = text.trim().as_bytes().try_into().ok()?;
        digits.make_ascii_lowercase();
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        is_hex.then_some(Self(digits))
    }

    /// The 16 hex digits in lower case.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hex digits are ASCII")
    }

    /// The first eight digits.
    pub fn short(&self) -> &str {
        &self.as_str()[..Self::SHORT_DIGITS]
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fingerprint({})", self.as_str())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a fingerprint has 16 hex digits")
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
            .unwrap_or_else(|| format!("owner {}", self.fingerprint.short()))
    }
}
