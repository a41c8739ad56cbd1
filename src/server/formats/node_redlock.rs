//! node-redlock 4 and 5 (npm `redlock`): 16 random bytes in hex, the same under every key of a multi-resource lock.
//!
//! ```text
//! SET {a}res1  de0643ec94ee19182e5d96ac99871f9e  PX 30000        inside a script that checks EXISTS first
//! ```
//!
//! Wire-identical in both versions. The lease is the caller's; `using()` of version 5 extends it by itself. Python code
//! that writes `uuid4().hex` cannot be told apart and is handled alike, except Sentry's: a token per process, under `l:`.
//! Source: `redlock.js` (4), `index.js` (5), Sentry's `utils/locking/backends/redis.py`.

use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises 32 hex digits with a TTL. redis-py, asked earlier, has taken its own by then.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|value| shapes::is_hex(value, 32) && has_ttl(sighting))?;
    let is_version_4 = shapes::is_uuid4_hex(value);
    let is_sentrys = is_version_4 && sighting.key.as_bytes().starts_with(b"l:");
    let format = if is_sentrys {
        Format::Sentry
    } else {
        Format::NodeRedlock
    };
    let confidence = if hint.is_given() && !is_version_4 {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    Some(Recognised::by_value(format, sighting, value, None).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::formats;

    /// Written by redlock 5.0.0-beta.2.
    const REAL: &str = "de0643ec94ee19182e5d96ac99871f9e";

    #[test]
    fn thirty_two_hex_digits_with_a_ttl() {
        let lock = formats::recognise(&string("{a}res1", REAL, 30_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::NodeRedlock, None)
        );
        assert_eq!(lock.owners[0].bytes.expose(), REAL.as_bytes());
    }

    #[test]
    fn sentrys_are_told_by_name_and_version() {
        let format = |key: &str, value: &str| {
            let lock = formats::recognise(&string(key, value, 30_000), false).unwrap();
            (lock.format, lock.confidence)
        };
        let version_4 = "de0643ec94ee49189e5d96ac99871f9e";
        let likely = |format| (format, Confidence::Likely);
        assert_eq!(format("l:group:7", version_4), likely(Format::Sentry));
        assert_eq!(format("group:7", version_4), likely(Format::NodeRedlock));
        assert_eq!(format("l:group:7", REAL), likely(Format::NodeRedlock));
        assert_eq!(
            format("lock:7", REAL),
            (Format::NodeRedlock, Confidence::Sure)
        );
    }

    #[test]
    fn without_a_ttl_the_name_must_speak_and_then_it_is_plain() {
        assert_eq!(
            formats::recognise(&string("etag:7", REAL, None), false),
            None
        );
        assert_eq!(
            formats::recognise(&string("lock:a", REAL, None), false)
                .unwrap()
                .format,
            Format::Plain
        );
    }
}
