//! Random secrets and their digests. Only digests are stored.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 digest of a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Computes the digest of a secret.
    pub fn of_secret(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// A stored digest.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest in hex, for lookups.
    pub fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// The 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Compares two digests in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// The form in which it is written in the configuration.
    pub fn to_config_value(&self) -> String {
        format!("sha256:{}", HEXLOWER.encode(&self.0))
    }
}

impl std::fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// A random secret of 256 bits, as 64 hex digits.
pub fn generate_secret() -> String {
    HEXLOWER.encode(&rand::random::<[u8; 32]>())
}
