//! Which of the names that a server tells are the group's.

use super::super::scripts::FENCES;
use crate::domain::{LockKey, glob};
use crate::server::formats;

/// What a name that a server told is to a group.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// A lock may be called this.
    Lock(&'a [u8]),
    /// It belongs to the lock of this name.
    Beside(LockKey),
    /// Nothing.
    Foreign,
}

/// The names that a group is about.
pub struct Interest {
    patterns: Vec<String>,
}

impl Interest {
    /// In names that match these patterns.
    pub fn new(patterns: &[String]) -> Self {
        Self {
            patterns: patterns.to_vec(),
        }
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// What a name means.
    pub fn meaning<'a>(&self, name: &'a [u8]) -> Meaning<'a> {
        // What a library puts beside its lock: a write to it is news of the lock.
        if let Some(lock) = formats::parent_of(name) {
            return if self.is_ours(lock.as_bytes()) {
                Meaning::Beside(lock)
            } else {
                Meaning::Foreign
            };
        }
        if self.is_ours(name) && !name.starts_with(FENCES) {
            Meaning::Lock(name)
        } else {
            Meaning::Foreign
        }
    }

    fn is_ours(&self, name: &[u8]) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| glob::matches(pattern.as_bytes(), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_match_are_locks_and_what_stands_beside_them_is_news_of_them() {
        let interest = Interest::new(&["lock:*".to_owned()]);
        for (name, meaning) in [
            (&b"lock:a"[..], Meaning::Lock(b"lock:a")),
            (
                b"redisson_lock_queue:{lock:a}",
                Meaning::Beside("lock:a".into()),
            ),
            (b"lock-signal:a", Meaning::Beside("lock:a".into())),
            (b"redisson_lock_queue:{other}", Meaning::Foreign),
            (b"redisson_lock_queue:{lock:a", Meaning::Foreign),
            (b"redisson_lock_queue:{lock:a", Meaning::Foreign),
            (b"cart:17", Meaning::Foreign),
        ] {
            assert_eq!(interest.meaning(name), meaning);
        }
    }
}
