//! Redisson's hash: `RLock` and, with a wait queue beside it, `RFairLock`. node-redisson writes the
//! same hash.
//!
//! ```text
//! HSET order:42  6d1f0c3e-…-fe05:1  2      PEXPIRE order:42 30000      owner field: hold count
//! RPUSH redisson_lock_queue:{order:42}   6d1f0c3e-…-fe05:2             waiters, in order
//! ZADD redisson_lock_timeout:{order:42}  1795200845000 6d1f0c3e-…      their deadlines, in milliseconds
//! ```
//!
//! **Reentrancy.** An acquire with a token that already holds the lock increments its hold count;
//! the lock is free after as many releases. Acquiring again, extending and releasing one of several
//! holds never shorten the lease, whereas Redisson sets it to that of the last call: the first
//! holder was promised a longer validity. An acquire that fails to reach a quorum decrements the
//! count where it is known to have incremented it. A node that did not reply may be left with one
//! hold too many until the lease expires.
//!
//! **Releasing once.** A release carries a random id, which a node stores for `release_marker_ttl`
//! in the same key beside the lock that Redisson uses. A release that is repeated because its reply
//! was lost does not count twice. It is repeated for half of that time.
//!
//! **Waking waiters.** A release publishes `0` on the channel of the lock, and on the channel of
//! the head of the wait queue. In a cluster it publishes to the sharded channels as well, because
//! Redisson subscribes there (`ClusterConnectionManager`).
//!
//! **Fair queue.** A waiter for a fair lock is in the queue of every node from its first attempt
//! until it acquires the lock, gives up or disconnects. The entry of a crashed waiter is removed by
//! the others when its deadline has passed: the end of the lease or the deadline of the previous
//! entry, plus its own wait time. As in Redisson, these timestamps come from the clients' clocks. A
//! waiter that waits longer than [`QUEUE_ENTRY_TTL`] renews its entry, so that a crashed one blocks
//! the queue for no longer than that. The queues of several nodes can have different orders. A
//! waiter that fails for that reason moves to the end of the queues in which it was first, so that
//! one of them eventually proceeds, though not always the first to arrive.
//!
//! **Permissions.** [`Layout::permissions`](super::Layout::permissions) lists them. Without those
//! of the queue and the channels a release still frees the lock, but wakes no waiter.
//!
//! **Fencing.** Our counter is stored beside the lock under our own key. An `RFencedLock` has a
//! counter of its own without expiry (`redisson_lock_token:{…}`). For such a lock that counter is
//! incremented and returned, since a resource compares our token with those of Java clients. This
//! requires that one server serves the lock. With several servers each has its own counter and no
//! common order is guaranteed, so acquiring such a lock is rejected there.
//!
//! Sources: `RedissonLock`, `RedissonFairLock`, `RedissonObject.prefixName`.

use std::time::Duration;

use redis::{RedisResult, ScriptInvocation};

use super::plain::{add_fence_arguments, node_reply};
use super::{LockRequest, nonzero_millis};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::stores::redis::formats;
use crate::server::stores::redis::key_state::RedisValue;
use crate::server::stores::redis::locking::Token;
use crate::server::stores::redis::locking::quorum_round::NodeReply;
use crate::server::stores::redis::nodes::connection::Connection;
use crate::server::stores::redis::nodes::lock_node::RedisTransport;
use crate::server::stores::redis::nodes::scripts::{
    ACQUIRE_REDISSON, AcquireReply, EXTEND_REDISSON, RELEASE_REDISSON, ScriptReply,
};

/// How long an entry in the wait queue is valid without renewal; the same as Redisson's default.
pub const QUEUE_ENTRY_TTL: Duration = Duration::from_mins(5);

/// The order in which waiters acquire the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// The first client to try after the release.
    NonFair,
    /// The first client in the queue.
    Fair,
}

/// Identifies one release, so that repeating it has no effect.
#[derive(Clone, Debug)]
pub struct ReleaseRequest {
    id: u128,
    marker_ttl: Duration,
}

impl ReleaseRequest {
    /// Creates a new release request whose id the nodes store for this long.
    pub fn new(marker_ttl: Duration) -> Self {
        Self {
            id: rand::random(),
            marker_ttl,
        }
    }

    /// How long a release is repeated on a node that may have missed it: half the time for which
    /// the node stores the id.
    pub fn retry_window(&self) -> Duration {
        self.marker_ttl / 2
    }
}

/// Whether this is an owner field as written by Redisson or node-redisson.
pub fn is_owner_field(token: &Token) -> bool {
    formats::redisson_owner::is_owner(token.expose())
}

/// Generates an owner field; its UUID makes it unguessable.
pub fn generate_token() -> Token {
    // Version and variant bits of a random UUID (RFC 9562).
    const VERSION_4: u128 = 0x4 << 76;
    const VARIANT: u128 = 0b10 << 62;
    let random = rand::random::<u128>() & !(0xf << 76) & !(0b11 << 62);
    let hex = format!("{:032x}", random | VERSION_4 | VARIANT);
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    Token::from_bytes(format!("{}:1", parts.join("-")))
}

/// Acquires the lock, increments its hold count, or enters the wait queue.
pub async fn acquire(
    mut connection: Connection<impl RedisTransport>,
    clock: &Clock,
    request: &LockRequest<'_>,
    fairness: Fairness,
) -> RedisResult<NodeReply> {
    let mut script = ACQUIRE_REDISSON.key(request.key.as_bytes());
    if fairness == Fairness::Fair {
        // The script uses the wait queue if its keys are passed.
        script
            .key(queue_key(request.key))
            .key(deadlines_key(request.key));
    }
    script
        .arg(request.token.expose())
        .arg(nonzero_millis(request.ttl))
        .arg(u8::from(request.caller_supplied))
        .arg(clock.now().millis())
        .arg(whole_millis(request.wait))
        // Not a key of the script, so that a user without access to it can acquire locks that have
        // no such counter.
        .arg(companion_key("redisson_lock_token", request.key))
        .arg(u8::from(request.is_only_node))
        .arg(whole_millis(request.extra_wait));
    add_fence_arguments(&mut script, request);
    match script.invoke_async(&mut connection.transport).await? {
        AcquireReply::Rejected(reply) if is_foreign_hash(&reply) => {
            Ok(NodeReply::WrongType("hash".to_owned()))
        }
        reply => node_reply(connection, clock, request, reply).await,
    }
}

/// Whether this is a hash with fields that Redisson did not write.
fn is_foreign_hash(reply: &ScriptReply) -> bool {
    let ScriptReply::OtherOwner {
        value: RedisValue::Hash(fields),
        pttl,
    } = reply
    else {
        return false;
    };
    // `PTTL` is -2 if the lock is free and the reported owner is the head of the wait queue.
    let exists = *pttl != -2;
    exists
        && !fields
            .iter()
            .all(|(field, _)| formats::redisson_owner::is_owner(field))
}

/// Extends the lease if the token owns the lock.
pub async fn extend(
    mut connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> RedisResult<ScriptReply> {
    let mut script = EXTEND_REDISSON.key(key.as_bytes());
    script.arg(token.expose()).arg(nonzero_millis(ttl));
    script.invoke_async(&mut connection.transport).await
}

/// Decrements the hold count, and frees the lock at zero.
pub async fn release(
    connection: Connection<impl RedisTransport>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    ReleaseRequest { id, marker_ttl }: &ReleaseRequest,
) -> RedisResult<ScriptReply> {
    let mut script = RELEASE_REDISSON.key(key.as_bytes());
    let latch = companion_key("redisson_unlock_latch", key);
    script.key([latch, format!(":{id:032x}").into_bytes()].concat());
    let mode = ("once", *marker_ttl);
    run_release_script(connection, clock, script, (key, token.expose()), mode, None).await
}

/// Removes the owner's field, and its entry in the wait queue if it waited.
pub async fn rollback(
    connection: Connection<impl RedisTransport>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    queued_for: Duration,
) -> RedisResult<ScriptReply> {
    let script = RELEASE_REDISSON.key(key.as_bytes());
    let queued_for = Some(queued_for).filter(|queued_for| !queued_for.is_zero());
    let mode = ("all", Duration::ZERO);
    run_release_script(
        connection,
        clock,
        script,
        (key, token.expose()),
        mode,
        queued_for,
    )
    .await
}

/// Leaves the wait queue.
pub async fn leave_queue(
    connection: Connection<impl RedisTransport>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    queued_for: Duration,
) -> RedisResult<ScriptReply> {
    let script = RELEASE_REDISSON.key(key.as_bytes());
    let owner = (key, token.expose());
    let mode = ("leave", Duration::ZERO);
    run_release_script(connection, clock, script, owner, mode, Some(queued_for)).await
}

async fn run_release_script(
    mut connection: Connection<impl RedisTransport>,
    clock: &Clock,
    mut script: ScriptInvocation<'_>,
    (key, field): (&LockKey, &[u8]),
    (mode, marker_ttl): (&str, Duration),
    queued_for: Option<Duration>,
) -> RedisResult<ScriptReply> {
    let queued_for = queued_for.map_or_else(String::new, |queued_for| {
        whole_millis(queued_for).to_string()
    });
    script
        .arg(field)
        .arg(mode)
        .arg(clock.now().millis())
        .arg(queued_for)
        .arg(queue_key(key))
        .arg(deadlines_key(key))
        .arg(nonzero_millis(marker_ttl));
    for argument in publish_arguments(
        &connection,
        &unlock_channels(key),
        PublishScope::ClusterAndShard,
    ) {
        script.arg(argument);
    }
    script.invoke_async(&mut connection.transport).await
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The keys beside a fair lock: its wait queue, and the deadlines of the waiters.
pub fn fair_queue_keys(key: &LockKey) -> (LockKey, LockKey) {
    (
        LockKey::new(queue_key(key)),
        LockKey::new(deadlines_key(key)),
    )
}

/// The key of the list of waiters, in order.
pub fn queue_key(key: &LockKey) -> Vec<u8> {
    companion_key("redisson_lock_queue", key)
}

/// The key of the sorted set of the waiters' deadlines.
pub fn deadlines_key(key: &LockKey) -> Vec<u8> {
    companion_key("redisson_lock_timeout", key)
}

/// The channels to which the clients of a library subscribe in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishScope {
    /// Channels of the whole cluster (`SUBSCRIBE`).
    Cluster,
    /// Channels of the lock's shard as well (`SSUBSCRIBE`), Redisson's default since 3.22.
    ClusterAndShard,
}

/// The script arguments for publishing: each channel after its command, `PUBLISH` and, if clients
/// subscribe to sharded channels, `SPUBLISH`. A user that may call only one of the two wakes the
/// subscribers of that one.
pub fn publish_arguments<C>(
    connection: &Connection<C>,
    channels: &[Vec<u8>],
    scope: PublishScope,
) -> Vec<Vec<u8>> {
    // Redisson subscribes to shard channels in a cluster only. Only `SPUBLISH` reaches those.
    let is_sharded = connection.is_in_cluster && scope == PublishScope::ClusterAndShard;
    let commands: &[&str] = if is_sharded {
        &["PUBLISH", "SPUBLISH"]
    } else {
        &["PUBLISH"]
    };
    let arguments = channels.iter().flat_map(|channel| {
        let pair = move |command: &&str| [command.as_bytes().to_vec(), channel.clone()];
        commands.iter().flat_map(pair)
    });
    arguments.collect()
}

/// The channels to which waiters subscribe. Redisson and node-redisson treat braces in the middle
/// of a name differently; for such names both channels are returned.
pub fn unlock_channels(key: &LockKey) -> Vec<Vec<u8>> {
    channels_with_prefix("redisson_lock__channel", key)
}

/// The channels with this prefix: each kind of lock has its own.
pub fn channels_with_prefix(prefix: &str, key: &LockKey) -> Vec<Vec<u8>> {
    let name = key.as_bytes();
    let mut channels = vec![companion_key(prefix, key)];
    if name.contains(&b'{') && !name.starts_with(b"{") {
        channels.push([prefix.as_bytes(), b":{", name, b"}"].concat());
    }
    channels
}

/// The name of a key or channel beside a lock: the lock's name in braces, so that both map to the
/// same cluster slot, unless it contains braces itself.
fn companion_key(prefix: &str, key: &LockKey) -> Vec<u8> {
    let name = key.as_bytes();
    let (open, close): (&[u8], &[u8]) = if name.contains(&b'{') {
        (b":", b"")
    } else {
        (b":{", b"}")
    };
    [prefix.as_bytes(), open, name, close].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companion_keys_contain_the_lock_name_in_braces() {
        assert_eq!(
            queue_key(&"order:42".into()),
            b"redisson_lock_queue:{order:42}"
        );
        assert_eq!(
            deadlines_key(&"order:{42}".into()),
            b"redisson_lock_timeout:order:{42}"
        );
        assert_eq!(
            unlock_channels(&"order:42".into()),
            [b"redisson_lock__channel:{order:42}"]
        );
        assert_eq!(
            unlock_channels(&"{order}:42".into()),
            [b"redisson_lock__channel:{order}:42"]
        );
        assert_eq!(
            unlock_channels(&"order:{42}".into()),
            [
                &b"redisson_lock__channel:order:{42}"[..],
                b"redisson_lock__channel:{order:{42}}"
            ]
        );
    }

    #[test]
    fn a_generated_owner_field_is_a_version_4_uuid_and_a_thread_id() {
        for _ in 0..100 {
            let token = generate_token();
            let text = String::from_utf8(token.expose().to_vec()).unwrap();
            assert!(is_owner_field(&token), "{text}");
            assert_eq!((&text[14..15], &text[36..]), ("4", ":1"));
            assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"), "{text}");
        }
    }
}
