//! Locks that change hands so fast that looking at each change would cost more than it shows: their changes are counted,
//! and they are looked at now and then.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::LockKey;

/// More writes than this within a second, and a lock is hot.
const HOT: u32 = 40;
/// With fewer in every one of the last seconds it is not hot any more.
const COOL: u32 = 20;
/// How many seconds the rate is taken over.
const SECONDS: usize = 5;
/// How often hot locks are looked at.
const SAMPLED_EVERY: Duration = Duration::from_millis(250);

/// Which locks are hot.
pub(super) struct Heat {
    /// Writes within this second.
    this_second: HashMap<LockKey, u32>,
    hot: HashMap<LockKey, Hot>,
    next_sample: Instant,
}

#[derive(Default)]
struct Hot {
    /// Writes in each of the last seconds.
    seconds: VecDeque<u32>,
    /// Writes since it was last looked at.
    unseen: u32,
    began: u32,
}

/// What is known of a hot lock when it is looked at.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Writes since the last look.
    pub(super) writes: u32,
    /// Half the writes in a minute.
    pub(super) hand_overs_per_minute: f64,
}

impl Default for Heat {
    fn default() -> Self {
        Self {
            this_second: HashMap::new(),
            hot: HashMap::new(),
            next_sample: Instant::now(),
        }
    }
}

impl Heat {
    /// Takes note of writes. True where the lock is hot: then it is looked at later.
    pub(super) fn is_hot(&mut self, key: &LockKey, writes: u32) -> bool {
        let count = self.this_second.entry(key.clone()).or_default();
        *count = count.saturating_add(writes);
        if let Some(hot) = self.hot.get_mut(key) {
            hot.unseen = hot.unseen.saturating_add(writes);
            return true;
        }
        if *count > HOT {
            let hot = Hot {
                unseen: writes,
                began: *count,
                ..Hot::default()
            };
            self.hot.insert(key.clone(), hot);
            return true;
        }
        false
    }

    /// A second is over: the locks that are not hot any more.
    pub(super) fn cool(&mut self) -> Vec<LockKey> {
        let seconds = std::mem::take(&mut self.this_second);
        for (key, hot) in &mut self.hot {
            if hot.seconds.len() == SECONDS {
                hot.seconds.pop_front();
            }
            hot.seconds
                .push_back(seconds.get(key).copied().unwrap_or(0));
        }
        let is_cool = |hot: &Hot| {
            hot.seconds.len() == SECONDS && hot.seconds.iter().all(|count| *count < COOL)
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
        self.hot.values().any(|hot| hot.unseen > 0)
    }

    pub(super) fn next_sample(&self) -> Instant {
        self.next_sample
    }

    /// The hot locks that were written since they were last looked at.
    pub(super) fn sample(&mut self) -> HashMap<LockKey, Sample> {
        self.next_sample = Instant::now() + SAMPLED_EVERY;
        let changed = self.hot.iter_mut().filter(|(_, hot)| hot.unseen > 0);
        changed
            .map(|(key, hot)| {
                let seconds = hot.seconds.len().max(1);
                let counted: u32 = if hot.seconds.is_empty() {
                    hot.began
                } else {
                    hot.seconds.iter().sum()
                };
                let sample = Sample {
                    writes: std::mem::take(&mut hot.unseen),
                    hand_overs_per_minute: f64::from(counted) * 30.0 / seconds as f64,
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
        let (mut heat, key) = (Heat::default(), LockKey::from("lock:a"));
        assert!((0..HOT).all(|_| !heat.is_hot(&key, 1)));
        assert!(heat.is_hot(&key, 1));
        assert!((0..59).all(|_| heat.is_hot(&key, 1)));
        assert_eq!(heat.cool(), []);
        let sample = heat.sample()[&key];
        assert_eq!((sample.writes, sample.hand_overs_per_minute), (60, 3_000.0));
        assert!(!heat.has_samples());
        for _ in 1..SECONDS {
            assert_eq!(heat.cool(), []);
        }
        assert_eq!(heat.cool(), std::slice::from_ref(&key));
        assert!(!heat.is_hot(&key, 1));
    }
}
