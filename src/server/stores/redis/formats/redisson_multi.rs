//! Redisson's `RFasterMultiLock` (Java): a hash per group with three fields per locked value.
//!
//! ```text
//! HSET orders  <22 characters>  <uuid>:87                              the hash of the value in base64, and its owner
//! HSET orders  <22 characters>:<uuid>:87:expire_time  1795200515556    the expiry, by the owner's clock
//! HSET orders  <22 characters>:<uuid>:87:lock_count   1
//! ```
//!
//! Every value is a separate lock in the group. An owner's bytes are the value's field and the
//! owner, so that two values of one thread are two owners. Expired values are free. Source:
//! `RedissonFasterMultiLock`.

use super::detected_lock::hash_fields;
use super::{DetectedLock, NameHint, OwnerBytes, redisson_owner, shapes};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

const COUNT: &[u8] = b":lock_count";
const UNTIL: &[u8] = b":expire_time";

/// Detects a hash in which every locked value has a count and an expiry.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let fields = hash_fields(state)?;
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
        locked.push((base, label, until, shapes::parse_count(count)?));
    }
    // A hash with further fields belongs to another application.
    if locked.len() * 3 != fields.len() {
        return None;
    }
    let members = locked
        .iter()
        .map(|(base, label, until, _)| (&base[..], Some(label.clone()), *until));
    let mut lock = DetectedLock::from_deadlines(Format::RedissonMulti, state, 0, members)?;
    for detected in &mut lock.owners {
        let is_base_of = |base: &[u8]| OwnerBytes::new(base) == detected.bytes;
        detected.owner.hold_count = locked
            .iter()
            .find_map(|(base, _, _, count)| is_base_of(base).then_some(*count));
    }
    Some(lock)
}

/// 16 bytes in base64 without padding.
fn is_value(field: &[u8]) -> bool {
    field.len() == 22 && shapes::is_base64(field) && shapes::is_final_char_of_16_bytes(field[21])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, describe, hash, labels};
    use super::*;
    use crate::domain::{Lease, Mode};
    use crate::server::stores::redis::formats;

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

    fn group(fields: &[(String, String)]) -> KeyState {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(field, value)| (field.as_str(), value.as_str()))
            .collect();
        hash("orders", &fields, 30_000)
    }

    #[test]
    fn each_locked_value_is_an_owner() {
        let now = NOW.millis();
        let fields = [locked(ONE, now + 9_000), locked(TWO, now + 5_000)].concat();
        let lock = formats::detect(&group(&fields), false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.owners.len()),
            (Format::RedissonMulti, Mode::Shared, 2)
        );
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(9_000), NOW));
        assert_eq!(lock.owners[0].owner.hold_count, Some(2));
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
    fn additional_or_missing_fields_are_not_detected() {
        let complete = locked(ONE, NOW.millis() + 9_000);
        assert!(describe(&group(&complete)).is_some());
        assert_eq!(describe(&group(&complete[..2])), None);
        assert_eq!(describe(&group(&complete[1..])), None);
        let more = [complete.clone(), vec![("total".into(), "3".into())]].concat();
        assert_eq!(describe(&group(&more)), None);
    }
}
