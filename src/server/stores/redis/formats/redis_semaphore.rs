//! redis-semaphore (npm): a mutex in a string, a semaphore in a sorted set.
//!
//! ```text
//! SET  mutex:report    6a379ae6-…-fe05  NX PX 10000
//! ZADD semaphore:gpu   1795200485556  6a379ae6-…-fe05           the acquire or refresh time, by the owner's clock
//! ZADD semaphore:gpu   1795200485556  6a379ae6-…-fe05_0  …      several permits of one owner
//! ```
//!
//! Owners refresh every 8 s. The lease of a permit is not stored. The TTL of the key belongs to the
//! latest permit, so the time from the latest score to the expiry of the key is the lease of all
//! permits. Source: `lib/semaphore`, `lib/mutex`.

use super::detected_lock::sorted_set_members;
use super::{DetectedLock, DetectedOwner, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format, Lease};
use crate::server::stores::redis::key_state::{KeyState, Ttl};

/// The maximum skew of an owner's clock ahead of the console's clock. Larger scores are not times.
const MAX_CLOCK_SKEW_MS: f64 = 5.0 * 60.0 * 1000.0;

/// Detects both by prefix and shape.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let key = state.key.as_bytes();
    if key.starts_with(b"mutex:") {
        let value =
            string_value(state).filter(|value| has_ttl(state) && permit(value).is_some())?;
        let lock = DetectedLock::from_value(Format::RedisSemaphore, state, value, None);
        return Some(lock.with_confidence(Confidence::Likely));
    }
    let members = sorted_set_members(state).filter(|_| key.starts_with(b"semaphore:"))?;
    let now = state.read_at.millis() as f64;
    let is_permit = |(id, at): &(Vec<u8>, f64)| {
        permit(id).is_some() && *at > 0.0 && *at <= now + MAX_CLOCK_SKEW_MS
    };
    if !members.iter().all(is_permit) {
        return None;
    }
    let latest = members.iter().map(|(_, at)| *at).fold(0.0, f64::max);
    let oldest = match state.ttl {
        // A permit that is one lease older than the latest has expired, even if it has not been
        // removed yet.
        Ttl::Ms(left) => {
            let lease = (now + left as f64 - latest).max(0.0);
            now - lease
        }
        Ttl::Never => 0.0,
    };
    let mut owners: Vec<DetectedOwner> = Vec::new();
    for (id, at) in members
        .iter()
        .filter(|(_, at)| *at >= oldest || *at == latest)
    {
        let mut owner = DetectedOwner::new(Format::RedisSemaphore, permit(id)?, None);
        if has_ttl(state) {
            // The lease ends earlier than the latest one by the difference of their scores.
            let ends = state.read_at.plus_millis((at - oldest) as i64);
            owner = owner.with_lease(Lease::until(ends, state.read_at));
        }
        match owners.iter_mut().find(|known| known.bytes == owner.bytes) {
            Some(known) => {
                let permits = known.owner.hold_count.unwrap_or(1);
                known.owner.hold_count = Some(permits.saturating_add(1));
                let later = owner.lease.filter(|until| {
                    known
                        .lease
                        .is_none_or(|known| known.cmp_expiry(until).is_lt())
                });
                known.lease = later.or(known.lease);
            }
            None => owners.push(owner),
        }
    }
    Some(DetectedLock::from_owners(Format::RedisSemaphore, state, owners).into_shared())
}

/// The owner of a permit: the UUID with an optional suffix of the process, without the number of
/// the permit.
pub fn permit(id: &[u8]) -> Option<&[u8]> {
    let uuid = id.get(..36).filter(|uuid| shapes::is_uuid4(uuid))?;
    let rest = &id[36..];
    match rest {
        [] => Some(uuid),
        [b'_', number @ ..] if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => {
            Some(uuid)
        }
        [b'-', suffix @ ..] if !suffix.is_empty() => {
            let end = suffix.iter().rposition(|&byte| byte == b'_');
            let number = end.map(|end| &suffix[end + 1..]).unwrap_or_default();
            let is_numbered = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
            let length = if is_numbered {
                id.len() - number.len() - 1
            } else {
                id.len()
            };
            Some(&id[..length])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, describe, format, string, zset};
    use super::*;
    use crate::domain::Mode;
    use crate::server::stores::redis::formats;

    /// Written by redis-semaphore 5.8.0.
    const ONE: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";
    const TWO: &str = "7a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

    #[test]
    fn a_mutex_is_a_uuid_under_the_prefix() {
        assert_eq!(
            format(&string("mutex:report", ONE, 10_000)),
            Some((Format::RedisSemaphore, Confidence::Likely))
        );
        assert_eq!(
            describe(&string("mutex:report", "7", 10_000)).unwrap().0,
            Format::Plain
        );
    }

    #[test]
    fn several_permits_of_an_owner_are_one_owner() {
        let members = [
            (format!("{ONE}_0"), NOW_MS - 100.0),
            (format!("{ONE}_1"), NOW_MS - 100.0),
            (TWO.to_owned(), NOW_MS - 3_000.0),
        ];
        let members: Vec<(&str, f64)> = members.iter().map(|(id, at)| (id.as_str(), *at)).collect();
        let gpu = zset("semaphore:gpu", &members, 9_900);
        let lock = formats::detect(&gpu, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::RedisSemaphore, Confidence::Sure, Mode::Shared)
        );
        let owners: Vec<_> = lock
            .owners
            .iter()
            .map(|detected| (detected.bytes.expose(), detected.owner.hold_count))
            .collect();
        assert_eq!(owners, [(ONE.as_bytes(), Some(2)), (TWO.as_bytes(), None)]);
    }

    #[test]
    fn a_permit_older_than_the_lease_has_expired() {
        let gpu = zset(
            "semaphore:gpu",
            &[(TWO, NOW_MS - 10_001.0), (ONE, NOW_MS - 100.0)],
            9_900,
        );
        assert_eq!(formats::detect(&gpu, false).unwrap().owners.len(), 1);
    }

    #[test]
    fn other_members_scores_and_names_are_not_detected() {
        for (key, member, score) in [
            ("semaphore:gpu", "user-7", NOW_MS),
            ("semaphore:gpu", ONE, NOW_MS + 900_000.0),
            ("scores:gpu", ONE, NOW_MS),
        ] {
            assert_eq!(
                describe(&zset(key, &[(member, score)], 9_000)),
                None,
                "{key}"
            );
        }
        assert_eq!(
            permit(format!("{ONE}-host_7").as_bytes()).map(<[u8]>::len),
            Some(41)
        );
        assert_eq!(permit(format!("{ONE}_x").as_bytes()), None);
    }
}
