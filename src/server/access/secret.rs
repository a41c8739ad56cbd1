//! Secrets that only those know whom they were given to: what is kept of them here is their digest.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What is kept of a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Of this secret.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// As it was written down.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// In hex, to find it by.
    pub fn digits(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// The digest itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are of the same secret. How long that takes tells nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// As it is written into a configuration.
    pub fn written(&self) -> String {
        format!("sha256:{}", HEXLOWER.encode(&self.0))
    }
}

impl std::fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// A secret that nobody can guess: 64 hex digits.
pub fn mint() -> String {
    HEXLOWER.encode(&rand::random::<[u8; 32]>())
}
