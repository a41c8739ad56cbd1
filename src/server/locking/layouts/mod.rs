//! The layouts in which this console takes locks itself: one file each, with what a single node is told.
//!
//! | layout | key | token | excludes, and is excluded by |
//! |---|---|---|---|
//! | [`plain`] | string with a TTL | its value | most libraries |
//! | [`redisson`] | hash with a TTL | its field | Redisson's `RLock`, node-redisson; counts entries |
//! | [`redisson`], fair | and a queue beside it | its field | `RFairLock`, in order |
//! | [`legacy`] | string without a TTL | its value, by its digits behind the point | `SETNX`, `GETSET` |

mod legacy;
mod permissions;
mod plain;
pub mod redisson;

use std::time::Duration;

pub use permissions::Permissions;
pub(in crate::server::locking) use permissions::explain;
pub use plain::{millis, release as release_string};
use redis::RedisResult;
pub use redisson::{LONGEST_STAND, Request, fair_queue};

use super::Token;
use super::ballot::Vote;
use super::owners::found_there;
use crate::domain::{Fingerprint, Format, LockKey, Owner, Timestamp};
use crate::server::clock::Clock;
use crate::server::nodes::line::Line;
use crate::server::nodes::lock_node::Connection;
use crate::server::nodes::scripts::Told;
use crate::server::sighting::Value;

/// How a lock is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `SET key token NX PX ttl`: what most libraries write.
    Plain,
    /// Redisson's hash, which may be entered again.
    Redisson,
    /// The same, with the queue of those who wait.
    RedissonFair,
    /// A moment without a TTL.
    Legacy,
}

/// How a lock is written on a node that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How.
    pub layout: Layout,
    /// How often its owner entered it.
    pub holds: u32,
}

impl Form {
    /// What is put back is entered so often at most: each time is a question.
    pub const MOST_HOLDS: u32 = 16;
}

/// What a node is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Bid<'a> {
    /// The lock.
    pub key: &'a LockKey,
    /// Who wants it: what is written.
    pub token: &'a Token,
    /// The lease.
    pub ttl: Duration,
    /// For how long its owner-to-be waits in line; zero for one who does not.
    pub wait: Duration,
    /// For how much longer it waits than was known when it came.
    pub longer: Duration,
    /// The fence proposed; nothing where fencing is off.
    pub fence: Option<u64>,
    /// For how long the node remembers how far it counted.
    pub fence_ttl: Duration,
    /// No other node is asked: what this one counts, the whole group counts.
    pub is_only_node: bool,
    /// The token was brought along, so the lock may be its owner's already. Otherwise it was minted for this acquire,
    /// and what is found with it is from an earlier try whose answer got lost.
    pub brought: bool,
    /// A moment that is past under this name is a lock that has ended, so it may be taken over.
    pub takes_over: bool,
}

impl Layout {
    /// The layout that a format names, if locks can be taken in it.
    pub fn of(format: Format) -> Option<Self> {
        let known = [
            (Format::Plain, Self::Plain),
            (Format::Redisson, Self::Redisson),
            (Format::RedissonFair, Self::RedissonFair),
            (Format::LegacyTimestamp, Self::Legacy),
        ];
        known
            .into_iter()
            .find_map(|(known, layout)| (known == format).then_some(layout))
    }

    /// The layout that a token's shape speaks for: what is tried first with it. Fair and not, Redisson's locks are
    /// extended and released alike.
    pub fn of_token(token: &Token) -> Self {
        if redisson::is_field(token) {
            Self::Redisson
        } else if legacy::is_moment(token) {
            Self::Legacy
        } else {
            Self::Plain
        }
    }

    /// The format that it writes.
    pub fn format(self) -> Format {
        match self {
            Self::Plain => Format::Plain,
            Self::Redisson => Format::Redisson,
            Self::RedissonFair => Format::RedissonFair,
            Self::Legacy => Format::LegacyTimestamp,
        }
    }

    /// What a hold is known by within this process, whichever of its tokens is at hand.
    pub fn name_of_hold(token: &Token) -> Fingerprint {
        let first = legacy::first_token(token);
        first.as_ref().unwrap_or(token).fingerprint()
    }

    /// What a token of this layout looks like, if this is none.
    pub fn objection(self, token: &Token) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Redisson | Self::RedissonFair => {
                (!redisson::is_field(token)).then_some(redisson::SHAPE)
            }
            Self::Legacy => legacy::sign(token).is_none().then_some(legacy::SHAPE),
        }
    }

    /// A fresh token for a lock of this layout. Only a plain one carries the label.
    pub fn mint(self, label: &str) -> Token {
        match self {
            Self::Plain => Token::mint(label),
            Self::Redisson | Self::RedissonFair => redisson::mint(),
            Self::Legacy => legacy::mint(),
        }
    }

    /// The token as a node gets to see it, where the lease is a part of it.
    pub fn written(self, token: &Token, ttl: Duration, now: Timestamp) -> Option<Token> {
        match self {
            Self::Plain | Self::Redisson | Self::RedissonFair => None,
            Self::Legacy => legacy::written(token, ttl, now),
        }
    }

    /// What the owner's token and the lock's value have in common, where they may differ.
    pub fn sign(self, token: &Token) -> Option<&[u8]> {
        match self {
            Self::Plain | Self::Redisson | Self::RedissonFair => None,
            Self::Legacy => legacy::sign(token),
        }
    }

    /// Whether what a key holds says that the owner of this token has the lock.
    pub fn is_owner(self, token: &Token, value: &Value) -> bool {
        match value {
            Value::Text(value) => {
                let value = Token::from_bytes(value.clone());
                let sign = self.sign(token);
                value == *token || (sign.is_some() && legacy::sign(&value) == sign)
            }
            Value::Hash(fields) => fields.iter().any(|(field, _)| field == token.expose()),
            Value::Set(_)
            | Value::SortedSet(_)
            | Value::List(_)
            | Value::TooLarge
            | Value::Other { .. } => false,
        }
    }

    /// Another token of the same owner, for another try.
    pub fn mint_again(self, token: &Token) -> Token {
        match self {
            Self::Plain => token.again(),
            Self::Redisson | Self::RedissonFair | Self::Legacy => self.mint(""),
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
        let bytes = token.expose().to_vec();
        let pttl = i64::try_from(millis(ttl)).unwrap_or(i64::MAX);
        let (value, pttl) = match self {
            Self::Plain => (Value::Text(bytes), pttl),
            Self::Redisson | Self::RedissonFair => {
                (Value::Hash(vec![(bytes, b"1".to_vec())]), pttl)
            }
            Self::Legacy => (Value::Text(bytes), -1),
        };
        found_there(key, value, pttl, now).map(|(owner, _)| owner)
    }

    /// Whether those who wait stand in a queue on the nodes: then each of them asks for itself, and leaves the queue.
    pub fn queues_on_nodes(self) -> bool {
        matches!(self, Self::RedissonFair)
    }

    /// Whether an owner that takes it again holds it more often, and has to release it as often.
    pub fn counts(self) -> bool {
        matches!(self, Self::Redisson | Self::RedissonFair)
    }

    /// For how long a node that could not be asked is told of a release, once it comes back. Then the lease has to do.
    pub fn told_later(self, request: &Request) -> Duration {
        match self {
            Self::Plain | Self::Legacy => Duration::from_mins(5),
            Self::Redisson | Self::RedissonFair => request.retried_for(),
        }
    }

    /// Asks a node for the lock.
    pub async fn take(
        self,
        line: Line<impl Connection>,
        clock: &Clock,
        bid: &Bid<'_>,
    ) -> RedisResult<Vote> {
        match self {
            Self::Plain => plain::take(line, clock, bid).await,
            Self::Redisson => redisson::take(line, clock, bid, redisson::Order::Any).await,
            Self::RedissonFair => redisson::take(line, clock, bid, redisson::Order::Fair).await,
            Self::Legacy => legacy::take(line, clock, bid).await,
        }
    }

    /// Makes the lease on a node longer, never shorter. `written` is the token as the node is to see it. Where it was done,
    /// also how the lock is written there.
    pub async fn extend(
        self,
        line: Line<impl Connection>,
        key: &LockKey,
        (token, written): (&Token, &Token),
        ttl: Duration,
    ) -> RedisResult<(Told, Option<Form>)> {
        let told = match self {
            Self::Plain => plain::extend(line.clone(), key, token, ttl).await?,
            Self::Redisson | Self::RedissonFair => {
                redisson::extend(line.clone(), key, token, ttl).await?
            }
            Self::Legacy => legacy::extend(line.clone(), key, token, written).await?,
        };
        let (layout, told) = if self != Self::Plain && is_plain(&told) {
            (Self::Plain, plain::extend(line, key, token, ttl).await?)
        } else {
            (self, told)
        };
        Ok(match told {
            Told::HeldStill { holds } => (Told::Done, Some(Form { layout, holds })),
            Told::Done | Told::Rewritten => (told, Some(Form { layout, holds: 1 })),
            Told::NotThere | Told::OtherOwner { .. } | Told::WrongType { .. } => (told, None),
        })
    }

    /// Puts the lock back on a node that lost it, as it is elsewhere. Whoever does so has to hold the lock on a quorum: then
    /// it can keep nobody else from it.
    pub async fn put_back(
        form: Form,
        line: Line<impl Connection>,
        clock: &Clock,
        bid: &Bid<'_>,
    ) -> RedisResult<bool> {
        // Its owner stands in no queue: it has the lock already.
        let layout = match form.layout {
            Self::RedissonFair => Self::Redisson,
            other => other,
        };
        let vote = layout.take(line.clone(), clock, bid).await?;
        if !matches!(vote, Vote::Ours { .. }) {
            return Ok(false);
        }
        let again = Bid {
            brought: true,
            ..*bid
        };
        for _ in 1..form.holds {
            layout.take(line.clone(), clock, &again).await?;
        }
        Ok(true)
    }

    /// Releases on a node, as the owner does: where entries count, one of them, and once for each request.
    pub async fn release(
        self,
        line: Line<impl Connection>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        request: &Request,
    ) -> RedisResult<Told> {
        let told = match self {
            Self::Plain => return plain::release(line, key, token).await,
            Self::Redisson | Self::RedissonFair => {
                redisson::release(line.clone(), clock, key, token, request).await?
            }
            Self::Legacy => legacy::release(line.clone(), key, token).await?,
        };
        if is_plain(&told) {
            return plain::release(line, key, token).await;
        }
        Ok(told)
    }

    /// Takes back on a node whatever a failed acquire may have left there, the place in the queue of one who waited this
    /// long included. May be done again and again.
    pub async fn withdraw(
        self,
        line: Line<impl Connection>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        waited: Duration,
    ) -> RedisResult<Told> {
        match self {
            Self::Plain => plain::release(line, key, token).await,
            Self::Redisson | Self::RedissonFair => {
                redisson::withdraw(line, clock, key, token, waited).await
            }
            Self::Legacy => legacy::release(line, key, token).await,
        }
    }

    /// Leaves the queue on a node, and nothing else. May be done again and again.
    pub async fn leave(
        self,
        line: Line<impl Connection>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        waited: Duration,
    ) -> RedisResult<Told> {
        match self {
            Self::RedissonFair => redisson::leave(line, clock, key, token, waited).await,
            Self::Plain | Self::Redisson | Self::Legacy => Ok(Told::NotThere),
        }
    }
}

/// The token's shape misled: a plain lock may have any value.
fn is_plain(told: &Told) -> bool {
    matches!(told, Told::WrongType { type_name } if type_name == "string")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(token: &str) -> Layout {
        Layout::of_token(&Token::from_bytes(token))
    }

    #[test]
    fn a_tokens_shape_names_its_layout() {
        let uuid = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
        assert_eq!(of(&format!("{uuid}:87")), Layout::Redisson);
        assert_eq!(of(&format!("{uuid}:{uuid}")), Layout::Redisson);
        for moment in ["1795200545.123456789", "1795200545", "1795200545250"] {
            assert_eq!(of(moment), Layout::Legacy);
        }
        for plain in [uuid, "lockkeeper:me:00", "42", "", "1795200545.x"] {
            assert_eq!(of(plain), Layout::Plain, "{plain}");
        }
    }

    #[test]
    fn a_fresh_token_is_one_of_its_layout_and_cannot_be_guessed() {
        for layout in [
            Layout::Plain,
            Layout::Redisson,
            Layout::RedissonFair,
            Layout::Legacy,
        ] {
            let (one, other) = (layout.mint("me"), layout.mint("me"));
            assert_eq!(layout.objection(&one), None);
            assert_ne!(one, other);
            let alike = match layout {
                Layout::RedissonFair => Layout::Redisson,
                other => other,
            };
            assert_eq!(Layout::of_token(&one), alike);
        }
    }

    #[test]
    fn a_token_of_another_shape_is_objected_to_except_in_a_plain_lock() {
        let token = Token::from_bytes("mine");
        assert_eq!(Layout::Plain.objection(&token), None);
        for layout in [Layout::Redisson, Layout::RedissonFair, Layout::Legacy] {
            assert!(layout.objection(&token).is_some());
        }
        let without_sign = Token::from_bytes("1795200545250");
        assert!(Layout::Legacy.objection(&without_sign).is_some());
    }
}
