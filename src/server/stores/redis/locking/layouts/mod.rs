//! The layouts in which this console acquires locks, one file each, with the commands for a single
//! node.
//!
//! | layout | key | token | mutually exclusive with |
//! |---|---|---|---|
//! | [`plain`] | string with a TTL | its value | most libraries |
//! | [`redisson`] | hash with a TTL | its field | Redisson's `RLock`, node-redisson; has a hold count |
//! | [`redisson`], fair | the same, and a wait queue | its field | `RFairLock`, in order |
//! | [`legacy`] | string without a TTL | the fractional digits of its value | `SETNX`, `GETSET` |
//!
//! The futures of the other layouts are boxed: the largest one would set the size of every request,
//! which is copied several times on its way.

mod legacy;
mod permissions;
mod plain;
pub mod redisson;

use std::time::Duration;

pub use permissions::Permissions;
pub(in crate::server::stores::redis::locking) use permissions::add_required_permissions;
pub use plain::{nonzero_millis, release as release_string};
use redis::RedisResult;
pub use redisson::{QUEUE_ENTRY_TTL, ReleaseRequest, fair_queue_keys};

use super::Token;
use super::conflicting_owner::owner_at;
use super::quorum_round::NodeReply;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{Fingerprint, Format, LockKey, Owner, Timestamp};
use crate::server::clock::Clock;
use crate::server::stores::redis::key_state::RedisValue;
use crate::server::stores::redis::nodes::connection::Connection;
use crate::server::stores::redis::nodes::lock_node::RedisTransport;
use crate::server::stores::redis::nodes::scripts::ScriptReply;

/// The layout of a lock in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `SET key token NX PX ttl`: what most libraries write.
    Plain,
    /// Redisson's hash, a reentrant lock.
    Redisson,
    /// Redisson's hash with a wait queue.
    RedissonFair,
    /// A string with a timestamp and no TTL.
    Legacy,
}

/// How a node stores a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredForm {
    /// The layout.
    pub layout: Layout,
    /// Its hold count.
    pub holds: u32,
}

impl StoredForm {
    /// The maximum hold count that is restored: each hold takes one request.
    pub const MAX_HOLDS: u32 = 16;
}

/// The acquire request to one node.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// The key of the lock.
    pub key: &'a LockKey,
    /// The owner's token as it is written.
    pub token: &'a Token,
    /// The lease duration.
    pub ttl: Duration,
    /// How long the entry in the wait queue is valid; zero for an acquire that does not wait.
    pub wait: Duration,
    /// By how much this request extends an existing entry in the wait queue.
    pub extra_wait: Duration,
    /// The proposed fencing token; `None` if fencing is disabled.
    pub proposed_fence: Option<u64>,
    /// The time to live of the fencing counter.
    pub fence_ttl: Duration,
    /// This is the only node of the group, so its counters are those of the whole group.
    pub is_only_node: bool,
    /// The caller supplied the token, so its owner may already hold the lock. A lock found under a
    /// token that was generated for this acquire is from an earlier attempt whose reply was lost.
    pub caller_supplied: bool,
    /// A timestamp in the past under this key is an expired lock, so it may be taken over.
    pub may_take_over: bool,
}

impl LockRequest<'_> {
    /// The reply of a node that granted this request. `fence` is the node's fencing token, if it is
    /// not the proposed one.
    fn granted(&self, is_reentrant: bool, fence: Option<u64>) -> NodeReply {
        NodeReply::Ours {
            // A generated token that is found was stored by an earlier attempt whose reply was
            // lost.
            already_held: is_reentrant && self.caller_supplied,
            fence: self
                .proposed_fence
                .map(|proposed| fence.unwrap_or(proposed)),
        }
    }
}

impl Layout {
    /// The layout for a format, if locks of that format can be acquired here.
    pub fn for_format(format: Format) -> Option<Self> {
        let layouts = [
            (Format::Plain, Self::Plain),
            (Format::Redisson, Self::Redisson),
            (Format::RedissonFair, Self::RedissonFair),
            (Format::LegacyTimestamp, Self::Legacy),
        ];
        layouts
            .into_iter()
            .find_map(|(of, layout)| (of == format).then_some(layout))
    }

    /// The layout that the form of a token suggests, which is tried first. Fair and non-fair
    /// Redisson locks are extended and released alike.
    pub fn of_token(token: &Token) -> Self {
        if redisson::is_owner_field(token) {
            Self::Redisson
        } else if legacy::is_timestamp(token) {
            Self::Legacy
        } else {
            Self::Plain
        }
    }

    /// The format of this layout.
    pub fn format(self) -> Format {
        match self {
            Self::Plain => Format::Plain,
            Self::Redisson => Format::Redisson,
            Self::RedissonFair => Format::RedissonFair,
            Self::Legacy => Format::LegacyTimestamp,
        }
    }

    /// Identifies a hold within this process, whichever of its tokens is given.
    pub fn hold_id(token: &Token) -> Fingerprint {
        let canonical = legacy::canonical_token(token);
        canonical.as_ref().unwrap_or(token).fingerprint()
    }

    /// What a token of this layout must look like, if this one does not.
    pub fn invalid_token_reason(self, token: &Token) -> Option<InvalidValue> {
        match self {
            Self::Plain => None,
            Self::Redisson | Self::RedissonFair => {
                (!redisson::is_owner_field(token)).then_some(InvalidValue::NotARedissonToken)
            }
            Self::Legacy => legacy::owner_id(token)
                .is_none()
                .then_some(InvalidValue::NotATimestampToken),
        }
    }

    /// Generates a token for this layout. Only a plain token contains the label.
    pub fn generate_token(self, label: &str) -> Token {
        match self {
            Self::Plain => Token::generate(label),
            Self::Redisson | Self::RedissonFair => redisson::generate_token(),
            Self::Legacy => legacy::generate_token(),
        }
    }

    /// The token as it is stored, if it contains the expiry.
    pub fn stored_token(self, token: &Token, ttl: Duration, now: Timestamp) -> Option<Token> {
        match self {
            Self::Plain | Self::Redisson | Self::RedissonFair => None,
            Self::Legacy => legacy::stored_token(token, ttl, now),
        }
    }

    /// The part of the token that identifies the owner, if the stored value can differ from the
    /// token.
    pub fn owner_id(self, token: &Token) -> Option<&[u8]> {
        match self {
            Self::Plain | Self::Redisson | Self::RedissonFair => None,
            Self::Legacy => legacy::owner_id(token),
        }
    }

    /// Whether a value shows that the owner of this token holds the lock.
    pub fn is_owner(self, token: &Token, value: &RedisValue) -> bool {
        match value {
            RedisValue::Text(value) => {
                let value = Token::from_bytes(value.clone());
                let owner_id = self.owner_id(token);
                // The stored value may be from another extend of the same hold.
                value == *token || (owner_id.is_some() && legacy::owner_id(&value) == owner_id)
            }
            RedisValue::Hash(fields) => fields.iter().any(|(field, _)| field == token.expose()),
            RedisValue::Set(_)
            | RedisValue::SortedSet(_)
            | RedisValue::List(_)
            | RedisValue::TooLarge
            | RedisValue::Other { .. } => false,
        }
    }

    /// Generates another token of the same owner, for the next attempt.
    pub fn regenerate_token(self, token: &Token) -> Token {
        match self {
            Self::Plain => token.regenerate(),
            Self::Redisson | Self::RedissonFair | Self::Legacy => self.generate_token(""),
        }
    }

    /// The owner that a lock of this layout shows after an acquire with this token.
    pub fn owner(
        self,
        key: &LockKey,
        token: &Token,
        ttl: Duration,
        now: Timestamp,
    ) -> Option<Owner> {
        let bytes = token.expose().to_vec();
        let pttl = i64::try_from(nonzero_millis(ttl)).unwrap_or(i64::MAX);
        let (value, pttl) = match self {
            Self::Plain => (RedisValue::Text(bytes), pttl),
            Self::Redisson | Self::RedissonFair => {
                (RedisValue::Hash(vec![(bytes, b"1".to_vec())]), pttl)
            }
            // `PTTL` returns -1 for a key without expiry.
            Self::Legacy => (RedisValue::Text(bytes), -1),
        };
        owner_at(key, value, pttl, now).map(|(owner, _)| owner)
    }

    /// Whether waiters queue on the nodes. Each of them then sends its own requests, and must leave
    /// the queue.
    pub fn has_node_queue(self) -> bool {
        matches!(self, Self::RedissonFair)
    }

    /// Whether acquiring again increments a hold count, so that each hold must be released.
    pub fn counts_holds(self) -> bool {
        matches!(self, Self::Redisson | Self::RedissonFair)
    }

    /// How long a release is retried on an unreachable node. After that the lock expires with its
    /// lease.
    pub fn release_retry_window(self, request: &ReleaseRequest) -> Duration {
        match self {
            Self::Plain | Self::Legacy => Duration::from_mins(5),
            Self::Redisson | Self::RedissonFair => request.retry_window(),
        }
    }

    /// Acquires the lock on one node.
    pub async fn acquire(
        self,
        connection: Connection<impl RedisTransport>,
        clock: &Clock,
        request: &LockRequest<'_>,
    ) -> RedisResult<NodeReply> {
        match self {
            Self::Plain => plain::acquire(connection, clock, request).await,
            Self::Redisson => {
                let non_fair = redisson::Fairness::NonFair;
                Box::pin(redisson::acquire(connection, clock, request, non_fair)).await
            }
            Self::RedissonFair => {
                let fair = redisson::Fairness::Fair;
                Box::pin(redisson::acquire(connection, clock, request, fair)).await
            }
            Self::Legacy => Box::pin(legacy::acquire(connection, clock, request)).await,
        }
    }

    /// Extends the lease on one node; never shortens it. `stored_token` is the token as it is to be
    /// stored. On success also returns how the node stores the lock.
    pub async fn extend(
        self,
        connection: Connection<impl RedisTransport>,
        key: &LockKey,
        (token, stored_token): (&Token, &Token),
        ttl: Duration,
    ) -> RedisResult<(ScriptReply, Option<StoredForm>)> {
        let reply = match self {
            Self::Plain => plain::extend(connection.clone(), key, token, ttl).await?,
            Self::Redisson | Self::RedissonFair => {
                Box::pin(redisson::extend(connection.clone(), key, token, ttl)).await?
            }
            Self::Legacy => {
                Box::pin(legacy::extend(connection.clone(), key, token, stored_token)).await?
            }
        };
        // The value of a plain lock can have any form, so it can look like a token of this layout.
        let (layout, reply) = if self != Self::Plain && is_plain_string(&reply) {
            (
                Self::Plain,
                plain::extend(connection, key, token, ttl).await?,
            )
        } else {
            (self, reply)
        };
        Ok(match reply {
            ScriptReply::StillHeld { holds } => {
                (ScriptReply::Done, Some(StoredForm { layout, holds }))
            }
            ScriptReply::Done | ScriptReply::Rewritten => {
                (reply, Some(StoredForm { layout, holds: 1 }))
            }
            ScriptReply::Missing
            | ScriptReply::OtherOwner { .. }
            | ScriptReply::WrongType { .. } => (reply, None),
        })
    }

    /// Restores the lock on a node that lost it, as it is stored on the other nodes. The caller
    /// must hold the lock on a quorum: then this cannot exclude another owner.
    pub async fn restore(
        form: StoredForm,
        connection: Connection<impl RedisTransport>,
        clock: &Clock,
        request: &LockRequest<'_>,
    ) -> RedisResult<bool> {
        // The owner already holds the lock and does not queue.
        let layout = match form.layout {
            Self::RedissonFair => Self::Redisson,
            other => other,
        };
        let reply = layout.acquire(connection.clone(), clock, request).await?;
        if !matches!(reply, NodeReply::Ours { .. }) {
            return Ok(false);
        }
        // The script only increments the hold count for a caller-supplied token.
        let reentrant_request = LockRequest {
            caller_supplied: true,
            ..*request
        };
        for _ in 1..form.holds {
            layout
                .acquire(connection.clone(), clock, &reentrant_request)
                .await?;
        }
        Ok(true)
    }

    /// Releases the lock on one node as its owner. A reentrant lock is decremented, once per
    /// release request.
    pub async fn release(
        self,
        connection: Connection<impl RedisTransport>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        request: &ReleaseRequest,
    ) -> RedisResult<ScriptReply> {
        let reply = match self {
            Self::Plain => return plain::release(connection, key, token).await,
            Self::Redisson | Self::RedissonFair => {
                let release = redisson::release(connection.clone(), clock, key, token, request);
                Box::pin(release).await?
            }
            Self::Legacy => Box::pin(legacy::release(connection.clone(), key, token)).await?,
        };
        // See `extend`: the token may belong to a plain lock.
        if is_plain_string(&reply) {
            return Box::pin(plain::release(connection, key, token)).await;
        }
        Ok(reply)
    }

    /// Removes everything that a failed acquire may have left on one node, including its entry in
    /// the wait queue. Idempotent.
    pub async fn rollback(
        self,
        connection: Connection<impl RedisTransport>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        queued_for: Duration,
    ) -> RedisResult<ScriptReply> {
        match self {
            Self::Plain => plain::release(connection, key, token).await,
            Self::Redisson | Self::RedissonFair => {
                Box::pin(redisson::rollback(
                    connection, clock, key, token, queued_for,
                ))
                .await
            }
            Self::Legacy => Box::pin(legacy::release(connection, key, token)).await,
        }
    }

    /// Leaves the wait queue on one node. Idempotent.
    pub async fn leave_queue(
        self,
        connection: Connection<impl RedisTransport>,
        clock: &Clock,
        key: &LockKey,
        token: &Token,
        queued_for: Duration,
    ) -> RedisResult<ScriptReply> {
        match self {
            Self::RedissonFair => {
                Box::pin(redisson::leave_queue(
                    connection, clock, key, token, queued_for,
                ))
                .await
            }
            Self::Plain | Self::Redisson | Self::Legacy => Ok(ScriptReply::Missing),
        }
    }
}

/// Whether the form of the token was misleading: a plain lock can have any value.
fn is_plain_string(reply: &ScriptReply) -> bool {
    matches!(reply, ScriptReply::WrongType { type_name } if type_name == "string")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout_of(token: &str) -> Layout {
        Layout::of_token(&Token::from_bytes(token))
    }

    #[test]
    fn the_form_of_a_token_determines_its_layout() {
        let uuid = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
        assert_eq!(layout_of(&format!("{uuid}:87")), Layout::Redisson);
        assert_eq!(layout_of(&format!("{uuid}:{uuid}")), Layout::Redisson);
        for timestamp in ["1795200545.123456789", "1795200545", "1795200545250"] {
            assert_eq!(layout_of(timestamp), Layout::Legacy);
        }
        for plain in [uuid, "lockkeeper:me:00", "42", "", "1795200545.x"] {
            assert_eq!(layout_of(plain), Layout::Plain, "{plain}");
        }
    }

    #[test]
    fn a_generated_token_is_valid_for_its_layout_and_unique() {
        for layout in [
            Layout::Plain,
            Layout::Redisson,
            Layout::RedissonFair,
            Layout::Legacy,
        ] {
            let (first, second) = (layout.generate_token("me"), layout.generate_token("me"));
            assert_eq!(layout.invalid_token_reason(&first), None);
            assert_ne!(first, second);
            let expected = match layout {
                Layout::RedissonFair => Layout::Redisson,
                other => other,
            };
            assert_eq!(Layout::of_token(&first), expected);
        }
    }

    #[test]
    fn a_token_of_another_form_is_invalid_except_for_a_plain_lock() {
        let token = Token::from_bytes("mine");
        assert_eq!(Layout::Plain.invalid_token_reason(&token), None);
        for layout in [Layout::Redisson, Layout::RedissonFair, Layout::Legacy] {
            assert!(layout.invalid_token_reason(&token).is_some());
        }
        let without_owner_id = Token::from_bytes("1795200545250");
        assert!(
            Layout::Legacy
                .invalid_token_reason(&without_owner_id)
                .is_some()
        );
    }
}
