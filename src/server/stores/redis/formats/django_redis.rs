//! django-redis' `cache.lock()` (Python): redis-py's token under `<KEY_PREFIX>:<VERSION>:<name>`.
//!
//! ```text
//! SET :1:dlock  88a4914ee51011f19df302fc00000001  NX        no prefix and version 1, unless the settings say otherwise
//! ```
//!
//! Without a prefix the name starts with a colon, which is distinctive. With a prefix, a name like
//! `orders:1:lock` can also have another origin. Source: `django_redis/client/default.py`.

use super::{DetectedLock, NameHint, redis_py};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects redis-py's token under such a name.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let mut parts = state.key.as_bytes().splitn(3, |&byte| byte == b':');
    let (prefix, version, name) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = !version.is_empty() && version.iter().all(u8::is_ascii_digit);
    let confidence = match prefix {
        b"" if is_number => Confidence::Sure,
        _ if version == b"1" => Confidence::Likely,
        _ => return None,
    };
    let lock = redis_py::detect(state, name_hint).filter(|_| !name.is_empty())?;
    Some(
        lock.with_format(Format::DjangoRedis)
            .with_confidence(confidence),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, string};
    use super::*;

    /// Written by django-redis 7.0.0 on redis-py 8.1.0.
    const TOKEN: &str = "88a4914ee51011f19df302fc00000001";

    #[test]
    fn the_name_distinguishes_it_from_redis_py() {
        let format = |key: &str| {
            let (format, confidence, label) = describe(&string(key, TOKEN, None)).unwrap();
            assert_eq!(label.as_deref(), Some("02:fc:00:00:00:01"));
            (format, confidence)
        };
        assert_eq!(format(":1:dlock"), (Format::DjangoRedis, Confidence::Sure));
        assert_eq!(format(":12:dlock"), (Format::DjangoRedis, Confidence::Sure));
        assert_eq!(
            format("shop:1:dlock"),
            (Format::DjangoRedis, Confidence::Likely)
        );
        for key in ["orders:42:lock", "dlock", ":1:", "1:dlock"] {
            assert_eq!(format(key), (Format::RedisPy, Confidence::Sure), "{key}");
        }
    }
}
