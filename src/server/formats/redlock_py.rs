//! redlock-py: 22 random letters and digits.
//!
//! ```text
//! SET payouts  8m0GHkYkjgOHbLYwpNksuy  NX PX 10000
//! ```
//!
//! Ids of all kinds look like this; without a lock-like name it is a possible lock only. One in sixteen is taken for
//! [`super::redislock`]'s, which is compared and released alike. Source: `redlock/__init__.py`.

use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises 22 letters and digits of both cases with a TTL.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let is_token = |value: &&[u8]| shapes::is_alphanumeric(value, 22) && shapes::is_mixed(value);
    let value = text(sighting).filter(|value| has_ttl(sighting) && is_token(value))?;
    let confidence = if hint.is_given() {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    Some(Recognised::by_value(Format::RedlockPy, sighting, value, None).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, string, told};
    use super::*;

    /// Written by redlock-py 1.0.8.
    const REAL: &str = "8m0GHkYkjgOHbLYwpNksuy";

    #[test]
    fn letters_and_digits_under_the_name_of_a_lock() {
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
    fn without_a_ttl_or_in_one_case_it_is_not_redlock_py() {
        assert_eq!(told(&string("payouts", REAL, None)), None);
        for (value, ttl) in [
            (REAL, None),
            ("workernumber11ofmany22", Some(9)),
            (&REAL[1..], Some(9)),
        ] {
            assert_eq!(
                told(&string("lock:a", value, ttl)).unwrap().0,
                Format::Plain
            );
        }
    }
}
