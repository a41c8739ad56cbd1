//! Hot keys: locks that change owner so often that reading them after every write would cost more
//! than it shows. Their writes are counted, and the keys are sampled.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::LockKey;

/// A key with more writes than this within a second is hot.
const HOT_WRITES_PER_SECOND: u32 = 40;
/// A key with fewer writes than this in each second of the rate window is no longer hot.
const COOL_WRITES_PER_SECOND: u32 = 20;
/// The window of the write rate, in seconds.
const RATE_WINDOW_SECONDS: usize = 5;
/// How often hot keys are read.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);

/// The hot keys of a group and the current write counts.
pub(super) struct HotKeys {
    /// Writes within the current second.
    this_second: HashMap<LockKey, u32>,
    hot: HashMap<LockKey, HotKey>,
    next_sample: Instant,
}

#[derive(Default)]
struct HotKey {
    /// Writes in each of the last seconds.
    writes_per_second: VecDeque<u32>,
    /// Writes since the last sample.
    unreported_writes: u32,
    initial_writes: u32,
}

/// The activity of a hot key since its last sample.
#[derive(Clone, Copy)]
pub(super) struct HotKeySample {
    /// Writes since the last sample.
    pub(super) writes: u32,
    /// Half of the writes per minute: an acquire and a release make one change of owner.
    pub(super) ownership_changes_per_minute: f64,
}

impl Default for HotKeys {
    fn default() -> Self {
        Self {
            this_second: HashMap::new(),
            hot: HashMap::new(),
            next_sample: Instant::now(),
        }
    }
}

impl HotKeys {
    /// Counts writes of a key. Returns whether it is hot: a hot key is read by sampling, not after
    /// every write.
    pub(super) fn record_writes(&mut self, key: &LockKey, writes: u32) -> bool {
        let count = self.this_second.entry(key.clone()).or_default();
        *count = count.saturating_add(writes);
        if let Some(hot) = self.hot.get_mut(key) {
            hot.unreported_writes = hot.unreported_writes.saturating_add(writes);
            return true;
        }
        if *count > HOT_WRITES_PER_SECOND {
            let hot = HotKey {
                unreported_writes: writes,
                initial_writes: *count,
                ..HotKey::default()
            };
            self.hot.insert(key.clone(), hot);
            return true;
        }
        false
    }

    /// Ends the current second. Removes and returns the keys that are no longer hot.
    pub(super) fn remove_cooled(&mut self) -> Vec<LockKey> {
        let writes_per_second = std::mem::take(&mut self.this_second);
        for (key, hot) in &mut self.hot {
            if hot.writes_per_second.len() == RATE_WINDOW_SECONDS {
                hot.writes_per_second.pop_front();
            }
            hot.writes_per_second
                .push_back(writes_per_second.get(key).copied().unwrap_or(0));
        }
        // Two thresholds keep a key from alternating between hot and cool.
        let is_cool = |hot: &HotKey| {
            hot.writes_per_second.len() == RATE_WINDOW_SECONDS
                && hot
                    .writes_per_second
                    .iter()
                    .all(|count| *count < COOL_WRITES_PER_SECOND)
        };
        let cool: Vec<LockKey> = self
            .hot
            .iter()
            .filter(|(_, hot)| is_cool(hot))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &cool {
            self.hot.remove(key);
        }
        cool
    }

    pub(super) fn has_samples(&self) -> bool {
        self.hot.values().any(|hot| hot.unreported_writes > 0)
    }

    pub(super) fn next_sample(&self) -> Instant {
        self.next_sample
    }

    /// The hot keys written since their last sample.
    pub(super) fn sample(&mut self) -> HashMap<LockKey, HotKeySample> {
        self.next_sample = Instant::now() + SAMPLE_INTERVAL;
        let changed = self
            .hot
            .iter_mut()
            .filter(|(_, hot)| hot.unreported_writes > 0);
        changed
            .map(|(key, hot)| {
                let writes_per_second = hot.writes_per_second.len().max(1);
                // Before the first second has ended, the writes that made the key hot are the only
                // count.
                let total: u32 = if hot.writes_per_second.is_empty() {
                    hot.initial_writes
                } else {
                    hot.writes_per_second.iter().sum()
                };
                let sample = HotKeySample {
                    writes: std::mem::take(&mut hot.unreported_writes),
                    // Two writes per change of owner, sixty seconds per minute.
                    ownership_changes_per_minute: f64::from(total) * 30.0
                        / writes_per_second as f64,
                };
                (key.clone(), sample)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_lock_is_counted_until_it_cools_down() {
        let (mut hot_keys, key) = (HotKeys::default(), LockKey::from("lock:a"));
        assert!((0..HOT_WRITES_PER_SECOND).all(|_| !hot_keys.record_writes(&key, 1)));
        assert!(hot_keys.record_writes(&key, 1));
        assert!((0..59).all(|_| hot_keys.record_writes(&key, 1)));
        assert_eq!(hot_keys.remove_cooled(), []);
        let sample = hot_keys.sample()[&key];
        assert_eq!(
            (sample.writes, sample.ownership_changes_per_minute),
            (60, 3_000.0)
        );
        assert!(!hot_keys.has_samples());
        for _ in 1..RATE_WINDOW_SECONDS {
            assert_eq!(hot_keys.remove_cooled(), []);
        }
        assert_eq!(hot_keys.remove_cooled(), std::slice::from_ref(&key));
        assert!(!hot_keys.record_writes(&key, 1));
    }
}
