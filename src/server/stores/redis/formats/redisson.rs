//! Redisson's `RLock` (Java) and node-redisson: a hash with the owner as the field and the hold
//! count as the value.
//!
//! ```text
//! HSET order:42  6d1f0c3e-…-fe05:87  1      PEXPIRE order:42 30000      instance UUID : thread, hold count
//! ```
//!
//! Spin locks, non-reentrant locks and the parts of a multi-lock have the same hash. Fair and
//! fenced locks are detected by their companion keys:
//!
//! ```text
//! RPUSH redisson_lock_queue:{order:42}    <uuid>:<thread>           fair: the waiters in order
//! ZADD  redisson_lock_timeout:{order:42}  <ms> <uuid>:<thread>      fair: the timeout of each waiter
//! INCR  redisson_lock_token:{order:42}                              fenced
//! ```
//!
//! The queue and the timeouts have no TTL and may outlive the lock, so waiters past their timeout
//! are ignored. A fair lock without waiters is indistinguishable from a simple lock. A watchdog
//! renews the lease of 30 s every 10 s. Source: `RedissonLock`, `RedissonBaseLock`,
//! `RedissonFairLock`, `RedissonFencedLock`.

use super::detected_lock::hash_fields;
use super::redisson_owner::label;
use super::{DetectedLock, DetectedOwner, NameHint, companions, has_ttl, shapes};
use crate::domain::{Confidence, Format, LockKey};
use crate::server::stores::redis::key_state::{KeyState, RedisValue};

/// Detects a hash whose fields are owners and whose values are positive counts.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let fields = hash_fields(state)?;
    // Redisson always sets a TTL. Without a TTL and a lock-like name these are counters.
    if !(has_ttl(state) || name_hint.is_lock_like) {
        return None;
    }
    let owners = fields
        .iter()
        .map(|(field, hold_count)| owner(field, hold_count))
        .collect::<Option<Vec<_>>>()?;
    let waiter_count = count_waiters(state);
    let name = &state.key;
    let has = |prefix: &[u8]| {
        state
            .companion(&companions::companion_key(prefix, name))
            .is_some()
    };
    let format = if waiter_count.is_some() || has(companions::TIMEOUTS_PREFIX) {
        Format::RedissonFair
    } else if has(companions::TOKEN_PREFIX) {
        Format::RedissonFenced
    } else {
        Format::Redisson
    };
    let confidence = if has_ttl(state) {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    let lock = DetectedLock::from_owners(format, state, owners).with_format(format);
    Some(
        DetectedLock {
            waiter_count,
            ..lock
        }
        .with_confidence(confidence),
    )
}

/// The number of waiters in the queue of a fair lock that have not timed out; `None` without a
/// queue.
fn count_waiters(state: &KeyState) -> Option<u32> {
    let companion_value = |prefix: &[u8]| -> Option<&RedisValue> {
        let key: LockKey = companions::companion_key(prefix, &state.key);
        state.companion(&key).map(|found| &found.value)
    };
    let Some(RedisValue::List(queue)) = companion_value(companions::QUEUE_PREFIX) else {
        return None;
    };
    let has_timed_out = |waiter: &&Vec<u8>| match companion_value(companions::TIMEOUTS_PREFIX) {
        Some(RedisValue::SortedSet(until)) => until
            .iter()
            .any(|(member, score)| member == *waiter && *score <= state.read_at.millis() as f64),
        Some(_) | None => false,
    };
    let timed_out = queue.iter().filter(has_timed_out).count();
    u32::try_from(queue.len() - timed_out).ok()
}

/// The owner in a field with its hold count.
pub(super) fn owner(field: &[u8], hold_count: &[u8]) -> Option<DetectedOwner> {
    let mut detected = DetectedOwner::new(Format::Redisson, field, Some(label(field)?));
    detected.owner.hold_count = Some(shapes::parse_count(hold_count)?);
    Some(detected)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, hash, members};
    use super::*;
    use crate::domain::{Lease, Mode};
    use crate::server::stores::redis::formats;

    const JAVA: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const NODE: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6";

    #[test]
    fn the_field_is_the_owner_and_the_value_is_the_hold_count() {
        let lock = formats::detect(&hash("order:42", &[(JAVA, "2")], 29_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.mode),
            (Format::Redisson, Mode::Exclusive)
        );
        assert_eq!(lock.owners[0].bytes.expose(), JAVA.as_bytes());
        assert_eq!(
            lock.owners[0].owner.fingerprint,
            formats::fingerprint(JAVA.as_bytes())
        );
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("6d1f0c3e thread 87")
        );
        assert_eq!(lock.owners[0].owner.hold_count, Some(2));
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(29_000), NOW));
    }

    #[test]
    fn node_redisson_has_a_client_instead_of_a_thread() {
        let lock = formats::detect(&hash("order:42", &[(NODE, "1")], 29_000), false).unwrap();
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("6d1f0c3e client 9d0e0f5c")
        );
    }

    #[test]
    fn without_a_ttl_a_lock_like_name_is_required() {
        assert!(formats::detect(&hash("lock:a", &[(JAVA, "1")], None), false).is_some());
        assert_eq!(
            formats::detect(&hash("visits", &[(JAVA, "1")], None), true),
            None
        );
    }

    #[test]
    fn fair_and_fenced_locks_are_detected_by_their_companion_keys() {
        let lock = || hash("order:42", &[(JAVA, "1")], 29_000);
        let queue = RedisValue::List(members(&[NODE, JAVA]));
        let until = |ms: f64| {
            RedisValue::SortedSet(vec![
                (NODE.into(), NOW_MS + ms),
                (JAVA.into(), NOW_MS + 1.0),
            ])
        };
        let fair = lock()
            .with_companion("redisson_lock_queue:{order:42}", queue)
            .with_companion("redisson_lock_timeout:{order:42}", until(5_000.0));
        let detected = formats::detect(&fair, false).unwrap();
        assert_eq!(
            (detected.format, detected.waiter_count),
            (Format::RedissonFair, Some(2))
        );
        assert_eq!(detected.owners[0].owner.format, Format::RedissonFair);
        let late = lock()
            .with_companion(
                "redisson_lock_queue:{order:42}",
                RedisValue::List(members(&[NODE])),
            )
            .with_companion("redisson_lock_timeout:{order:42}", until(-1.0));
        assert_eq!(formats::detect(&late, false).unwrap().waiter_count, Some(0));
        let fenced = lock().with_companion(
            "redisson_lock_token:{order:42}",
            RedisValue::Text(b"17".to_vec()),
        );
        assert_eq!(
            formats::detect(&fenced, false).unwrap().format,
            Format::RedissonFenced
        );
        let another = lock().with_companion(
            "redisson_lock_token:{order:43}",
            RedisValue::Text(b"17".to_vec()),
        );
        assert_eq!(
            formats::detect(&another, false).unwrap().format,
            Format::Redisson
        );
    }

    #[test]
    fn a_hash_with_a_field_that_is_not_an_owner_is_not_detected() {
        let user = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
        let writer = format!("{JAVA}:write");
        let others: [&[(&str, &str)]; 7] = [
            &[],
            &[(&writer, "1")],
            &[(user, "17")],
            &[(JAVA, "0")],
            &[(JAVA, "-1")],
            &[(JAVA, "yes")],
            &[("name", "Ada"), (JAVA, "1")],
        ];
        for fields in others {
            assert_eq!(
                formats::detect(&hash("lock:a", fields, 1_000), true),
                None,
                "{fields:?}"
            );
        }
    }
}
