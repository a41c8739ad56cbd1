//! In-memory counters of one instance.

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;

use super::CounterNames;
use super::failures::{AttemptCounters, Failures};
use crate::domain::Timestamp;

/// The maximum number of counters; the least recently used one is evicted. An attempt uses at most
/// three, and verifying a password takes long enough that an attacker cannot evict its own counters
/// within the maximum back-off of a minute.
const MAX_COUNTERS: u64 = 16_384;
/// The maximum number of known pairs of account and network.
const MAX_KNOWN_NETWORKS: u64 = 4_096;

/// Counters in memory.
pub struct MemoryCounters {
    failures: Cache<String, Failures>,
    known_networks: Cache<String, Timestamp>,
    /// Makes reading and writing the counters of an attempt atomic.
    update_lock: Mutex<()>,
}

impl Default for MemoryCounters {
    fn default() -> Self {
        let lru = EvictionPolicy::lru();
        Self {
            failures: Cache::builder()
                .max_capacity(MAX_COUNTERS)
                .eviction_policy(lru.clone())
                .build(),
            known_networks: Cache::builder()
                .max_capacity(MAX_KNOWN_NETWORKS)
                .eviction_policy(lru)
                .build(),
            update_lock: Mutex::default(),
        }
    }
}

impl MemoryCounters {
    /// Updates the counters with these names atomically.
    pub fn update<T>(
        &self,
        names: &CounterNames,
        update: impl FnOnce(&mut AttemptCounters) -> T,
    ) -> T {
        // `moka` has no atomic update of several keys.
        let _counting = self.update_lock.lock();
        let failures = |name: &String| self.failures.get(name).unwrap_or_default();
        let mut counters = AttemptCounters {
            pair: failures(&names.pair),
            shared: names
                .shared
                .as_ref()
                .map(|names| names.each_ref().map(failures)),
            known_network_since: self.known_networks.get(&names.known_network),
        };
        let result = update(&mut counters);
        self.failures.insert(names.pair.clone(), counters.pair);
        for (names, failures) in names.shared.iter().zip(counters.shared) {
            for (name, failures) in names.iter().zip(failures) {
                self.failures.insert(name.clone(), failures);
            }
        }
        if let Some(since) = counters.known_network_since {
            self.known_networks
                .insert(names.known_network.clone(), since);
        }
        result
    }
}
