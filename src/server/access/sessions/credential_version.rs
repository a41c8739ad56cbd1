//! Ties a session to the credential it was created with: if that changes, the session becomes
//! invalid.

use std::fmt;

use argon2::password_hash::phc::PasswordHash;
use sha2::{Digest as _, Sha256};

/// A 64-bit digest of a credential. It changes with the credential, does not help to guess it, and
/// is equal on all instances and after restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialVersion(pub(super) u64);

impl CredentialVersion {
    /// The version of a password, from its hash.
    pub fn of_password(hash: &PasswordHash) -> Self {
        Self::from_digest(Sha256::digest(hash.to_string()).into())
    }

    /// The version of another credential, from its parts.
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            // Each part is prefixed with its length, so that different splits of the same text
            // differ.
            digest.update(part.len().to_string());
            digest.update(" ");
            digest.update(part);
        }
        Self::from_digest(digest.finalize().into())
    }

    fn from_digest(digest: [u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// Parses the form that `Display` writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for CredentialVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
