//! node-redlock 4 and 5 (npm `redlock`): 16 random bytes in hex, the same in all keys of a
//! multi-resource lock.
//!
//! ```text
//! SET {a}res1  de0643ec94ee19182e5d96ac99871f9e  PX 30000        inside a script that checks EXISTS first
//! ```
//!
//! Both versions write the same. The caller sets the lease; `using()` of version 5 extends it
//! automatically. Python code that writes `uuid4().hex` is indistinguishable and handled in the
//! same way, except Sentry's locks: a token per process, under the prefix `l:`. Source:
//! `redlock.js` (4), `index.js` (5), Sentry's `utils/locking/backends/redis.py`.

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects 32 hex digits with a TTL. The detector of redis-py runs before this one.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| shapes::is_hex(value, 32) && has_ttl(state))?;
    // A version 4 UUID more likely comes from Python code that writes `uuid4().hex`.
    let is_version_4 = shapes::is_uuid4_hex(value);
    let is_sentry = is_version_4 && state.key.as_bytes().starts_with(b"l:");
    let format = if is_sentry {
        Format::Sentry
    } else {
        Format::NodeRedlock
    };
    let confidence = if name_hint.is_present() && !is_version_4 {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    Some(DetectedLock::from_value(format, state, value, None).with_confidence(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::stores::redis::formats;

    /// Written by redlock 5.0.0-beta.2.
    const REAL: &str = "de0643ec94ee19182e5d96ac99871f9e";

    #[test]
    fn thirty_two_hex_digits_with_a_ttl_are_detected() {
        let lock = formats::detect(&string("{a}res1", REAL, 30_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::NodeRedlock, None)
        );
        assert_eq!(lock.owners[0].bytes.expose(), REAL.as_bytes());
    }

    #[test]
    fn sentry_is_detected_by_prefix_and_uuid_version() {
        let format = |key: &str, value: &str| {
            let lock = formats::detect(&string(key, value, 30_000), false).unwrap();
            (lock.format, lock.confidence)
        };
        let version_4 = "de0643ec94ee49189e5d96ac99871f9e";
        let likely = |format| (format, Confidence::Likely);
        assert_eq!(format("l:group:7", version_4), likely(Format::Sentry));
        assert_eq!(
            format("group:7", version_4),
            (Format::NodeRedlock, Confidence::Possible)
        );
        assert_eq!(format("l:group:7", REAL), likely(Format::NodeRedlock));
        assert_eq!(
            format("lock:7", REAL),
            (Format::NodeRedlock, Confidence::Sure)
        );
    }

    #[test]
    fn without_a_ttl_it_is_a_plain_lock_under_a_lock_like_name_only() {
        assert_eq!(formats::detect(&string("etag:7", REAL, None), false), None);
        assert_eq!(
            formats::detect(&string("lock:a", REAL, None), false)
                .unwrap()
                .format,
            Format::Plain
        );
    }
}
