//! The layouts in which this console takes locks itself: one file each, with what a single node is told.

mod plain;

use std::time::Duration;

pub use plain::millis;
use redis::RedisResult;

use super::Token;
use super::ballot::Vote;
use super::owners::found_there;
use crate::domain::{Format, LockKey, Owner, Timestamp};
use crate::server::clock::Clock;
use crate::server::nodes::line::Line;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::sighting::Value;

/// How a lock is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `SET key token NX PX ttl`: what most libraries write.
    Plain,
}

/// What a node is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Bid<'a> {
    /// The lock.
    pub key: &'a LockKey,
    /// Who wants it.
    pub token: &'a Token,
    /// The lease.
    pub ttl: Duration,
    /// The fence proposed; nothing where fencing is off.
    pub fence: Option<u64>,
    /// The token was brought along, so the lock may be its owner's already. Otherwise it was minted for this acquire,
    /// and what is found with it is from an earlier try whose answer got lost.
    pub brought: bool,
}

impl Layout {
    /// The layout that a format names, if locks can be taken in it.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::Plain => Some(Self::Plain),
            Format::RedisPy
            | Format::NodeRedlock
            | Format::Redsync
            | Format::Rslock
            | Format::Redisson
            | Format::RedissonFair
            | Format::ShedLock
            | Format::LegacyTimestamp => None,
        }
    }

    /// The layout that a token's shape speaks for: what is tried first with it.
    pub fn of_token(_token: &Token) -> Self {
        Self::Plain
    }

    /// A fresh token for a lock of this layout.
    pub fn mint(self, label: &str) -> Token {
        match self {
            Self::Plain => Token::mint(label),
        }
    }

    /// Another token of the same owner, for another try.
    pub fn mint_again(self, token: &Token) -> Token {
        match self {
            Self::Plain => token.again(),
        }
    }

    /// The owner that a lock of this layout shows once it is taken with this token.
    pub fn owner(
        self,
        key: &LockKey,
        token: &Token,
        ttl: Duration,
        now: Timestamp,
    ) -> Option<Owner> {
        let value = match self {
            Self::Plain => Value::Text(token.expose().to_vec()),
        };
        let pttl = i64::try_from(millis(ttl)).unwrap_or(i64::MAX);
        found_there(key, value, pttl, now).map(|(owner, _)| owner)
    }

    /// Whether a release may be repeated like [`Self::withdraw`]: then nodes that could not be asked are told later.
    pub fn withdraws_what_it_releases(self) -> bool {
        match self {
            Self::Plain => true,
        }
    }

    /// Asks a node for the lock.
    pub async fn take(self, line: Line, clock: &Clock, bid: &Bid<'_>) -> RedisResult<Vote> {
        match self {
            Self::Plain => plain::take(line, clock, bid).await,
        }
    }

    /// Sets the lease on a node.
    pub async fn extend(
        self,
        line: Line,
        key: &LockKey,
        token: &Token,
        ttl: Duration,
    ) -> RedisResult<Told> {
        match self {
            Self::Plain => plain::extend(line, key, token, ttl).await,
        }
    }

    /// Releases on a node, as the owner does.
    pub async fn release(self, line: Line, key: &LockKey, token: &Token) -> RedisResult<Told> {
        match self {
            Self::Plain => plain::release(line, key, token).await,
        }
    }

    /// Takes back on a node whatever a failed acquire may have left there. May be done again and again.
    pub async fn withdraw(self, line: Line, key: &LockKey, token: &Token) -> RedisResult<Told> {
        match self {
            Self::Plain => plain::release(line, key, token).await,
        }
    }
}
