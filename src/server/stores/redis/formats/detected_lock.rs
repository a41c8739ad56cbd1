//! The result of a detector: format, owners with their secret values, and lease.

use data_encoding::HEXLOWER;

use super::shapes;
use crate::domain::{Confidence, Fingerprint, Format, Lease, Mode, Owner, Timestamp};
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};

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
    /// An exclusive lock whose value is the owner, with the TTL of the key as the lease.
    pub(super) fn from_value(
        format: Format,
        state: &KeyState,
        value: &[u8],
        label: Option<String>,
    ) -> Self {
        Self::from_owners(
            format,
            state,
            vec![DetectedOwner::new(format, value, label)],
        )
    }

    /// An exclusive lock with these owners, with the TTL of the key as the lease.
    pub(super) fn from_owners(
        format: Format,
        state: &KeyState,
        owners: Vec<DetectedOwner>,
    ) -> Self {
        Self {
            format,
            confidence: Confidence::Sure,
            mode: Mode::Exclusive,
            owners,
            lease: key_lease(state),
            claimed_at: None,
            waiter_count: None,
            may_be_registry_lock: false,
        }
    }

    /// A shared lock whose members have their own deadlines, in milliseconds since the Unix epoch.
    /// Members past their deadline are ignored; `None` if none is left. The lease ends with the
    /// last deadline.
    ///
    /// `ahead_ms` is the skew of the clock that the deadlines are based on. The clocks of clients
    /// are not known, so callers pass 0 for them.
    pub(super) fn from_deadlines<'a>(
        format: Format,
        state: &KeyState,
        ahead_ms: i64,
        members: impl Iterator<Item = (&'a [u8], Option<String>, i64)>,
    ) -> Option<Self> {
        let mut last = None;
        let mut owners = Vec::new();
        for (bytes, label, until) in members {
            let until = until.saturating_sub(ahead_ms);
            if until > state.read_at.millis() {
                last = last.max(Some(until));
                let lease = Lease::until(Timestamp::from_millis(until), state.read_at);
                owners.push(DetectedOwner::new(format, bytes, label).with_lease(lease));
            }
        }
        let until = Timestamp::from_millis(last?);
        Some(Self {
            mode: Mode::Shared,
            lease: Lease::until(until, state.read_at),
            ..Self::from_owners(format, state, owners)
        })
    }

    pub(super) fn with_claimed_at(self, claimed_at: Timestamp) -> Self {
        Self {
            claimed_at: Some(claimed_at),
            ..self
        }
    }

    /// Whether the format was recognised by the shape of a random token, which other data can also
    /// have.
    pub(super) fn is_detected_by_shape(&self) -> bool {
        matches!(
            self.format,
            Format::NodeRedlock
                | Format::Redsync
                | Format::Redislock
                | Format::RedlockPy
                | Format::Rslock
                | Format::GoZero
                | Format::Symfony
        )
    }

    pub(super) fn with_confidence(self, confidence: Confidence) -> Self {
        Self { confidence, ..self }
    }

    /// Sets the mode to [`Mode::Shared`].
    pub(super) fn into_shared(self) -> Self {
        Self {
            mode: Mode::Shared,
            ..self
        }
    }

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

impl DetectedOwner {
    pub(super) fn new(format: Format, bytes: &[u8], label: Option<String>) -> Self {
        let bytes = OwnerBytes::new(bytes);
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label,
            format,
            hold_count: None,
        };
        Self {
            bytes,
            owner,
            lease: None,
        }
    }

    pub(super) fn with_lease(self, lease: Lease) -> Self {
        Self {
            lease: Some(lease),
            ..self
        }
    }
}

/// The lease according to the TTL of the key.
pub(super) fn key_lease(state: &KeyState) -> Lease {
    match state.ttl {
        Ttl::Ms(left) => {
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            Lease::until(state.read_at.plus_millis(left), state.read_at)
        }
        Ttl::Never => Lease::Never,
    }
}

/// The value of a string key; `None` for other types.
pub(super) fn string_value(state: &KeyState) -> Option<&[u8]> {
    match &state.value {
        RedisValue::Text(bytes) => Some(bytes),
        RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => None,
    }
}

/// The fields of a non-empty hash; `None` for other keys.
pub(super) fn hash_fields(state: &KeyState) -> Option<&[(Vec<u8>, Vec<u8>)]> {
    match &state.value {
        RedisValue::Hash(fields) if !fields.is_empty() => Some(fields),
        RedisValue::Hash(_)
        | RedisValue::Text(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => None,
    }
}

/// The members and scores of a non-empty sorted set; `None` for other keys.
pub(super) fn sorted_set_members(state: &KeyState) -> Option<&[(Vec<u8>, f64)]> {
    match &state.value {
        RedisValue::SortedSet(members) if !members.is_empty() => Some(members),
        RedisValue::SortedSet(_)
        | RedisValue::Text(_)
        | RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => None,
    }
}

pub(super) fn has_ttl(state: &KeyState) -> bool {
    match state.ttl {
        Ttl::Ms(_) => true,
        Ttl::Never => false,
    }
}

/// The host name as text, if it cannot be mistaken for a secret.
pub(super) fn host(bytes: &[u8]) -> Option<String> {
    shapes::is_host(bytes)
        .then(|| shapes::readable(bytes).map(str::to_owned))
        .flatten()
}
