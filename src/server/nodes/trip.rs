//! One round trip of many questions: each answered or refused on its own, with the moment it was at the node.

use std::time::Duration;

use redis::{
    Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ServerErrorKind, Value,
};

use super::lock_node::Connection;
use crate::domain::LockKey;
use crate::server::clock::{Clock, Moment};

/// The server's clock for idle times: seconds, modulo 2²⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchClock(pub i64);

impl TouchClock {
    const TURNS_OVER_AT: i64 = 1 << 24;

    /// Seconds from `earlier` to this moment, negative if it is the earlier one.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        let turn = Self::TURNS_OVER_AT;
        (self.0 - earlier.0 + turn / 2).rem_euclid(turn) - turn / 2
    }

    /// The moment `idle` seconds ago.
    pub fn before(self, idle: i64) -> Self {
        Self((self.0 - idle).rem_euclid(Self::TURNS_OVER_AT))
    }
}

/// Questions for one round trip.
pub struct Questions {
    pipeline: Pipeline,
    with_touch_clock: bool,
}

impl Questions {
    /// None yet. The server's clock for idle times is asked first where it is wanted.
    pub fn new(with_touch_clock: bool) -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.ignore_errors();
        if with_touch_clock {
            pipeline.cmd("INFO").arg("server");
            pipeline.cmd("INFO").arg("persistence");
        }
        Self {
            pipeline,
            with_touch_clock,
        }
    }

    /// Adds a question about a key.
    pub fn ask(&mut self, words: &[&str], key: &LockKey) {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.arg(key.as_bytes());
        self.pipeline.add_command(command);
    }

    /// Adds arguments behind the key.
    pub fn with(&mut self, arguments: &[&str]) {
        for argument in arguments {
            self.pipeline.arg(argument);
        }
    }

    /// Sends them all and waits for all answers.
    pub async fn send(self, connection: &mut impl Connection, clock: &Clock) -> RedisResult<Trip> {
        let sent_at = clock.moment();
        let answers: Vec<RedisResult<Value>> = if self.pipeline.is_empty() {
            Vec::new()
        } else {
            self.pipeline.query_async(connection).await?
        };
        let took = clock.steady().since(sent_at.steady);
        let mut answers = answers.into_iter();
        let touch_clock = if self.with_touch_clock {
            let (server, persistence) = (answers.next(), answers.next());
            server
                .and_then(touch_clock)
                .filter(|_| !persistence.is_some_and(has_child))
        } else {
            None
        };
        Ok(Trip {
            answers,
            at: sent_at.plus(took / 2),
            took,
            touch_clock,
        })
    }
}

/// The answers of one round trip.
pub struct Trip {
    answers: std::vec::IntoIter<RedisResult<Value>>,
    /// The middle of the round trip, on our clocks.
    pub at: Moment,
    /// How long it took.
    pub took: Duration,
    /// What the server's clock for idle times showed, where it was asked, may be, and idle times tell of every touch.
    pub touch_clock: Option<TouchClock>,
}

impl Trip {
    /// The next answer. An error of the node as a whole ends the trip.
    pub fn answer<T: FromRedisValue>(&mut self) -> RedisResult<RedisResult<T>> {
        match self.answers.next() {
            Some(Ok(value)) => Ok(redis::from_redis_value(value).map_err(RedisError::from)),
            Some(Err(error)) if is_about_one_key(&error) => Ok(Err(error)),
            Some(Err(error)) => Err(error),
            None => Err(RedisError::from((
                ErrorKind::UnexpectedReturnType,
                "fewer answers than questions",
            ))),
        }
    }
}

/// Missing permission for a key or command, another type than expected: the other answers are as good as ever.
pub(super) fn is_about_one_key(error: &RedisError) -> bool {
    match error.kind() {
        // In a cluster each key has its own slot, which may be elsewhere, on its way or not served at all.
        _ if is_about_a_slot(error) => true,
        ErrorKind::Server(ServerErrorKind::ResponseError | ServerErrorKind::NoPerm) => true,
        ErrorKind::Extension => error.code() == Some("WRONGTYPE"),
        _ => false,
    }
}

/// A node of a cluster does not serve the key's slot, or nobody does.
pub(super) fn is_about_a_slot(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
        )
    )
}

fn touch_clock(answer: RedisResult<Value>) -> Option<TouchClock> {
    let info: String = redis::from_redis_value(answer.ok()?).ok()?;
    info.lines()
        .find_map(|line| line.trim_end().strip_prefix("lru_clock:")?.parse().ok())
        .map(TouchClock)
}

/// Whether a child process of the server writes its data to disk: meanwhile a touch does not change a key's idle time.
fn has_child(answer: RedisResult<Value>) -> bool {
    let info = answer.and_then(|value| Ok(redis::from_redis_value::<String>(value)?));
    info.is_ok_and(|info| {
        let is_on = |line: &str| {
            let flag = line.trim_end().split_once(':');
            flag.is_some_and(|(name, value)| CHILDREN.contains(&name) && value == "1")
        };
        info.lines().any(is_on)
    })
}

/// The fields of `INFO persistence` that say so.
const CHILDREN: [&str; 2] = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_writes_its_data_to_disk_says_so() {
        let told = |text: &str| has_child(Ok(Value::BulkString(text.as_bytes().to_vec())));
        assert!(told("loading:0\r\nrdb_bgsave_in_progress:1\r\n"));
        assert!(told("aof_rewrite_in_progress:1\r\n"));
        assert!(!told(
            "rdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:1\r\n"
        ));
        assert!(!has_child(Ok(Value::Nil)), "not permitted");
    }

    #[test]
    fn the_clock_of_touches_turns_over_without_a_jump() {
        let (before, after) = (TouchClock((1 << 24) - 1), TouchClock(1));
        assert_eq!(after.seconds_since(before), 2);
        assert_eq!(before.seconds_since(after), -2);
        assert_eq!(after.before(2), before);
    }
}
