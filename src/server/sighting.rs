//! A key exactly as one node showed it, and when.

use crate::domain::{LockKey, Timestamp};

/// The longest string value that is read; longer ones are [`Value::TooLarge`]. No lock library writes more.
pub const LONGEST_VALUE: usize = 512;

/// A key exactly as one node showed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// The key.
    pub key: LockKey,
    /// What it holds.
    pub value: Value,
    /// How long it lives on.
    pub ttl: Ttl,
    /// When it was read, on our clock: the middle of the round trip.
    pub seen_at: Timestamp,
    /// By how many milliseconds the node's clock was ahead of ours then; 0 where that is not known.
    pub node_ahead_ms: i64,
    /// What stands beside it under names of its own, as far as its format needs to know.
    pub companions: Vec<Companion>,
}

impl Sighting {
    /// A key with nothing beside it.
    pub fn alone(key: LockKey, value: Value, ttl: Ttl, seen_at: Timestamp) -> Self {
        Self {
            key,
            value,
            ttl,
            seen_at,
            node_ahead_ms: 0,
            companions: Vec::new(),
        }
    }

    /// What stands beside it under this name.
    pub fn companion(&self, key: &LockKey) -> Option<&Companion> {
        self.companions.iter().find(|beside| beside.key == *key)
    }
}

/// A key that belongs to a lock: its queue, its counter, the other half of it. Read a moment after the lock itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The key.
    pub key: LockKey,
    /// What it holds.
    pub value: Value,
    /// How long it lives on.
    pub ttl: Ttl,
}

/// What a key holds. Owner tokens stand in here: it is never logged, and its `Debug` shows shapes only.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A string of at most [`LONGEST_VALUE`] bytes.
    Text(Vec<u8>),
    /// A small hash: field and value, sorted by field.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A small set, sorted.
    Set(Vec<Vec<u8>>),
    /// A small sorted set: member and score, in its order.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// A small list, from its head.
    List(Vec<Vec<u8>>),
    /// Too large to be a lock; not read.
    TooLarge,
    /// Another type of key.
    Other {
        /// The type as `TYPE` names it.
        type_name: String,
    },
}

impl std::fmt::Debug for Value {
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

/// How long a key lives on, as `PTTL` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Milliseconds.
    Ms(u64),
    /// No expiry.
    Never,
}

impl Ttl {
    /// What an answer to `PTTL` says; nothing for -2: the key is gone, maybe expired since it was found.
    pub fn of_pttl(pttl: i64) -> Option<Self> {
        match u64::try_from(pttl) {
            Ok(ms) => Some(Self::Ms(ms)),
            Err(_) if pttl == -1 => Some(Self::Never),
            Err(_) => None,
        }
    }
}
