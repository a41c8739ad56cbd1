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
/// The rate is computed over at least this time, so that a short burst does not count as one.
const MIN_RATE_WINDOW: Duration = Duration::from_secs(1);
/// How often hot keys are read.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);

/// The hot keys of a group and the current write counts.
pub(super) struct HotKeys {
    /// Writes within the current second, with the time of the first one.
    this_second: HashMap<LockKey, SecondCount>,
    second_started: Instant,
    hot: HashMap<LockKey, HotKey>,
    next_sample: Instant,
}

/// Writes of a key within one second.
#[derive(Clone, Copy)]
struct SecondCount {
    since: Instant,
    writes: u32,
}

#[derive(Default)]
struct HotKey {
    /// Writes in each of the last seconds.
    seconds: VecDeque<SecondCount>,
    /// Writes since the last sample.
    unreported_writes: u32,
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
            second_started: Instant::now(),
            hot: HashMap::new(),
            next_sample: Instant::now(),
        }
    }
}

impl HotKeys {
    /// Counts writes of a key. Returns whether it is hot: a hot key is read by sampling, not after
    /// every write.
    pub(super) fn record_writes(&mut self, key: &LockKey, writes: u32, now: Instant) -> bool {
        let first = SecondCount {
            since: now,
            writes: 0,
        };
        let count = self.this_second.entry(key.clone()).or_insert(first);
        count.writes = count.writes.saturating_add(writes);
        if let Some(hot) = self.hot.get_mut(key) {
            hot.unreported_writes = hot.unreported_writes.saturating_add(writes);
            return true;
        }
        let is_hot = count.writes > HOT_WRITES_PER_SECOND;
        if is_hot {
            let hot = HotKey {
                unreported_writes: writes,
                ..HotKey::default()
            };
            self.hot.insert(key.clone(), hot);
        }
        is_hot
    }

    /// Ends the current second. Removes and returns the keys that are no longer hot.
    pub(super) fn remove_cooled(&mut self, now: Instant) -> Vec<LockKey> {
        let ended = std::mem::take(&mut self.this_second);
        let second_started = std::mem::replace(&mut self.second_started, now);
        for (key, hot) in &mut self.hot {
            if hot.seconds.len() == RATE_WINDOW_SECONDS {
                hot.seconds.pop_front();
            }
            let counted = ended.get(key).copied();
            hot.seconds.push_back(SecondCount {
                // The first of these seconds is counted from the first write.
                since: counted
                    .filter(|_| hot.seconds.is_empty())
                    .map_or(second_started, |counted| counted.since),
                writes: counted.map_or(0, |counted| counted.writes),
            });
        }
        // Two thresholds keep a key from alternating between hot and cool.
        let is_cool = |hot: &HotKey| {
            hot.seconds.len() == RATE_WINDOW_SECONDS
                && hot
                    .seconds
                    .iter()
                    .all(|second| second.writes < COOL_WRITES_PER_SECOND)
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
    pub(super) fn sample(&mut self, now: Instant) -> HashMap<LockKey, HotKeySample> {
        self.next_sample = now + SAMPLE_INTERVAL;
        let changed = self
            .hot
            .iter_mut()
            .filter(|(_, hot)| hot.unreported_writes > 0);
        changed
            .map(|(key, hot)| {
                let counted = hot.seconds.iter().chain(self.this_second.get(key));
                let writes: u32 = counted.clone().map(|second| second.writes).sum();
                let since = counted.map(|second| second.since).next();
                let window = since.map_or(Duration::ZERO, |since| now - since);
                let sample = HotKeySample {
                    writes: std::mem::take(&mut hot.unreported_writes),
                    // Two writes per change of owner, sixty seconds per minute.
                    ownership_changes_per_minute: f64::from(writes) * 30.0
                        / window.max(MIN_RATE_WINDOW).as_secs_f64(),
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
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        assert!((0..HOT_WRITES_PER_SECOND).all(|_| !hot_keys.record_writes(&key, 1, at(500))));
        assert!(hot_keys.record_writes(&key, 1, at(500)));
        assert!((0..59).all(|_| hot_keys.record_writes(&key, 1, at(600))));
        assert_eq!(hot_keys.remove_cooled(at(1_000)), []);
        let sample = hot_keys.sample(at(1_000))[&key];
        assert_eq!(
            (sample.writes, sample.ownership_changes_per_minute),
            (60, 3_000.0)
        );
        assert!(!hot_keys.has_samples());
        for second in 2..=RATE_WINDOW_SECONDS {
            assert_eq!(hot_keys.remove_cooled(at(1_000 * second as u64)), []);
        }
        let cool = hot_keys.remove_cooled(at(6_000));
        assert_eq!(cool, std::slice::from_ref(&key));
        assert!(!hot_keys.record_writes(&key, 1, at(6_001)));
    }

    #[test]
    fn the_rate_counts_from_the_first_write_to_the_sample() {
        let (mut hot_keys, key) = (HotKeys::default(), LockKey::from("lock:a"));
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        for tenth in 9..=24 {
            if tenth % 10 == 0 {
                hot_keys.remove_cooled(at(tenth * 100));
            }
            hot_keys.record_writes(&key, 20, at(tenth * 100));
        }
        // 320 writes in 1.6 s are 100 changes of owner per second.
        let rate = hot_keys.sample(at(2_500))[&key].ownership_changes_per_minute;
        assert!((rate - 6_000.0).abs() < 1.0, "{rate}");
    }
}
