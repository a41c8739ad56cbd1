//! A lock as one node shows it: format, owners with their secret values, and lease.

use data_encoding::HEXLOWER;

use crate::domain::{Confidence, Fingerprint, Format, Lease, Mode, Owner, Timestamp};

/// A lock that was detected in a key.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectedLock {
    /// The format of the key.
    pub format: Format,
    /// The confidence that the key is a lock of this format.
    pub confidence: Confidence,
    /// Whether several owners can hold the lock at the same time.
    pub mode: Mode,
    /// The owners. Never empty.
    pub owners: Vec<DetectedOwner>,
    /// The lease on this node: from the value if the format stores it there, else from the TTL.
    pub lease: Lease,
    /// When the owner requested the lock according to its value, if the format has a time.
    pub claimed_at: Option<Timestamp>,
    /// The number of waiters, if the format stores them on the node.
    pub waiter_count: Option<u32>,
    /// The lock is a plain one whose owner is a UUID. Several of them with the same owner are locks
    /// of a Spring Integration registry.
    pub may_be_registry_lock: bool,
}

/// An owner with its secret value. It must not leave the server.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectedOwner {
    /// The bytes that prove ownership to the library.
    pub bytes: OwnerBytes,
    /// The public part.
    pub owner: Owner,
    /// The owner's lease, if the format stores one per owner.
    pub lease: Option<Lease>,
}

/// The bytes that an owner wrote. They are a credential, so `Debug` does not print them.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnerBytes(Vec<u8>);

impl OwnerBytes {
    /// Wraps the bytes of an owner.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes. Only to be sent to a node for comparison.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The public identifier of the owner.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.0)
    }
}

impl std::fmt::Debug for OwnerBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerBytes(…)")
    }
}

/// The first 16 hex digits of the SHA-256 of an owner's bytes.
pub fn fingerprint(bytes: &[u8]) -> Fingerprint {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    Fingerprint::parse(&HEXLOWER.encode(&digest[..8])).expect("8 bytes are 16 hex digits")
}

impl DetectedLock {
    /// Sets the format of the lock and its owners, with the highest confidence.
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self.confidence = Confidence::Sure;
        for detected in &mut self.owners {
            detected.owner.format = format;
        }
        self
    }
}
