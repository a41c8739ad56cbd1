//! UUID tokens. Many libraries write them, so only two distinctive names are detected.
//!
//! ```text
//! SET redlock:printer  da236e7c-…  NX PX 10000       pottery (Python), or RedLock.net with its default format
//! SET lock  da236e7c-…  NX PX 30000                  quartz-redis-jobstore (Java), with its set `jobs`
//! ```
//!
//! aioredlock, sherlock, redlock-rb, RedLock.net and StackExchange.Redis write UUIDs under names
//! that the caller chooses. Under a lock-like name they are plain locks; a `format_override` in the
//! configuration sets their format. A UUID under another name is an id.

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects a UUID under one of these names.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| has_ttl(state) && shapes::is_uuid4(value))?;
    let key = state.key.as_bytes();
    let format = if key.starts_with(b"redlock:") {
        Format::Pottery
    } else if key == b"lock" && !state.companions.is_empty() {
        Format::Quartz
    } else {
        return None;
    };
    Some(DetectedLock::from_value(format, state, value, None).with_confidence(Confidence::Likely))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, members, string};
    use super::*;
    use crate::server::stores::redis::key_state::RedisValue;

    const UUID: &str = "da236e7c-0f5c-4a3c-9d0e-3f0c51c0fe05";

    #[test]
    fn the_two_distinctive_names_are_detected() {
        assert_eq!(
            format(&string("redlock:printer", UUID, 10_000)),
            Some((Format::Pottery, Confidence::Likely))
        );
        let quartz = string("lock", UUID, 30_000)
            .with_companion("jobs", RedisValue::Set(members(&["mail", "report"])));
        assert_eq!(format(&quartz), Some((Format::Quartz, Confidence::Likely)));
    }

    #[test]
    fn under_other_names_a_uuid_is_a_plain_lock_or_no_lock() {
        let plain = Some((Format::Plain, Confidence::Likely));
        assert_eq!(format(&string("lock", UUID, 30_000)), plain);
        assert_eq!(format(&string("lock:a", UUID, 30_000)), plain);
        assert_eq!(format(&string("redlock:a", UUID, None)), plain);
        assert_eq!(format(&string("idempotency:7", UUID, 30_000)), None);
    }
}
