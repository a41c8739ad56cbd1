//! The attempts to acquire locks over the last minutes, as far as this page observed them. They are
//! sampled from the live list, so they need no request.

use std::collections::{BTreeMap, VecDeque};

use leptos::prelude::*;

use crate::domain::{Demand, Lock, LockId};
use crate::ui::live::Live;

/// The time between two samples, in milliseconds.
const SAMPLE_INTERVAL_MS: i64 = 5_000;
/// The number of samples of a lock.
pub const MAX_SAMPLES: usize = 60;
/// The number of locks whose attempts are kept.
const MAX_LOCKS: usize = 200;

/// The attempts per minute of a lock at each sample, the oldest first.
type Rates = VecDeque<u32>;

/// The samples of the locks with attempts. A copyable handle.
#[derive(Clone, Copy)]
pub struct DemandHistory {
    by_lock: StoredValue<BTreeMap<LockId, Rates>>,
    sample_count: RwSignal<u32>,
}

impl DemandHistory {
    /// Provides the history as context, and starts to sample in the browser.
    pub fn provide(live: Live) {
        let history = Self {
            by_lock: StoredValue::default(),
            sample_count: RwSignal::new(0),
        };
        provide_context(history);
        let sample = Memo::new(move |_| live.now.get().millis().div_euclid(SAMPLE_INTERVAL_MS));
        Effect::new(move || {
            sample.track();
            let rates = |locks: &BTreeMap<LockId, std::sync::Arc<Lock>>| {
                let rate = |(id, lock): (&LockId, &std::sync::Arc<Lock>)| {
                    Some((id.clone(), attempts_per_minute(lock)?))
                };
                locks.iter().filter_map(rate).collect()
            };
            let rates: BTreeMap<LockId, u32> = untrack(|| live.with_locks(rates));
            history
                .by_lock
                .update_value(|by_lock| record(by_lock, rates));
            history
                .sample_count
                .update(|count| *count = count.wrapping_add(1));
        });
    }

    /// The attempts per minute of a lock, the oldest first; empty outside of the lock list. Tracked.
    pub fn rates(id: &LockId) -> Vec<u32> {
        let Some(history) = use_context::<Self>() else {
            return Vec::new();
        };
        history.sample_count.track();
        history.by_lock.with_value(|by_lock| {
            let rates = by_lock.get(id).into_iter().flatten();
            rates.copied().collect()
        })
    }
}

fn attempts_per_minute(lock: &Lock) -> Option<u32> {
    match Demand::of(&lock.evidence)? {
        Demand::Attempts { per_minute, .. } => Some(u32::try_from(per_minute).unwrap_or(u32::MAX)),
        Demand::Waiters { .. } => None,
    }
}

/// Adds a sample. A lock without attempts in all of its samples is removed.
fn record(by_lock: &mut BTreeMap<LockId, Rates>, mut rates: BTreeMap<LockId, u32>) {
    for (id, samples) in by_lock.iter_mut() {
        samples.push_back(rates.remove(id).unwrap_or(0));
        if samples.len() > MAX_SAMPLES {
            samples.pop_front();
        }
    }
    by_lock.retain(|_, samples| samples.iter().any(|rate| *rate > 0));
    let room = MAX_LOCKS.saturating_sub(by_lock.len());
    let added = rates.into_iter().take(room);
    by_lock.extend(added.map(|(id, rate)| (id, Rates::from([rate]))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> LockId {
        LockId {
            group: "orders".into(),
            key: format!("lock:{n}").as_str().into(),
        }
    }

    #[test]
    fn samples_are_kept_while_one_of_them_has_attempts() {
        let mut by_lock = BTreeMap::new();
        record(&mut by_lock, BTreeMap::from([(id(1), 30)]));
        record(&mut by_lock, BTreeMap::from([(id(2), 6)]));
        assert_eq!(by_lock[&id(1)], [30, 0]);
        assert_eq!(by_lock[&id(2)], [6]);
        for _ in 1..MAX_SAMPLES - 1 {
            record(&mut by_lock, BTreeMap::from([(id(2), 6)]));
        }
        assert_eq!(by_lock[&id(1)].len(), MAX_SAMPLES);
        record(&mut by_lock, BTreeMap::from([(id(2), 6)]));
        assert!(!by_lock.contains_key(&id(1)));
        assert_eq!(by_lock[&id(2)].len(), MAX_SAMPLES);
    }

    #[test]
    fn the_number_of_locks_is_bounded() {
        let mut by_lock = BTreeMap::new();
        let rates = (0..2 * MAX_LOCKS).map(|n| (id(n), 1)).collect();
        record(&mut by_lock, rates);
        assert_eq!(by_lock.len(), MAX_LOCKS);
    }
}
