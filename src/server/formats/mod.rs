//! Who wrote this key: pure functions over a [`Sighting`]; they never write.

use crate::domain::{Fingerprint, Format, Lease, Mode, Owner, Timestamp};
use crate::server::nodes::sighting::Sighting;

/// A key that was recognised as a lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// Which library's layout it has.
    pub format: Format,
    /// One owner at a time, or several.
    pub mode: Mode,
    /// Who holds it: at least one.
    pub owners: Vec<SeenOwner>,
    /// Until when, on this node. From the value where the format keeps the time there.
    pub lease: Lease,
    /// When the owner says it asked for the lock, where the format carries a time.
    pub claimed_at: Option<Timestamp>,
}

/// An owner with its secret bytes, inside the server only.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenOwner {
    /// The bytes that prove ownership to the library.
    pub bytes: OwnerBytes,
    /// What everybody may see.
    pub owner: Owner,
}

/// The bytes that an owner wrote: a credential. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnerBytes(Vec<u8>);

impl OwnerBytes {
    /// Wraps the bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves: for comparing on a node only.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// What people see of them.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.0)
    }
}

impl std::fmt::Debug for OwnerBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerBytes(…)")
    }
}

/// The first 16 hex digits of SHA-256 over an owner's bytes.
pub fn fingerprint(bytes: &[u8]) -> Fingerprint {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    let hex: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Fingerprint::parse(&hex).expect("8 bytes are 16 hex digits")
}

/// Recognises a lock, or says that the key is none.
///
/// `named_by_operator`: the key matched a pattern that the operator wrote into the configuration, which counts as a hint
/// that it is a lock.
pub fn recognise(_sighting: &Sighting, _named_by_operator: bool) -> Option<Recognised> {
    None
}
