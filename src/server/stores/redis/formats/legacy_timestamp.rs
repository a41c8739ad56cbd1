//! `SETNX key <expiry time>`: the locking pattern from before `SET NX PX` existed, still used by
//! jedis-lock, `ServiceStack` and redis-objects.
//!
//! ```text
//! SETNX lock:import  1795200545.25         seconds, with or without a fraction; the key has no TTL
//! SETNX lock:import  1795200545250         or milliseconds
//! ```
//!
//! The value is the expiry. After it another client may take over the lock (`GETSET`), but the key
//! still exists and is shown as an overdue lock. A number *with* a TTL is a rate limiter or a
//! heartbeat.

use super::{DetectedLock, NameHint, has_ttl, string_value};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

const YEAR_MS: i64 = 366 * 24 * 60 * 60 * 1000;

/// Detects a timestamp without a TTL.
///
/// Under a lock-like name it may be in the past or up to a year
/// ahead. If only a configured pattern matches, it must be in the future, because a past timestamp
/// is more likely the time of a last run.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|_| !has_ttl(state))?;
    let until = parse_timestamp(value)?;
    let ahead = until.millis_since(state.read_at);
    let is_lease = ahead <= YEAR_MS
        && (name_hint.is_lock_like || (name_hint.matches_explicit_keys && ahead > 0));
    is_lease.then(|| DetectedLock {
        lease: Lease::until(until, state.read_at),
        ..DetectedLock::from_value(Format::LegacyTimestamp, state, value, None)
            .with_confidence(Confidence::Likely)
    })
}

/// Parses seconds (ten digits with an optional fraction) or milliseconds (thirteen digits).
fn parse_timestamp(value: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (complete, fraction) = text
        .split_once('.')
        .map_or((text, None), |(complete, fraction)| {
            (complete, Some(fraction))
        });
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(complete) || complete.starts_with('0') || !fraction.is_none_or(are_digits) {
        return None;
    }
    let number: i64 = complete.parse().ok()?;
    match (complete.len(), fraction) {
        (10, _) => {
            let millis: String = fraction
                .unwrap_or_default()
                .chars()
                .chain("000".chars())
                .take(3)
                .collect();
            Some(Timestamp::from_millis(
                number * 1000 + millis.parse::<i64>().ok()?,
            ))
        }
        (13, None) => Some(Timestamp::from_millis(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, string};
    use super::*;
    use crate::server::stores::redis::formats;

    fn lease(key: &str, value: &str, matches_explicit_keys: bool) -> Option<Lease> {
        let lock = formats::detect(&string(key, value, None), matches_explicit_keys)?;
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::LegacyTimestamp, None)
        );
        Some(lock.lease)
    }

    #[test]
    fn seconds_fractions_and_milliseconds_are_the_lease() {
        let until = |ms| Some(Lease::until(Timestamp::from_millis(ms), NOW));
        assert_eq!(
            lease("lock:import", "1795200545", false),
            until(1_795_200_545_000)
        );
        assert_eq!(
            lease("lock:import", "1795200545.25", false),
            until(1_795_200_545_250)
        );
        assert_eq!(
            lease("lock:import", "1795200545.1234567", false),
            until(1_795_200_545_123)
        );
        assert_eq!(
            lease("lock:import", "1795200545250", false),
            until(1_795_200_545_250)
        );
    }

    #[test]
    fn an_overdue_lock_is_detected() {
        let lease = lease("lock:import", "1795199285", false).unwrap();
        assert_eq!(lease.remaining_ms(NOW), Some(0));
        assert_eq!(
            lease.expires_at(),
            Some(Timestamp::from_millis(1_795_199_285_000))
        );
    }

    #[test]
    fn timestamps_with_a_ttl_far_ahead_or_under_other_names_are_not_locks() {
        assert_eq!(lease("job:last-run", "1795199285", false), None);
        assert_eq!(lease("job:last-run", "1795199285", true), None);
        assert_eq!(lease("import", "1795200545", true).map(|_| ()), Some(()));
        assert_eq!(lease("lock:a", "4102444800", false), None);
        for value in [
            "",
            "179520054",
            "17952005455",
            "0795200545",
            "1795200545.",
            "1795200545250.1",
            "-795200545",
        ] {
            assert_eq!(parse_timestamp(value.as_bytes()), None, "{value}");
        }
        let with_ttl = string("lock:import", "1795200545", 90_000);
        assert_eq!(
            formats::detect(&with_ttl, false).unwrap().format,
            Format::Plain
        );
    }
}
