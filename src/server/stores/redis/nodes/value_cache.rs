//! Caches the values of a node's keys, so that reading a lock that no client accesses does not
//! reset its idle time.
//!
//! Before Redis 7.2, reading a value resets the key's idle time, which distinguishes abandoned
//! locks from contended ones. On such servers a value is read again only if there is a sign that it
//! may have changed.

use std::collections::HashMap;
use std::time::Duration;

use super::batch::LruClock;
use crate::domain::LockKey;
use crate::server::clock::{ClockReading, MonotonicTime};
use crate::server::stores::redis::key_state::{RedisValue, Ttl};

/// The accuracy of a deadline computed from `PTTL`, in addition to the round trip.
const DEADLINE_TOLERANCE: Duration = Duration::from_millis(10);

/// Keys that were not requested for this long are evicted.
const EVICT_AFTER: Duration = Duration::from_secs(60);

/// Without a TTL, only the idle time shows a change, and it does not show changes within the second
/// of our own read. Such a key is read again after this time.
const MAX_AGE_WITHOUT_TTL: Duration = Duration::from_secs(30);

/// The values last read from a node.
#[derive(Default)]
pub struct ValueCache {
    keys: HashMap<LockKey, CachedValue>,
    evicted_at: Option<MonotonicTime>,
}

struct CachedValue {
    value: RedisValue,
    reading: ReadMetadata,
    requested_at: MonotonicTime,
    /// Two reads in different seconds returned the same value, with no access by another client in
    /// between. A single read can fall between two owners that follow each other within the
    /// deadline tolerance or within one second.
    is_confirmed: bool,
}

/// The state of a key apart from its value.
#[derive(Clone, Debug)]
pub struct ReadMetadata {
    /// The type as returned by `TYPE`.
    pub type_name: String,
    /// The remaining time to live.
    pub ttl: Ttl,
    /// When it was read, on the console's clocks.
    pub read_at: ClockReading,
    /// The duration of the round trip.
    pub round_trip: Duration,
    /// The server's second of the last access; for a value that was read, the second of that read.
    pub accessed_at: Option<LruClock>,
}

impl ReadMetadata {
    fn has_same_deadline(&self, other: &Self) -> bool {
        match (self.ttl, other.ttl) {
            (Ttl::Never, Ttl::Never) => true,
            (Ttl::Ms(own_ttl), Ttl::Ms(other_ttl)) => {
                let difference_ms = self
                    .read_at
                    .monotonic
                    .plus(Duration::from_millis(own_ttl))
                    .millis_since(
                        other
                            .read_at
                            .monotonic
                            .plus(Duration::from_millis(other_ttl)),
                    );
                u128::from(difference_ms.unsigned_abs())
                    <= (self.round_trip + other.round_trip + DEADLINE_TOLERANCE).as_millis()
            }
            (Ttl::Ms(_), Ttl::Never) | (Ttl::Never, Ttl::Ms(_)) => false,
        }
    }

    /// Whether no client accessed the key since `read`, at the resolution of one second.
    fn is_unaccessed_since(&self, read: &Self) -> bool {
        match (self.accessed_at, read.accessed_at) {
            // One less if the second changed between reading the clock and the idle time. Any other
            // difference means an access by a client, or a new object under this name.
            (Some(now), Some(then)) => matches!(now.seconds_since(then), -1 | 0),
            (None, _) | (_, None) => false,
        }
    }
}

impl ValueCache {
    /// The cached value, if nothing indicates that it changed.
    pub fn get(&mut self, key: &LockKey, now: &ReadMetadata) -> Option<RedisValue> {
        let cached = self.keys.get_mut(key)?;
        cached.requested_at = now.read_at.monotonic;
        // A write that sets a new lease moves the deadline; a key without TTL has no such sign.
        let is_fresh = match now.ttl {
            Ttl::Ms(_) => true,
            Ttl::Never => {
                now.read_at
                    .monotonic
                    .duration_since(cached.reading.read_at.monotonic)
                    < MAX_AGE_WITHOUT_TTL
            }
        };
        let is_valid = cached.is_confirmed
            && is_fresh
            && cached.reading.type_name == now.type_name
            && cached.reading.has_same_deadline(now)
            && now.is_unaccessed_since(&cached.reading)
            && !is_shared_integer(&cached.value);
        is_valid.then(|| cached.value.clone())
    }

    /// Caches a value that was just read. `before` is the key's state directly before the read.
    pub fn insert(
        &mut self,
        key: &LockKey,
        value: RedisValue,
        reading: ReadMetadata,
        before: &ReadMetadata,
    ) {
        // No client accessed the key in the second before this read, so its lease is older than a
        // second. An owner that replaces it within the second of this read sets another deadline,
        // which `get` notices.
        let was_quiet = before
            .accessed_at
            .zip(reading.accessed_at)
            .is_some_and(|(accessed_at, read)| read.seconds_since(accessed_at) >= 2);
        let is_confirmed = was_quiet
            || self.keys.get(key).is_some_and(|cached| {
                let is_later = reading
                    .accessed_at
                    .zip(cached.reading.accessed_at)
                    .is_some_and(|(now, then)| now.seconds_since(then) >= 1);
                cached.value == value
                    && cached.reading.has_same_deadline(&reading)
                    && before.is_unaccessed_since(&cached.reading)
                    && is_later
            });
        let requested_at = reading.read_at.monotonic;
        self.keys.insert(
            key.clone(),
            CachedValue {
                value,
                reading,
                requested_at,
                is_confirmed,
            },
        );
    }

    /// Removes a key that no longer exists.
    pub fn remove(&mut self, key: &LockKey) {
        self.keys.remove(key);
    }

    /// Removes all keys: the connection may lead to a different server.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// Evicts keys that are no longer requested.
    pub fn evict_idle(&mut self, now: MonotonicTime) {
        if self
            .evicted_at
            .is_none_or(|then| now.duration_since(then) >= EVICT_AFTER / 4)
        {
            self.evicted_at = Some(now);
            self.keys
                .retain(|_, cached| now.duration_since(cached.requested_at) < EVICT_AFTER);
        }
    }

    /// The number of cached keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Redis shares the integers below 10,000 between all keys, so their idle time is shared as well
/// (`OBJ_SHARED_INTEGERS`).
fn is_shared_integer(value: &RedisValue) -> bool {
    match value {
        RedisValue::Text(bytes) => {
            (1..=4).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit)
        }
        RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn moment(at_ms: u64) -> ClockReading {
        let now = ClockReading {
            wall: NOW,
            monotonic: MonotonicTime::default(),
        };
        now.plus(Duration::from_millis(at_ms))
    }

    /// The key at `at_ms`, `ttl_ms` before it expires, last accessed in the server's second
    /// `accessed_at`.
    fn reading(at_ms: u64, ttl_ms: u64, accessed_at: i64) -> ReadMetadata {
        ReadMetadata {
            type_name: "string".to_owned(),
            ttl: Ttl::Ms(ttl_ms),
            read_at: moment(at_ms),
            round_trip: Duration::from_millis(1),
            accessed_at: Some(LruClock(accessed_at)),
        }
    }

    /// A value read at 0 ms in second 100, 60 s before it expires, after `quiet` seconds without
    /// access.
    fn cache_with(quiet: i64) -> (ValueCache, LockKey) {
        let (mut cache, key) = (ValueCache::default(), LockKey::from("k"));
        cache.insert(
            &key,
            RedisValue::Text(b"owner".to_vec()),
            reading(0, 60_000, 100),
            &reading(0, 60_000, 100 - quiet),
        );
        (cache, key)
    }

    #[test]
    fn a_quiet_lock_is_read_once() {
        let (mut cache, key) = cache_with(5);
        assert!(cache.get(&key, &reading(5_000, 55_000, 100)).is_some());
        assert!(
            cache.get(&key, &reading(9_000, 51_003, 99)).is_some(),
            "the second changed between two questions"
        );
    }

    #[test]
    fn an_access_or_a_changed_deadline_or_object_invalidates_the_value() {
        let (mut cache, key) = cache_with(5);
        assert!(
            cache.get(&key, &reading(5_000, 55_000, 101)).is_none(),
            "touched in a later second"
        );
        assert!(
            cache.get(&key, &reading(5_000, 60_000, 100)).is_none(),
            "renewed"
        );
        assert!(
            cache.get(&key, &reading(5_000, 55_000, 42)).is_none(),
            "another object"
        );
        assert!(
            cache
                .get(
                    &key,
                    &ReadMetadata {
                        type_name: "hash".into(),
                        ..reading(5_000, 55_000, 100)
                    }
                )
                .is_none()
        );
        assert!(
            cache
                .get(
                    &key,
                    &ReadMetadata {
                        ttl: Ttl::Never,
                        ..reading(5_000, 0, 100)
                    }
                )
                .is_none()
        );
    }

    #[test]
    fn a_lock_that_was_just_acquired_is_read_twice() {
        let (mut cache, key) = cache_with(0);
        let second = reading(1_000, 59_000, 100);
        assert!(cache.get(&key, &second).is_none());
        cache.insert(
            &key,
            RedisValue::Text(b"owner".to_vec()),
            reading(1_000, 59_000, 101),
            &second,
        );
        assert!(cache.get(&key, &reading(2_000, 58_000, 101)).is_some());
    }

    #[test]
    fn a_lock_that_is_accessed_every_second_is_read_every_time() {
        let (mut cache, key) = cache_with(0);
        for second in 1..5 {
            let accessed_at = 100 + i64::try_from(second).unwrap();
            let now = reading(1_000 * second, 60_000 - 1_000 * second, accessed_at);
            assert!(cache.get(&key, &now).is_none());
            cache.insert(&key, RedisValue::Text(b"owner".to_vec()), now.clone(), &now);
            // Directly after our read, within the same second, another owner may have acquired it.
            assert!(cache.get(&key, &now).is_none(), "{second}");
        }
    }

    #[test]
    fn without_an_idle_time_it_is_always_read() {
        let (mut cache, key) = cache_with(5);
        assert!(
            cache
                .get(
                    &key,
                    &ReadMetadata {
                        accessed_at: None,
                        ..reading(5_000, 55_000, 100)
                    }
                )
                .is_none()
        );
    }

    #[test]
    fn keys_that_are_not_requested_are_evicted() {
        let (mut cache, _) = cache_with(5);
        cache.evict_idle(moment(30_000).monotonic);
        assert_eq!(cache.len(), 1);
        cache.evict_idle(moment(90_000).monotonic);
        assert!(cache.is_empty());
    }
}
