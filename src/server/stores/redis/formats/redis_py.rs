//! redis-py's `Lock` (Python), which django-redis, redbeat and kombu use: a version 1 UUID in hex.
//!
//! ```text
//! SET orders:42  88a4914ee51011f19df302fc00000001  NX            no TTL by default: stuck after a crash
//! ```
//!
//! The UUID is generated before the wait for the lock, so its timestamp is the start of waiting or
//! holding. Its node field is the network card address of the owner's host. Source:
//! `redis/lock.py`, RFC 9562 §5.1.

use super::{DetectedLock, NameHint, shapes, string_value};
use crate::domain::{Format, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum plausible age of a lock. One in 64 random strings of 32 hex digits looks like a
/// version 1 UUID, but practically none has a timestamp in this range.
const MAX_AGE_MS: i64 = 90 * DAY_MS;
/// The maximum skew of the owner's clock ahead of the console's clock.
const MAX_CLOCK_SKEW_MS: i64 = 5 * 60 * 1000;
/// The Unix epoch in the timestamps of version 1 UUIDs, which count 100 ns since the start of the
/// Gregorian calendar.
const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;

/// Detects a version 1 UUID in hex from the last 90 days.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state)?;
    let claimed_at = uuid_time(value)?;
    let age = state.read_at.millis_since(claimed_at);
    if !(-MAX_CLOCK_SKEW_MS..=MAX_AGE_MS).contains(&age) {
        return None;
    }
    Some(
        DetectedLock::from_value(Format::RedisPy, state, value, network_card(value))
            .with_claimed_at(claimed_at),
    )
}

/// The timestamp of a version 1 UUID; `None` for other values.
fn uuid_time(value: &[u8]) -> Option<Timestamp> {
    // Version 1 and the variant of RFC 9562.
    if !(shapes::is_hex(value, 32)
        && value[12] == b'1'
        && matches!(value[16], b'8' | b'9' | b'a' | b'b'))
    {
        return None;
    }
    let hex = std::str::from_utf8(value).ok()?;
    let (low, mid, high) = (&hex[..8], &hex[8..12], &hex[13..16]);
    let ticks = u64::from_str_radix(&format!("{high}{mid}{low}"), 16).ok()?;
    let millis = ticks.checked_sub(GREGORIAN_TO_UNIX)? / 10_000;
    Some(Timestamp::from_millis(i64::try_from(millis).ok()?))
}

/// The network card address in a UUID, which identifies the host.
///
/// If Python finds no network card, it generates a random number with the multicast bit set. Such
/// an address does not identify a host.
fn network_card(value: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(value.get(20..32)?).ok()?;
    let first = u8::from_str_radix(&digits[..2], 16).ok()?;
    let octets: Vec<&str> = (0..12).step_by(2).map(|at| &digits[at..at + 2]).collect();
    (first & 1 == 0).then(|| octets.join(":"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, key_state, string};
    use super::*;
    use crate::domain::Lease;
    use crate::server::stores::redis::formats;
    use crate::server::stores::redis::key_state::RedisValue;

    /// Written by redis-py 8.1.0 on 2026-11-20.
    const REAL: &str = "88a4914ee51011f19df302fc00000001";

    #[test]
    fn a_token_has_a_network_card_address_and_a_time() {
        let lock = formats::detect(&string("orders:42", REAL, None), false).unwrap();
        assert_eq!(lock.format, Format::RedisPy);
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("02:fc:00:00:00:01")
        );
        assert!(
            lock.claimed_at
                .unwrap()
                .to_string()
                .starts_with("2026-11-20T18:30:59.99")
        );
        assert_eq!(lock.lease, Lease::Never);
    }

    #[test]
    fn an_implausible_time_means_that_the_value_is_random() {
        let at = uuid_time(REAL.as_bytes()).unwrap();
        let seen_at = |now: Timestamp| {
            let state = KeyState {
                read_at: now,
                ..string("orders:42", REAL, 9_000)
            };
            formats::detect(&state, false).unwrap().format
        };
        assert_eq!(seen_at(at.plus_millis(MAX_AGE_MS)), Format::RedisPy);
        assert_eq!(seen_at(at.plus_millis(MAX_AGE_MS + 1)), Format::NodeRedlock);
        assert_eq!(seen_at(at.plus_millis(-MAX_CLOCK_SKEW_MS)), Format::RedisPy);
        assert_eq!(
            seen_at(at.plus_millis(-MAX_CLOCK_SKEW_MS - 1)),
            Format::NodeRedlock
        );
    }

    #[test]
    fn a_random_network_card_address_is_not_a_label() {
        let made_up = REAL.replace("02fc", "03fc");
        let lock = formats::detect(&string("orders:42", made_up, None), false).unwrap();
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::RedisPy, None)
        );
    }

    #[test]
    fn other_versions_variants_and_types_are_not_redis_py() {
        for value in [
            REAL.replace("11f1", "41f1"),
            REAL.replace("9df3", "cdf3"),
            REAL.to_uppercase(),
            format!("{REAL}0"),
        ] {
            assert_eq!(
                detect(&string("a", value.as_str(), None), name_hint()),
                None,
                "{value}"
            );
        }
        assert_eq!(
            detect(&key_state("a", RedisValue::TooLarge, None), name_hint()),
            None
        );
        assert_eq!(
            NOW.millis_since(uuid_time(REAL.as_bytes()).unwrap()) / 60_000,
            17
        );
    }

    fn name_hint() -> NameHint {
        NameHint {
            is_lock_like: true,
            matches_explicit_keys: true,
        }
    }
}
