//! Redisson's `RFasterMultiLock` (Java): one hash for a group, three fields for each value that is locked.
//!
//! ```text
//! HSET orders  <22 characters>  <uuid>:87                              whose the value is: a hash of it, in base64
//! HSET orders  <22 characters>:<uuid>:87:expire_time  1795200515556    until when, by the owner's clock
//! HSET orders  <22 characters>:<uuid>:87:lock_count   1
//! ```
//!
//! Every value is a lock of its own within the group; each owner's bytes are the value's field and its owner, so that one
//! thread's two values are two. Values past their time are free. Source: `RedissonFasterMultiLock`.

use super::recognised::fields;
use super::{Hint, OwnerBytes, Recognised, redisson_owner, shapes};
use crate::domain::Format;
use crate::server::sighting::Sighting;

const COUNT: &[u8] = b":lock_count";
const UNTIL: &[u8] = b":expire_time";

/// Recognises a hash in which every value that is locked has its count and its time.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let fields = fields(sighting)?;
    let value_of = |name: &[u8]| {
        let at = fields.binary_search_by(|(field, _)| field.as_slice().cmp(name));
        at.ok().map(|at| &fields[at].1)
    };
    let mut locked = Vec::new();
    for (field, owner) in fields.iter().filter(|(field, _)| is_value(field)) {
        let base = [field, &b":"[..], owner].concat();
        let count = value_of(&[&base, COUNT].concat())?;
        let until = value_of(&[&base, UNTIL].concat())?;
        let until: i64 = std::str::from_utf8(until).ok()?.parse().ok()?;
        let label = redisson_owner::label(owner)?;
        locked.push((base, label, until, shapes::positive(count)?));
    }
    // Three fields for each, and nothing else.
    if locked.len() * 3 != fields.len() {
        return None;
    }
    let members = locked
        .iter()
        .map(|(base, label, until, _)| (&base[..], Some(label.clone()), *until));
    let mut lock = Recognised::of_deadlines(Format::RedissonMulti, sighting, 0, members)?;
    for seen in &mut lock.owners {
        let whose = |base: &[u8]| OwnerBytes::new(base) == seen.bytes;
        seen.owner.holds = locked
            .iter()
            .find_map(|(base, _, _, count)| whose(base).then_some(*count));
    }
    Some(lock)
}

/// 16 bytes in base64 without padding.
fn is_value(field: &[u8]) -> bool {
    field.len() == 22 && shapes::is_base64(field) && shapes::ends_sixteen_bytes(field[21])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, hash, labels, told};
    use super::*;
    use crate::domain::{Lease, Mode};
    use crate::server::formats;

    const OWNER: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const ONE: &str = "Zb1kM5c0P7mJr8xw3uVYHQ";
    const TWO: &str = "eb1kM5c0P7mJr8xw3uVYHA";

    fn locked(value: &str, until: i64) -> Vec<(String, String)> {
        vec![
            (value.into(), OWNER.into()),
            (format!("{value}:{OWNER}:expire_time"), until.to_string()),
            (format!("{value}:{OWNER}:lock_count"), "2".into()),
        ]
    }

    fn group(fields: &[(String, String)]) -> Sighting {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(field, value)| (field.as_str(), value.as_str()))
            .collect();
        hash("orders", &fields, 30_000)
    }

    #[test]
    fn each_value_that_is_locked_is_an_owner() {
        let now = NOW.millis();
        let fields = [locked(ONE, now + 9_000), locked(TWO, now + 5_000)].concat();
        let lock = formats::recognise(&group(&fields), false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.owners.len()),
            (Format::RedissonMulti, Mode::Shared, 2)
        );
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(9_000), NOW));
        assert_eq!(lock.owners[0].owner.holds, Some(2));
        assert_ne!(
            lock.owners[0].owner.fingerprint,
            lock.owners[1].owner.fingerprint
        );
        assert_eq!(
            lock.owners[0].bytes.expose(),
            format!("{ONE}:{OWNER}").as_bytes()
        );
        let one_over = [locked(ONE, now - 1), locked(TWO, now + 5_000)].concat();
        assert_eq!(labels(&group(&one_over)), ["6d1f0c3e thread 87"]);
    }

    #[test]
    fn a_field_too_many_or_too_few_makes_it_another_hash() {
        let whole = locked(ONE, NOW.millis() + 9_000);
        assert!(told(&group(&whole)).is_some());
        assert_eq!(told(&group(&whole[..2])), None);
        assert_eq!(told(&group(&whole[1..])), None);
        let more = [whole.clone(), vec![("total".into(), "3".into())]].concat();
        assert_eq!(told(&group(&more)), None);
    }
}
