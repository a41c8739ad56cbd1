//! Processes the notifications of the nodes: which keys are read now, later, or only counted.

use std::collections::HashMap;

use tokio::time::Instant;

use super::poll::KeyActivity;
use super::{MAX_KEYS_PER_POLL, RECONCILE_ROUNDS, Watcher};
use crate::domain::LockKey;

/// Written keys that are not locks are read again at this rate per round.
const MAX_POSTPONED_PER_ROUND: usize = 500;
/// Bounds the keys waiting for that.
const MAX_POSTPONED: usize = 20_000;

impl Watcher {
    /// Reads the keys that were written according to notifications.
    pub(super) async fn process_notifications(&mut self) -> bool {
        let notifications = self.group.take_changes();
        if notifications.is_full_resync {
            self.resync_all();
        }
        let now = Instant::now();
        let mut activity = HashMap::with_capacity(notifications.keys.len());
        for (key, writes) in notifications.keys {
            // Keys that are not locks may be written often. They are read at a limited rate, so
            // that they do not delay the reading of locks.
            if self.rejected.contains(&key) {
                if self.postponed.len() < MAX_POSTPONED {
                    self.postponed.insert(key);
                }
            } else if !self.hot_keys.record_writes(&key, writes, now) {
                let key_activity = KeyActivity {
                    writes,
                    ownership_changes_per_minute: None,
                };
                activity.insert(key, key_activity);
            }
        }
        self.poll_changed(&activity).await
    }

    /// When hot keys are sampled next.
    pub(super) fn next_sample_at(&self) -> Instant {
        self.hot_keys.next_sample()
    }

    pub(super) fn has_samples(&self) -> bool {
        self.hot_keys.has_samples()
    }

    /// Samples the hot keys.
    pub(super) async fn poll_hot_keys(&mut self) -> bool {
        let samples = self.hot_keys.sample(Instant::now()).into_iter();
        let activity = samples.map(|(key, sample)| {
            let activity = KeyActivity {
                writes: sample.writes,
                ownership_changes_per_minute: Some(sample.ownership_changes_per_minute),
            };
            (key, activity)
        });
        self.poll_changed(&activity.collect()).await
    }

    /// Schedules a read of every indexed lock after a discontinuity. Unknown locks are found by the
    /// scan.
    pub(super) fn resync_all(&mut self) {
        let name = &self.group.config.name;
        self.resync = self.index.snapshot().keys_of(name).into_iter().collect();
        // Any key may have become a lock while notifications were missing.
        self.rejected.clear();
        self.non_locks.clear();
    }

    pub(super) fn needs_resync(&self) -> bool {
        !self.resync.is_empty()
    }

    /// Continues the resync with the next batch.
    pub(super) async fn continue_resync(&mut self) -> bool {
        // Small batches, so that other events are processed in between.
        let count = self.resync.len().min(MAX_KEYS_PER_POLL / 4);
        let keys: Vec<LockKey> = self.resync.drain(..count).collect();
        self.poll(&keys).await
    }

    /// The next locks of the reconciliation.
    pub(super) fn next_to_reconcile(&mut self) -> Vec<LockKey> {
        let (index, behind) = (self.index.snapshot(), self.reconcile_cursor.take());
        let locks = index.locks_after(&self.group.config.name, behind.as_ref());
        let count = index.lock_count().div_ceil(RECONCILE_ROUNDS);
        let keys: Vec<LockKey> = locks.take(count).map(|lock| lock.id.key.clone()).collect();
        self.reconcile_cursor = keys.last().cloned();
        keys
    }

    /// Written keys that were not locks before.
    pub(super) fn next_postponed(&mut self) -> Vec<LockKey> {
        let keys: Vec<LockKey> = self
            .postponed
            .iter()
            .take(MAX_POSTPONED_PER_ROUND)
            .cloned()
            .collect();
        for key in &keys {
            self.postponed.remove(key);
            // The next poll decides again whether the key is a lock.
            self.rejected.remove(key);
        }
        keys
    }

    /// Derives key prefixes from the indexed locks, for nodes that can only send notifications for
    /// a limited set of prefixes.
    pub(super) fn learn_prefixes(&mut self) {
        let name = &self.group.config.name;
        let keys = self.index.snapshot().keys_of(name);
        self.group
            .learn_prefixes(keys.iter().map(LockKey::as_bytes));
    }
}
