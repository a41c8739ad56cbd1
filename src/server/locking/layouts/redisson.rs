//! Redisson's hash: `RLock` and, with a queue beside it, `RFairLock`. Also what node-redisson writes.
//!
//! ```text
//! HSET order:42  6d1f0c3e-…-fe05:1  2      PEXPIRE order:42 30000      owner's field : times entered
//! RPUSH redisson_lock_queue:{order:42}   6d1f0c3e-…-fe05:2             who waits, in order
//! ZADD redisson_lock_timeout:{order:42}  1795200845000 6d1f0c3e-…      until when, in milliseconds
//! ```
//!
//! **Entering again.** One who brings its token and holds the lock enters once more; it is free after as many releases. The
//! lease never becomes shorter by entering again, by extending or by releasing one of several holds, where Redisson sets it to the last
//! one's: whoever entered first was told until when to rely on it. An acquire that fails on a quorum counts down again
//! where it is known to have counted up; a node that did not answer may be left with one too many, until the lease ends.
//!
//! **Releasing once.** A release carries a number of its own, and a node remembers it for `release_marker_ttl`, as Redisson does
//! with the same key beside the lock: told again, because its answer got lost, it does not count a second time. It is told
//! again for half that time.
//!
//! **Waking.** A release says `0` on the lock's channel, and on the channel that the head of the queue listens to. In a
//! cluster it publishes to the channels of the shard as well, where Redisson subscribes (`ClusterConnectionManager`).
//!
//! **In line.** Whoever waits for a fair lock stands in the queue of every node from its first try, until it has the lock,
//! gives up or goes away; one that crashes is cleared away by the others when its time is over: the end of the lease or the
//! turn of whoever stands before it, and the time it wanted to wait. These moments are read from the clocks of the clients,
//! as Redisson does. Who waits longer than [`LONGEST_STAND`] says so again in time, so that one that crashed holds nobody up for
//! longer than that. Several nodes may have the same queue in another order; whoever fails for that goes back to the end
//! where it stood first, so that one of them gets ahead of the others in the end, but not always who came first.
//!
//! **Permissions.** [`Layout::permissions`](super::Layout::permissions) lists them. Without those of the queue and the
//! channels a release frees the lock all the same, and nobody is woken.
//!
//! **Fencing.** Our counter lies beside the lock under our own name. Where the key is an `RFencedLock`, which has a counter
//! without end of its own (`redisson_lock_token:{…}`), that one is counted up and answered: a resource compares our token with
//! those of Java. It is the lock's for as long as one server has it; where several servers give the lock, each has a counter of
//! its own, which promises nothing together, so such a lock is refused there.
//!
//! Sources: `RedissonLock`, `RedissonFairLock`, `RedissonObject.prefixName`.

use std::time::Duration;

use redis::{RedisResult, ScriptInvocation};

use super::plain::{theirs, with_fence};
use super::{Bid, millis};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::formats;
use crate::server::locking::Token;
use crate::server::locking::ballot::Vote;
use crate::server::nodes::line::Line;
use crate::server::nodes::lock_node::Connection;
use crate::server::nodes::scripts::{
    ACQUIRE_REDISSON, EXTEND_REDISSON, Given, RELEASE_REDISSON, Told,
};
use crate::server::sighting::Value;

/// What tokens look like.
pub const SHAPE: &str =
    "must look like Redisson's `<uuid>:<thread>`, the UUID in lower case, for this format";

/// For how long a place in line is kept at a time, as Redisson does by default.
pub const LONGEST_STAND: Duration = Duration::from_mins(5);

/// In what order those who want it get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whoever tries first after it became free.
    Any,
    /// Who came first.
    Fair,
}

/// Tells one release from another.
#[derive(Clone, Debug)]
pub struct Request {
    number: u128,
    remembered: Duration,
}

impl Request {
    /// A new one, which nodes remember for so long.
    pub fn new(remembered: Duration) -> Self {
        Self {
            number: rand::random(),
            remembered,
        }
    }

    /// For how long a node is told of a release that it may have missed: well before it forgets one that it did not miss.
    pub fn retried_for(&self) -> Duration {
        self.remembered / 2
    }
}

/// Whether this is a field as Redisson or node-redisson writes it.
pub fn is_field(token: &Token) -> bool {
    formats::redisson_owner::is_owner(token.expose())
}

/// A fresh field: the UUID is what cannot be guessed.
pub fn mint() -> Token {
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

/// Takes the lock, enters it once more, or stands in line.
pub async fn take(
    mut line: Line<impl Connection>,
    clock: &Clock,
    bid: &Bid<'_>,
    order: Order,
) -> RedisResult<Vote> {
    let mut script = ACQUIRE_REDISSON.key(bid.key.as_bytes());
    if order == Order::Fair {
        script.key(queue(bid.key)).key(deadlines(bid.key));
    }
    script
        .arg(bid.token.expose())
        .arg(millis(bid.ttl))
        .arg(u8::from(bid.brought))
        .arg(clock.now().millis())
        .arg(whole_millis(bid.wait))
        .arg(beside("redisson_lock_token", bid.key))
        .arg(u8::from(bid.is_only_node))
        .arg(whole_millis(bid.longer));
    with_fence(&mut script, bid);
    match script.invoke_async(&mut line.connection).await? {
        Given::Ours { again, fence } => Ok(Vote::Ours {
            again: again && bid.brought,
            fence: bid.fence.map(|_| fence),
        }),
        Given::Refused(told) if is_another_hash(&told) => Ok(Vote::WrongType("hash".to_owned())),
        Given::Refused(told) => theirs(line, clock, bid.key, told).await,
    }
}

/// A hash whose field no Redisson wrote.
fn is_another_hash(told: &Told) -> bool {
    let Told::OtherOwner {
        value: Value::Hash(fields),
        pttl,
    } = told
    else {
        return false;
    };
    let is_there = *pttl != -2;
    is_there
        && !fields
            .iter()
            .all(|(field, _)| formats::redisson_owner::is_owner(field))
}

/// Makes the lease longer if the lock is the owner's.
pub async fn extend(
    mut line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> RedisResult<Told> {
    let mut script = EXTEND_REDISSON.key(key.as_bytes());
    script.arg(token.expose()).arg(millis(ttl));
    script.invoke_async(&mut line.connection).await
}

/// Counts the lock down, and frees it at zero.
pub async fn release(
    line: Line<impl Connection>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    Request { number, remembered }: &Request,
) -> RedisResult<Told> {
    let mut script = RELEASE_REDISSON.key(key.as_bytes());
    let latch = beside("redisson_unlock_latch", key);
    script.key([latch, format!(":{number:032x}").into_bytes()].concat());
    let how = ("once", *remembered);
    run(line, clock, script, (key, token.expose()), how, None).await
}

/// Takes the owner's field away, and its place in the queue if it waited.
pub async fn withdraw(
    line: Line<impl Connection>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    waited: Duration,
) -> RedisResult<Told> {
    let script = RELEASE_REDISSON.key(key.as_bytes());
    let waited = Some(waited).filter(|waited| !waited.is_zero());
    let how = ("all", Duration::ZERO);
    run(line, clock, script, (key, token.expose()), how, waited).await
}

/// Leaves the queue.
pub async fn leave(
    line: Line<impl Connection>,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    waited: Duration,
) -> RedisResult<Told> {
    let script = RELEASE_REDISSON.key(key.as_bytes());
    let owner = (key, token.expose());
    let how = ("leave", Duration::ZERO);
    run(line, clock, script, owner, how, Some(waited)).await
}

async fn run(
    mut line: Line<impl Connection>,
    clock: &Clock,
    mut script: ScriptInvocation<'_>,
    (key, field): (&LockKey, &[u8]),
    (how, remembered): (&str, Duration),
    waited: Option<Duration>,
) -> RedisResult<Told> {
    let waited = waited.map_or_else(String::new, |waited| whole_millis(waited).to_string());
    script
        .arg(field)
        .arg(how)
        .arg(clock.now().millis())
        .arg(waited)
        .arg(queue(key))
        .arg(deadlines(key))
        .arg(millis(remembered));
    for argument in publishing(&line, &channels(key), Subscribers::OfShards) {
        script.arg(argument);
    }
    script.invoke_async(&mut line.connection).await
}

fn whole_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// What lies beside a fair lock: who waits for it, in order, and until when each does.
pub fn fair_queue(key: &LockKey) -> (LockKey, LockKey) {
    (LockKey::new(queue(key)), LockKey::new(deadlines(key)))
}

/// Who waits for a fair lock, in order.
pub fn queue(key: &LockKey) -> Vec<u8> {
    beside("redisson_lock_queue", key)
}

/// Until when each of them does.
pub fn deadlines(key: &LockKey) -> Vec<u8> {
    beside("redisson_lock_timeout", key)
}

/// Which channels the clients of a library subscribe to in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribers {
    /// Those of the whole cluster (`SUBSCRIBE`).
    OfTheCluster,
    /// Those of the lock's shard as well (`SSUBSCRIBE`), as Redisson does since 3.22 by default.
    OfShards,
}

/// What a script is told to publish: each channel behind the command, `PUBLISH` and, where clients subscribe to channels of
/// shards, `SPUBLISH`. A user that may not call one of them wakes the subscribers of the other.
pub fn publishing<C>(
    line: &Line<C>,
    channels: &[Vec<u8>],
    subscribers: Subscribers,
) -> Vec<Vec<u8>> {
    let of_shards = line.is_in_cluster && subscribers == Subscribers::OfShards;
    let commands: &[&str] = if of_shards {
        &["PUBLISH", "SPUBLISH"]
    } else {
        &["PUBLISH"]
    };
    let each = channels.iter().flat_map(|channel| {
        let told = move |command: &&str| [command.as_bytes().to_vec(), channel.clone()];
        commands.iter().flat_map(told)
    });
    each.collect()
}

/// The channels that waiters listen to: one, or where Redisson and node-redisson disagree about braces in the middle of a
/// name, that of each.
pub fn channels(key: &LockKey) -> Vec<Vec<u8>> {
    channels_of("redisson_lock__channel", key)
}

/// The channels with this prefix: each kind of lock has its own.
pub fn channels_of(prefix: &str, key: &LockKey) -> Vec<Vec<u8>> {
    let name = key.as_bytes();
    let mut channels = vec![beside(prefix, key)];
    if name.contains(&b'{') && !name.starts_with(b"{") {
        channels.push([prefix.as_bytes(), b":{", name, b"}"].concat());
    }
    channels
}

/// The name of something beside a lock: the lock's in braces, so that both are served by the same node of a cluster,
/// unless it has braces of its own.
fn beside(prefix: &str, key: &LockKey) -> Vec<u8> {
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
    fn what_is_beside_a_lock_carries_its_name_in_braces() {
        assert_eq!(queue(&"order:42".into()), b"redisson_lock_queue:{order:42}");
        assert_eq!(
            deadlines(&"order:{42}".into()),
            b"redisson_lock_timeout:order:{42}"
        );
        assert_eq!(
            channels(&"order:42".into()),
            [b"redisson_lock__channel:{order:42}"]
        );
        assert_eq!(
            channels(&"{order}:42".into()),
            [b"redisson_lock__channel:{order}:42"]
        );
        assert_eq!(
            channels(&"order:{42}".into()),
            [
                &b"redisson_lock__channel:order:{42}"[..],
                b"redisson_lock__channel:{order:{42}}"
            ]
        );
    }

    #[test]
    fn a_fresh_field_is_a_uuid_of_version_4_and_a_thread() {
        for _ in 0..100 {
            let token = mint();
            let text = String::from_utf8(token.expose().to_vec()).unwrap();
            assert!(is_field(&token), "{text}");
            assert_eq!((&text[14..15], &text[36..]), ("4", ":1"));
            assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"), "{text}");
        }
    }
}
