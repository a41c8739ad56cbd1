//! Redisson's `RPermitExpirableSemaphore` (Java): a sorted set of permits and the number of
//! available permits.
//!
//! ```text
//! ZADD {gpu}:timeout  1795200515556 <16 bytes>      a permit with its expiry
//! SET  gpu  3                                       the number of available permits
//! ```
//!
//! The sorted set is the lock, because it has the owners. A permit without a lease has a very large
//! score. The owner is identified by the id of the permit, which the client uses as 32 hex digits.
//! There is no label.
//!
//! `RSemaphore` only has the number and looks like any counter, so it needs a `format_override`.
//! Source: `RedissonPermitExpirableSemaphore`.

use super::detected_lock::sorted_set_members;
use super::{DetectedLock, NameHint, companions, shapes, string_value};
use crate::domain::{Format, Lease, LockKey, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

/// The score of a permit without a lease (`RedissonPermitExpirableSemaphore`).
const NO_LEASE_SCORE: i64 = 922_337_203_685_477;

/// Detects permits if the number of available permits exists.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let name = LockKey::new(companions::permit_semaphore(state.key.as_bytes())?);
    let members = sorted_set_members(state)?;
    if !members.iter().all(|(id, _)| id.len() == 16) {
        return None;
    }
    let left = KeyState::without_companions(
        name.clone(),
        state.companion(&name)?.value.clone(),
        state.ttl,
        state.read_at,
    );
    string_value(&left).filter(|left| shapes::is_integer(left))?;
    let owners = members
        .iter()
        .map(|(id, until)| (&id[..], None, *until as i64));
    let mut lock = DetectedLock::from_deadlines(Format::RedissonPermits, state, 0, owners)?;
    for detected in &mut lock.owners {
        let is_endless =
            |until: &Lease| until.expires_at() >= Some(Timestamp::from_millis(NO_LEASE_SCORE));
        if detected.lease.as_ref().is_some_and(is_endless) {
            detected.lease = Some(Lease::Never);
        }
    }
    let is_endless = members
        .iter()
        .any(|(_, until)| *until as i64 >= NO_LEASE_SCORE);
    Some(if is_endless {
        DetectedLock {
            lease: Lease::Never,
            ..lock
        }
    } else {
        lock
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, format, key_state};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::stores::redis::formats;
    use crate::server::stores::redis::key_state::RedisValue;

    fn permits(key: &str, ids: &[(&[u8], f64)]) -> KeyState {
        let members = ids.iter().map(|(id, score)| (id.to_vec(), *score));
        key_state(key, RedisValue::SortedSet(members.collect()), None)
    }

    const ID: &[u8] = b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3";
    const OTHER: &[u8] = b"\xf4\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3";

    #[test]
    fn permits_with_a_counter_are_owners() {
        let lock = permits(
            "{gpu}:timeout",
            &[(OTHER, NOW_MS - 9.0), (ID, NOW_MS + 9_000.0)],
        )
        .with_companion("gpu", RedisValue::Text(b"3".to_vec()));
        assert_eq!(
            format(&lock),
            Some((Format::RedissonPermits, Confidence::Sure))
        );
        let lock = formats::detect(&lock, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 1));
        assert_eq!(lock.owners[0].bytes.expose(), ID);
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(9_000), NOW));
    }

    #[test]
    fn a_permit_without_a_lease_never_expires() {
        let lock = permits("{gpu}:timeout", &[(ID, 922_337_203_685_477.0)])
            .with_companion("gpu", RedisValue::Text(b"0".to_vec()));
        assert_eq!(formats::detect(&lock, false).unwrap().lease, Lease::Never);
    }

    #[test]
    fn without_the_counter_the_braces_or_the_length_it_is_not_detected() {
        let alone = permits("{gpu}:timeout", &[(ID, NOW_MS + 9.0)]);
        assert_eq!(formats::detect(&alone, true), None);
        let number = || RedisValue::Text(b"3".to_vec());
        let no_braces =
            permits("gpu:timeout", &[(ID, NOW_MS + 9.0)]).with_companion("gpu", number());
        assert_eq!(formats::detect(&no_braces, true), None);
        let short =
            permits("{gpu}:timeout", &[(&ID[1..], NOW_MS + 9.0)]).with_companion("gpu", number());
        assert_eq!(formats::detect(&short, true), None);
    }
}
