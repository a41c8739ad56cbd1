//! The names under which locks were found. They decide which notifications of a group are followed,
//! and which values its scan does not need to read again.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::lock_prefixes::LockPrefixes;
use crate::domain::LockKey;

/// The names of a group's locks. Shared by its scan, its feeds and the index.
#[derive(Default)]
pub struct LockNames {
    is_indexed: Option<IsIndexed>,
    /// Names that the scan found, until the index has them: those of this second and of the last.
    recent: Mutex<[HashSet<LockKey>; 2]>,
    prefixes: Arc<LockPrefixes>,
}

type IsIndexed = Box<dyn Fn(&LockKey) -> bool + Send + Sync>;

impl LockNames {
    /// `is_indexed` tells whether a key is currently a lock.
    pub fn new(
        prefixes: Arc<LockPrefixes>,
        is_indexed: impl Fn(&LockKey) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            is_indexed: Some(Box::new(is_indexed)),
            recent: Mutex::default(),
            prefixes,
        }
    }

    /// The prefixes under which locks were found.
    pub fn prefixes(&self) -> &LockPrefixes {
        &self.prefixes
    }

    /// Whether the key is a lock, or was just found to be one.
    pub fn is_known(&self, key: &LockKey) -> bool {
        self.is_indexed
            .as_ref()
            .is_some_and(|is_indexed| is_indexed(key))
            || self.was_just_found(key)
    }

    /// Whether the scan found the key a moment ago.
    pub fn was_just_found(&self, key: &LockKey) -> bool {
        self.recent.lock().iter().any(|names| names.contains(key))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_name_is_known_until_the_index_has_had_time_to_add_it() {
        let prefixes = Arc::default();
        let names = LockNames::new(prefixes, |key| *key == LockKey::from("indexed"));
        let found = LockKey::from("found");
        names.record_found([&found]);
        names.expire_found();
        assert!(names.is_known(&found) && names.is_known(&"indexed".into()));
        names.expire_found();
        assert!(!names.is_known(&found) && names.is_known(&"indexed".into()));
    }
}
