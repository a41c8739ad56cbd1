//! Deleting a string if it has the owner's value, for a server that lets us run no scripts: watched, read, compared, and
//! deleted in a transaction that fails if anybody touched the key in between. Over a connection that nothing else uses.

use redis::{RedisError, RedisResult};

use crate::domain::LockKey;
use crate::server::nodes::lock_node::Connection;
use crate::server::nodes::scripts::{Parted, Told};
use crate::server::sighting::{LONGEST_VALUE, Value};

/// A key that is touched this often in between is left to its owner.
const TRIES: usize = 3;

/// What is compared, and what for.
pub struct Expected<'a> {
    /// The lock.
    pub key: &'a LockKey,
    /// Its owner's value.
    pub owner: &'a [u8],
    /// The highest PTTL that the hold which was seen may have; nothing where that proves nothing.
    pub highest_pttl: Option<i64>,
}

/// Deletes the key, if it is as expected.
pub async fn delete_string(
    connection: &mut impl Connection,
    expected: &Expected<'_>,
) -> RedisResult<Parted> {
    for _ in 0..TRIES {
        let () = command("WATCH", expected.key)
            .query_async(connection)
            .await?;
        if let Some(objection) = objection(connection, expected).await? {
            let () = redis::cmd("UNWATCH").query_async(connection).await?;
            return Ok(objection);
        }
        let mut delete = redis::pipe();
        delete.atomic().cmd("DEL").arg(expected.key.as_bytes());
        let done: Option<(u32,)> = delete.query_async(connection).await?;
        if done.is_some() {
            return Ok(Parted::Told(Told::Done));
        }
    }
    Ok(Parted::AnotherHold)
}

/// Whether the server refused the command itself, for lack of permission.
pub fn is_forbidden(error: &RedisError) -> bool {
    error.code() == Some("NOPERM")
}

async fn objection(
    connection: &mut impl Connection,
    expected: &Expected<'_>,
) -> RedisResult<Option<Parted>> {
    let (type_name, pttl): (String, i64) = redis::pipe()
        .add_command(command("TYPE", expected.key))
        .add_command(command("PTTL", expected.key))
        .query_async(connection)
        .await?;
    match type_name.as_str() {
        "none" => return Ok(Some(Parted::Told(Told::NotThere))),
        "string" => {}
        _ => return Ok(Some(Parted::Told(Told::WrongType { type_name }))),
    }
    let value: Vec<u8> = command("GETRANGE", expected.key)
        .arg(0)
        .arg(expected.owner.len().max(LONGEST_VALUE))
        .query_async(connection)
        .await?;
    if value != expected.owner {
        let value = if value.len() > LONGEST_VALUE {
            Value::TooLarge
        } else {
            Value::Text(value)
        };
        return Ok(Some(Parted::Told(Told::OtherOwner { value, pttl })));
    }
    let is_later = |highest: i64| pttl < 0 || pttl > highest;
    Ok(expected
        .highest_pttl
        .is_some_and(is_later)
        .then_some(Parted::AnotherHold))
}

fn command(name: &str, key: &LockKey) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(key.as_bytes());
    command
}
