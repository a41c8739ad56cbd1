//! Redisson's `RPermitExpirableSemaphore` (Java): permits in a sorted set beside the number of those that are left.
//!
//! ```text
//! ZADD {gpu}:timeout  1795200515556 <16 bytes>      a permit, and until when
//! SET  gpu  3                                       how many are left
//! ```
//!
//! The sorted set is what is shown: it has the owners. A permit without a lease has a score far beyond all times. Nobody's
//! name is in it: the permit's id, which the owner knows as 32 hex digits, is all there is.
//!
//! `RSemaphore` is the number alone and looks like any counter; only a pin makes it a lock.
//! Source: `RedissonPermitExpirableSemaphore`.

use super::recognised::scores;
use super::{Hint, Recognised, companions, shapes, text};
use crate::domain::{Format, Lease, LockKey, Timestamp};
use crate::server::sighting::Sighting;

/// The score of a permit without a lease (`RedissonPermitExpirableSemaphore`).
const NO_LEASE: i64 = 922_337_203_685_477;

/// Recognises permits that stand beside a number.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let name = LockKey::new(companions::permits(sighting.key.as_bytes())?);
    let members = scores(sighting)?;
    if !members.iter().all(|(id, _)| id.len() == 16) {
        return None;
    }
    let left = Sighting::alone(
        name.clone(),
        sighting.companion(&name)?.value.clone(),
        sighting.ttl,
        sighting.seen_at,
    );
    text(&left).filter(|left| shapes::is_integer(left))?;
    let owners = members
        .iter()
        .map(|(id, until)| (&id[..], None, *until as i64));
    let mut lock = Recognised::of_deadlines(Format::RedissonPermits, sighting, 0, owners)?;
    for seen in &mut lock.owners {
        let is_endless =
            |until: &Lease| until.expires_at() >= Some(Timestamp::from_millis(NO_LEASE));
        if seen.until.as_ref().is_some_and(is_endless) {
            seen.until = Some(Lease::Never);
        }
    }
    let is_endless = members.iter().any(|(_, until)| *until as i64 >= NO_LEASE);
    Some(if is_endless {
        Recognised {
            lease: Lease::Never,
            ..lock
        }
    } else {
        lock
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, format, seen};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::formats;
    use crate::server::sighting::Value;

    fn permits(key: &str, ids: &[(&[u8], f64)]) -> Sighting {
        let members = ids.iter().map(|(id, score)| (id.to_vec(), *score));
        seen(key, Value::SortedSet(members.collect()), None)
    }

    const ID: &[u8] = b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3";
    const OTHER: &[u8] = b"\xf4\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3";

    #[test]
    fn permits_beside_a_number_are_owners() {
        let lock = permits(
            "{gpu}:timeout",
            &[(OTHER, NOW_MS - 9.0), (ID, NOW_MS + 9_000.0)],
        )
        .beside("gpu", Value::Text(b"3".to_vec()));
        assert_eq!(
            format(&lock),
            Some((Format::RedissonPermits, Confidence::Sure))
        );
        let lock = formats::recognise(&lock, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 1));
        assert_eq!(lock.owners[0].bytes.expose(), ID);
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(9_000), NOW));
    }

    #[test]
    fn a_permit_without_a_lease_has_no_end() {
        let lock = permits("{gpu}:timeout", &[(ID, 922_337_203_685_477.0)])
            .beside("gpu", Value::Text(b"0".to_vec()));
        assert_eq!(
            formats::recognise(&lock, false).unwrap().lease,
            Lease::Never
        );
    }

    #[test]
    fn without_the_number_the_braces_or_the_length_it_is_another_set() {
        let alone = permits("{gpu}:timeout", &[(ID, NOW_MS + 9.0)]);
        assert_eq!(formats::recognise(&alone, true), None);
        let number = || Value::Text(b"3".to_vec());
        let no_braces = permits("gpu:timeout", &[(ID, NOW_MS + 9.0)]).beside("gpu", number());
        assert_eq!(formats::recognise(&no_braces, true), None);
        let short = permits("{gpu}:timeout", &[(&ID[1..], NOW_MS + 9.0)]).beside("gpu", number());
        assert_eq!(formats::recognise(&short, true), None);
    }
}
