//! A batch of commands sent in one round trip. Each command has its own reply or error, and the
//! batch records when the node executed it.

use std::time::Duration;

use redis::{
    Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ServerErrorKind, Value,
};

use super::lock_node::RedisTransport;
use crate::domain::LockKey;
use crate::server::clock::{Clock, ClockReading};

/// The server's LRU clock: seconds, modulo 2²⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LruClock(pub i64);

impl LruClock {
    const MODULUS: i64 = 1 << 24;

    /// Seconds since `earlier`; negative if `earlier` is later.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        let turn = Self::MODULUS;
        // The difference is taken modulo 2²⁴ and centred on 0, so that a wrap-around between both
        // does not matter.
        (self.0 - earlier.0 + turn / 2).rem_euclid(turn) - turn / 2
    }

    /// The time `idle` seconds earlier.
    pub fn before(self, idle: i64) -> Self {
        Self((self.0 - idle).rem_euclid(Self::MODULUS))
    }
}

/// Commands for one round trip.
pub struct Batch {
    pipeline: Pipeline,
    with_lru_clock: bool,
}

impl Batch {
    /// Creates an empty batch. With `with_lru_clock`, it starts with reading the server's LRU
    /// clock.
    pub fn new(with_lru_clock: bool) -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.ignore_errors();
        if with_lru_clock {
            pipeline.cmd("INFO").arg("server");
            // Needed as well: while a child process runs, accesses do not update idle times.
            pipeline.cmd("INFO").arg("persistence");
        }
        Self {
            pipeline,
            with_lru_clock,
        }
    }

    /// Whether there is no command to send.
    pub fn is_empty(&self) -> bool {
        self.pipeline.is_empty()
    }

    /// Adds a command on a key.
    pub fn add(&mut self, arguments: &[&str], key: &LockKey) {
        let mut command = Cmd::new();
        for argument in arguments {
            command.arg(argument);
        }
        command.arg(key.as_bytes());
        self.pipeline.add_command(command);
    }

    /// Adds arguments after the key.
    pub fn args(&mut self, arguments: &[&str]) {
        for argument in arguments {
            self.pipeline.arg(argument);
        }
    }

    /// Sends all commands and waits for all replies.
    pub async fn send(
        self,
        connection: &mut impl RedisTransport,
        clock: &Clock,
    ) -> RedisResult<Replies> {
        let sent_at = clock.reading();
        let replies: Vec<RedisResult<Value>> = if self.is_empty() {
            Vec::new()
        } else {
            self.pipeline.query_async(connection).await?
        };
        let round_trip = clock.monotonic().duration_since(sent_at.monotonic);
        let mut replies = replies.into_iter();
        // The first two replies belong to the commands that `new` added.
        let lru_clock = if self.with_lru_clock {
            let (server, persistence) = (replies.next(), replies.next());
            server
                .and_then(lru_clock)
                .filter(|_| !persistence.is_some_and(has_fork_child))
        } else {
            None
        };
        Ok(Replies {
            replies,
            // The server executed the batch at an unknown moment between sending and receiving. The
            // midpoint is wrong by at most half the round trip.
            read_at: sent_at.plus(round_trip / 2),
            round_trip,
            lru_clock,
        })
    }
}

/// The replies of one round trip.
pub struct Replies {
    replies: std::vec::IntoIter<RedisResult<Value>>,
    /// The midpoint of the round trip, on the console's clocks.
    pub read_at: ClockReading,
    /// The duration of the round trip.
    pub round_trip: Duration,
    /// The server's LRU clock, if it was requested and is permitted, and if idle times are
    /// currently updated.
    pub lru_clock: Option<LruClock>,
}

impl Replies {
    /// The next reply. The outer error is one of the node as a whole.
    pub fn next_reply<T: FromRedisValue>(&mut self) -> RedisResult<RedisResult<T>> {
        match self.replies.next() {
            Some(Ok(value)) => Ok(redis::from_redis_value(value).map_err(RedisError::from)),
            Some(Err(error)) if is_key_error(&error) => Ok(Err(error)),
            Some(Err(error)) => Err(error),
            None => Err(RedisError::from((
                ErrorKind::UnexpectedReturnType,
                "fewer replies than commands",
            ))),
        }
    }
}

/// Whether the error concerns a single key or command (permission, type): the other replies are
/// still valid.
pub(super) fn is_key_error(error: &RedisError) -> bool {
    match error.kind() {
        // In a cluster each key has its own slot, which can be moved, migrating or not served.
        _ if is_slot_error(error) => true,
        ErrorKind::Server(ServerErrorKind::ResponseError | ServerErrorKind::NoPerm) => true,
        ErrorKind::Extension => error.code() == Some("WRONGTYPE"),
        _ => false,
    }
}

/// Whether the error means that this node, or any node, does not serve the key's slot.
pub(super) fn is_slot_error(error: &RedisError) -> bool {
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

fn lru_clock(reply: RedisResult<Value>) -> Option<LruClock> {
    let info: String = redis::from_redis_value(reply.ok()?).ok()?;
    info.lines()
        .find_map(|line| line.trim_end().strip_prefix("lru_clock:")?.parse().ok())
        .map(LruClock)
}

/// Whether a child process of the server is saving data: while one runs, accesses do not update
/// idle times.
fn has_fork_child(reply: RedisResult<Value>) -> bool {
    let info = reply.and_then(|value| Ok(redis::from_redis_value::<String>(value)?));
    info.is_ok_and(|info| {
        let is_on = |line: &str| {
            let flag = line.trim_end().split_once(':');
            flag.is_some_and(|(name, value)| FORK_FIELDS.contains(&name) && value == "1")
        };
        info.lines().any(is_on)
    })
}

/// The fields of `INFO persistence` that show a running child process.
const FORK_FIELDS: [&str; 2] = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_save_is_detected_from_info_persistence() {
        let has_child =
            |text: &str| has_fork_child(Ok(Value::BulkString(text.as_bytes().to_vec())));
        assert!(has_child("loading:0\r\nrdb_bgsave_in_progress:1\r\n"));
        assert!(has_child("aof_rewrite_in_progress:1\r\n"));
        assert!(!has_child(
            "rdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:1\r\n"
        ));
        assert!(!has_fork_child(Ok(Value::Nil)), "not permitted");
    }

    #[test]
    fn the_lru_clock_wraps_around_without_a_jump() {
        let (before, after) = (LruClock((1 << 24) - 1), LruClock(1));
        assert_eq!(after.seconds_since(before), 2);
        assert_eq!(before.seconds_since(after), -2);
        assert_eq!(after.before(2), before);
    }
}
