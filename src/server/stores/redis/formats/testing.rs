//! Key states for the tests of detectors.

use super::detect;
use crate::domain::{Confidence, Format, LockKey, Timestamp};
use crate::server::stores::redis::key_state::{Companion, KeyState, RedisValue, Ttl};

/// 2026-11-20T18:48:05.556Z: the day on which the test data was recorded.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_200_485_556);

/// [`NOW`] as a score.
pub const NOW_MS: f64 = 1_795_200_485_556.0;

/// A string key.
pub fn string(key: &str, value: impl Into<Vec<u8>>, ttl_ms: impl Into<Option<u64>>) -> KeyState {
    key_state(key, RedisValue::Text(value.into()), ttl_ms)
}

/// A hash key.
pub fn hash(key: &str, fields: &[(&str, &str)], ttl_ms: impl Into<Option<u64>>) -> KeyState {
    let fields = fields
        .iter()
        .map(|(field, value)| (field.as_bytes().to_vec(), value.as_bytes().to_vec()));
    key_state(key, RedisValue::Hash(fields.collect()), ttl_ms)
}

/// A set key.
pub fn set(key: &str, members: &[&str], ttl_ms: impl Into<Option<u64>>) -> KeyState {
    let members = members.iter().map(|member| member.as_bytes().to_vec());
    key_state(key, RedisValue::Set(members.collect()), ttl_ms)
}

/// A sorted set.
pub fn zset(key: &str, members: &[(&str, f64)], ttl_ms: impl Into<Option<u64>>) -> KeyState {
    let members = members
        .iter()
        .map(|(member, score)| (member.as_bytes().to_vec(), *score));
    key_state(key, RedisValue::SortedSet(members.collect()), ttl_ms)
}

/// A key of any type.
pub fn key_state(key: &str, value: RedisValue, ttl_ms: impl Into<Option<u64>>) -> KeyState {
    let ttl = ttl_ms.into().map_or(Ttl::Never, Ttl::Ms);
    KeyState::without_companions(LockKey::from(key), value, ttl, NOW)
}

impl KeyState {
    /// Adds a companion key.
    pub fn with_companion(mut self, key: &str, value: RedisValue) -> Self {
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
    of.iter().map(|member| member.as_bytes().to_vec()).collect()
}

/// The detected format, the confidence and the label of the first owner.
pub fn describe(state: &KeyState) -> Option<(Format, Confidence, Option<String>)> {
    let lock = detect(state, false)?;
    Some((
        lock.format,
        lock.confidence,
        lock.owners[0].owner.label.clone(),
    ))
}

/// The detected format and the confidence of a lock without a label.
pub fn format(state: &KeyState) -> Option<(Format, Confidence)> {
    let (format, confidence, label) = describe(state)?;
    assert_eq!(label, None);
    Some((format, confidence))
}

/// The labels of all owners.
pub fn labels(state: &KeyState) -> Vec<String> {
    let owners = detect(state, false).unwrap().owners;
    let labels = owners
        .into_iter()
        .map(|detected| detected.owner.label.unwrap());
    labels.collect()
}
