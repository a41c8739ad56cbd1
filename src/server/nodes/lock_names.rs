//! The names under which locks were found. They decide which notifications of a group are followed,
//! and which values its scan does not need to read again.

use std::collections::{HashMap, HashSet};

use parking_lot::{Mutex, RwLock};

use crate::domain::{LockKey, prefix};

/// The maximum number of prefixes. Names with other prefixes are found by the scan.
const MAX_PREFIXES: usize = 1_000;

/// A prefix is followed while at most this many of its names were not locks, plus this many for each
/// lock. Otherwise a cache with a few locks would have all of its writes read.
const OTHERS_ALLOWED: u32 = 20;
const OTHERS_ALLOWED_PER_LOCK: u32 = 4;

/// Above this number, both counts of a prefix are halved, so that recent names count more.
const MAX_COUNT: u32 = 10_000;

/// The names of a group's locks. Shared by its scan, its feeds and the index.
#[derive(Default)]
pub struct LockNames {
    is_indexed: Option<IsIndexed>,
    /// Names that the scan found, until the index has them: those of this second and of the last.
    recent: Mutex<[HashSet<LockKey>; 2]>,
    prefixes: RwLock<HashMap<Vec<u8>, PrefixCounts>>,
}

type IsIndexed = Box<dyn Fn(&LockKey) -> bool + Send + Sync>;

/// How many names with a prefix were locks.
#[derive(Clone, Copy, Debug, Default)]
struct PrefixCounts {
    locks: u32,
    others: u32,
}

impl PrefixCounts {
    fn is_followed(self) -> bool {
        let allowed = self.locks.saturating_mul(OTHERS_ALLOWED_PER_LOCK);
        self.others <= allowed.saturating_add(OTHERS_ALLOWED)
    }
}

impl LockNames {
    /// `is_indexed` tells whether a key is currently a lock.
    pub fn new(is_indexed: impl Fn(&LockKey) -> bool + Send + Sync + 'static) -> Self {
        Self {
            is_indexed: Some(Box::new(is_indexed)),
            ..Self::default()
        }
    }

    /// Whether the key is a lock, or was just found to be one.
    pub fn is_known(&self, key: &LockKey) -> bool {
        self.is_indexed
            .as_ref()
            .is_some_and(|is_indexed| is_indexed(key))
            || self.recent.lock().iter().any(|names| names.contains(key))
    }

    /// Whether a new key with this name can be expected to be a lock: others with its prefix are.
    pub fn has_lock_prefix(&self, name: &[u8]) -> bool {
        let prefix = prefix_of(name);
        !prefix.is_empty()
            && self
                .prefixes
                .read()
                .get(prefix)
                .is_some_and(|counts| counts.is_followed())
    }

    /// Records names that the scan found, before they are read. A write in between must not be
    /// missed.
    pub fn record_found<'a>(&self, keys: impl IntoIterator<Item = &'a LockKey>) {
        self.recent.lock()[0].extend(keys.into_iter().cloned());
    }

    /// Forgets the names found before the last call. The index has them by now.
    pub fn expire_found(&self) {
        let mut recent = self.recent.lock();
        recent.swap(0, 1);
        recent[0].clear();
    }

    /// Records that a key is a lock that was not known.
    pub fn record_lock(&self, key: &LockKey) {
        let prefix = prefix_of(key.as_bytes());
        let mut prefixes = self.prefixes.write();
        if prefix.is_empty() || prefixes.len() >= MAX_PREFIXES && !prefixes.contains_key(prefix) {
            return;
        }
        let counts = prefixes.entry(prefix.to_vec()).or_default();
        counts.locks += 1;
        limit(counts);
    }

    /// Records that a key is not a lock.
    pub fn record_other(&self, key: &LockKey) {
        let prefix = prefix_of(key.as_bytes());
        if let Some(counts) = self.prefixes.write().get_mut(prefix) {
            counts.others += 1;
            limit(counts);
        }
    }
}

fn limit(counts: &mut PrefixCounts) {
    if counts.locks.max(counts.others) > MAX_COUNT {
        counts.locks = counts.locks.div_ceil(2);
        counts.others /= 2;
    }
}

/// The part of a name before the id; empty for names in which it cannot be told.
fn prefix_of(name: &[u8]) -> &[u8] {
    std::str::from_utf8(name).map_or(&[], |name| prefix::key_prefix(name).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_the_prefix_of_a_lock_is_expected_to_be_one() {
        let names = LockNames::default();
        names.record_lock(&"orders:42".into());
        names.record_lock(&"pdf-generation".into());
        for (name, is_expected) in [
            ("orders:43", true),
            ("orders:7:print", true),
            ("carts:42", false),
            ("pdf-import", false),
        ] {
            assert_eq!(
                names.has_lock_prefix(name.as_bytes()),
                is_expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_prefix_with_many_other_names_is_not_followed() {
        let names = LockNames::default();
        names.record_lock(&"orders:1".into());
        for n in 0..OTHERS_ALLOWED + OTHERS_ALLOWED_PER_LOCK {
            names.record_other(&format!("orders:cached:{n}").as_str().into());
            names.record_other(&format!("orders:{n}").as_str().into());
        }
        assert!(names.has_lock_prefix(b"orders:2"));
        names.record_other(&"orders:3".into());
        assert!(!names.has_lock_prefix(b"orders:2"));
        names.record_lock(&"orders:4".into());
        assert!(names.has_lock_prefix(b"orders:2"), "locks are found again");
    }

    #[test]
    fn the_number_of_prefixes_is_bounded() {
        let names = LockNames::default();
        for n in 0..=MAX_PREFIXES {
            names.record_lock(&format!("p{n}x:1").as_str().into());
        }
        assert!(names.has_lock_prefix(b"p0x:2"));
        assert!(!names.has_lock_prefix(format!("p{MAX_PREFIXES}x:2").as_bytes()));
    }

    #[test]
    fn a_found_name_is_known_until_the_index_has_had_time_to_add_it() {
        let names = LockNames::new(|key| *key == LockKey::from("indexed"));
        let found = LockKey::from("found");
        names.record_found([&found]);
        names.expire_found();
        assert!(names.is_known(&found) && names.is_known(&"indexed".into()));
        names.expire_found();
        assert!(!names.is_known(&found) && names.is_known(&"indexed".into()));
    }
}
