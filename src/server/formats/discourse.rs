//! Discourse's `DistributedMutex` (Ruby): the value is the second in which it ends, and the key goes a second later.
//!
//! ```text
//! SET download_7  1795200545  EX 61        60 seconds from now, and one more
//! ```
//!
//! That second tells it from a rate limiter's mark, which goes when its time is there. Source: `lib/distributed_mutex.rb`.

use super::{Hint, Recognised, text};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::sighting::{Sighting, Ttl};

/// From the second in the value to the key's end: one second, and the fraction that was cut off.
const BEYOND_MS: std::ops::RangeInclusive<i64> = 1_000..=2_100;

/// Recognises a second that comes shortly before the key's end.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|value| value.len() == 10)?;
    let Ttl::Ms(left) = sighting.ttl else {
        return None;
    };
    let text = std::str::from_utf8(value).ok()?;
    let seconds: i64 = text
        .parse()
        .ok()
        .filter(|seconds| *seconds > 1_000_000_000)?;
    let until = Timestamp::from_millis(seconds * 1000);
    let ends = sighting
        .seen_at
        .plus_millis(i64::try_from(left).unwrap_or(i64::MAX));
    if !BEYOND_MS.contains(&ends.millis_since(until)) {
        return None;
    }
    let confidence = if hint.is_given() {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    let lock = Recognised::by_value(Format::Discourse, sighting, value, None).with(confidence);
    Some(Recognised {
        lease: Lease::until(until, sighting.seen_at),
        ..lock
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, format, string, told};
    use super::*;
    use crate::server::formats;

    /// 60 s after the second in which the tests play, which is 556 ms old.
    const UNTIL: &str = "1795200545";

    #[test]
    fn a_key_that_outlives_its_value_by_a_second() {
        let seen = |key: &str| string(key, UNTIL, 61_000);
        assert_eq!(
            format(&seen("lock:download_7")),
            Some((Format::Discourse, Confidence::Likely))
        );
        let lock = formats::recognise(&seen("lock:download_7"), false).unwrap();
        let until = Timestamp::from_millis(1_795_200_545_000);
        assert_eq!(lock.lease, Lease::until(until, NOW));
    }

    #[test]
    fn a_limiter_that_ends_on_time_is_none() {
        assert_eq!(told(&string("login:timer7", UNTIL, 60_000)), None);
        assert_eq!(
            told(&string("lock:login", UNTIL, 60_000)).unwrap().0,
            Format::Plain
        );
        assert_eq!(told(&string("job:last", UNTIL, None)), None);
    }
}
