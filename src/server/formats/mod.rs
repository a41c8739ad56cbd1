//! Who wrote this key: pure functions over a [`Sighting`]; they never write.
//!
//! One file per library, asked in the order of [`RECOGNISERS`]; the first that knows the key has the word. What only
//! looks like a lock ([`look_alikes`]) is refused before anybody is asked. Time is the sighting's own: nobody here has
//! a clock.
//!
//! | format | type | owner's bytes | what gives it away |
//! |---|---|---|---|
//! | [`shedlock`] | string | the value | `ADDED:<time>@<host>:<uuid>` |
//! | [`redisson`] | hash | the field `<uuid>:<thread>` | every field has that shape, every value counts re-entries |
//! | [`redis_py`] | string | the value | a version 1 UUID in hex whose time is plausible |
//! | [`redsync`] | string | the value | 16 bytes in padded base64 |
//! | [`node_redlock`] | string | the value | 32 hex digits with a TTL |
//! | [`rslock`] | string | the value | 20 bytes that are no text, with a TTL |
//! | [`legacy_timestamp`] | string | the value, which is a clock | a lock-like name, a moment, no TTL |
//! | [`plain`] | string | the value | our own tokens; else a lock-like name and a value that could be a token |
//!
//! A token proves little without its surroundings, so from redsync on a key needs a TTL or a *hint*: a lock-like name,
//! or a pattern that the operator wrote into the configuration.
//!
//! A label never carries token material: it is a host, a process, a network card, or nothing.

pub mod legacy_timestamp;
pub mod look_alikes;
mod names;
pub mod node_redlock;
pub mod plain;
pub mod redis_py;
pub mod redisson;
pub mod redsync;
pub mod rslock;
mod shapes;
pub mod shedlock;

use crate::domain::{Fingerprint, Format, Lease, Mode, Owner, Timestamp};
use crate::server::nodes::sighting::{Sighting, Ttl, Value};

/// Looks at a key and says whether it has one library's layout.
pub type Recogniser = fn(&Sighting, Hint) -> Option<Recognised>;

/// Every recogniser, the surest first: a value that can mean one thing only, then shapes, then names.
pub const RECOGNISERS: [(Format, Recogniser); 8] = [
    (Format::ShedLock, shedlock::recognise),
    (Format::Redisson, redisson::recognise),
    (Format::RedisPy, redis_py::recognise),
    (Format::Redsync, redsync::recognise),
    (Format::NodeRedlock, node_redlock::recognise),
    (Format::Rslock, rslock::recognise),
    (Format::LegacyTimestamp, legacy_timestamp::recognise),
    (Format::Plain, plain::recognise),
];

/// What the key's name says about it being a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The name has a word like `lock` or `mutex` in it.
    pub lock_like_name: bool,
    /// The name matches a pattern that the operator wrote into the configuration.
    pub named_by_operator: bool,
}

impl Hint {
    /// Whether the name speaks for a lock at all.
    pub fn is_given(self) -> bool {
        self.lock_like_name || self.named_by_operator
    }
}

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
pub fn recognise(sighting: &Sighting, named_by_operator: bool) -> Option<Recognised> {
    let hint = Hint {
        lock_like_name: names::is_lock_like(sighting.key.as_bytes()),
        named_by_operator,
    };
    if look_alikes::is_one(sighting, hint) {
        return None;
    }
    RECOGNISERS
        .iter()
        .find_map(|(_, recognise)| recognise(sighting, hint))
}

impl Recognised {
    /// A string lock: its value is the one owner, the key's TTL the lease.
    fn by_value(format: Format, sighting: &Sighting, value: &[u8], label: Option<String>) -> Self {
        Self {
            format,
            mode: Mode::Exclusive,
            owners: vec![SeenOwner::new(format, value, label)],
            lease: key_lease(sighting),
            claimed_at: None,
        }
    }

    /// The same, asked for at `moment` by the owner's own account.
    fn claimed_at(self, moment: Timestamp) -> Self {
        Self {
            claimed_at: Some(moment),
            ..self
        }
    }
}

impl SeenOwner {
    /// The owner with these bytes.
    fn new(format: Format, bytes: &[u8], label: Option<String>) -> Self {
        let bytes = OwnerBytes::new(bytes);
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label,
            format,
            holds: None,
        };
        Self { bytes, owner }
    }
}

/// The lease that the key's TTL gives.
fn key_lease(sighting: &Sighting) -> Lease {
    match sighting.ttl {
        Ttl::Ms(left) => {
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            Lease::until(sighting.seen_at.plus_millis(left), sighting.seen_at)
        }
        Ttl::Never => Lease::Never,
    }
}

/// The value of a string key; nothing for every other type.
fn text(sighting: &Sighting) -> Option<&[u8]> {
    match &sighting.value {
        Value::Text(bytes) => Some(bytes),
        Value::Hash(_) | Value::TooLarge | Value::Other { .. } => None,
    }
}

/// Whether the key goes away by itself.
fn has_ttl(sighting: &Sighting) -> bool {
    match sighting.ttl {
        Ttl::Ms(_) => true,
        Ttl::Never => false,
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;
