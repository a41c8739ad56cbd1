//! The raw state of a key as read from one node.

use std::time::Duration;

use crate::domain::{LockKey, Timestamp};

/// Longer string values are not read and become [`RedisValue::TooLarge`]. No lock library
/// writes values this long.
pub const MAX_STRING_BYTES: usize = 512;

/// The state of a key as read from one node.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyState {
    /// The key.
    pub key: LockKey,
    /// What it holds.
    pub value: RedisValue,
    /// The time to live.
    pub ttl: Ttl,
    /// When the key was read, by the console's clock: the middle of the round trip.
    pub read_at: Timestamp,
    /// How far from `read_at` it may have been read: half of the round trip.
    pub read_uncertainty: Duration,
    /// By how many milliseconds the node's clock was ahead of the console's clock; 0 if
    /// unknown.
    pub node_clock_skew_ms: i64,
    /// Related keys that the lock's format uses.
    pub companions: Vec<Companion>,
}

impl KeyState {
    /// The state of a key that has no related keys.
    pub fn without_companions(
        key: LockKey,
        value: RedisValue,
        ttl: Ttl,
        seen_at: Timestamp,
    ) -> Self {
        Self {
            key,
            value,
            ttl,
            read_at: seen_at,
            read_uncertainty: Duration::ZERO,
            node_clock_skew_ms: 0,
            companions: Vec::new(),
        }
    }

    /// The related key with this name.
    pub fn companion(&self, key: &LockKey) -> Option<&Companion> {
        self.companions.iter().find(|beside| beside.key == *key)
    }
}

/// A key that belongs to a lock: its queue, its counter, or its other half. Read just after the
/// lock itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The key.
    pub key: LockKey,
    /// What it holds.
    pub value: RedisValue,
    /// The time to live.
    pub ttl: Ttl,
}

/// The value of a key. It can contain owner tokens, so it is never logged, and `Debug` prints
/// only its type and size.
#[derive(Clone, PartialEq)]
pub enum RedisValue {
    /// A string of at most [`MAX_STRING_BYTES`] bytes.
    Text(Vec<u8>),
    /// A small hash: fields and values, sorted by field.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A small set, sorted.
    Set(Vec<Vec<u8>>),
    /// A small sorted set: members and scores, in the order of the scores.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// A small list, from its head.
    List(Vec<Vec<u8>>),
    /// Too large to be a lock; its value was not read.
    TooLarge,
    /// A key of another type.
    Other {
        /// The type, as returned by `TYPE`.
        type_name: String,
    },
}

impl std::fmt::Debug for RedisValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(bytes) => write!(f, "Text({} bytes)", bytes.len()),
            Self::Hash(fields) => write!(f, "Hash({} fields)", fields.len()),
            Self::Set(members) => write!(f, "Set({} members)", members.len()),
            Self::SortedSet(members) => write!(f, "SortedSet({} members)", members.len()),
            Self::List(elements) => write!(f, "List({} elements)", elements.len()),
            Self::TooLarge => f.write_str("TooLarge"),
            Self::Other { type_name } => write!(f, "Other({type_name})"),
        }
    }
}

/// The time to live of a key, as returned by `PTTL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Milliseconds.
    Ms(u64),
    /// No expiry.
    Never,
}

impl Ttl {
    /// Parses the reply to `PTTL`. `None` for -2: the key does not exist; it may have expired
    /// since it was found.
    pub fn from_pttl(pttl: i64) -> Option<Self> {
        match u64::try_from(pttl) {
            Ok(ms) => Some(Self::Ms(ms)),
            Err(_) if pttl == -1 => Some(Self::Never),
            Err(_) => None,
        }
    }
}
