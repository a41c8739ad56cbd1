//! A cache of one value per group with a maximum age. Simultaneous requests share one load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::domain::Timestamp;

/// The cached value of one group and when it was loaded.
type CacheSlot<T> = Arc<Mutex<Option<(Timestamp, T)>>>;

/// The cached values by group.
pub(super) struct TtlCache<T>(parking_lot::Mutex<BTreeMap<String, CacheSlot<T>>>);

impl<T> Default for TtlCache<T> {
    fn default() -> Self {
        Self(parking_lot::Mutex::default())
    }
}

impl<T: Clone> TtlCache<T> {
    /// Returns the value of a group if it is younger than `longest`, or loads it with `ask`.
    /// Callers that arrive during a load wait for its result. Only call this with groups that
    /// exist: an entry is never evicted.
    pub(super) async fn get_or_load<F: Future<Output = T>>(
        &self,
        group: &str,
        now: impl Fn() -> Timestamp,
        max_age: Duration,
        load: impl FnOnce(Timestamp) -> F,
    ) -> T {
        let slot = {
            let mut slots = self.0.lock();
            Arc::clone(slots.entry(group.to_owned()).or_default())
        };
        let mut slot = slot.lock().await;
        let now = now();
        if let Some((at, value)) = &*slot
            && now.since(*at) < max_age
            && *at <= now
        {
            return value.clone();
        }
        let value = load(now).await;
        *slot = Some((now, value.clone()));
        value
    }

    /// The last value of a group and its time; `None` if none was loaded yet or a load is in
    /// progress.
    pub(super) fn latest(&self, group: &str) -> Option<(Timestamp, T)> {
        let slots = self.0.lock();
        slots.get(group)?.try_lock().ok()?.clone()
    }

    /// Removes the value of a group whose configuration changed.
    pub(super) fn remove(&self, group: &str) {
        let mut slots = self.0.lock();
        slots.remove(group);
    }
}
