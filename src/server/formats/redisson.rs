//! Redisson's `RLock` (Java) and node-redisson: a hash whose field names the owner and whose value counts re-entries.
//!
//! ```text
//! HSET order:42  6d1f0c3e-…-fe05:87  1      PEXPIRE order:42 30000      instance UUID : thread, times held
//! ```
//!
//! Spin and non-reentrant locks and the parts of a multi-lock have the same hash and nothing else. Fair and fenced locks are
//! told by what stands beside it:
//!
//! ```text
//! RPUSH redisson_lock_queue:{order:42}    <uuid>:<thread>           fair: who waits, the next one first
//! ZADD  redisson_lock_timeout:{order:42}  <ms> <uuid>:<thread>      and until when each of them does
//! INCR  redisson_lock_token:{order:42}                              fenced
//! ```
//!
//! Queue and timeouts have no TTL and may outlive everything: who is past his time waits no more. A fair lock that nobody
//! waits for cannot be told from another. A watchdog renews a lease of 30 s every 10 s. Source: `RedissonLock`,
//! `RedissonBaseLock`, `RedissonFairLock`, `RedissonFencedLock`.

use super::recognised::fields;
use super::redisson_owner::label;
use super::{Hint, Recognised, SeenOwner, companions, has_ttl, shapes};
use crate::domain::{Confidence, Format, LockKey};
use crate::server::sighting::{Sighting, Value};

/// Recognises a hash all of whose fields are owners and all of whose values are counts from 1 up.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let fields = fields(sighting)?;
    // Redisson always sets a TTL. Without one and without a telling name these are somebody's counters.
    if !(has_ttl(sighting) || hint.lock_like_name) {
        return None;
    }
    let owners = fields
        .iter()
        .map(|(field, holds)| owner(field, holds))
        .collect::<Option<Vec<_>>>()?;
    let waiting = waiting(sighting);
    let name = &sighting.key;
    let has = |prefix: &[u8]| {
        sighting
            .companion(&companions::beside(prefix, name))
            .is_some()
    };
    let format = if waiting.is_some() || has(companions::TIMEOUTS) {
        Format::RedissonFair
    } else if has(companions::TOKEN) {
        Format::RedissonFenced
    } else {
        Format::Redisson
    };
    let confidence = if has_ttl(sighting) {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    let lock = Recognised::of_owners(format, sighting, owners).of_format(format);
    Some(Recognised { waiting, ..lock }.with(confidence))
}

/// How many stand in a fair lock's queue and still wait; nothing where it has no queue.
fn waiting(sighting: &Sighting) -> Option<u32> {
    let beside = |prefix: &[u8]| -> Option<&Value> {
        let key: LockKey = companions::beside(prefix, &sighting.key);
        sighting.companion(&key).map(|found| &found.value)
    };
    let Some(Value::List(queue)) = beside(companions::QUEUE) else {
        return None;
    };
    let is_late = |waiter: &&Vec<u8>| match beside(companions::TIMEOUTS) {
        Some(Value::SortedSet(until)) => until
            .iter()
            .any(|(member, score)| member == *waiter && *score <= sighting.seen_at.millis() as f64),
        Some(_) | None => false,
    };
    let late = queue.iter().filter(is_late).count();
    u32::try_from(queue.len() - late).ok()
}

/// The owner of a field and its count.
pub(super) fn owner(field: &[u8], holds: &[u8]) -> Option<SeenOwner> {
    let mut seen = SeenOwner::new(Format::Redisson, field, Some(label(field)?));
    seen.owner.holds = Some(shapes::positive(holds)?);
    Some(seen)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, hash, members};
    use super::*;
    use crate::domain::{Lease, Mode};
    use crate::server::formats;

    const JAVA: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const NODE: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6";

    #[test]
    fn the_field_is_the_owner_and_the_value_counts() {
        let lock = formats::recognise(&hash("order:42", &[(JAVA, "2")], 29_000), false).unwrap();
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
        assert_eq!(lock.owners[0].owner.holds, Some(2));
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(29_000), NOW));
    }

    #[test]
    fn node_redisson_names_a_client_instead_of_a_thread() {
        let lock = formats::recognise(&hash("order:42", &[(NODE, "1")], 29_000), false).unwrap();
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("6d1f0c3e client 9d0e0f5c")
        );
    }

    #[test]
    fn without_ttl_only_a_lock_like_name_convinces() {
        assert!(formats::recognise(&hash("lock:a", &[(JAVA, "1")], None), false).is_some());
        assert_eq!(
            formats::recognise(&hash("visits", &[(JAVA, "1")], None), true),
            None
        );
    }

    #[test]
    fn what_stands_beside_it_tells_fair_and_fenced_locks() {
        let lock = || hash("order:42", &[(JAVA, "1")], 29_000);
        let queue = Value::List(members(&[NODE, JAVA]));
        let until = |ms: f64| {
            Value::SortedSet(vec![
                (NODE.into(), NOW_MS + ms),
                (JAVA.into(), NOW_MS + 1.0),
            ])
        };
        let fair = lock()
            .beside("redisson_lock_queue:{order:42}", queue)
            .beside("redisson_lock_timeout:{order:42}", until(5_000.0));
        let seen = formats::recognise(&fair, false).unwrap();
        assert_eq!((seen.format, seen.waiting), (Format::RedissonFair, Some(2)));
        assert_eq!(seen.owners[0].owner.format, Format::RedissonFair);
        let late = lock()
            .beside(
                "redisson_lock_queue:{order:42}",
                Value::List(members(&[NODE])),
            )
            .beside("redisson_lock_timeout:{order:42}", until(-1.0));
        assert_eq!(formats::recognise(&late, false).unwrap().waiting, Some(0));
        let fenced = lock().beside(
            "redisson_lock_token:{order:42}",
            Value::Text(b"17".to_vec()),
        );
        assert_eq!(
            formats::recognise(&fenced, false).unwrap().format,
            Format::RedissonFenced
        );
        let another = lock().beside(
            "redisson_lock_token:{order:43}",
            Value::Text(b"17".to_vec()),
        );
        assert_eq!(
            formats::recognise(&another, false).unwrap().format,
            Format::Redisson
        );
    }

    #[test]
    fn one_field_that_is_no_owner_makes_it_another_hash() {
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
                formats::recognise(&hash("lock:a", fields, 1_000), true),
                None,
                "{fields:?}"
            );
        }
    }
}
