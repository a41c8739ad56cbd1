//! redis-py's `Lock` (Python), and django-redis, redbeat and kombu on top of it: a version 1 UUID in hex.
//!
//! ```text
//! SET orders:42  88a4914ee51011f19df302fc00000001  NX            no TTL by default: a crash leaves it there for ever
//! ```
//!
//! The UUID is made before the wait begins, so its time says since when the owner has been waiting and holding; its node
//! is the network card of the owner's host. Source: `redis/lock.py`, RFC 9562 §5.1.

use super::{Hint, Recognised, shapes, text};
use crate::domain::{Format, Timestamp};
use crate::server::sighting::Sighting;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How old a lock may plausibly be: 32 random hex digits look like a version 1 UUID once in 64, and of this age never.
const OLDEST_MS: i64 = 90 * DAY_MS;
/// How far the owner's clock may be ahead of ours.
const AHEAD_MS: i64 = 5 * 60 * 1000;
/// From the start of the Gregorian calendar, where the clock of these UUIDs begins, to 1970, in their unit of 100 ns.
const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;

/// Recognises the hex form of a version 1 UUID from the last 90 days.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let value = text(sighting)?;
    let claimed_at = time(value)?;
    let age = sighting.seen_at.millis_since(claimed_at);
    if !(-AHEAD_MS..=OLDEST_MS).contains(&age) {
        return None;
    }
    Some(
        Recognised::by_value(Format::RedisPy, sighting, value, network_card(value))
            .claimed_at(claimed_at),
    )
}

/// When a version 1 UUID was made; nothing for any other value.
fn time(value: &[u8]) -> Option<Timestamp> {
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

/// The address of the network card in a UUID, which tells hosts apart.
///
/// Where Python found no card it made the number up and marked it as a multicast address; that says nothing to anybody.
fn network_card(value: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(value.get(20..32)?).ok()?;
    let first = u8::from_str_radix(&digits[..2], 16).ok()?;
    let octets: Vec<&str> = (0..12).step_by(2).map(|at| &digits[at..at + 2]).collect();
    (first & 1 == 0).then(|| octets.join(":"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, seen, string};
    use super::*;
    use crate::domain::Lease;
    use crate::server::formats;
    use crate::server::sighting::Value;

    /// Written by redis-py 8.1.0 on 2026-11-20.
    const REAL: &str = "88a4914ee51011f19df302fc00000001";

    #[test]
    fn the_token_names_card_and_time() {
        let lock = formats::recognise(&string("orders:42", REAL, None), false).unwrap();
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
    fn a_time_that_nobody_can_have_written_makes_it_a_random_number() {
        let at = time(REAL.as_bytes()).unwrap();
        let seen_at = |now: Timestamp| {
            let sighting = Sighting {
                seen_at: now,
                ..string("orders:42", REAL, 9_000)
            };
            formats::recognise(&sighting, false).unwrap().format
        };
        assert_eq!(seen_at(at.plus_millis(OLDEST_MS)), Format::RedisPy);
        assert_eq!(seen_at(at.plus_millis(OLDEST_MS + 1)), Format::NodeRedlock);
        assert_eq!(seen_at(at.plus_millis(-AHEAD_MS)), Format::RedisPy);
        assert_eq!(seen_at(at.plus_millis(-AHEAD_MS - 1)), Format::NodeRedlock);
    }

    #[test]
    fn a_made_up_card_is_no_label() {
        let made_up = REAL.replace("02fc", "03fc");
        let lock = formats::recognise(&string("orders:42", made_up, None), false).unwrap();
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
                recognise(&string("a", value.as_str(), None), hint()),
                None,
                "{value}"
            );
        }
        assert_eq!(recognise(&seen("a", Value::TooLarge, None), hint()), None);
        assert_eq!(
            NOW.millis_since(time(REAL.as_bytes()).unwrap()) / 60_000,
            17
        );
    }

    fn hint() -> Hint {
        Hint {
            lock_like_name: true,
            named_by_operator: true,
        }
    }
}
