//! Keys that are known to be semaphores of Redisson's, because somebody was seen to wait for a permit: a number alone is none.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Format, LockKey, glob};
use crate::server::config::Pin;

/// So many of one group are kept in mind.
const MOST: usize = 200;

/// The semaphores that somebody waited for, by group.
#[derive(Debug, Default)]
pub(super) struct Semaphores(Mutex<BTreeMap<String, BTreeSet<LockKey>>>);

impl Semaphores {
    /// Somebody waits for a permit of this one. Whether that is news.
    pub(super) fn note(&self, group: &str, key: &LockKey) -> bool {
        let mut known = self.known();
        let of_group = known.entry(group.to_owned()).or_default();
        of_group.len() < MOST && of_group.insert(key.clone())
    }

    /// What is known, as an operator would say it: these names are semaphores.
    pub(super) fn pins(&self, group: &str) -> Vec<Pin> {
        let known = self.known();
        let keys = known.get(group).into_iter().flatten();
        keys.filter_map(|key| {
            Some(Pin {
                pattern: glob::literal(std::str::from_utf8(key.as_bytes()).ok()?),
                format: Format::RedissonSemaphore,
            })
        })
        .collect()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<LockKey>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_meant_as_it_is_whatever_signs_it_has() {
        let semaphores = Semaphores::default();
        assert!(semaphores.note("jobs", &"permits[a]*?".into()));
        assert!(!semaphores.note("jobs", &"permits[a]*?".into()));
        let pins = semaphores.pins("jobs");
        let matches = |name: &[u8]| glob::matches(pins[0].pattern.as_bytes(), name);
        assert!(matches(b"permits[a]*?"));
        assert!(!matches(b"permitsa*?") && !matches(b"permits[a]xy"));
        assert!(semaphores.pins("orders").is_empty());
    }
}
