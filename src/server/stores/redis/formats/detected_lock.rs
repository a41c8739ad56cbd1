//! Builds the result of a detector from the state of a key, and reads values of that state.

use super::shapes;
use crate::domain::{Confidence, Format, Lease, Mode, Owner, Timestamp};
use crate::server::stores::detected_lock::{DetectedLock, DetectedOwner, OwnerBytes};
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};

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
