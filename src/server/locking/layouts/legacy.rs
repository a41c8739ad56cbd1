//! `SETNX key <moment>`, taken over with `GETSET` once the moment is past: the lock of the years before `SET NX PX`.
//!
//! ```text
//! SET lock:import  1795200545.123456789      it ends then, in seconds; the key has no TTL
//! ```
//!
//! **What is written.** Seconds with a fraction, as `time.time()` or `Time.now.to_f` give them, read by everybody who reads
//! them as a number. The nine digits behind the point are random and stay the same for as long as a lock is held: they are
//! the owner's sign, by which it extends and releases. The seconds in front of them are the lease, rounded up by less than
//! a second, as the classic recipe adds one. They only ever become later: what was promised before stays true, also when an
//! extension fails; where one asks for less than is left, the value stays, and a token that is answered then is another of the same hold. So a token goes on working after an extension, although the value is another.
//! Whole seconds would be the same for everybody who came in the same second; milliseconds are read as seconds by most
//! clients: a lock for 50,000 years.
//!
//! **Other units.** A client that reads our seconds as milliseconds sees a moment of January 1970 and takes the lock at once;
//! nothing on the node shows that there is one, as long as the lock is free. Where it left a moment in milliseconds, it is not
//! taken over, and that is said. One that reads nothing but whole numbers fails on the point, which locks it out.
//!
//! **Whose clock.** Whether a moment is past is judged by the clock of whoever takes the lock, as by the classic clients: by
//! the same one that wrote the value, the same on all nodes, and without `TIME`, after which scripts may not write before
//! Redis 5. Clocks must not differ by more than what a lease has to spare.
//!
//! **What is taken over.** A string that names a past moment may also be a note of when a job ran last. It is replaced only where it
//! is a lock: by its name, by a pin in the configuration, or by nine digits behind the point, which is how locks are written here.
//!
//! **What cannot be mended.** Of two classic clients that find a moment past, the one that comes second overwrites the first
//! one's value with its own, slightly later, before it sees that it has lost. If that hits ours, our token matches no more:
//! extending and releasing say `not-owner`, and the lock ends at the moment that the other one wrote. And a classic client
//! that is late deletes whatever is there.

use std::time::Duration;

use redis::RedisResult;

use super::Bid;
use super::plain::{self, theirs, with_fence};
use crate::domain::{LockKey, Timestamp};
use crate::server::clock::Clock;
use crate::server::locking::Token;
use crate::server::locking::ballot::Vote;
use crate::server::nodes::line::Line;
use crate::server::nodes::lock_node::Connection;
use crate::server::nodes::scripts::{ACQUIRE_LEGACY, Given, REWRITE_LEGACY, Told};
use crate::server::sighting::Value;

/// What tokens look like.
pub const SHAPE: &str = "must be a moment in seconds with six digits or more behind the point, such as \
                         `1795200545.123456789`, for this format";

/// Digits that a fresh sign has, and that one which is brought along needs.
const DIGITS: (usize, usize) = (9, 6);

/// Whether this is a moment in seconds or milliseconds.
pub fn is_moment(token: &Token) -> bool {
    let (whole, fraction) = parts(token.expose());
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    match (whole.len(), fraction) {
        (10, Some(fraction)) => is_number(whole) && is_number(fraction),
        (10 | 13, None) => is_number(whole),
        _ => false,
    }
}

/// The digits by which an owner is known, if there are enough of them.
pub fn sign(token: &Token) -> Option<&[u8]> {
    let (_, fraction) = parts(token.expose());
    fraction.filter(|sign| is_moment(token) && sign.len() >= DIGITS.1)
}

fn parts(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    match value.iter().position(|&byte| byte == b'.') {
        Some(point) => (&value[..point], Some(&value[point + 1..])),
        None => (value, None),
    }
}

/// A fresh sign. Its seconds are long past; each try writes its own.
pub fn mint() -> Token {
    let sign = rand::random_range(0..10_u32.pow(9));
    signed(format!("{sign:0width$}", width = DIGITS.0).as_bytes())
}

/// The same token for all tokens of one hold.
pub fn first_token(token: &Token) -> Option<Token> {
    sign(token).map(signed)
}

fn signed(sign: &[u8]) -> Token {
    Token::from_bytes([b"1000000000.", sign].concat())
}

/// The owner's sign behind the first second with which the lock lasts for a lease from now on.
pub fn written(token: &Token, ttl: Duration, now: Timestamp) -> Option<Token> {
    let sign = sign(token)?;
    let ends = now.plus(ttl).millis();
    // As many digits as the milliseconds have: what follows makes it later still.
    let is_behind = sign[..3] < *format!("{:03}", ends.rem_euclid(1000)).as_bytes();
    let second = ends.div_euclid(1000) + i64::from(is_behind);
    let value = [format!("{second:010}.").as_bytes(), sign].concat();
    Some(Token::from_bytes(value))
}

/// Takes the lock if nobody has it any more, or extends it if it is the caller's already.
pub async fn take(
    mut line: Line<impl Connection>,
    clock: &Clock,
    bid: &Bid<'_>,
) -> RedisResult<Vote> {
    let now = clock.now().millis();
    let mut script = ACQUIRE_LEGACY.key(bid.key.as_bytes());
    script
        .arg(bid.token.expose())
        .arg(sign(bid.token).unwrap_or_default())
        .arg(format!("{}.{:03}", now / 1000, now % 1000))
        .arg(u8::from(bid.takes_over));
    with_fence(&mut script, bid);
    match script.invoke_async(&mut line.connection).await? {
        Given::Ours { again, fence } => Ok(Vote::Ours {
            again: again && bid.brought,
            fence: bid.fence.map(|_| fence),
        }),
        Given::Refused(told) => theirs(line, clock, bid.key, told).await,
    }
}

/// Writes the moment if it is later and the lock is the owner's. One without a sign could be anybody's.
pub async fn extend(
    line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
    written: &Token,
) -> RedisResult<Told> {
    let told = rewrite(line, key, token, written.expose()).await?;
    Ok(match told {
        Told::OtherOwner {
            value: Value::Text(value),
            ..
        } if value == token.expose() && sign(token).is_none() => Told::WrongType {
            type_name: "a moment that does not tell its owner from others".to_owned(),
        },
        told => told,
    })
}

/// Deletes the lock if it is the owner's: by its sign, or else by the whole value, as the classic clients do.
pub async fn release(
    line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
) -> RedisResult<Told> {
    if sign(token).is_none() {
        return plain::release(line, key, token).await;
    }
    rewrite(line, key, token, b"").await
}

async fn rewrite(
    mut line: Line<impl Connection>,
    key: &LockKey,
    token: &Token,
    value: &[u8],
) -> RedisResult<Told> {
    let mut script = REWRITE_LEGACY.key(key.as_bytes());
    script.arg(sign(token).unwrap_or_default()).arg(value);
    script.invoke_async(&mut line.connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(token: &str, ttl_ms: u64, now_ms: i64) -> Option<String> {
        let now = Timestamp::from_millis(now_ms);
        let value = written(&token.into_token(), Duration::from_millis(ttl_ms), now)?;
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
    fn what_is_written_never_ends_before_the_lease() {
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
    fn the_sign_is_what_stands_behind_the_point() {
        assert_eq!(
            sign(&"1795200545.123456".into_token()),
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
            assert_eq!(sign(&without.into_token()), None, "{without}");
            assert_eq!(later(without, 1, 0), None);
        }
    }
}
