//! Reads the server state that decides whether its idle times are reliable.

use redis::{RedisResult, Value};

use super::super::batch::LruClock;
use super::DetectionUnavailable;
use super::key_accesses::Clocks;

/// What the server stores about accesses, by its eviction policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessTracking {
    /// The second of the last access: all other policies.
    Idle,
    /// A counter (`*-lfu`).
    Frequency,
    /// The second of the last write (`*-lrm`, Redis 8.6).
    WritesOnly,
}

impl AccessTracking {
    /// Parses the reply to `INFO memory`.
    pub fn parse(info: &Value) -> Self {
        let policy = field(info, "maxmemory_policy").unwrap_or_default();
        if policy.ends_with("-lfu") {
            Self::Frequency
        } else if policy.ends_with("-lrm") {
            Self::WritesOnly
        } else {
            Self::Idle
        }
    }
}

/// The server's LRU clock before and after its other replies, from `INFO server` and `INFO
/// persistence` at the start and `INFO server` at the end.
pub(super) fn clocks(
    last: Option<RedisResult<Value>>,
    mut first: impl Iterator<Item = RedisResult<Value>>,
) -> Result<Clocks, DetectionUnavailable> {
    const CHILDREN: [&str; 3] = [
        "rdb_bgsave_in_progress",
        "aof_rewrite_in_progress",
        "module_fork_in_progress",
    ];
    let before = clock(first.next())?;
    let persistence = first.next().and_then(Result::ok);
    // Without `INFO persistence` it is unknown whether a child process runs. While one runs, the
    // server does not update idle times.
    let persistence = persistence.ok_or(DetectionUnavailable::Forbidden("INFO"))?;
    let has_fork_child = |name: &&str| field(&persistence, name).is_some_and(|value| value != "0");
    if CHILDREN.iter().any(has_fork_child) {
        return Err(DetectionUnavailable::BackgroundSave);
    }
    Ok(Clocks {
        before,
        after: clock(last)?,
    })
}

fn clock(reply: Option<RedisResult<Value>>) -> Result<LruClock, DetectionUnavailable> {
    match reply {
        Some(Ok(info)) => field(&info, "lru_clock")
            .and_then(|text| text.parse().ok())
            .map(LruClock)
            .ok_or(DetectionUnavailable::NoLruClock),
        Some(Err(error)) if error.code() == Some("NOPERM") => {
            Err(DetectionUnavailable::Forbidden("INFO"))
        }
        Some(Err(_)) | None => Err(DetectionUnavailable::NoLruClock),
    }
}

fn field(info: &Value, name: &str) -> Option<String> {
    let text: String = redis::from_redis_value_ref(info).ok()?;
    text.lines()
        .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
        .map(str::to_owned)
}
