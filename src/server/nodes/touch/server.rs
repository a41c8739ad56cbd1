//! What a server says of itself that decides whether its idle times can be relied on.

use redis::{RedisResult, Value};

use super::super::trip::TouchClock;
use super::Blind;
use super::seen::Clocks;

/// What the server keeps of touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// The second of the last one: every policy but these.
    Idle,
    /// A counter (`*-lfu`).
    Frequency,
    /// The second of the last write (`*-lrm`, Redis 8.6).
    WritesOnly,
}

impl Policy {
    /// From `INFO memory`.
    pub fn read(told: &Value) -> Self {
        let policy = field(told, "maxmemory_policy").unwrap_or_default();
        if policy.ends_with("-lfu") {
            Self::Frequency
        } else if policy.ends_with("-lrm") {
            Self::WritesOnly
        } else {
            Self::Idle
        }
    }
}

/// The server's clock around its other answers: from `INFO server` and `INFO persistence` at the beginning, and `INFO server`
/// at the end.
pub(super) fn clocks(
    last: Option<RedisResult<Value>>,
    mut first: impl Iterator<Item = RedisResult<Value>>,
) -> Result<Clocks, Blind> {
    const CHILDREN: [&str; 3] = [
        "rdb_bgsave_in_progress",
        "aof_rewrite_in_progress",
        "module_fork_in_progress",
    ];
    let before = clock(first.next())?;
    let forks = first.next().and_then(Result::ok);
    // Not known is not fit: while there is a child, who fails leaves no trace.
    let forks = forks.ok_or(Blind::Forbidden("INFO"))?;
    let has_child = |name: &&str| field(&forks, name).is_some_and(|value| value != "0");
    if CHILDREN.iter().any(has_child) {
        return Err(Blind::Fork);
    }
    Ok(Clocks {
        before,
        after: clock(last)?,
    })
}

fn clock(answer: Option<RedisResult<Value>>) -> Result<TouchClock, Blind> {
    match answer {
        Some(Ok(told)) => field(&told, "lru_clock")
            .and_then(|text| text.parse().ok())
            .map(TouchClock)
            .ok_or(Blind::NoClock),
        Some(Err(error)) if error.code() == Some("NOPERM") => Err(Blind::Forbidden("INFO")),
        Some(Err(_)) | None => Err(Blind::NoClock),
    }
}

fn field(told: &Value, name: &str) -> Option<String> {
    let text: String = redis::from_redis_value_ref(told).ok()?;
    text.lines()
        .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
        .map(str::to_owned)
}
