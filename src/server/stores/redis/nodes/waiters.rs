//! Counts the waiters for locks on one node: in the queue of a Redisson fair lock, subscribed to a
//! release channel, or blocked on a list.
//!
//! One subscriber is one Redisson instance, whatever the number of its waiting threads. For blocked
//! clients the server reports their number but not their keys.

use redis::{RedisResult, Value};

use super::chunks::chunks;
use super::connection::Connection;
use super::node::Node;
use crate::domain::LockKey;

/// The waiters for one lock, as far as permitted commands show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaiterCounts {
    /// Entries in the wait queue that have not expired.
    pub queue: u64,
    /// Subscribers of the release channel.
    pub subscribers: u64,
    /// Blocked clients of the server, on any key; 0 if this lock's clients do not block.
    pub blocked: u64,
}

/// How a library's clients wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMechanism {
    /// Redisson: they subscribe to a channel with this prefix.
    Channel(&'static str),
    /// They block on a list.
    Blocking,
}

/// A query for one lock.
#[derive(Clone, Debug)]
pub struct WaiterQuery {
    /// The lock's key.
    pub key: LockKey,
    /// How the lock's clients wait.
    pub mechanism: WaitMechanism,
}

/// The waiters for these locks, or `None` if the node does not reply.
pub async fn count_waiters(node: &Node, queries: &[WaiterQuery]) -> Option<Vec<WaiterCounts>> {
    let count = |mut connection: Connection| async move {
        let mut all = Vec::with_capacity(queries.len());
        let bytes_of = |query: &WaiterQuery| query.key.as_bytes().len();
        for queries in chunks(queries, node.shortest_round_trip(), bytes_of) {
            // Deadlines are by the clients' clocks, which are not known here. The console's clock
            // is used instead.
            let now = node.clock().now().millis();
            all.extend(count_chunk(&mut connection, queries, now).await?);
        }
        Ok(all)
    };
    node.call_inspection(node.command_timeout(), count)
        .await
        .ok()
}

async fn count_chunk(
    connection: &mut Connection,
    queries: &[WaiterQuery],
    now: i64,
) -> RedisResult<Vec<WaiterCounts>> {
    let mut pipeline = redis::pipe();
    pipeline.ignore_errors();
    // For names that contain braces, Redisson and node-redisson use different companion names.
    let mut namings: Vec<(usize, CompanionNaming, &'static str)> = Vec::new();
    for (index, query) in queries.iter().enumerate() {
        if let WaitMechanism::Channel(channel) = query.mechanism {
            let naming = CompanionNaming::of(&query.key).iter();
            namings.extend(naming.map(|&naming| (index, naming, channel)));
        }
    }
    let names = |prefix: fn(&'static str) -> &'static str| {
        let name = |(index, naming, channel): &(usize, CompanionNaming, &'static str)| {
            Some(naming.companion_key(prefix(channel), &queries.get(*index)?.key))
        };
        namings.iter().filter_map(name).collect::<Vec<_>>()
    };
    let channels = names(|channel| channel);
    let has_blocking = queries
        .iter()
        .any(|query| query.mechanism == WaitMechanism::Blocking);
    if has_blocking {
        pipeline.cmd("INFO").arg("clients");
    }
    if !channels.is_empty() {
        pipeline.cmd("PUBSUB").arg("NUMSUB").arg(&channels);
        // In a cluster, Redisson publishes to shard channels. Servers before 7.0 reject this
        // command.
        pipeline.cmd("PUBSUB").arg("SHARDNUMSUB").arg(&channels);
    }
    // Entries of clients that crashed stay in the queue until another client requests the lock, so
    // expired ones are subtracted.
    let queues = names(|_| "redisson_lock_queue").into_iter();
    for (queue, until) in queues.zip(names(|_| "redisson_lock_timeout")) {
        pipeline.cmd("LLEN").arg(queue);
        pipeline.cmd("ZCOUNT").arg(until).arg("-inf").arg(now);
    }
    let replies: Vec<RedisResult<Value>> = pipeline.query_async(&mut connection.transport).await?;
    let mut replies = replies.into_iter();
    let info = has_blocking.then(|| replies.next()).flatten();
    let blocked = info.and_then(Result::ok).map_or(0, parse_blocked);
    let (classic, sharded) = if channels.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let mut counts = || parse_counts(replies.next(), namings.len());
        (counts(), counts())
    };
    let counts = replies.map(|reply| {
        let count = reply.and_then(|value| Ok(redis::from_redis_value::<u64>(value)?));
        // The key is missing, of another type, or not permitted.
        count.unwrap_or(0)
    });
    let counts: Vec<u64> = counts.collect();
    let queues = counts.chunks(2).map(|counts| {
        let [length, expired] = [0, 1].map(|n| counts.get(n).copied().unwrap_or(0));
        length.saturating_sub(expired)
    });
    let mut all: Vec<WaiterCounts> = queries
        .iter()
        .map(|query| WaiterCounts {
            blocked: if query.mechanism == WaitMechanism::Blocking {
                blocked
            } else {
                0
            },
            ..WaiterCounts::default()
        })
        .collect();
    let counted = queues.zip(classic.into_iter().zip(sharded));
    for ((index, _, _), (queue, (classic, sharded))) in namings.iter().zip(counted) {
        if let Some(waiters) = all.get_mut(*index) {
            waiters.queue += queue;
            waiters.subscribers += classic + sharded;
        }
    }
    Ok(all)
}

/// The number of blocked clients from `INFO clients`.
fn parse_blocked(info: Value) -> u64 {
    let text: String = redis::from_redis_value(info).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.trim_end().strip_prefix("blocked_clients:"));
    line.and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

/// The counts of a reply `name, count, name, count …`; zeros if the command is not permitted.
fn parse_counts(reply: Option<RedisResult<Value>>, len: usize) -> Vec<u64> {
    let Some(Ok(Value::Array(pairs))) = reply else {
        return vec![0; len];
    };
    let figures = pairs.into_iter().skip(1).step_by(2);
    let mut counts: Vec<u64> = figures
        .map(|figure| redis::from_redis_value(figure).unwrap_or(0))
        .collect();
    counts.resize(len, 0);
    counts
}

/// How companion keys contain the lock's name. The braces are a hash tag, which keeps both in one
/// cluster slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompanionNaming {
    /// `prefix:{name}`.
    Braced,
    /// `prefix:name`: Redisson, if the name contains braces (`RedissonObject.prefixName`).
    Plain,
}

impl CompanionNaming {
    fn of(key: &LockKey) -> &'static [Self] {
        if key.as_bytes().contains(&b'{') {
            &[Self::Braced, Self::Plain]
        } else {
            &[Self::Braced]
        }
    }

    fn companion_key(self, prefix: &str, key: &LockKey) -> Vec<u8> {
        let (open, close): (&[u8], &[u8]) = match self {
            Self::Braced => (b":{", b"}"),
            Self::Plain => (b":", b""),
        };
        [prefix.as_bytes(), open, key.as_bytes(), close].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companion_keys_are_in_the_slot_of_the_lock() {
        let companion_key = |key: &str| -> Vec<String> {
            let key = LockKey::from(key);
            let namings = CompanionNaming::of(&key).iter();
            let names = namings.map(|naming| naming.companion_key("redisson_lock__channel", &key));
            names.map(|name| String::from_utf8(name).unwrap()).collect()
        };
        assert_eq!(companion_key("lock:a"), ["redisson_lock__channel:{lock:a}"]);
        assert_eq!(
            companion_key("a:{b}"),
            [
                "redisson_lock__channel:{a:{b}}",
                "redisson_lock__channel:a:{b}"
            ]
        );
    }

    #[test]
    fn blocked_clients_are_counted_if_the_server_reports_them() {
        let info = |text: &str| parse_blocked(Value::BulkString(text.as_bytes().to_vec()));
        assert_eq!(
            info("# Clients\r\nconnected_clients:9\r\nblocked_clients:2\r\n"),
            2
        );
        assert_eq!(info("# Clients\r\n"), 0);
        assert_eq!(parse_blocked(Value::Nil), 0);
    }

    #[test]
    fn a_denied_command_counts_as_no_waiters() {
        let pairs = Value::Array(vec![
            Value::BulkString(b"a".to_vec()),
            Value::Int(2),
            Value::BulkString(b"b".to_vec()),
            Value::Int(0),
        ]);
        assert_eq!(parse_counts(Some(Ok(pairs)), 2), [2, 0]);
        assert_eq!(parse_counts(None, 2), [0, 0]);
    }
}
