//! Sightings for the tests of this room.

use crate::domain::{LockKey, Timestamp};
use crate::server::nodes::sighting::{Sighting, Ttl, Value};

/// 2026-11-20T18:48:05.556Z: the day on which the bytes in these tests were written.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_200_485_556);

/// A string key with a TTL of that many milliseconds, or none.
pub fn string(key: &str, value: impl Into<Vec<u8>>, ttl_ms: impl Into<Option<u64>>) -> Sighting {
    seen(key, Value::Text(value.into()), ttl_ms)
}

/// A hash key.
pub fn hash(key: &str, fields: &[(&str, &str)], ttl_ms: impl Into<Option<u64>>) -> Sighting {
    let fields = fields
        .iter()
        .map(|(field, value)| (field.as_bytes().to_vec(), value.as_bytes().to_vec()));
    seen(key, Value::Hash(fields.collect()), ttl_ms)
}

/// A key of any type.
pub fn seen(key: &str, value: Value, ttl_ms: impl Into<Option<u64>>) -> Sighting {
    Sighting {
        key: LockKey::from(key),
        value,
        ttl: ttl_ms.into().map_or(Ttl::Never, Ttl::Ms),
        seen_at: NOW,
    }
}
