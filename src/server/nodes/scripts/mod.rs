//! The scripts that run on nodes, one `.lua` file each. Newer servers have commands of their own for some of it, see
//! [`super::line::Abilities`].

use std::sync::LazyLock;

use super::sighting::{self, LONGEST_VALUE};
use redis::{FromRedisValue, ParsingError, Script, Value};

/// How the names of the counters begin that [`ACQUIRE`] keeps beside locks. They are no locks and never shown as such.
pub const FENCES: &[u8] = b"lockkeeper:fence:";

/// The scripts of every acquire and release.
pub const SOURCES: [&str; 4] = [
    include_str!("acquire.lua"),
    include_str!("raise.lua"),
    include_str!("extend.lua"),
    include_str!("release.lua"),
];

/// Takes a string lock or extends the caller's own, and raises its fence.
pub static ACQUIRE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("acquire.lua")));

/// Raises a fence.
pub static RAISE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("raise.lua")));

/// Sets the lease if the token is the owner's.
pub static EXTEND: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("extend.lua")));

/// Deletes a string if its value is the expected one.
pub static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("release.lua")));

/// Deletes Redisson's hash if its only owner is the expected one, and wakes its waiters.
pub static RELEASE_REDISSON: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("release_redisson.lua")));

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
