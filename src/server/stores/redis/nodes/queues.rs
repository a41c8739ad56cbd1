//! Reads the wait queues of Redisson's fair locks: their lengths and first entries.

use redis::{RedisError, RedisResult};

use super::batch::{Batch, Replies};
use super::chunks::chunks;
use super::connection::Connection;
use super::node::Node;
use crate::domain::reason::Reason;
use crate::domain::{LockKey, Timestamp};
use crate::server::clock::Clock;
use crate::server::stores::reading::MAX_QUEUE_ENTRIES;

/// Entries are not read if they may be larger than this in total.
const MAX_MEMORY_BYTES: u64 = 64 * 1024;

/// The number of entries read if MEMORY USAGE is not permitted.
const MAX_READ_UNMEASURED: usize = 8;

/// The keys of a queue and of its deadlines.
pub type QueueKeys = (LockKey, LockKey);

/// A wait queue on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FairQueue {
    /// The number of entries, without expired ones among the first.
    pub length: u64,
    /// The first entries, in order.
    pub head: Vec<QueuedWaiter>,
}

impl FairQueue {
    /// Drops expired entries. Redisson removes them only when a client next requests the lock.
    fn drop_expired(&mut self, now: Timestamp) {
        let read = self.head.len();
        self.head
            .retain(|waiter| waiter.until.is_none_or(|until| until > now));
        let late = u64::try_from(read - self.head.len()).unwrap_or(0);
        // Only expired entries among those that were read are known.
        self.length = self.length.saturating_sub(late);
    }
}

/// An entry of a wait queue.
#[derive(Clone, PartialEq)]
pub struct QueuedWaiter {
    /// The owner field that the waiter would write into the lock: a credential.
    pub field: Vec<u8>,
    /// Until when it waits, by its own clock.
    pub until: Option<Timestamp>,
}

impl std::fmt::Debug for QueuedWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "QueuedWaiter(… until {:?})", self.until)
    }
}

/// Reads these queues. A missing queue is empty. The error is the reason why the node did not reply.
pub async fn read_queues(node: &Node, names: &[QueueKeys]) -> Result<Vec<FairQueue>, Reason> {
    let limit = node.command_timeout();
    let reading = node.call_inspection(limit, |connection| async move {
        let mut queues = Vec::with_capacity(names.len());
        let bytes_of =
            |(queue, deadlines): &QueueKeys| queue.as_bytes().len() + deadlines.as_bytes().len();
        for chunk in chunks(names, node.shortest_round_trip(), bytes_of) {
            queues.extend(read_chunk(&connection, node.clock(), chunk).await?);
        }
        Ok(queues)
    });
    reading.await.map_err(|error| error.reason().clone())
}

async fn read_chunk(
    connection: &Connection,
    clock: &Clock,
    names: &[QueueKeys],
) -> RedisResult<Vec<FairQueue>> {
    let mut queues = vec![FairQueue::default(); names.len()];
    let mut batch = Batch::new(false);
    for (queue, _) in names {
        batch.add(&["LLEN"], queue);
    }
    let mut replies = send(batch, connection, clock).await?;
    let mut denied: Option<RedisError> = None;
    for queue in &mut queues {
        match replies.next_reply::<u64>()? {
            Ok(length) => queue.length = length,
            // A key of another type is not a queue. A missing permission is an error.
            Err(error) if error.code() == Some("NOPERM") => denied = Some(error),
            Err(_) => {}
        }
    }
    if let Some(error) = denied {
        return Err(error);
    }

    let nonempty: Vec<usize> = (0..names.len()).filter(|n| queues[*n].length > 0).collect();
    let mut batch = Batch::new(false);
    for &n in &nonempty {
        batch.add(&["MEMORY", "USAGE"], &names[n].0);
    }
    let mut replies = send(batch, connection, clock).await?;
    let mut to_read = Vec::with_capacity(nonempty.len());
    for n in nonempty {
        let memory = replies.next_reply::<Option<u64>>()?;
        to_read.push((
            n,
            read_limit(queues[n].length, memory.ok().map(Option::unwrap_or_default)),
        ));
    }

    let mut batch = Batch::new(false);
    for &(n, limit) in &to_read {
        batch.add(&["LRANGE"], &names[n].0);
        // LRANGE includes the end index; -1 would mean the whole list.
        batch.args(&["0", &(limit.max(1) - 1).to_string()]);
    }
    let mut replies = send(batch, connection, clock).await?;
    for &(n, limit) in &to_read {
        let fields = replies.next_reply::<Vec<Vec<u8>>>()?.unwrap_or_default();
        let entries = fields.into_iter().take(limit);
        queues[n].head = entries
            .map(|field| QueuedWaiter { field, until: None })
            .collect();
    }
    read_deadlines(connection, clock, names, &mut queues).await?;
    let now = clock.now();
    for queue in &mut queues {
        queue.drop_expired(now);
    }
    Ok(queues)
}

/// Reads the deadlines of the queue entries.
async fn read_deadlines(
    connection: &Connection,
    clock: &Clock,
    names: &[QueueKeys],
    queues: &mut [FairQueue],
) -> RedisResult<()> {
    let mut batch = Batch::new(false);
    // Redisson's fields are UTF-8; the argument of ZSCORE here is text.
    let is_requested = |field: &[u8]| std::str::from_utf8(field).is_ok();
    for ((_, deadlines), queue) in names.iter().zip(&*queues) {
        for waiter in &queue.head {
            if let Ok(field) = std::str::from_utf8(&waiter.field) {
                batch.add(&["ZSCORE"], deadlines);
                batch.args(&[field]);
            }
        }
    }
    let mut replies = send(batch, connection, clock).await?;
    for waiter in queues.iter_mut().flat_map(|queue| &mut queue.head) {
        if is_requested(&waiter.field) {
            let score = replies.next_reply::<Option<f64>>()?.ok().flatten();
            waiter.until = score.and_then(parse_deadline);
        }
    }
    Ok(())
}

/// Converts a score to a timestamp; `None` if it is out of range.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked right before"
)]
fn parse_deadline(score: f64) -> Option<Timestamp> {
    const MAX_TIMESTAMP_MS: f64 = 253_402_300_799_999.0;
    (0.0..MAX_TIMESTAMP_MS)
        .contains(&score)
        .then(|| Timestamp::from_millis(score as i64))
}

/// How many entries of a queue are read. `memory` is the size of the whole queue, if known.
fn read_limit(length: u64, memory: Option<u64>) -> usize {
    let length_read = usize::try_from(length)
        .unwrap_or(MAX_QUEUE_ENTRIES)
        .min(MAX_QUEUE_ENTRIES);
    match memory {
        None => length_read.min(MAX_READ_UNMEASURED),
        Some(memory) => {
            // The entries of a queue have similar sizes, so the mean estimates the part that is
            // read.
            let of_head = memory / length.max(1) * length_read as u64;
            if of_head <= MAX_MEMORY_BYTES {
                length_read
            } else {
                0
            }
        }
    }
}

async fn send(batch: Batch, connection: &Connection, clock: &Clock) -> RedisResult<Replies> {
    batch.send(&mut connection.transport.clone(), clock).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_queues_are_read() {
        assert_eq!(read_limit(3, Some(300)), 3);
        assert_eq!(read_limit(5_000, Some(500_000)), MAX_QUEUE_ENTRIES);
        assert_eq!(read_limit(2, Some(500_000_000)), 0);
        assert_eq!(read_limit(50, None), MAX_READ_UNMEASURED);
    }

    #[test]
    fn expired_entries_do_not_count_as_queued() {
        let now = Timestamp::from_millis(1_795_200_845_000);
        let waiter = |field: &str, until: Option<i64>| QueuedWaiter {
            field: field.into(),
            until: until.map(|ms| now.plus_millis(ms)),
        };
        let mut queue = FairQueue {
            length: 5,
            head: vec![
                waiter("dead", Some(-600_000)),
                waiter("dead now", Some(0)),
                waiter("waits", Some(1)),
                waiter("no deadline", None),
            ],
        };
        queue.drop_expired(now);
        let fields: Vec<&[u8]> = queue.head.iter().map(|one| &one.field[..]).collect();
        assert_eq!(fields, [&b"waits"[..], b"no deadline"]);
        assert_eq!(queue.length, 3);
    }

    #[test]
    fn only_scores_in_range_are_deadlines() {
        assert_eq!(
            parse_deadline(1_795_200_845_000.0).map(Timestamp::millis),
            Some(1_795_200_845_000)
        );
        for odd in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert_eq!(parse_deadline(odd), None);
        }
    }
}
