//! Finds missing permissions by trying each command once on a key that does not exist.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult, Value};

use crate::domain::MissingPermission;

/// A name that no lock has. The user does not need access to it.
const PROBE_KEY: &str = "lockkeeper:probe";

/// The SHA-1 of no script.
const UNKNOWN_SCRIPT_SHA: &str = "0000000000000000000000000000000000000000";
const IMPACT_LOCKS: &str = "locks";
const IMPACT_COLLECTIONS: &str = "locks stored as hashes, sets, sorted sets or lists";
const IMPACT_CONTENTION: &str = "detection of contention by idle times";
const IMPACT_OPERATIONS: &str = "acquire, extend and release from this console";

/// The probes: command, ACL permission, and what is unavailable without it. No probe changes data
/// or returns a value.
const PROBES: [(&[&str], &str, &str); 26] = [
    (
        &["CLIENT", "SETNAME", "lockkeeper-feed"],
        "client|setname",
        "connection names in CLIENT LIST",
    ),
    (
        &["CLIENT", "NO-TOUCH", "ON"],
        "client|no-touch",
        "reads that do not reset idle times (a workaround is used)",
    ),
    (
        &["INFO", "server"],
        "info",
        "version, role, restarts, and exact idle times",
    ),
    (&["TIME"], "time", "the server's clock skew"),
    (&["TYPE", PROBE_KEY], "type", IMPACT_LOCKS),
    (&["PTTL", PROBE_KEY], "pttl", IMPACT_LOCKS),
    (&["GETRANGE", PROBE_KEY, "0", "0"], "getrange", IMPACT_LOCKS),
    (&["HGETALL", PROBE_KEY], "hgetall", IMPACT_COLLECTIONS),
    (&["HLEN", PROBE_KEY], "hlen", IMPACT_COLLECTIONS),
    (&["SMEMBERS", PROBE_KEY], "smembers", IMPACT_COLLECTIONS),
    (&["SCARD", PROBE_KEY], "scard", IMPACT_COLLECTIONS),
    (
        &["ZRANGE", PROBE_KEY, "0", "0"],
        "zrange",
        IMPACT_COLLECTIONS,
    ),
    (&["ZCARD", PROBE_KEY], "zcard", IMPACT_COLLECTIONS),
    (
        &["LRANGE", PROBE_KEY, "0", "0"],
        "lrange",
        IMPACT_COLLECTIONS,
    ),
    (
        &["LLEN", PROBE_KEY],
        "llen",
        "the entries of Redisson's wait queues",
    ),
    (
        &["ZCOUNT", PROBE_KEY, "0", "0"],
        "zcount",
        "expired entries in Redisson's wait queues",
    ),
    (
        &["MEMORY", "USAGE", PROBE_KEY],
        "memory|usage",
        "hashes, sets and queues with more than a few members",
    ),
    (
        &["OBJECT", "ENCODING", PROBE_KEY],
        "object|encoding",
        "locks whose names do not look like lock names",
    ),
    (
        &["OBJECT", "IDLETIME", PROBE_KEY],
        "object|idletime",
        IMPACT_CONTENTION,
    ),
    (
        &["OBJECT", "REFCOUNT", PROBE_KEY],
        "object|refcount",
        IMPACT_CONTENTION,
    ),
    (
        &["SCAN", "0", "COUNT", "1"],
        "scan",
        "locks that are not written while the console runs",
    ),
    (
        &["PUBSUB", "NUMSUB", PROBE_KEY],
        "pubsub|numsub",
        "waiters for Redisson locks",
    ),
    (
        &["PUBSUB", "CHANNELS", PROBE_KEY],
        "pubsub|channels",
        "Redisson's semaphores, which are recognised by their waiters",
    ),
    (
        &["CONFIG", "GET", "appendfsync"],
        "config|get",
        "whether a restarted node keeps its locks; CONFIG GET also reveals the server's passwords",
    ),
    (
        &["EVALSHA", UNKNOWN_SCRIPT_SHA, "0"],
        "evalsha",
        IMPACT_OPERATIONS,
    ),
    // This is not valid Lua, so the server does not cache it.
    (
        &["SCRIPT", "LOAD", "nothing ("],
        "script|load",
        IMPACT_OPERATIONS,
    ),
];

/// All probes as one pipeline.
pub(super) fn probe_commands() -> Pipeline {
    let mut probe_commands = redis::pipe();
    probe_commands.ignore_errors();
    for (arguments, _, _) in PROBES {
        for (n, word) in arguments.iter().enumerate() {
            if n == 0 {
                probe_commands.cmd(word);
            } else {
                probe_commands.arg(word);
            }
        }
    }
    probe_commands
}

/// The permissions that the replies show as missing.
pub(super) fn missing_permissions(
    replies: &[RedisResult<Value>],
    acl_user: &str,
) -> Vec<MissingPermission> {
    let probed = PROBES.into_iter().zip(replies);
    probed
        .filter(|(_, reply)| is_permission_denied(reply))
        .map(|((_, permission, impact), _)| missing_permission(acl_user, permission, "", impact))
        .collect()
}

/// Whether `MONITOR` is denied, or `None` if it is permitted or cannot be probed. Inside a
/// transaction that is discarded, `MONITOR` is denied or queued, but never runs.
pub(super) async fn probe_monitor(
    connection: &mut MultiplexedConnection,
    acl_user: &str,
) -> RedisResult<Option<MissingPermission>> {
    let multi: RedisResult<()> = redis::cmd("MULTI").query_async(connection).await;
    match multi {
        Ok(()) => {}
        Err(error) if error.is_unrecoverable_error() || error.is_io_error() => return Err(error),
        // MULTI is denied, or a proxy does not support transactions. Without one, MONITOR would
        // start.
        Err(_) => return Ok(None),
    }
    let mut queued = redis::pipe();
    queued.ignore_errors().cmd("MONITOR").cmd("DISCARD");
    let replies: Vec<RedisResult<Value>> = queued.query_async(connection).await?;
    let impact = "samples of failed attempts to acquire locks";
    Ok(replies
        .first()
        .filter(|reply| is_permission_denied(reply))
        .map(|_| missing_permission(acl_user, "monitor", "", impact)))
}

/// A missing permission, with the ACL rule that grants it. `channel` is a channel that must be
/// granted as well.
pub(super) fn missing_permission(
    acl_user: &str,
    permission: &str,
    channel: &str,
    impact: &str,
) -> MissingPermission {
    let channel = if channel.is_empty() {
        String::new()
    } else {
        format!(" {channel}")
    };
    MissingPermission {
        permission: permission.to_owned(),
        impact: impact.to_owned(),
        acl: format!("ACL SETUSER {acl_user} +{permission}{channel}"),
    }
}

/// Whether the user may not call the command. An error about the key does not count: the user could
/// call the command on other keys.
pub(super) fn is_permission_denied<T>(reply: &RedisResult<T>) -> bool {
    reply.as_ref().err().is_some_and(|error| {
        error.code() == Some("NOPERM") && !error.detail().is_some_and(is_key_permission)
    })
}

/// The wording changed in Redis 7.0.
fn is_key_permission(arguments: &str) -> bool {
    arguments.contains("the keys used as arguments") || arguments.contains("access a key")
}
