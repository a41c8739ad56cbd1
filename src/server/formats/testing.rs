//! Sightings for the tests of this room.

use super::recognise;
use crate::domain::{Confidence, Format, LockKey, Timestamp};
use crate::server::sighting::{Companion, Sighting, Ttl, Value};

/// 2026-11-20T18:48:05.556Z: the day on which the bytes in these tests were written.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_200_485_556);

/// The same, for scores.
pub const NOW_MS: f64 = 1_795_200_485_556.0;

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

/// A set key.
pub fn set(key: &str, members: &[&str], ttl_ms: impl Into<Option<u64>>) -> Sighting {
    let members = members.iter().map(|member| member.as_bytes().to_vec());
    seen(key, Value::Set(members.collect()), ttl_ms)
}

/// A sorted set.
pub fn zset(key: &str, members: &[(&str, f64)], ttl_ms: impl Into<Option<u64>>) -> Sighting {
    let members = members
        .iter()
        .map(|(member, score)| (member.as_bytes().to_vec(), *score));
    seen(key, Value::SortedSet(members.collect()), ttl_ms)
}

/// A key of any type.
pub fn seen(key: &str, value: Value, ttl_ms: impl Into<Option<u64>>) -> Sighting {
    let ttl = ttl_ms.into().map_or(Ttl::Never, Ttl::Ms);
    Sighting::alone(LockKey::from(key), value, ttl, NOW)
}

impl Sighting {
    /// The same with something beside it.
    pub fn beside(mut self, key: &str, value: Value) -> Self {
        self.companions.push(Companion {
            key: key.into(),
            value,
            ttl: Ttl::Never,
        });
        self
    }
}

/// The members of a list or a set.
pub fn members(of: &[&str]) -> Vec<Vec<u8>> {
    of.iter().map(|one| one.as_bytes().to_vec()).collect()
}

/// What it is taken for, how surely, and what the first owner is called; under nobody's pattern.
pub fn told(sighting: &Sighting) -> Option<(Format, Confidence, Option<String>)> {
    let lock = recognise(sighting, false)?;
    Some((
        lock.format,
        lock.confidence,
        lock.owners[0].owner.label.clone(),
    ))
}

/// What it is taken for, without a label.
pub fn format(sighting: &Sighting) -> Option<(Format, Confidence)> {
    let (format, confidence, label) = told(sighting)?;
    assert_eq!(label, None);
    Some((format, confidence))
}

/// The labels of all owners.
pub fn labels(sighting: &Sighting) -> Vec<String> {
    let owners = recognise(sighting, false).unwrap().owners;
    let labels = owners.into_iter().map(|seen| seen.owner.label.unwrap());
    labels.collect()
}
