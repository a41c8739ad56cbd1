//! What a session depends on: whoever was let in by something that is another by now is out.

use std::fmt;

use argon2::password_hash::phc::PasswordHash;
use sha2::{Digest as _, Sha256};

/// What a password, or whatever else lets somebody in, is known by, without being a way to guess it: another one has another
/// stamp, on every console and after every restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub(super) u64);

impl Stamp {
    /// Of the password with this hash.
    pub fn of(hash: &PasswordHash) -> Self {
        Self::of_digest(Sha256::digest(hash.to_string()).into())
    }

    /// Of something else that lets somebody in, which has these parts.
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            // With its length: what ends one part cannot begin the next.
            digest.update(part.len().to_string());
            digest.update(" ");
            digest.update(part);
        }
        Self::of_digest(digest.finalize().into())
    }

    fn of_digest(digest: [u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// As it was written.
    pub(super) fn read(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
