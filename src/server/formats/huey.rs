//! huey's `lock_task` (Python): a field of the hash of all results, or a string of its own.
//!
//! ```text
//! HSETNX huey.results.app  app.lock.nightly  <pickle of '1'>      `RedisHuey`: no TTL
//! SET    huey.r.app.app.lock.nightly         <pickle of '1'>      `RedisExpireHuey`
//! ```
//!
//! The value names nobody. In the hash every lock is a field of the same key: each of them is shown as an owner whose bytes
//! are the field and whose label is the lock's name. A hash with many results beside them is too large to be read, and its
//! locks are then not seen. Source: `huey/api.py`, `huey/storage.py`.

use super::look_alikes::contains;
use super::recognised::fields;
use super::{Hint, Recognised, SeenOwner, shapes, text};
use crate::domain::Format;
use crate::server::sighting::Sighting;

const LOCK: &[u8] = b".lock.";

/// Recognises the fields, or the string by its name.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let key = sighting.key.as_bytes();
    if let Some(fields) = fields(sighting) {
        let app = key.strip_prefix(b"huey.results.")?;
        let prefix = [app, LOCK].concat();
        let owners: Vec<SeenOwner> = fields
            .iter()
            .filter_map(|(field, _)| {
                let name = field.strip_prefix(&prefix[..])?;
                let label = shapes::readable(name).map(|name| format!("lock {name}"));
                Some(SeenOwner::new(Format::Huey, field, label))
            })
            .collect();
        let is_any = !owners.is_empty();
        return is_any.then(|| Recognised::of_owners(Format::Huey, sighting, owners).shared());
    }
    let value = text(sighting).filter(|value| !value.is_empty())?;
    let is_lock = key.starts_with(b"huey.r.") && contains(key, LOCK);
    is_lock.then(|| Recognised::by_value(Format::Huey, sighting, value, None))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, hash, labels, seen, string, told};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::formats;
    use crate::server::sighting::Value;

    /// Written by huey 3.5.4.
    const ONE: &[u8] = b"\x80\x05\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x011\x94.";

    #[test]
    fn every_lock_in_the_hash_of_results_is_shown() {
        let results = hash(
            "huey.results.app",
            &[("app.lock.a", "1"), ("app.lock.b", "1"), ("7f3c", "result")],
            None,
        );
        let lock = formats::recognise(&results, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::Huey, Confidence::Sure, Mode::Shared)
        );
        assert_eq!(lock.owners[0].bytes.expose(), b"app.lock.a");
        assert_eq!(labels(&results), ["lock a", "lock b"]);
    }

    #[test]
    fn a_string_of_its_own_is_known_by_its_name_though_it_is_a_pickle() {
        assert_eq!(
            format(&string("huey.r.app.app.lock.nightly", ONE, None)),
            Some((Format::Huey, Confidence::Sure))
        );
    }

    #[test]
    fn results_are_no_locks() {
        assert_eq!(
            told(&hash("huey.results.app", &[("7f3c", "x")], None)),
            None
        );
        assert_eq!(
            told(&hash("huey.results.app", &[("other.lock.a", "1")], None)),
            None
        );
        assert_eq!(told(&string("huey.r.app.7f3c", ONE, None)), None);
        assert_eq!(
            told(&seen("huey.results.lock", Value::TooLarge, None)),
            None
        );
    }
}
