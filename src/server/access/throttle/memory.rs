//! Failed attempts as one console counts them for itself.

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;

use super::Names;
use super::failures::{Counters, Failures};
use crate::domain::Timestamp;

/// So many counters are kept; the one that was not used for longest is forgotten first. An attempt takes three at most, and a password
/// takes long enough to check that nobody makes their own forgotten before a minute, the longest wait, is over.
const MAX_COUNTERS: u64 = 16_384;
/// So many accounts with a network that they came from are remembered.
const MAX_KNOWN: u64 = 4_096;

/// The counters.
pub struct Memory {
    failures: Cache<String, Failures>,
    known: Cache<String, Timestamp>,
    /// Held while an attempt is counted: what is read is what is written over.
    counting: Mutex<()>,
}

impl Default for Memory {
    fn default() -> Self {
        let lru = EvictionPolicy::lru();
        Self {
            failures: Cache::builder()
                .max_capacity(MAX_COUNTERS)
                .eviction_policy(lru.clone())
                .build(),
            known: Cache::builder()
                .max_capacity(MAX_KNOWN)
                .eviction_policy(lru)
                .build(),
            counting: Mutex::default(),
        }
    }
}

impl Memory {
    /// Changes the counters with these names in one step.
    pub fn update<T>(&self, names: &Names, change: impl FnOnce(&mut Counters) -> T) -> T {
        let _counting = self.counting.lock();
        let failures = |name: &String| self.failures.get(name).unwrap_or_default();
        let mut counters = Counters {
            pair: failures(&names.pair),
            beside: names
                .beside
                .as_ref()
                .map(|names| names.each_ref().map(failures)),
            known: self.known.get(&names.known),
        };
        let changed = change(&mut counters);
        self.failures.insert(names.pair.clone(), counters.pair);
        for (names, failures) in names.beside.iter().zip(counters.beside) {
            for (name, failures) in names.iter().zip(failures) {
                self.failures.insert(name.clone(), failures);
            }
        }
        if let Some(since) = counters.known {
            self.known.insert(names.known.clone(), since);
        }
        changed
    }
}
