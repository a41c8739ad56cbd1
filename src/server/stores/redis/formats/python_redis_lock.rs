//! python-redis-lock: 18 random bytes in base64 under `lock:`.
//!
//! ```text
//! SET lock:prl  sxC0yahykS7gF2Mw5Bu6WBW5  NX          no TTL unless `expire` is given
//! LPUSH lock-signal:prl  1                            on release: unblocks a waiter in BLPOP
//! ```
//!
//! With an id of the caller it is a plain lock. Source: `redis_lock/__init__.py`.

use super::{DetectedLock, NameHint, shapes, string_value};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

/// Detects 24 characters of base64 under this prefix.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let value =
        string_value(state).filter(|value| value.len() == 24 && shapes::is_base64(value))?;
    let is_named = state.key.as_bytes().starts_with(b"lock:");
    // A value of lower-case letters is a word, not random base64.
    let is_random = value
        .iter()
        .any(|byte| !byte.is_ascii_lowercase() && *byte != b'/');
    (is_named && is_random)
        .then(|| DetectedLock::from_value(Format::PythonRedisLock, state, value, None))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, string};
    use super::*;
    use crate::domain::Confidence;

    /// Written by python-redis-lock 4.0.1.
    const REAL: &str = "sxC0yahykS7gF2Mw5Bu6WBW5";

    #[test]
    fn eighteen_bytes_under_the_prefix_are_detected() {
        for ttl in [None, Some(10_000)] {
            assert_eq!(
                format(&string("lock:prl", REAL, ttl)),
                Some((Format::PythonRedisLock, Confidence::Sure))
            );
        }
    }

    #[test]
    fn other_names_and_lengths_are_not_detected() {
        let plain = Some((Format::Plain, Confidence::Likely));
        assert_eq!(format(&string("prl:lock", REAL, 10_000)), plain);
        assert_eq!(format(&string("lock:prl", &REAL[1..], 10_000)), plain);
        assert_eq!(
            format(&string("lock:prl", "workernumberelevenofmany", 10_000)),
            plain
        );
        assert_eq!(
            format(&string("lock:prl", "Zb1kM5c0P7mJr8xw3uVYHQ==", 8_000)),
            Some((Format::Redsync, Confidence::Sure))
        );
    }
}
