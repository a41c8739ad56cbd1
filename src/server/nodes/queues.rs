//! Reads the queues beside Redisson's fair locks: how long each is, and who stands at its head.

use redis::{RedisError, RedisResult};

use super::chunks::chunks;
use super::line::Line;
use super::node::Node;
use super::trip::{Questions, Trip};
use crate::domain::{LockKey, Timestamp};
use crate::server::clock::Clock;

/// So many are read of one queue.
pub const MOST_READ: usize = 100;

/// A queue's head is not read if it may be larger than this.
const MOST_MEMORY: u64 = 64 * 1024;

/// Where memory may not be asked for, so many are read.
const MOST_UNMEASURED: usize = 8;

/// The names of a queue and of the deadlines beside it.
pub type Names = (LockKey, LockKey);

/// One queue as a node shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// How many stand in it, without those of the first who are known to wait no more.
    pub length: u64,
    /// The first of them, in order.
    pub head: Vec<Standing>,
}

impl Queue {
    /// Who is past the moment until which they wait, waits no more: Redisson takes such entries out when somebody next asks for
    /// the lock, and until then they stay.
    fn forget_late(&mut self, now: Timestamp) {
        let read = self.head.len();
        self.head
            .retain(|standing| standing.until.is_none_or(|until| until > now));
        let late = u64::try_from(read - self.head.len()).unwrap_or(0);
        self.length = self.length.saturating_sub(late);
    }
}

/// One who stands in a queue.
#[derive(Clone, PartialEq)]
pub struct Standing {
    /// What it would write into the lock: a credential.
    pub field: Vec<u8>,
    /// Until when it waits, by its own clock.
    pub until: Option<Timestamp>,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Standing(… until {:?})", self.until)
    }
}

/// Reads these queues; one that is not there is empty. Or says why the node does not show them.
pub async fn read(node: &Node, names: &[Names]) -> Result<Vec<Queue>, String> {
    let limit = node.command_timeout();
    let reading = node.observe(limit, |line| async move {
        let mut queues = Vec::with_capacity(names.len());
        for chunk in chunks(names, |(queue, deadlines)| {
            queue.as_bytes().len() + deadlines.as_bytes().len()
        }) {
            queues.extend(read_chunk(&line, node.clock(), chunk).await?);
        }
        Ok(queues)
    });
    reading.await.map_err(|missed| missed.reason().to_owned())
}

async fn read_chunk(line: &Line, clock: &Clock, names: &[Names]) -> RedisResult<Vec<Queue>> {
    let mut queues = vec![Queue::default(); names.len()];
    let mut questions = Questions::new(false);
    for (queue, _) in names {
        questions.ask(&["LLEN"], queue);
    }
    let mut trip = send(questions, line, clock).await?;
    let mut refused: Option<RedisError> = None;
    for queue in &mut queues {
        match trip.answer::<u64>()? {
            Ok(length) => queue.length = length,
            // Another type under this name is no queue; a missing permission is told.
            Err(error) if error.code() == Some("NOPERM") => refused = Some(error),
            Err(_) => {}
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }

    let standing: Vec<usize> = (0..names.len()).filter(|n| queues[*n].length > 0).collect();
    let mut questions = Questions::new(false);
    for &n in &standing {
        questions.ask(&["MEMORY", "USAGE"], &names[n].0);
    }
    let mut trip = send(questions, line, clock).await?;
    let mut to_read = Vec::with_capacity(standing.len());
    for n in standing {
        let memory = trip.answer::<Option<u64>>()?;
        to_read.push((
            n,
            how_many(queues[n].length, memory.ok().map(Option::unwrap_or_default)),
        ));
    }

    let mut questions = Questions::new(false);
    for &(n, most) in &to_read {
        questions.ask(&["LRANGE"], &names[n].0);
        // The last one is included; -1 would be all.
        questions.with(&["0", &(most.max(1) - 1).to_string()]);
    }
    let mut trip = send(questions, line, clock).await?;
    for &(n, most) in &to_read {
        let fields = trip.answer::<Vec<Vec<u8>>>()?.unwrap_or_default();
        let standing = fields.into_iter().take(most);
        queues[n].head = standing
            .map(|field| Standing { field, until: None })
            .collect();
    }
    deadlines(line, clock, names, &mut queues).await?;
    let now = clock.now();
    for queue in &mut queues {
        queue.forget_late(now);
    }
    Ok(queues)
}

/// Until when each of those who stand there waits.
async fn deadlines(
    line: &Line,
    clock: &Clock,
    names: &[Names],
    queues: &mut [Queue],
) -> RedisResult<()> {
    let mut questions = Questions::new(false);
    let asked = |field: &[u8]| std::str::from_utf8(field).is_ok();
    for ((_, deadlines), queue) in names.iter().zip(&*queues) {
        for standing in &queue.head {
            if let Ok(field) = std::str::from_utf8(&standing.field) {
                questions.ask(&["ZSCORE"], deadlines);
                questions.with(&[field]);
            }
        }
    }
    let mut trip = send(questions, line, clock).await?;
    for standing in queues.iter_mut().flat_map(|queue| &mut queue.head) {
        if asked(&standing.field) {
            let score = trip.answer::<Option<f64>>()?.ok().flatten();
            standing.until = score.and_then(moment);
        }
    }
    Ok(())
}

/// A score as a moment; nothing where it cannot be one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked right before"
)]
fn moment(score: f64) -> Option<Timestamp> {
    const BEYOND_MS: f64 = 253_402_300_799_999.0;
    (0.0..BEYOND_MS)
        .contains(&score)
        .then(|| Timestamp::from_millis(score as i64))
}

/// How many of a queue are read; `memory` is what all of it needs, where that may be asked.
fn how_many(length: u64, memory: Option<u64>) -> usize {
    let length_read = usize::try_from(length).unwrap_or(MOST_READ).min(MOST_READ);
    match memory {
        None => length_read.min(MOST_UNMEASURED),
        Some(memory) => {
            let of_head = memory / length.max(1) * length_read as u64;
            if of_head <= MOST_MEMORY {
                length_read
            } else {
                0
            }
        }
    }
}

async fn send(questions: Questions, line: &Line, clock: &Clock) -> RedisResult<Trip> {
    questions.send(&mut line.connection.clone(), clock).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_read_as_far_as_it_is_small() {
        assert_eq!(how_many(3, Some(300)), 3);
        assert_eq!(how_many(5_000, Some(500_000)), MOST_READ);
        assert_eq!(how_many(2, Some(500_000_000)), 0);
        assert_eq!(how_many(50, None), MOST_UNMEASURED);
    }

    #[test]
    fn who_is_past_the_own_deadline_does_not_stand_in_the_queue() {
        let now = Timestamp::from_millis(1_795_200_845_000);
        let standing = |field: &str, until: Option<i64>| Standing {
            field: field.into(),
            until: until.map(|ms| now.plus_millis(ms)),
        };
        let mut queue = Queue {
            length: 5,
            head: vec![
                standing("dead", Some(-600_000)),
                standing("dead now", Some(0)),
                standing("waits", Some(1)),
                standing("says nothing", None),
            ],
        };
        queue.forget_late(now);
        let fields: Vec<&[u8]> = queue.head.iter().map(|one| &one.field[..]).collect();
        assert_eq!(fields, [&b"waits"[..], b"says nothing"]);
        assert_eq!(queue.length, 3);
    }

    #[test]
    fn only_what_can_be_a_moment_is_one() {
        assert_eq!(
            moment(1_795_200_845_000.0).map(Timestamp::millis),
            Some(1_795_200_845_000)
        );
        for odd in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert_eq!(moment(odd), None);
        }
    }
}
