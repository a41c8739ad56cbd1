//! Finds out what a node's user may not do, by trying each thing once on a key that is not there.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult, Value};

use crate::domain::MissingPermission;

/// A name that no lock has. That this user may see it is not expected.
const NOBODYS_KEY: &str = "lockkeeper:probe";

/// The digest of no script.
const NOBODYS_SCRIPT: &str = "0000000000000000000000000000000000000000";
const LOCKS: &str = "the locks themselves";
const OTHERS: &str = "locks that are hashes, sets or lists";
const TOUCHES: &str = "who else touches a lock";
const ACTS: &str = "acquiring, extending and releasing from here";

/// What is tried: the words, the permission, and what is missing on the screen without it. None of it changes anything, or
/// shows a value.
const TRIED: [(&[&str], &str, &str); 26] = [
    (
        &["CLIENT", "SETNAME", "lockkeeper-feed"],
        "client|setname",
        "a name for our connections in CLIENT LIST",
    ),
    (
        &["CLIENT", "NO-TOUCH", "ON"],
        "client|no-touch",
        "reading without resetting idle times (a detour is taken)",
    ),
    (
        &["INFO", "server"],
        "info",
        "version, role, restarts, and idle times to the second",
    ),
    (
        &["TIME"],
        "time",
        "the difference between the server's clock and ours",
    ),
    (&["TYPE", NOBODYS_KEY], "type", LOCKS),
    (&["PTTL", NOBODYS_KEY], "pttl", LOCKS),
    (&["GETRANGE", NOBODYS_KEY, "0", "0"], "getrange", LOCKS),
    (&["HGETALL", NOBODYS_KEY], "hgetall", OTHERS),
    (&["HLEN", NOBODYS_KEY], "hlen", OTHERS),
    (&["SMEMBERS", NOBODYS_KEY], "smembers", OTHERS),
    (&["SCARD", NOBODYS_KEY], "scard", OTHERS),
    (&["ZRANGE", NOBODYS_KEY, "0", "0"], "zrange", OTHERS),
    (&["ZCARD", NOBODYS_KEY], "zcard", OTHERS),
    (&["LRANGE", NOBODYS_KEY, "0", "0"], "lrange", OTHERS),
    (
        &["LLEN", NOBODYS_KEY],
        "llen",
        "who stands in Redisson's queues",
    ),
    (
        &["ZCOUNT", NOBODYS_KEY, "0", "0"],
        "zcount",
        "who in Redisson's queues waits no more",
    ),
    (
        &["MEMORY", "USAGE", NOBODYS_KEY],
        "memory|usage",
        "hashes, sets and queues of more than a few members",
    ),
    (
        &["OBJECT", "ENCODING", NOBODYS_KEY],
        "object|encoding",
        "small hashes in one question less",
    ),
    (
        &["OBJECT", "IDLETIME", NOBODYS_KEY],
        "object|idletime",
        TOUCHES,
    ),
    (
        &["OBJECT", "REFCOUNT", NOBODYS_KEY],
        "object|refcount",
        TOUCHES,
    ),
    (
        &["SCAN", "0", "COUNT", "1"],
        "scan",
        "locks that are not written while we watch",
    ),
    (
        &["PUBSUB", "NUMSUB", NOBODYS_KEY],
        "pubsub|numsub",
        "who waits for a Redisson lock",
    ),
    (
        &["PUBSUB", "CHANNELS", NOBODYS_KEY],
        "pubsub|channels",
        "Redisson's semaphores, which only those who wait give away",
    ),
    (
        &["CONFIG", "GET", "appendfsync"],
        "config|get",
        "whether a restarted node keeps its locks; it also shows the server's passwords",
    ),
    (&["EVALSHA", NOBODYS_SCRIPT, "0"], "evalsha", ACTS),
    // It is no Lua, so nothing is kept of it.
    (&["SCRIPT", "LOAD", "nothing ("], "script|load", ACTS),
];

/// All that is tried, in one go.
pub(super) fn questions() -> Pipeline {
    let mut questions = redis::pipe();
    questions.ignore_errors();
    for (words, _, _) in TRIED {
        for (n, word) in words.iter().enumerate() {
            if n == 0 {
                questions.cmd(word);
            } else {
                questions.arg(word);
            }
        }
    }
    questions
}

/// What the answers say is missing.
pub(super) fn missing(answers: &[RedisResult<Value>], acl_user: &str) -> Vec<MissingPermission> {
    let tried = TRIED.into_iter().zip(answers);
    tried
        .filter(|(_, answer)| is_forbidden(answer))
        .map(|((_, permission, costs), _)| not_allowed(acl_user, permission, "", costs))
        .collect()
}

/// Whether this user may not take samples; nothing where that cannot be tried. `MONITOR` within a transaction that is thrown
/// away is refused or queued, and never begins.
pub(super) async fn is_monitor_missing(
    connection: &mut MultiplexedConnection,
    acl_user: &str,
) -> RedisResult<Option<MissingPermission>> {
    let begun: RedisResult<()> = redis::cmd("MULTI").query_async(connection).await;
    match begun {
        Ok(()) => {}
        Err(error) if error.is_unrecoverable_error() || error.is_io_error() => return Err(error),
        // Not permitted, or a proxy that knows no transactions: without one it would begin.
        Err(_) => return Ok(None),
    }
    let mut queued = redis::pipe();
    queued.ignore_errors().cmd("MONITOR").cmd("DISCARD");
    let answers: Vec<RedisResult<Value>> = queued.query_async(connection).await?;
    let costs = "samples of who tries in vain to take a lock";
    Ok(answers
        .first()
        .filter(|answer| is_forbidden(answer))
        .map(|_| not_allowed(acl_user, "monitor", "", costs)))
}

/// A permission that is missing, with the line that grants it; `channel` is one that is needed beside it.
pub(super) fn not_allowed(
    acl_user: &str,
    permission: &str,
    channel: &str,
    costs: &str,
) -> MissingPermission {
    let channel = if channel.is_empty() {
        String::new()
    } else {
        format!(" {channel}")
    };
    MissingPermission {
        permission: permission.to_owned(),
        costs: costs.to_owned(),
        acl: format!("ACL SETUSER {acl_user} +{permission}{channel}"),
    }
}

/// Whether the user may not call the command. One that may not see the key could call it on others.
pub(super) fn is_forbidden<T>(answer: &RedisResult<T>) -> bool {
    answer.as_ref().err().is_some_and(|error| {
        error.code() == Some("NOPERM") && !error.detail().is_some_and(is_about_keys)
    })
}

/// Redis before and since 7.0 do not say it alike.
fn is_about_keys(words: &str) -> bool {
    words.contains("the keys used as arguments") || words.contains("access a key")
}
