//! Which library's layout a lock has, and what that library does when somebody else releases it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The layout of a lock: which library writes keys like this. Where libraries cannot be told apart it is the commonest, or `plain`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A string with a lock-like name that no library claims: `SET key token NX PX`.
    Plain,
    /// redis-py's `Lock`: a version 1 UUID in hex.
    RedisPy,
    /// node-redlock 4 and 5: 32 random hex digits.
    NodeRedlock,
    /// redsync (Go): 16 random bytes in padded base64.
    Redsync,
    /// rslock and redlock (Rust): 20 random bytes.
    Rslock,
    /// Redisson's `RLock`: a hash of `uuid:thread` to hold count.
    Redisson,
    /// Redisson's `RFairLock`: the same hash, with a queue of waiters beside it.
    RedissonFair,
    /// `ShedLock`: `ADDED:<time>@<host>:<uuid>`.
    #[serde(rename = "shedlock")]
    ShedLock,
    /// `SETNX key <expiry time>`: the value is a clock, the key has no TTL.
    LegacyTimestamp,
}

impl Format {
    /// Every format, for filters and documentation.
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::RedisPy,
        Self::NodeRedlock,
        Self::Redsync,
        Self::Rslock,
        Self::Redisson,
        Self::RedissonFair,
        Self::ShedLock,
        Self::LegacyTimestamp,
    ];

    /// The name in the API, in filters and on screen.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::RedisPy => "redis-py",
            Self::NodeRedlock => "node-redlock",
            Self::Redsync => "redsync",
            Self::Rslock => "rslock",
            Self::Redisson => "redisson",
            Self::RedissonFair => "redisson-fair",
            Self::ShedLock => "shedlock",
            Self::LegacyTimestamp => "legacy-timestamp",
        }
    }

    /// The format with this name.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.slug() == slug)
    }

    /// What happens next in that library once its lock was released by somebody else: one sentence for the dialog.
    pub fn after_release(self) -> &'static str {
        match self {
            Self::Plain => {
                "the owner, if it still runs, finds out only when it next checks, extends or releases the lock"
            }
            Self::RedisPy => {
                "the owner gets LockNotOwnedError at its next extend, reacquire or release"
            }
            Self::NodeRedlock => "the owner's next extend or release fails with an error",
            Self::Redsync => {
                "the owner's next Extend or Unlock reports failure; with WithSetNXOnExtend an extend takes the lock back"
            }
            Self::Rslock => "the owner's next extend fails; its unlock finds nothing and passes",
            Self::Redisson | Self::RedissonFair => {
                "waiting clients are woken at once; the owner's watchdog stops silently and its unlock() throws IllegalMonitorStateException"
            }
            Self::ShedLock => {
                "the key may outlive the task (lockAtLeastFor); an owner that still runs deletes the next owner's key when it ends, unless safeUpdate is on"
            }
            Self::LegacyTimestamp => {
                "the owner deletes the key without looking when it ends, which may be the next owner's by then"
            }
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slug_is_what_goes_over_the_wire() {
        for format in Format::ALL {
            assert_eq!(
                serde_json::to_string(&format).unwrap(),
                format!("\"{}\"", format.slug())
            );
            assert_eq!(Format::from_slug(format.slug()), Some(format));
        }
    }
}
