//! huey's `lock_task` (Python): a field of the hash of all results, or a separate string.
//!
//! ```text
//! HSETNX huey.results.app  app.lock.nightly  <pickle of '1'>      `RedisHuey`: no TTL
//! SET    huey.r.app.app.lock.nightly         <pickle of '1'>      `RedisExpireHuey`
//! ```
//!
//! The value does not identify the owner. In the hash every lock is a field of the same key, so
//! each field is shown as an owner with the name of the lock as its label. A hash with many results
//! is too large to be read, and its locks are not detected. Source: `huey/api.py`,
//! `huey/storage.py`.

use super::detected_lock::hash_fields;
use super::look_alikes::contains;
use super::{DetectedLock, DetectedOwner, NameHint, shapes, string_value};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

const LOCK: &[u8] = b".lock.";

/// Detects the fields of the hash, or the string by its name.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let key = state.key.as_bytes();
    if let Some(fields) = hash_fields(state) {
        let app = key.strip_prefix(b"huey.results.")?;
        let prefix = [app, LOCK].concat();
        let owners: Vec<DetectedOwner> = fields
            .iter()
            .filter_map(|(field, _)| {
                let name = field.strip_prefix(&prefix[..])?;
                let label = shapes::readable(name).map(|name| format!("lock {name}"));
                Some(DetectedOwner::new(Format::Huey, field, label))
            })
            .collect();
        let has_locks = !owners.is_empty();
        return has_locks
            .then(|| DetectedLock::from_owners(Format::Huey, state, owners).into_shared());
    }
    let value = string_value(state).filter(|value| !value.is_empty())?;
    let is_lock = key.starts_with(b"huey.r.") && contains(key, LOCK);
    is_lock.then(|| DetectedLock::from_value(Format::Huey, state, value, None))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, format, hash, key_state, labels, string};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::stores::redis::formats;
    use crate::server::stores::redis::key_state::RedisValue;

    /// Written by huey 3.5.4.
    const ONE: &[u8] = b"\x80\x05\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x011\x94.";

    #[test]
    fn every_lock_in_the_hash_of_results_is_an_owner() {
        let results = hash(
            "huey.results.app",
            &[("app.lock.a", "1"), ("app.lock.b", "1"), ("7f3c", "result")],
            None,
        );
        let lock = formats::detect(&results, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::Huey, Confidence::Sure, Mode::Shared)
        );
        assert_eq!(lock.owners[0].bytes.expose(), b"app.lock.a");
        assert_eq!(labels(&results), ["lock a", "lock b"]);
    }

    #[test]
    fn a_separate_string_is_detected_by_name_although_it_is_a_pickle() {
        assert_eq!(
            format(&string("huey.r.app.app.lock.nightly", ONE, None)),
            Some((Format::Huey, Confidence::Sure))
        );
    }

    #[test]
    fn results_are_not_locks() {
        assert_eq!(
            describe(&hash("huey.results.app", &[("7f3c", "x")], None)),
            None
        );
        assert_eq!(
            describe(&hash("huey.results.app", &[("other.lock.a", "1")], None)),
            None
        );
        assert_eq!(describe(&string("huey.r.app.7f3c", ONE, None)), None);
        assert_eq!(
            describe(&key_state("huey.results.lock", RedisValue::TooLarge, None)),
            None
        );
    }
}
