//! Who waits for Redisson's locks on one node: the queue beside a fair lock, and those who have themselves told of a release.
//!
//! One subscriber is one Redisson instance, however many of its threads wait.

use redis::{RedisResult, Value};

use super::line::Line;
use super::node::Node;
use crate::domain::LockKey;

/// Keys per round trip: some 0.3 ms of the server's time.
const CHUNK: usize = 500;

/// Who waits for one lock, as far as the node may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiters {
    /// So many stand in the queue.
    pub queue: u64,
    /// So many have themselves told.
    pub subscribers: u64,
}

/// What is asked about one lock.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// Its name.
    pub key: LockKey,
    /// How the name of its channel begins.
    pub channel: &'static str,
}

/// Who waits for these locks; nothing where the node does not answer.
pub async fn waiters(node: &Node, awaited: &[Awaited]) -> Option<Vec<Waiters>> {
    let ask = |mut line: Line| async move {
        let mut all = Vec::with_capacity(awaited.len());
        for awaited in awaited.chunks(CHUNK) {
            all.extend(ask(&mut line, awaited).await?);
        }
        Ok(all)
    };
    node.observe(node.command_timeout(), ask).await.ok()
}

async fn ask(line: &mut Line, awaited: &[Awaited]) -> RedisResult<Vec<Waiters>> {
    let mut questions = redis::pipe();
    questions.ignore_errors();
    // Where a name has braces of its own, Redisson and node-redisson do not agree.
    let spelt: Vec<(usize, Spelling)> = (0..)
        .zip(awaited)
        .flat_map(|(nth, one)| Spelling::of(&one.key).iter().map(move |&how| (nth, how)))
        .collect();
    let names = |start: fn(&Awaited) -> &'static str| {
        let name = |(nth, how): &(usize, Spelling)| {
            let one = awaited.get(*nth)?;
            Some(how.beside(start(one), &one.key))
        };
        spelt.iter().filter_map(name).collect::<Vec<_>>()
    };
    let channels = names(|one| one.channel);
    questions.cmd("PUBSUB").arg("NUMSUB").arg(&channels);
    // In a cluster Redisson publishes within a shard. Servers before 7.0 do not know this.
    questions.cmd("PUBSUB").arg("SHARDNUMSUB").arg(&channels);
    for queue in names(|_| "redisson_lock_queue") {
        questions.cmd("LLEN").arg(queue);
    }
    let answers: Vec<RedisResult<Value>> = questions.query_async(&mut line.connection).await?;
    let mut answers = answers.into_iter();
    let mut counts = || counts(answers.next(), spelt.len());
    let (classic, sharded) = (counts(), counts());
    let queues = answers.map(|answer| {
        let length = answer.and_then(|value| Ok(redis::from_redis_value::<u64>(value)?));
        // There is none, or it may not be asked, or it is something else.
        length.unwrap_or(0)
    });
    let mut all = vec![Waiters::default(); awaited.len()];
    let counted = queues.zip(classic.into_iter().zip(sharded));
    for ((nth, _), (queue, (classic, sharded))) in spelt.iter().zip(counted) {
        if let Some(waiters) = all.get_mut(*nth) {
            waiters.queue += queue;
            waiters.subscribers += classic + sharded;
        }
    }
    Ok(all)
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
