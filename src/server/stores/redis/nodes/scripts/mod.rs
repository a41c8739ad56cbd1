//! The Lua scripts that run on nodes, one `.lua` file each. Newer servers have commands that
//! replace some of them, see [`super::connection::ServerCommands`].

use std::sync::LazyLock;

use crate::server::stores::redis::key_state::{self, MAX_STRING_BYTES};
use redis::{FromRedisValue, ParsingError, Script, Value};

/// A script for Redisson's locks, preceded by their shared functions.
macro_rules! redisson {
    ($script:literal) => {
        concat!(include_str!("redisson.lua"), include_str!($script))
    };
}

/// A script for legacy locks, preceded by their shared functions.
macro_rules! legacy {
    ($script:literal) => {
        concat!(include_str!("legacy.lua"), include_str!($script))
    };
}

/// A force-release script, preceded by the shared functions.
macro_rules! force {
    ($($part:literal),+) => {
        LazyLock::new(|| Script::new(concat!(include_str!("force.lua"), $(include_str!($part)),+)))
    };
}

/// The key prefix of the fencing counters that [`ACQUIRE`] stores beside locks. They are not locks
/// and are never shown as such.
pub const FENCE_PREFIX: &[u8] = crate::server::config::RESERVED_PREFIX;

/// The scripts used by acquire, extend and release.
pub const SOURCES: [&str; 9] = [
    include_str!("acquire.lua"),
    legacy!("bump_fence.lua"),
    include_str!("extend.lua"),
    include_str!("release.lua"),
    redisson!("acquire_redisson.lua"),
    redisson!("extend_redisson.lua"),
    redisson!("release_redisson.lua"),
    legacy!("acquire_legacy.lua"),
    legacy!("rewrite_legacy.lua"),
];

/// Acquires a string lock or extends the caller's own, and increments its fencing counter.
pub static ACQUIRE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("acquire.lua")));

/// Raises a fencing counter.
pub static BUMP_FENCE: LazyLock<Script> = LazyLock::new(|| Script::new(legacy!("bump_fence.lua")));

/// Extends the lease if the token is the owner's. Never shortens it.
pub static EXTEND: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("extend.lua")));

/// Deletes a string if it has the expected value.
pub static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("release.lua")));

/// Acquires Redisson's hash lock, with or without a queue, enters it once more, or joins the queue.
pub static ACQUIRE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("acquire_redisson.lua")));

/// Extends the lease if the field is the owner's. Never shortens it.
pub static EXTEND_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("extend_redisson.lua")));

/// Decrements the hold count of Redisson's hash lock or deletes it, leaves the queue, and notifies
/// waiters.
pub static RELEASE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("release_redisson.lua")));

/// Acquires a legacy timestamp lock that is absent or expired, or extends the caller's own.
pub static ACQUIRE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("acquire_legacy.lua")));

/// Replaces the caller's timestamp by a later one, or deletes it.
pub static REWRITE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("rewrite_legacy.lua")));

/// Returns which commands the user may call.
pub static CHECK_PERMISSIONS: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("check_permissions.lua")));

/// Deletes a string that has the owner's value, and notifies waiters.
pub static FORCE_STRING: LazyLock<Script> = force!("force_string.lua");

/// Deletes Redisson's hash lock, and notifies waiters.
pub static FORCE_REDISSON: LazyLock<Script> = force!("redisson.lua", "force_redisson.lua");

/// Removes a reader or the writer from Redisson's read-write lock.
pub static FORCE_READ_WRITE: LazyLock<Script> = force!("force_read_write.lua");

/// Removes one value from Redisson's faster multi-lock.
pub static FORCE_MULTI: LazyLock<Script> = force!("force_multi.lua");

/// Returns a permit of Redisson's semaphore.
pub static FORCE_PERMIT: LazyLock<Script> = force!("force_permit.lua");

/// Removes an owner's members from a sorted set.
pub static FORCE_MEMBERS: LazyLock<Script> = force!("force_members.lua");

/// Removes an owner from a set.
pub static FORCE_SET: LazyLock<Script> = force!("force_set.lua");

/// Removes an owner's field from a hash.
pub static FORCE_FIELD: LazyLock<Script> = force!("force_field.lua");

/// Removes a job from a digest of sidekiq-unique-jobs.
pub static FORCE_SIDEKIQ: LazyLock<Script> = force!("force_sidekiq.lua");

/// Rewrites suo's array without an owner.
pub static FORCE_SUO: LazyLock<Script> = force!("force_suo.lua");

/// The reply of the acquire scripts.
#[derive(Clone, Debug, PartialEq)]
pub enum AcquireReply {
    /// The caller holds the lock.
    Acquired {
        /// The caller already held it.
        is_reentrant: bool,
        /// The fencing token; `None` if it is the proposed one, or none is stored.
        fence: Option<u64>,
    },
    /// The lock was not acquired, for this reason.
    Rejected(ScriptReply),
}

impl FromRedisValue for AcquireReply {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        if let Value::Array(parts) = &value
            && let [Value::Int(code @ (1 | 2)), _, Value::Int(fence)] = parts[..]
        {
            return Ok(Self::Acquired {
                is_reentrant: code == 1,
                fence: u64::try_from(fence).ok(),
            });
        }
        if let Value::Int(code @ (1 | 2)) = value {
            return Ok(Self::Acquired {
                is_reentrant: code == 1,
                fence: None,
            });
        }
        ScriptReply::from_redis_value(value).map(Self::Rejected)
    }
}

/// The reply of the force-release scripts.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceReply {
    /// The result; [`ScriptReply::WrongType`] also if that owner is not among the holders.
    Reply(ScriptReply),
    /// The owner is the expected one, but the hold is a different one: it was renewed, entered or
    /// acquired again since. Nothing was changed.
    HoldChanged,
}

impl FromRedisValue for ForceReply {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (code, _, _): (i64, Value, Value) = redis::from_redis_value(value.clone())?;
        match code {
            -4 => Ok(Self::HoldChanged),
            _ => ScriptReply::from_redis_value(value).map(Self::Reply),
        }
    }
}

/// The reply of the other scripts.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptReply {
    /// The owner was the expected one, and the operation was executed.
    Done,
    /// Released once; the owner still holds the lock because it entered more than once.
    StillHeld {
        /// The remaining hold count.
        holds: u32,
    },
    /// Executed, and the key's value has changed.
    Rewritten,
    /// The key does not exist.
    Missing,
    /// The lock has a different owner. Nothing was changed.
    OtherOwner {
        /// The key's value, as far as it was read.
        value: key_state::RedisValue,
        /// The reply to `PTTL`: negative for a lock without expiry.
        pttl: i64,
    },
    /// The key has a different type. Nothing was changed.
    WrongType {
        /// The type as returned by `TYPE`.
        type_name: String,
    },
}

impl FromRedisValue for ScriptReply {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (code, detail, pttl): (i64, Vec<u8>, i64) = match value {
            Value::Int(code) => (code, Vec::new(), 0),
            value => redis::from_redis_value(value)?,
        };
        match code {
            1 => Ok(Self::Done),
            2 => Ok(Self::StillHeld {
                holds: u32::try_from(pttl).unwrap_or(u32::MAX),
            }),
            3 => Ok(Self::Rewritten),
            0 => Ok(Self::Missing),
            -1 if detail.len() > MAX_STRING_BYTES => Ok(Self::OtherOwner {
                value: key_state::RedisValue::TooLarge,
                pttl,
            }),
            -1 => Ok(Self::OtherOwner {
                value: key_state::RedisValue::Text(detail),
                pttl,
            }),
            // The script does not return the owner's hold count; it is at least 1.
            -3 => Ok(Self::OtherOwner {
                value: key_state::RedisValue::Hash(vec![(detail, b"1".to_vec())]),
                pttl,
            }),
            -2 => Ok(Self::WrongType {
                type_name: String::from_utf8_lossy(&detail).into_owned(),
            }),
            _ => Err(ParsingError::from(format!(
                "unexpected script reply code {code}"
            ))),
        }
    }
}
