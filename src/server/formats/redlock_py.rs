//! redlock-py: 22 random letters and digits.
//!
//! ```text
//! SET payouts  8m0GHkYkjgOHbLYwpNksuy  NX PX 10000
//! ```
//!
//! Many ids look like this, so without a lock-like name it is a likely lock only if it expires soon.
//! One in sixteen tokens is detected as [`super::redislock`], which is compared and released in the same way.
//! Source: `redlock/__init__.py`.

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::key_state::KeyState;

/// Detects 22 letters of both cases and digits, with a TTL.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let is_token = |value: &&[u8]| shapes::is_alphanumeric(value, 22) && shapes::is_mixed(value);
    let value = string_value(state).filter(|value| has_ttl(state) && is_token(value))?;
    let lock = DetectedLock::from_value(Format::RedlockPy, state, value, None);
    Some(lock.with_confidence(Confidence::Likely))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, format, string};
    use super::*;

    /// Written by redlock-py 1.0.8.
    const REAL: &str = "8m0GHkYkjgOHbLYwpNksuy";

    #[test]
    fn letters_and_digits_are_likely_a_lock_under_a_lock_like_name_or_if_they_expire_soon() {
        for (name, ttl_ms, confidence) in [
            ("lock:payouts", 3_600_000, Confidence::Likely),
            ("payouts", 10_000, Confidence::Likely),
            ("payouts", 3_600_000, Confidence::Possible),
        ] {
            let found = format(&string(name, REAL, ttl_ms));
            assert_eq!(found, Some((Format::RedlockPy, confidence)), "{name}");
        }
        assert_eq!(format(&string("session:7", REAL, 10_000)), None);
    }

    #[test]
    fn without_a_ttl_or_with_one_case_it_is_not_redlock_py() {
        assert_eq!(describe(&string("payouts", REAL, None)), None);
        for (value, ttl) in [
            (REAL, None),
            ("workernumber11ofmany22", Some(9)),
            (&REAL[1..], Some(9)),
        ] {
            assert_eq!(
                describe(&string("lock:a", value, ttl)).unwrap().0,
                Format::Plain
            );
        }
    }
}
