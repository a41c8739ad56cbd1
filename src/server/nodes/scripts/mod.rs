//! The scripts that run on nodes, one `.lua` file each. Newer servers have commands of their own for some of it, see
//! [`super::line::Abilities`].

use std::sync::LazyLock;

use crate::server::sighting::{self, LONGEST_VALUE};
use redis::{FromRedisValue, ParsingError, Script, Value};

/// A script on Redisson's locks, behind what these share.
macro_rules! redisson {
    ($script:literal) => {
        concat!(include_str!("redisson.lua"), include_str!($script))
    };
}

/// A script on legacy locks, behind what these share.
macro_rules! legacy {
    ($script:literal) => {
        concat!(include_str!("legacy.lua"), include_str!($script))
    };
}

/// A script that releases somebody else's lock, behind what these share.
macro_rules! force {
    ($($part:literal),+) => {
        LazyLock::new(|| Script::new(concat!(include_str!("force.lua"), $(include_str!($part)),+)))
    };
}

/// How the names of the counters begin that [`ACQUIRE`] keeps beside locks. They are no locks and never shown as such.
pub const FENCES: &[u8] = crate::server::config::RESERVED;

/// The scripts of every acquire and release.
pub const SOURCES: [&str; 9] = [
    include_str!("acquire.lua"),
    legacy!("raise.lua"),
    include_str!("extend.lua"),
    include_str!("release.lua"),
    redisson!("acquire_redisson.lua"),
    redisson!("extend_redisson.lua"),
    redisson!("release_redisson.lua"),
    legacy!("acquire_legacy.lua"),
    legacy!("rewrite_legacy.lua"),
];

/// Takes a string lock or extends the caller's own, and raises its fence.
pub static ACQUIRE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("acquire.lua")));

/// Raises a fence.
pub static RAISE: LazyLock<Script> = LazyLock::new(|| Script::new(legacy!("raise.lua")));

/// Makes the lease longer, never shorter, if the token is the owner's.
pub static EXTEND: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("extend.lua")));

/// Deletes a string if its value is the expected one.
pub static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("release.lua")));

/// Takes Redisson's hash, with or without a queue, enters it once more, or joins the queue.
pub static ACQUIRE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("acquire_redisson.lua")));

/// Makes the lease longer, never shorter, if the field is the owner's.
pub static EXTEND_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("extend_redisson.lua")));

/// Counts Redisson's hash down or deletes it, leaves the queue, and wakes who waits.
pub static RELEASE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("release_redisson.lua")));

/// Takes a moment that is not there or past, or extends the caller's own.
pub static ACQUIRE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("acquire_legacy.lua")));

/// Replaces the caller's moment by a later one, or deletes it.
pub static REWRITE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("rewrite_legacy.lua")));

/// Tells which commands a user may call.
pub static MAY: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("may.lua")));

/// Deletes a string that has the owner's value, and tells who waits.
pub static FORCE_STRING: LazyLock<Script> = force!("force_string.lua");

/// Deletes Redisson's hash, and wakes who waits.
pub static FORCE_REDISSON: LazyLock<Script> = force!("redisson.lua", "force_redisson.lua");

/// Takes a reader or the writer out of Redisson's read-write lock.
pub static FORCE_READ_WRITE: LazyLock<Script> = force!("force_read_write.lua");

/// Takes one value out of Redisson's faster multi-lock.
pub static FORCE_MULTI: LazyLock<Script> = force!("force_multi.lua");

/// Gives a permit of Redisson's semaphore back.
pub static FORCE_PERMIT: LazyLock<Script> = force!("force_permit.lua");

/// Takes an owner's members out of a sorted set.
pub static FORCE_MEMBERS: LazyLock<Script> = force!("force_members.lua");

/// Takes an owner out of a set.
pub static FORCE_SET: LazyLock<Script> = force!("force_set.lua");

/// Takes an owner's field out of a hash.
pub static FORCE_FIELD: LazyLock<Script> = force!("force_field.lua");

/// Takes a job out of a digest of sidekiq-unique-jobs.
pub static FORCE_SIDEKIQ: LazyLock<Script> = force!("force_sidekiq.lua");

/// Writes suo's array anew.
pub static FORCE_SUO: LazyLock<Script> = force!("force_suo.lua");

/// What the scripts that take a lock answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// It is the caller's now.
    Ours {
        /// It was the caller's before.
        again: bool,
        /// The fence; 0 where none is kept.
        fence: u64,
    },
    /// It is not, and this is why.
    Refused(Told),
}

impl FromRedisValue for Given {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        if let Value::Array(parts) = &value
            && let [Value::Int(code @ (1 | 2)), _, Value::Int(fence)] = parts[..]
        {
            return Ok(Self::Ours {
                again: code == 1,
                fence: u64::try_from(fence).unwrap_or(0),
            });
        }
        Told::from_redis_value(value).map(Self::Refused)
    }
}

/// What the scripts answer that release somebody else's lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Parted {
    /// Done, or why not; [`Told::WrongType`] also where that owner is not among those who hold it.
    Told(Told),
    /// The owner is the one that was seen, but its hold is another: renewed, entered or acquired again since. Nothing was touched.
    AnotherHold,
}

impl FromRedisValue for Parted {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (code, _, _): (i64, Value, Value) = redis::from_redis_value(value.clone())?;
        match code {
            -4 => Ok(Self::AnotherHold),
            _ => Told::from_redis_value(value).map(Self::Told),
        }
    }
}

/// What each of the other scripts answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// The owner was the expected one, and it is done.
    Done,
    /// It was released once, and the owner holds it still: it had entered more often.
    HeldStill {
        /// How often.
        holds: u32,
    },
    /// It is done, and what is written there is another value than before.
    Rewritten,
    /// There is no such key.
    NotThere,
    /// Somebody else's; nothing was touched.
    OtherOwner {
        /// What the key holds, as far as it was read.
        value: sighting::Value,
        /// What `PTTL` said: negative for a lock without expiry.
        pttl: i64,
    },
    /// The key is of another type; nothing was touched.
    WrongType {
        /// The type as `TYPE` names it.
        type_name: String,
    },
}

impl FromRedisValue for Told {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (code, detail, pttl): (i64, Vec<u8>, i64) = redis::from_redis_value(value)?;
        match code {
            1 => Ok(Self::Done),
            2 => Ok(Self::HeldStill {
                holds: u32::try_from(pttl).unwrap_or(u32::MAX),
            }),
            3 => Ok(Self::Rewritten),
            0 => Ok(Self::NotThere),
            -1 if detail.len() > LONGEST_VALUE => Ok(Self::OtherOwner {
                value: sighting::Value::TooLarge,
                pttl,
            }),
            -1 => Ok(Self::OtherOwner {
                value: sighting::Value::Text(detail),
                pttl,
            }),
            // How often that owner holds it was not read; it is at least once.
            -3 => Ok(Self::OtherOwner {
                value: sighting::Value::Hash(vec![(detail, b"1".to_vec())]),
                pttl,
            }),
            -2 => Ok(Self::WrongType {
                type_name: String::from_utf8_lossy(&detail).into_owned(),
            }),
            _ => Err(ParsingError::from(format!(
                "{code} is no answer of these scripts"
            ))),
        }
    }
}
