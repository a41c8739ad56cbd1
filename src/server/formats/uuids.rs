//! UUIDs as tokens: too many write them to tell who. Two names help.
//!
//! ```text
//! SET redlock:printer  da236e7c-…  NX PX 10000       pottery (Python), or RedLock.net with its default format
//! SET lock  da236e7c-…  NX PX 30000                  quartz-redis-jobstore (Java), beside its set `jobs`
//! ```
//!
//! aioredlock, sherlock, redlock-rb, RedLock.net and StackExchange.Redis write the same under names of the caller's choice:
//! a lock-like name makes them plain locks, a pin in the configuration what they are. A UUID under any other name is an id.

use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises a UUID under one of these names.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|value| has_ttl(sighting) && shapes::is_uuid4(value))?;
    let key = sighting.key.as_bytes();
    let format = if key.starts_with(b"redlock:") {
        Format::Pottery
    } else if key == b"lock" && !sighting.companions.is_empty() {
        Format::Quartz
    } else {
        return None;
    };
    Some(Recognised::by_value(format, sighting, value, None).with(Confidence::Likely))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, members, string};
    use super::*;
    use crate::server::sighting::Value;

    const UUID: &str = "da236e7c-0f5c-4a3c-9d0e-3f0c51c0fe05";

    #[test]
    fn two_names_are_told() {
        assert_eq!(
            format(&string("redlock:printer", UUID, 10_000)),
            Some((Format::Pottery, Confidence::Likely))
        );
        let quartz =
            string("lock", UUID, 30_000).beside("jobs", Value::Set(members(&["mail", "report"])));
        assert_eq!(format(&quartz), Some((Format::Quartz, Confidence::Likely)));
    }

    #[test]
    fn under_other_names_they_are_plain_or_nothing() {
        let plain = Some((Format::Plain, Confidence::Likely));
        assert_eq!(format(&string("lock", UUID, 30_000)), plain);
        assert_eq!(format(&string("lock:a", UUID, 30_000)), plain);
        assert_eq!(format(&string("redlock:a", UUID, None)), plain);
        assert_eq!(format(&string("idempotency:7", UUID, 30_000)), None);
    }
}
