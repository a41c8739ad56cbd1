//! `SETNX key <expiry time>`: the lock of the years before `SET NX PX`, still written by jedis-lock, `ServiceStack` and
//! redis-objects.
//!
//! ```text
//! SETNX lock:import  1795200545.25         seconds, with or without a fraction; the key has no TTL
//! SETNX lock:import  1795200545250         or milliseconds
//! ```
//!
//! The value is the lease. Once it is past, the lock may be taken over (`GETSET`), but it is not gone; operators want to
//! see it either way. A number *with* a TTL is a rate limiter or a heartbeat.

use super::{Hint, Recognised, has_ttl, text};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::sighting::Sighting;

const YEAR_MS: i64 = 366 * 24 * 60 * 60 * 1000;

/// Recognises a moment without TTL: past or up to a year ahead under a lock-like name, only ahead where the operator's
/// pattern is the only hint (a moment in the past is more likely a "last run").
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|_| !has_ttl(sighting))?;
    let until = moment(value)?;
    let ahead = until.millis_since(sighting.seen_at);
    let is_lease =
        ahead <= YEAR_MS && (hint.lock_like_name || (hint.named_by_operator && ahead > 0));
    is_lease.then(|| Recognised {
        lease: Lease::until(until, sighting.seen_at),
        ..Recognised::by_value(Format::LegacyTimestamp, sighting, value, None)
            .with(Confidence::Likely)
    })
}

/// The moment that ten digits of seconds, perhaps with a fraction, or thirteen digits of milliseconds name.
fn moment(value: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || whole.starts_with('0') || !fraction.is_none_or(are_digits) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match (whole.len(), fraction) {
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
    use crate::server::formats;

    fn lease(key: &str, value: &str, named_by_operator: bool) -> Option<Lease> {
        let lock = formats::recognise(&string(key, value, None), named_by_operator)?;
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
    fn a_lock_past_its_own_time_is_still_seen() {
        let lease = lease("lock:import", "1795199285", false).unwrap();
        assert_eq!(lease.remaining_ms(NOW), Some(0));
        assert_eq!(
            lease.expires_at(),
            Some(Timestamp::from_millis(1_795_199_285_000))
        );
    }

    #[test]
    fn a_moment_with_a_ttl_a_far_one_or_one_under_another_name_is_no_lease() {
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
            assert_eq!(moment(value.as_bytes()), None, "{value}");
        }
        let with_ttl = string("lock:import", "1795200545", 90_000);
        assert_eq!(
            formats::recognise(&with_ttl, false).unwrap().format,
            Format::Plain
        );
    }
}
