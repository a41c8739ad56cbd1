//! Compare-and-delete of a string for servers on which this user may not run scripts: `WATCH`,
//! read, compare, and `DEL` in a transaction that fails if another client changed the key in
//! between. `WATCH` is per connection, so this requires a dedicated one.

use redis::{RedisError, RedisResult};

use crate::domain::LockKey;
use crate::server::stores::redis::key_state::{MAX_STRING_BYTES, RedisValue};
use crate::server::stores::redis::nodes::lock_node::RedisTransport;
use crate::server::stores::redis::nodes::scripts::{ForceReply, ScriptReply};

/// After this many conflicting changes the key is left to its owner.
const MAX_TRIES: usize = 3;

/// The key and the value that it must have.
pub struct ExpectedString<'a> {
    /// The key of the lock.
    pub key: &'a LockKey,
    /// The owner's value.
    pub owner: &'a [u8],
    /// The highest PTTL that the expected hold can have; `None` if the PTTL proves nothing.
    pub max_pttl: Option<i64>,
}

/// Deletes the key if it has the expected value.
pub async fn delete_string(
    connection: &mut impl RedisTransport,
    expected: &ExpectedString<'_>,
) -> RedisResult<ForceReply> {
    for _ in 0..MAX_TRIES {
        let () = command("WATCH", expected.key)
            .query_async(connection)
            .await?;
        if let Some(mismatch) = find_mismatch(connection, expected).await? {
            let () = redis::cmd("UNWATCH").query_async(connection).await?;
            return Ok(mismatch);
        }
        let mut delete = redis::pipe();
        delete.atomic().cmd("DEL").arg(expected.key.as_bytes());
        let deleted: Option<(u32,)> = delete.query_async(connection).await?;
        // `EXEC` returns nil if the watched key was changed.
        if deleted.is_some() {
            return Ok(ForceReply::Reply(ScriptReply::Done));
        }
    }
    Ok(ForceReply::HoldChanged)
}

/// Whether the server rejected the command for lack of permission.
pub fn is_permission_denied(error: &RedisError) -> bool {
    error.code() == Some("NOPERM")
}

async fn find_mismatch(
    connection: &mut impl RedisTransport,
    expected: &ExpectedString<'_>,
) -> RedisResult<Option<ForceReply>> {
    let (type_name, pttl): (String, i64) = redis::pipe()
        .add_command(command("TYPE", expected.key))
        .add_command(command("PTTL", expected.key))
        .query_async(connection)
        .await?;
    match type_name.as_str() {
        "none" => return Ok(Some(ForceReply::Reply(ScriptReply::Missing))),
        "string" => {}
        _ => {
            return Ok(Some(ForceReply::Reply(ScriptReply::WrongType {
                type_name,
            })));
        }
    }
    let value: Vec<u8> = command("GETRANGE", expected.key)
        .arg(0)
        // Enough to compare, without transferring a large value.
        .arg(expected.owner.len().max(MAX_STRING_BYTES))
        .query_async(connection)
        .await?;
    if value != expected.owner {
        let value = if value.len() > MAX_STRING_BYTES {
            RedisValue::TooLarge
        } else {
            RedisValue::Text(value)
        };
        return Ok(Some(ForceReply::Reply(ScriptReply::OtherOwner {
            value,
            pttl,
        })));
    }
    let is_later = |highest: i64| pttl < 0 || pttl > highest;
    Ok(expected
        .max_pttl
        .is_some_and(is_later)
        .then_some(ForceReply::HoldChanged))
}

fn command(name: &str, key: &LockKey) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(key.as_bytes());
    command
}
