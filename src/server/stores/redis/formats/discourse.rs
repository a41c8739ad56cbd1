//! Discourse's `DistributedMutex` (Ruby): the value is the expiry in seconds, and the key expires
//! one second later.
//!
//! ```text
//! SET download_7  1795200545  EX 61        60 seconds from now, plus one
//! ```
//!
//! The extra second distinguishes it from a rate limiter, whose key expires at the time in its
//! value. Source: `lib/distributed_mutex.rb`.

use super::{DetectedLock, NameHint, string_value};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::stores::redis::key_state::{KeyState, Ttl};

/// The time from the expiry in the value to the expiry of the key: one second plus the fraction of
/// a second that the value does not contain.
const KEY_EXPIRY_MARGIN_MS: std::ops::RangeInclusive<i64> = 1_000..=2_100;

/// Detects a timestamp one second before the expiry of the key.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| value.len() == 10)?;
    let Ttl::Ms(left) = state.ttl else {
        return None;
    };
    let text = std::str::from_utf8(value).ok()?;
    let seconds: i64 = text
        .parse()
        .ok()
        .filter(|seconds| *seconds > 1_000_000_000)?;
    let until = Timestamp::from_millis(seconds * 1000);
    let key_expires_at = state
        .read_at
        .plus_millis(i64::try_from(left).unwrap_or(i64::MAX));
    if !KEY_EXPIRY_MARGIN_MS.contains(&key_expires_at.millis_since(until)) {
        return None;
    }
    let confidence = if name_hint.is_present() {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    let lock =
        DetectedLock::from_value(Format::Discourse, state, value, None).with_confidence(confidence);
    Some(DetectedLock {
        lease: Lease::until(until, state.read_at),
        ..lock
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, describe, format, string};
    use super::*;
    use crate::server::stores::redis::formats;

    /// 60 s after the start of the current second in tests, which is 556 ms old.
    const UNTIL: &str = "1795200545";

    #[test]
    fn a_key_that_expires_one_second_after_its_value_is_detected() {
        let detected = |key: &str| string(key, UNTIL, 61_000);
        assert_eq!(
            format(&detected("lock:download_7")),
            Some((Format::Discourse, Confidence::Likely))
        );
        let lock = formats::detect(&detected("lock:download_7"), false).unwrap();
        let until = Timestamp::from_millis(1_795_200_545_000);
        assert_eq!(lock.lease, Lease::until(until, NOW));
    }

    #[test]
    fn a_rate_limiter_that_expires_with_its_value_is_not_detected() {
        assert_eq!(describe(&string("login:timer7", UNTIL, 60_000)), None);
        assert_eq!(
            describe(&string("lock:login", UNTIL, 60_000)).unwrap().0,
            Format::Plain
        );
        assert_eq!(describe(&string("job:last", UNTIL, None)), None);
    }
}
