//! redlock-py: 22 random letters and digits.
//!
//! ```text
//! SET payouts  8m0GHkYkjgOHbLYwpNksuy  NX PX 10000
//! ```
//!
//! Many ids look like this, so without a lock-like name it is only a possible lock. One in sixteen
//! tokens is detected as [`super::redislock`], which is compared and released in the same way.
//! Source: `redlock/__init__.py`.

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects 22 letters of both cases and digits, with a TTL.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let is_token = |value: &&[u8]| shapes::is_alphanumeric(value, 22) && shapes::is_mixed(value);
    let value = string_value(state).filter(|value| has_ttl(state) && is_token(value))?;
    let confidence = if name_hint.is_present() {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    Some(
        DetectedLock::from_value(Format::RedlockPy, state, value, None).with_confidence(confidence),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, format, string};
    use super::*;

    /// Written by redlock-py 1.0.8.
    const REAL: &str = "8m0GHkYkjgOHbLYwpNksuy";

    #[test]
    fn letters_and_digits_under_a_lock_like_name_are_detected() {
        assert_eq!(
            format(&string("lock:payouts", REAL, 10_000)),
            Some((Format::RedlockPy, Confidence::Likely))
        );
        assert_eq!(
            format(&string("payouts", REAL, 10_000)),
            Some((Format::RedlockPy, Confidence::Possible))
        );
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
