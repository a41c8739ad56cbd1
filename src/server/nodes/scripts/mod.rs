//! The scripts that run on nodes, one `.lua` file each. Newer servers have commands of their own for some of it, see
//! [`super::line::Abilities`].

use std::sync::LazyLock;

use super::sighting::{self, LONGEST_VALUE};
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

/// How the names of the counters begin that [`ACQUIRE`] keeps beside locks. They are no locks and never shown as such.
pub const FENCES: &[u8] = b"lockkeeper:fence:";

/// The scripts of every acquire and release.
pub const SOURCES: [&str; 9] = [
    include_str!("acquire.lua"),
    include_str!("raise.lua"),
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
pub static RAISE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("raise.lua")));

/// Sets the lease if the token is the owner's.
pub static EXTEND: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("extend.lua")));

/// Deletes a string if its value is the expected one.
pub static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("release.lua")));

/// Takes Redisson's hash, with or without a queue, enters it once more, or joins the queue.
pub static ACQUIRE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("acquire_redisson.lua")));

/// Sets the lease if the field is the owner's.
pub static EXTEND_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("extend_redisson.lua")));

/// Counts Redisson's hash down or deletes it, leaves the queue, and wakes who waits.
pub static RELEASE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(redisson!("release_redisson.lua")));

/// Takes a moment that is not there or past, or extends the caller's own.
pub static ACQUIRE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("acquire_legacy.lua")));

/// Replaces or deletes the caller's moment.
pub static REWRITE_LEGACY: LazyLock<Script> =
    LazyLock::new(|| Script::new(legacy!("rewrite_legacy.lua")));

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
        let (code, _, fence): (i64, Value, i64) = redis::from_redis_value(value.clone())?;
        match code {
            1 | 2 => Ok(Self::Ours {
                again: code == 1,
                fence: u64::try_from(fence).unwrap_or(0),
            }),
            _ => Told::from_redis_value(value).map(Self::Refused),
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
