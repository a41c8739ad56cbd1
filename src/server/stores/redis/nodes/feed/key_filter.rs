//! Decides which of the key names in notifications belong to the group.

use std::sync::Arc;

use super::super::scripts::FENCE_PREFIX;
use crate::domain::{LockKey, glob};
use crate::server::stores::LockNames;
use crate::server::stores::redis::formats;

/// What a key name is to a group.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyClass<'a> {
    /// A name that a lock may have.
    Lock(&'a [u8]),
    /// A companion key of this lock.
    Companion(LockKey),
    /// A key that does not belong to the group.
    Other,
}

/// Which keys a group follows.
pub struct KeyFilter {
    patterns: Vec<String>,
    /// Whether names of locks that do not match the patterns are followed, too.
    follows_names: bool,
    names: Arc<LockNames>,
}

impl KeyFilter {
    /// A filter for these glob patterns.
    pub fn new(patterns: &[String]) -> Self {
        Self::with_names(patterns, Arc::default(), false)
    }

    /// A filter for these glob patterns, without excluded names; with `follows_names` also for the
    /// names under which locks were found.
    pub fn with_names(patterns: &[String], names: Arc<LockNames>, follows_names: bool) -> Self {
        Self {
            patterns: patterns.to_vec(),
            follows_names,
            names,
        }
    }

    /// The patterns of all names that can pass the filter.
    pub(super) fn patterns(&self) -> Vec<String> {
        if self.follows_names {
            vec!["*".to_owned()]
        } else {
            self.patterns.clone()
        }
    }

    /// Classifies a key name.
    pub fn classify<'a>(&self, name: &'a [u8]) -> KeyClass<'a> {
        // A write to a companion key can change the state of its lock.
        if let Some(lock) = formats::parent_lock(name) {
            return if self.includes(lock.as_bytes()) {
                KeyClass::Companion(lock)
            } else {
                KeyClass::Other
            };
        }
        // The console's own fencing counters are not locks.
        if !name.starts_with(FENCE_PREFIX) && self.includes(name) {
            KeyClass::Lock(name)
        } else {
            KeyClass::Other
        }
    }

    fn includes(&self, name: &[u8]) -> bool {
        let prefixes = self.names.prefixes();
        if prefixes.is_excluded(name) {
            return false;
        }
        let is_found = || prefixes.is_followed(name) || self.names.is_known(&LockKey::new(name));
        glob::any_matches(&self.patterns, name) || self.follows_names && is_found()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_names_are_locks_and_companion_keys_belong_to_them() {
        let filter = KeyFilter::new(&["lock:*".to_owned()]);
        for (name, meaning) in [
            (&b"lock:a"[..], KeyClass::Lock(b"lock:a")),
            (
                b"redisson_lock_queue:{lock:a}",
                KeyClass::Companion("lock:a".into()),
            ),
            (b"lock-signal:a", KeyClass::Companion("lock:a".into())),
            (b"redisson_lock_queue:{other}", KeyClass::Other),
            (b"redisson_lock_queue:{lock:a", KeyClass::Other),
            (b"redisson_lock_queue:{lock:a", KeyClass::Other),
            (b"cart:17", KeyClass::Other),
        ] {
            assert_eq!(filter.classify(name), meaning);
        }
    }
}
