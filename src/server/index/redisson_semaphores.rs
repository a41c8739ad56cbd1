//! Keys identified as Redisson semaphores because a client was seen waiting for a permit. The value
//! alone, a number, is not sufficient.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Format, LockKey, glob};
use crate::server::config::FormatOverride;

/// Semaphores kept per group.
const MAX_PER_GROUP: usize = 200;

/// The identified semaphores by group.
#[derive(Debug, Default)]
pub(super) struct RedissonSemaphores(Mutex<BTreeMap<String, BTreeSet<LockKey>>>);

impl RedissonSemaphores {
    /// Adds a key. Returns whether it is new.
    pub(super) fn insert(&self, group: &str, key: &LockKey) -> bool {
        let mut by_group = self.by_group();
        let of_group = by_group.entry(group.to_owned()).or_default();
        of_group.len() < MAX_PER_GROUP && of_group.insert(key.clone())
    }

    /// The keys as format overrides, the form in which an operator configures a format.
    pub(super) fn format_overrides(&self, group: &str) -> Vec<FormatOverride> {
        let by_group = self.by_group();
        let keys = by_group.get(group).into_iter().flatten();
        keys.filter_map(|key| {
            Some(FormatOverride {
                // A pattern is text, so a key that is not UTF-8 cannot be overridden.
                pattern: glob::literal(std::str::from_utf8(key.as_bytes()).ok()?),
                format: Format::RedissonSemaphore,
            })
        })
        .collect()
    }

    fn by_group(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<LockKey>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_characters_in_a_semaphore_key_are_literal() {
        let semaphores = RedissonSemaphores::default();
        assert!(semaphores.insert("jobs", &"permits[a]*?".into()));
        assert!(!semaphores.insert("jobs", &"permits[a]*?".into()));
        let format_overrides = semaphores.format_overrides("jobs");
        let matches = |name: &[u8]| glob::matches(format_overrides[0].pattern.as_bytes(), name);
        assert!(matches(b"permits[a]*?"));
        assert!(!matches(b"permitsa*?") && !matches(b"permits[a]xy"));
        assert!(semaphores.format_overrides("orders").is_empty());
    }
}
