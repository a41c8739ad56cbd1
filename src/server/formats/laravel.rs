//! Laravel's `Cache::lock` (PHP), and go-zero's `RedisLock` (Go), whose owners look the same: 16 letters and digits.
//!
//! ```text
//! SET shop-database-shop-cache-import  Yk941JgLndDdI9Ec           EX 60 NX   Laravel; without seconds no TTL
//! SET laravel_database_laravel_cache:import  s:16:"g8ddVkROmAD8HZN3";        the same where PHP serialises
//! SET import                           Yk941JgLndDdI9Ec           NX PX 5500 go-zero: half a second more than asked for
//! ```
//!
//! Laravel's cache itself keeps serialised values and numbers, so 16 letters under its prefix are an owner. Elsewhere ids of
//! all kinds look like this, and go-zero's are possible locks only, unless the name speaks for one.
//! Source: `Illuminate/Cache/RedisLock.php`, `core/stores/redis/redislock.go`.

use super::look_alikes::{contains, is_laravel_token};
use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises such an owner, by prefix or by being serialised as Laravel's.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting)?;
    let key = sighting.key.as_bytes();
    let is_serialised = is_laravel_token(value);
    let is_random = shapes::is_alphanumeric(value, 16) && shapes::is_mixed(value);
    if !is_serialised && !is_random {
        return None;
    }
    let is_laravels = is_serialised
        || [&b"-cache-"[..], b"_cache:", b"laravel"]
            .iter()
            .any(|part| contains(key, part));
    let (format, confidence) = match (is_laravels, has_ttl(sighting), hint.is_given()) {
        (true, _, _) => (Format::Laravel, Confidence::Likely),
        (false, true, true) => (Format::GoZero, Confidence::Likely),
        (false, true, false) => (Format::GoZero, Confidence::Possible),
        (false, false, _) => return None,
    };
    Some(Recognised::by_value(format, sighting, value, None).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, string, told};
    use super::*;

    /// Written by Laravel 8.83.
    const REAL: &str = "Yk941JgLndDdI9Ec";

    #[test]
    fn sixteen_letters_under_laravels_prefix() {
        for key in [
            "laravel_database_laravel_cache:processing",
            "shop-database-shop-cache-processing",
        ] {
            for ttl in [None, Some(60_000)] {
                assert_eq!(
                    format(&string(key, REAL, ttl)),
                    Some((Format::Laravel, Confidence::Likely)),
                    "{key}"
                );
            }
        }
        assert_eq!(
            format(&string("lock:a", "s:16:\"g8ddVkROmAD8HZN3\";", 9_000)),
            Some((Format::Laravel, Confidence::Likely))
        );
    }

    #[test]
    fn elsewhere_they_are_go_zeros() {
        assert_eq!(
            format(&string("lock:a", REAL, 5_500)),
            Some((Format::GoZero, Confidence::Likely))
        );
        assert_eq!(
            format(&string("import", REAL, 5_500)),
            Some((Format::GoZero, Confidence::Possible))
        );
    }

    #[test]
    fn without_a_ttl_or_in_one_case_they_are_nobodys() {
        assert_eq!(told(&string("import", REAL, None)), None);
        for value in [REAL, "9f86d081884c7d65", "workernumbertwel"] {
            assert_eq!(
                told(&string("lock:a", value, None)).unwrap().0,
                Format::Plain
            );
        }
        assert_eq!(
            told(&string(
                "shop-cache-greeting",
                "s:16:\"a greeting to all\";",
                9
            )),
            None
        );
    }
}
