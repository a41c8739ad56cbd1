//! `SET key token NX PX ttl`, in one script with the fence. What redis-py, node-redlock, redsync, rslock and most others
//! write, so we exclude them and they exclude us.

use std::time::Duration;

use redis::{RedisResult, ScriptInvocation};

use super::Bid;
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::locking::ballot::Vote;
use crate::server::locking::owners::{found_there, in_the_way};
use crate::server::locking::{Token, fence};
use crate::server::nodes::line::{CompareAndDelete, Line};
use crate::server::nodes::lock_node::Connection;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::{ACQUIRE, EXTEND, Given, RELEASE, Told};
use crate::server::nodes::values::can_read;
use crate::server::sighting::Value;

/// Takes the lock, or extends it if it is the caller's already.
pub async fn take(
    mut line: Line<impl Connection>,
    clock: &Clock,
    bid: &Bid<'_>,
) -> RedisResult<Vote> {
    let mut script = ACQUIRE.key(bid.key.as_bytes());
    script.arg(bid.token.expose()).arg(millis(bid.ttl));
    with_fence(&mut script, bid);
    match script.invoke_async(&mut line.connection).await? {
        Given::Ours { again, fence } => Ok(Vote::Ours {
            again: again && bid.brought,
            fence: bid.fence.map(|_| fence),
        }),
        Given::Refused(told) => theirs(line, clock, bid.key, told).await,
    }
}

/// Adds the counter beside the lock, and what is proposed for it.
pub fn with_fence(script: &mut ScriptInvocation<'_>, bid: &Bid<'_>) {
    if let Some(proposed) = bid.fence {
        script
            .key(fence::key(bid.key))
            .arg(proposed)
            .arg(millis(bid.fence_ttl));
    }
}

/// Who is in the way of an acquire, by what the script came upon.
pub async fn theirs(
    line: Line<impl Connection>,
    clock: &Clock,
    key: &LockKey,
    told: Told,
) -> RedisResult<Vote> {
    Ok(match told {
        Told::OtherOwner { value, pttl } => {
            Vote::Theirs(found_there(key, value, pttl, clock.now()))
        }
        Told::WrongType { type_name } if can_read(&type_name) => {
            let Ok(Some(sighting)) = look_closely(line, clock, key, 0).await else {
                return Ok(Vote::Theirs(None));
            };
            match (in_the_way(&sighting), &sighting.value) {
                (Some(theirs), _) => Vote::Theirs(Some(theirs)),
                (
                    None,
                    Value::Hash(_)
                    | Value::Set(_)
                    | Value::SortedSet(_)
                    | Value::List(_)
                    | Value::TooLarge,
                ) => Vote::WrongType(type_name),
                // Another type by now.
                (None, Value::Text(_) | Value::Other { .. }) => Vote::Theirs(None),
            }
        }
        Told::WrongType { type_name } => Vote::WrongType(type_name),
        // Gone meanwhile: in the way it was.
        Told::Done | Told::HeldStill { .. } | Told::Rewritten | Told::NotThere => {
            Vote::Theirs(None)
        }
    })
}

/// Makes the lease longer if the lock is the owner's. Newer servers' `SET key token IFEQ token PX` would do it without a
/// script, but also make it shorter, and `PEXPIRE … GT` does not look whose lock it is.
pub async fn extend(
    mut line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> RedisResult<Told> {
    let mut script = EXTEND.key(key.as_bytes());
    script.arg(token.expose()).arg(millis(ttl));
    script.invoke_async(&mut line.connection).await
}

/// Deletes the lock if it is the owner's: by the server's own command where it has one, which tells only whether it was
/// done, or by the script, which also tells why not.
pub async fn release(
    mut line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
) -> RedisResult<Told> {
    let command = line.abilities.compare_and_delete.map(|how| match how {
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
        let answer: RedisResult<i64> = command.query_async(&mut line.connection).await;
        if matches!(answer, Ok(1)) {
            return Ok(Told::Done);
        }
        if let Err(error) = answer
            && !is_the_servers(&error)
        {
            return Err(error);
        }
    }
    let mut script = RELEASE.key(key.as_bytes());
    script.arg(token.expose());
    script.invoke_async(&mut line.connection).await
}

/// The server answered with an error: a key of another type, a command that this user may not call. The script knows
/// better; a broken connection does not.
fn is_the_servers(error: &redis::RedisError) -> bool {
    matches!(
        error.kind(),
        redis::ErrorKind::Server(_) | redis::ErrorKind::Extension
    )
}

/// Whole milliseconds, at least one: Redis refuses a lease of none.
pub fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}
