//! `SET key token NX PX ttl`, in one script with the fencing counter. This is what redis-py,
//! node-redlock, redsync, rslock and most other libraries write, so their locks and ours exclude
//! each other.

use std::time::Duration;

use redis::{RedisResult, ScriptInvocation};

use super::LockRequest;
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::stores::redis::key_state::RedisValue;
use crate::server::stores::redis::locking::conflicting_owner::{conflicting_owner, owner_at};
use crate::server::stores::redis::locking::quorum_round::NodeReply;
use crate::server::stores::redis::locking::{Token, fence};
use crate::server::stores::redis::nodes::connection::{CompareAndDelete, Connection};
use crate::server::stores::redis::nodes::inspect::inspect_key;
use crate::server::stores::redis::nodes::lock_node::RedisTransport;
use crate::server::stores::redis::nodes::scripts::{
    ACQUIRE, AcquireReply, EXTEND, RELEASE, ScriptReply,
};
use crate::server::stores::redis::nodes::values::is_readable;

/// Acquires the lock, or extends it if the token already holds it.
pub async fn acquire(
    mut connection: Connection<impl RedisTransport>,
    clock: &Clock,
    request: &LockRequest<'_>,
) -> RedisResult<NodeReply> {
    let mut script = ACQUIRE.key(request.key.as_bytes());
    script
        .arg(request.token.expose())
        .arg(nonzero_millis(request.ttl));
    add_fence_arguments(&mut script, request);
    let reply = script.invoke_async(&mut connection.transport).await?;
    node_reply(connection, clock, request, reply).await
}

/// Converts the reply of an acquire script. `ACQUIRE` and those of the other layouts reply alike.
pub async fn node_reply(
    connection: Connection<impl RedisTransport>,
    clock: &Clock,
    request: &LockRequest<'_>,
    reply: AcquireReply,
) -> RedisResult<NodeReply> {
    match reply {
        AcquireReply::Acquired {
            is_reentrant,
            fence,
        } => Ok(request.granted(is_reentrant, fence)),
        AcquireReply::Rejected(reply) => {
            conflict_reply(connection, clock, request.key, reply).await
        }
    }
}

/// Adds the key of the fencing counter and the proposed token to a script invocation.
pub fn add_fence_arguments(script: &mut ScriptInvocation<'_>, request: &LockRequest<'_>) {
    if let Some(proposed) = request.proposed_fence {
        script
            .key(fence::counter_key(request.key))
            .arg(proposed)
            .arg(nonzero_millis(request.fence_ttl));
    }
}

/// Converts the reply of a failed acquire, with the owner that blocks it.
async fn conflict_reply(
    connection: Connection<impl RedisTransport>,
    clock: &Clock,
    key: &LockKey,
    reply: ScriptReply,
) -> RedisResult<NodeReply> {
    Ok(match reply {
        ScriptReply::OtherOwner { value, pttl } => {
            NodeReply::HeldByOther(owner_at(key, value, pttl, clock.now()))
        }
        ScriptReply::WrongType { type_name } if is_readable(&type_name) => {
            // Boxed, because it is rare and large.
            let inspecting = Box::pin(inspect_key(connection, clock, key, 0));
            let Ok(Some(key_state)) = inspecting.await else {
                return Ok(NodeReply::HeldByOther(None));
            };
            match (conflicting_owner(&key_state), &key_state.value) {
                (Some(other), _) => NodeReply::HeldByOther(Some(other)),
                (
                    None,
                    RedisValue::Hash(_)
                    | RedisValue::Set(_)
                    | RedisValue::SortedSet(_)
                    | RedisValue::List(_)
                    | RedisValue::TooLarge,
                ) => NodeReply::WrongType(type_name),
                // The type has changed between the two reads.
                (None, RedisValue::Text(_) | RedisValue::Other { .. }) => {
                    NodeReply::HeldByOther(None)
                }
            }
        }
        ScriptReply::WrongType { type_name } => NodeReply::WrongType(type_name),
        // The key has expired meanwhile, but it did block the acquire.
        ScriptReply::Done
        | ScriptReply::StillHeld { .. }
        | ScriptReply::Rewritten
        | ScriptReply::Missing => NodeReply::HeldByOther(None),
    })
}

/// Extends the lease if the token owns the lock. `SET key token IFEQ token PX` of newer servers
/// needs no script, but could also shorten the lease, and `PEXPIRE … GT` does not compare the
/// owner.
pub async fn extend(
    mut connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> RedisResult<ScriptReply> {
    let mut script = EXTEND.key(key.as_bytes());
    script.arg(token.expose()).arg(nonzero_millis(ttl));
    script.invoke_async(&mut connection.transport).await
}

/// Deletes the lock if the token owns it: with the server's compare-and-delete command if it has
/// one, which only returns whether it deleted, or else with the script, which also returns why not.
pub async fn release(
    mut connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
) -> RedisResult<ScriptReply> {
    let command = connection
        .server_commands
        .compare_and_delete
        .map(|kind| match kind {
            CompareAndDelete::Delex => {
                let mut delete = redis::cmd("DELEX");
                delete.arg(key.as_bytes()).arg("IFEQ").arg(token.expose());
                delete
            }
            CompareAndDelete::DelIfEq => {
                let mut delete = redis::cmd("DELIFEQ");
                delete.arg(key.as_bytes()).arg(token.expose());
                delete
            }
        });
    if let Some(command) = command {
        let reply: RedisResult<i64> = command.query_async(&mut connection.transport).await;
        if matches!(reply, Ok(1)) {
            return Ok(ScriptReply::Done);
        }
        if let Err(error) = reply
            && !is_server_error(&error)
        {
            return Err(error);
        }
    }
    let mut script = RELEASE.key(key.as_bytes());
    script.arg(token.expose());
    script.invoke_async(&mut connection.transport).await
}

/// Whether the server replied with an error, such as a wrong type or a command that this user may
/// not call. The script returns the reason in these cases, but not after a broken connection.
fn is_server_error(error: &redis::RedisError) -> bool {
    matches!(
        error.kind(),
        redis::ErrorKind::Server(_) | redis::ErrorKind::Extension
    )
}

/// Whole milliseconds, at least 1: Redis rejects a TTL of 0.
pub fn nonzero_millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}
