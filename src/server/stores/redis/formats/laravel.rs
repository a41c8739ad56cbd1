//! Laravel's `Cache::lock` (PHP) and go-zero's `RedisLock` (Go). Both use 16 letters and digits.
//!
//! ```text
//! SET shop-database-shop-cache-import  Yk941JgLndDdI9Ec           EX 60 NX   Laravel; without seconds no TTL
//! SET laravel_database_laravel_cache:import  s:16:"g8ddVkROmAD8HZN3";        the same, serialised by PHP
//! SET import                           Yk941JgLndDdI9Ec           NX PX 5500 go-zero: half a second more than requested
//! ```
//!
//! Laravel's cache stores serialised values and numbers, so 16 letters under its prefix are an
//! owner. Under other prefixes many ids look like this: go-zero's keys are only possible locks
//! without a lock-like name. Source: `Illuminate/Cache/RedisLock.php`,
//! `core/stores/redis/redislock.go`.

use super::look_alikes::{contains, is_laravel_token};
use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects such an owner. The prefix or the serialisation identifies Laravel.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state)?;
    let key = state.key.as_bytes();
    let is_serialised = is_laravel_token(value);
    let is_random = shapes::is_alphanumeric(value, 16) && shapes::is_mixed(value);
    if !is_serialised && !is_random {
        return None;
    }
    let is_laravel = is_serialised
        || [&b"-cache-"[..], b"_cache:", b"laravel"]
            .iter()
            .any(|part| contains(key, part));
    let (format, confidence) = match (is_laravel, has_ttl(state), name_hint.is_present()) {
        (true, _, _) => (Format::Laravel, Confidence::Likely),
        (false, true, true) => (Format::GoZero, Confidence::Likely),
        (false, true, false) => (Format::GoZero, Confidence::Possible),
        (false, false, _) => return None,
    };
    Some(DetectedLock::from_value(format, state, value, None).with_confidence(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, format, string};
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
    fn under_other_prefixes_they_are_go_zero() {
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
    fn without_a_ttl_or_with_one_case_they_are_not_detected() {
        assert_eq!(describe(&string("import", REAL, None)), None);
        for value in [REAL, "9f86d081884c7d65", "workernumbertwel"] {
            assert_eq!(
                describe(&string("lock:a", value, None)).unwrap().0,
                Format::Plain
            );
        }
        assert_eq!(
            describe(&string(
                "shop-cache-greeting",
                "s:16:\"a greeting to all\";",
                9
            )),
            None
        );
    }
}
