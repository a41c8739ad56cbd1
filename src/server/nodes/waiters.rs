//! Who waits for locks on one node: in the queue beside Redisson's fair lock, by having themselves told of a release, or blocked on
//! a list that is pushed to.
//!
//! One subscriber is one Redisson instance, however many of its threads wait. Of those who block the server says how many
//! there are, and not on which keys.

use redis::{RedisResult, Value};

use super::chunks::chunks;
use super::line::Line;
use super::node::Node;
use crate::domain::LockKey;

/// Who waits for one lock, as far as the node may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiters {
    /// So many stand in the queue and still wait.
    pub queue: u64,
    /// So many have themselves told.
    pub subscribers: u64,
    /// So many clients of the server block, whatever for; 0 where nobody would block for this lock.
    pub blocked: u64,
}

/// How a library's clients wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Redisson's: they have themselves told on a channel whose name begins like this.
    Channel(&'static str),
    /// They block on a list.
    Blocking,
}

/// What is asked about one lock.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// Its name.
    pub key: LockKey,
    /// How its clients wait.
    pub waiting: Waiting,
}

/// Who waits for these locks; nothing where the node does not answer.
pub async fn waiters(node: &Node, awaited: &[Awaited]) -> Option<Vec<Waiters>> {
    let ask = |mut line: Line| async move {
        let mut all = Vec::with_capacity(awaited.len());
        for awaited in chunks(awaited, |awaited| awaited.key.as_bytes().len()) {
            // Their deadlines are by the clocks of their machines; ours is the nearest to those.
            let now = node.clock().now().millis();
            all.extend(ask(&mut line, awaited, now).await?);
        }
        Ok(all)
    };
    node.observe(node.command_timeout(), ask).await.ok()
}

async fn ask(line: &mut Line, awaited: &[Awaited], now: i64) -> RedisResult<Vec<Waiters>> {
    let mut questions = redis::pipe();
    questions.ignore_errors();
    // Where a name has braces of its own, Redisson and node-redisson do not agree.
    let mut spelt: Vec<(usize, Spelling, &'static str)> = Vec::new();
    for (nth, one) in awaited.iter().enumerate() {
        if let Waiting::Channel(channel) = one.waiting {
            let how = Spelling::of(&one.key).iter();
            spelt.extend(how.map(|&how| (nth, how, channel)));
        }
    }
    let names = |start: fn(&'static str) -> &'static str| {
        let name = |(nth, how, channel): &(usize, Spelling, &'static str)| {
            Some(how.beside(start(channel), &awaited.get(*nth)?.key))
        };
        spelt.iter().filter_map(name).collect::<Vec<_>>()
    };
    let channels = names(|channel| channel);
    let some_block = awaited.iter().any(|one| one.waiting == Waiting::Blocking);
    if some_block {
        questions.cmd("INFO").arg("clients");
    }
    if !channels.is_empty() {
        questions.cmd("PUBSUB").arg("NUMSUB").arg(&channels);
        // In a cluster Redisson publishes within a shard. Servers before 7.0 do not know this.
        questions.cmd("PUBSUB").arg("SHARDNUMSUB").arg(&channels);
    }
    // Nothing takes those out of a queue who died while they stood in it, until somebody else asks for the lock.
    let queues = names(|_| "redisson_lock_queue").into_iter();
    for (queue, until) in queues.zip(names(|_| "redisson_lock_timeout")) {
        questions.cmd("LLEN").arg(queue);
        questions.cmd("ZCOUNT").arg(until).arg("-inf").arg(now);
    }
    let answers: Vec<RedisResult<Value>> = questions.query_async(&mut line.connection).await?;
    let mut answers = answers.into_iter();
    let told = some_block.then(|| answers.next()).flatten();
    let blocked = told.and_then(Result::ok).map_or(0, blocked);
    let (classic, sharded) = if channels.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let mut counts = || counts(answers.next(), spelt.len());
        (counts(), counts())
    };
    let figures = answers.map(|answer| {
        let figure = answer.and_then(|value| Ok(redis::from_redis_value::<u64>(value)?));
        // There is none, or it may not be asked, or it is something else.
        figure.unwrap_or(0)
    });
    let figures: Vec<u64> = figures.collect();
    let queues = figures.chunks(2).map(|figures| {
        let [length, late] = [0, 1].map(|n| figures.get(n).copied().unwrap_or(0));
        length.saturating_sub(late)
    });
    let mut all: Vec<Waiters> = awaited
        .iter()
        .map(|one| Waiters {
            blocked: if one.waiting == Waiting::Blocking {
                blocked
            } else {
                0
            },
            ..Waiters::default()
        })
        .collect();
    let counted = queues.zip(classic.into_iter().zip(sharded));
    for ((nth, _, _), (queue, (classic, sharded))) in spelt.iter().zip(counted) {
        if let Some(waiters) = all.get_mut(*nth) {
            waiters.queue += queue;
            waiters.subscribers += classic + sharded;
        }
    }
    Ok(all)
}

/// How many clients block, by `INFO clients`.
fn blocked(told: Value) -> u64 {
    let text: String = redis::from_redis_value(told).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.trim_end().strip_prefix("blocked_clients:"));
    line.and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

/// The figures in `name, figure, name, figure …`; zeros where it may not be asked.
fn counts(answer: Option<RedisResult<Value>>, many: usize) -> Vec<u64> {
    let Some(Ok(Value::Array(pairs))) = answer else {
        return vec![0; many];
    };
    let figures = pairs.into_iter().skip(1).step_by(2);
    let mut counts: Vec<u64> = figures
        .map(|figure| redis::from_redis_value(figure).unwrap_or(0))
        .collect();
    counts.resize(many, 0);
    counts
}

/// How the name of a lock stands in the names beside it: the braces keep both in one slot of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// `start:{name}`.
    Braced,
    /// `start:name`: Redisson, where the name has braces (`RedissonObject.prefixName`).
    AsItIs,
}

impl Spelling {
    fn of(key: &LockKey) -> &'static [Self] {
        if key.as_bytes().contains(&b'{') {
            &[Self::Braced, Self::AsItIs]
        } else {
            &[Self::Braced]
        }
    }

    fn beside(self, start: &str, key: &LockKey) -> Vec<u8> {
        let (open, close): (&[u8], &[u8]) = match self {
            Self::Braced => (b":{", b"}"),
            Self::AsItIs => (b":", b""),
        };
        [start.as_bytes(), open, key.as_bytes(), close].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_a_lock_is_in_its_slot() {
        let beside = |key: &str| -> Vec<String> {
            let key = LockKey::from(key);
            let spelt = Spelling::of(&key).iter();
            let names = spelt.map(|how| how.beside("redisson_lock__channel", &key));
            names.map(|name| String::from_utf8(name).unwrap()).collect()
        };
        assert_eq!(beside("lock:a"), ["redisson_lock__channel:{lock:a}"]);
        assert_eq!(
            beside("a:{b}"),
            [
                "redisson_lock__channel:{a:{b}}",
                "redisson_lock__channel:a:{b}"
            ]
        );
    }

    #[test]
    fn those_who_block_are_counted_where_the_server_says_how_many() {
        let told = |text: &str| blocked(Value::BulkString(text.as_bytes().to_vec()));
        assert_eq!(
            told("# Clients\r\nconnected_clients:9\r\nblocked_clients:2\r\n"),
            2
        );
        assert_eq!(told("# Clients\r\n"), 0);
        assert_eq!(blocked(Value::Nil), 0);
    }

    #[test]
    fn what_may_not_be_asked_counts_as_nobody() {
        let pairs = Value::Array(vec![
            Value::BulkString(b"a".to_vec()),
            Value::Int(2),
            Value::BulkString(b"b".to_vec()),
            Value::Int(0),
        ]);
        assert_eq!(counts(Some(Ok(pairs)), 2), [2, 0]);
        assert_eq!(counts(None, 2), [0, 0]);
    }
}
