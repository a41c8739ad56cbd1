//! `SETNX key <timestamp>`, taken over with `GETSET` after the timestamp: the lock recipe from
//! before `SET NX PX` existed.
//!
//! ```text
//! SET lock:import  1795200545.123456789      expires at this time, in seconds; the key has no TTL
//! ```
//!
//! **Value.** Seconds with a fraction, as returned by `time.time()` or `Time.now.to_f`, which every
//! client that parses a number can read. The nine fractional digits are random and stay the same
//! for as long as the lock is held: they identify the owner when it extends and releases. The
//! seconds are the expiry, rounded up by less than a second, as the classic recipe adds one. They
//! only increase: an earlier promise stays true when an extend fails. If an extend requests less
//! than the remaining time, the value stays unchanged, and the token in the response is another
//! token of the same hold. A token therefore stays usable after an extend, although the stored
//! value changes. Whole seconds would be equal for all clients that acquire in the same second.
//! Milliseconds are read as seconds by most clients: a lock for 50,000 years.
//!
//! **Other units.** A client that reads our seconds as milliseconds sees a timestamp in January
//! 1970 and takes the lock over immediately; a free lock gives no hint that such a client exists. A
//! timestamp that such a client left in milliseconds is not taken over, and the error says so. A
//! client that parses whole numbers only fails at the decimal point, which locks it out.
//!
//! **Clocks.** The acquirer's clock decides whether a timestamp is in the past, as with classic
//! clients: it is the clock that wrote the value, it is the same for all nodes, and it avoids
//! `TIME`, after which scripts may not write before Redis 5. Clocks must not differ by more than
//! the safety margin of a lease.
//!
//! **Take-over.** A string with a timestamp in the past can also be a note of when a job last ran.
//! It is replaced only if it is a lock: by its name, by a format override in the configuration, or
//! by nine fractional digits, as this console writes them.
//!
//! **Known limits.** If two classic clients find an expired timestamp, the second one overwrites
//! the first one's value with its own, slightly later one, before it notices that it has lost. If
//! this hits our value, our token no longer matches: extend and release return `not-owner`, and the
//! lock ends at the other client's timestamp. A classic client that is late deletes the key
//! regardless of its owner.

use std::time::Duration;

use redis::RedisResult;

use super::LockRequest;
use super::plain::{self, add_fence_arguments, node_reply};
use crate::domain::{LockKey, Timestamp};
use crate::server::clock::Clock;
use crate::server::stores::redis::key_state::RedisValue;
use crate::server::stores::redis::locking::Token;
use crate::server::stores::redis::locking::quorum_round::NodeReply;
use crate::server::stores::redis::nodes::connection::Connection;
use crate::server::stores::redis::nodes::lock_node::RedisTransport;
use crate::server::stores::redis::nodes::scripts::{ACQUIRE_LEGACY, REWRITE_LEGACY, ScriptReply};

/// The number of fractional digits of a generated token.
const GENERATED_DIGITS: usize = 9;
/// The minimum number of fractional digits of a caller-supplied token.
const MIN_DIGITS: usize = 6;

/// Whether this is a timestamp in seconds or milliseconds.
pub fn is_timestamp(token: &Token) -> bool {
    let (whole, fraction) = split_seconds(token.expose());
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    match (whole.len(), fraction) {
        (10, Some(fraction)) => is_number(whole) && is_number(fraction),
        (10 | 13, None) => is_number(whole),
        _ => false,
    }
}

/// The fractional digits that identify the owner, if there are enough of them.
pub fn owner_id(token: &Token) -> Option<&[u8]> {
    let (_, fraction) = split_seconds(token.expose());
    fraction.filter(|digits| is_timestamp(token) && digits.len() >= MIN_DIGITS)
}

fn split_seconds(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    match value.iter().position(|&byte| byte == b'.') {
        Some(point) => (&value[..point], Some(&value[point + 1..])),
        None => (value, None),
    }
}

/// Generates a token. Its seconds are long past; each attempt writes its own.
pub fn generate_token() -> Token {
    let owner_id = rand::random_range(0..10_u32.pow(9));
    token_with_owner_id(format!("{owner_id:0GENERATED_DIGITS$}").as_bytes())
}

/// Maps all tokens of one hold to the same token.
pub fn canonical_token(token: &Token) -> Option<Token> {
    owner_id(token).map(token_with_owner_id)
}

fn token_with_owner_id(owner_id: &[u8]) -> Token {
    Token::from_bytes([b"1000000000.", owner_id].concat())
}

/// The first second for which the lock lasts at least for the full lease, followed by the owner's
/// digits.
pub fn stored_token(token: &Token, ttl: Duration, now: Timestamp) -> Option<Token> {
    let owner_id = owner_id(token)?;
    let expires_ms = now.plus(ttl).millis();
    // The owner's digits become the fraction of the second. If they are below the milliseconds of
    // the expiry, the lease would end too early, so the next second is used. Three digits suffice:
    // the expiry is in milliseconds.
    let is_behind = owner_id[..3] < *format!("{:03}", expires_ms.rem_euclid(1000)).as_bytes();
    let second = expires_ms.div_euclid(1000) + i64::from(is_behind);
    let value = [format!("{second:010}.").as_bytes(), owner_id].concat();
    Some(Token::from_bytes(value))
}

/// Acquires the lock if it is free or expired, or extends it if the token already holds it.
pub async fn acquire(
    mut connection: Connection<impl RedisTransport>,
    clock: &Clock,
    request: &LockRequest<'_>,
) -> RedisResult<NodeReply> {
    let now = clock.now().millis();
    let mut script = ACQUIRE_LEGACY.key(request.key.as_bytes());
    script
        .arg(request.token.expose())
        .arg(owner_id(request.token).unwrap_or_default())
        // In seconds, as the stored timestamp is.
        .arg(format!("{}.{:03}", now / 1000, now % 1000))
        .arg(u8::from(request.may_take_over));
    add_fence_arguments(&mut script, request);
    let reply = script.invoke_async(&mut connection.transport).await?;
    node_reply(connection, clock, request, reply).await
}

/// Writes the timestamp if it is later and the token owns the lock. A value without owner digits
/// could belong to any client.
pub async fn extend(
    connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
    stored_token: &Token,
) -> RedisResult<ScriptReply> {
    let reply = rewrite(connection, key, token, stored_token.expose()).await?;
    Ok(match reply {
        ScriptReply::OtherOwner {
            value: RedisValue::Text(value),
            ..
        } if value == token.expose() && owner_id(token).is_none() => ScriptReply::WrongType {
            type_name: "a timestamp that does not identify its owner".to_owned(),
        },
        reply => reply,
    })
}

/// Deletes the lock if the token owns it: by its owner digits, or else by the whole value as
/// classic clients do.
pub async fn release(
    connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
) -> RedisResult<ScriptReply> {
    // Tokens of classic clients have no owner digits and are compared as a whole.
    if owner_id(token).is_none() {
        return plain::release(connection, key, token).await;
    }
    rewrite(connection, key, token, b"").await
}

async fn rewrite(
    mut connection: Connection<impl RedisTransport>,
    key: &LockKey,
    token: &Token,
    value: &[u8],
) -> RedisResult<ScriptReply> {
    let mut script = REWRITE_LEGACY.key(key.as_bytes());
    script.arg(owner_id(token).unwrap_or_default()).arg(value);
    script.invoke_async(&mut connection.transport).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(token: &str, ttl_ms: u64, now_ms: i64) -> Option<String> {
        let now = Timestamp::from_millis(now_ms);
        let value = stored_token(&token.into_token(), Duration::from_millis(ttl_ms), now)?;
        Some(String::from_utf8(value.expose().to_vec()).unwrap())
    }

    trait IntoToken {
        fn into_token(self) -> Token;
    }

    impl IntoToken for &str {
        fn into_token(self) -> Token {
            Token::from_bytes(self)
        }
    }

    #[test]
    fn the_stored_timestamp_is_never_before_the_end_of_the_lease() {
        let now = 1_795_200_545_250;
        let written = |token| later(token, 10_000, now);
        assert_eq!(
            written("1000000000.250000000").as_deref(),
            Some("1795200555.250000000")
        );
        assert_eq!(
            written("1000000000.249999999").as_deref(),
            Some("1795200556.249999999")
        );
        assert_eq!(
            written("1795200545.999999").as_deref(),
            Some("1795200555.999999")
        );
        assert_eq!(
            later("1000000000.000000000", 1, 999).as_deref(),
            Some("0000000001.000000000")
        );
    }

    #[test]
    fn the_owner_id_is_the_fractional_part() {
        assert_eq!(
            owner_id(&"1795200545.123456".into_token()),
            Some(&b"123456"[..])
        );
        for without in [
            "1795200545.12345",
            "1795200545",
            "1795200545250",
            "179520054.123456",
            "1795200545250.123456",
            "1795200545.12345x",
        ] {
            assert_eq!(owner_id(&without.into_token()), None, "{without}");
            assert_eq!(later(without, 1, 0), None);
        }
    }
}
