//! What the nodes told: which keys are looked at now, later, or only counted.

use std::collections::HashMap;

use tokio::time::Instant;

use super::looking::News;
use super::{KEYS_AT_ONCE, RECONCILED_IN, Watcher};
use crate::domain::LockKey;
use crate::server::nodes::learn;

/// Names that are no locks and were written all the same: so many are looked at every second.
const POSTPONED_AT_ONCE: usize = 500;
/// And so many wait for it.
const MOST_POSTPONED: usize = 20_000;

impl Watcher {
    /// Looks at the keys that nodes told were written.
    pub(super) async fn look_at_told(&mut self) -> bool {
        let told = self.group.inbox().take();
        if told.everything {
            self.resync_everything();
        }
        let quorum = self.group.quorum();
        let mut news = HashMap::with_capacity(told.keys.len());
        for (key, writes) in told.keys {
            self.group.was_written(&key);
            let writes = writes.on(quorum);
            if self.rejected.contains(&key) {
                if self.postponed.len() < MOST_POSTPONED {
                    self.postponed.insert(key);
                }
            } else if !self.heat.is_hot(&key, writes) {
                let is_news = News {
                    writes,
                    hand_overs_per_minute: None,
                };
                news.insert(key, is_news);
            }
        }
        self.look_at_news(&news).await
    }

    /// When hot locks are looked at next.
    pub(super) fn samples_at(&self) -> Instant {
        self.heat.next_sample()
    }

    pub(super) fn has_samples(&self) -> bool {
        self.heat.has_samples()
    }

    /// Looks at hot locks.
    pub(super) async fn look_at_samples(&mut self) -> bool {
        let samples = self.heat.sample().into_iter();
        let news = samples.map(|(key, sample)| {
            let news = News {
                writes: sample.writes,
                hand_overs_per_minute: Some(sample.hand_overs_per_minute),
            };
            (key, news)
        });
        self.look_at_news(&news.collect()).await
    }

    /// Anything may have happened: every known lock is looked at. Unknown ones are found by the scan.
    pub(super) fn resync_everything(&mut self) {
        let name = &self.group.config.name;
        self.resync = self.index.snapshot().keys_of(name).into_iter().collect();
        self.rejected.clear();
        self.passed_over.clear();
    }

    pub(super) fn has_to_resync(&self) -> bool {
        !self.resync.is_empty()
    }

    /// Goes on looking at everything.
    pub(super) async fn look_at_more(&mut self) -> bool {
        let many = self.resync.len().min(KEYS_AT_ONCE / 4);
        let keys: Vec<LockKey> = self.resync.drain(..many).collect();
        self.look(&keys).await
    }

    /// The next locks in the slow round over everything.
    pub(super) fn next_to_reconcile(&mut self) -> Vec<LockKey> {
        let (index, behind) = (self.index.snapshot(), self.reconciled.take());
        let locks = index.locks_behind(&self.group.config.name, behind.as_ref());
        let many = index.lock_count().div_ceil(RECONCILED_IN);
        let keys: Vec<LockKey> = locks.take(many).map(|lock| lock.id.key.clone()).collect();
        self.reconciled = keys.last().cloned();
        keys
    }

    /// Names that are no locks and were written since.
    pub(super) fn next_postponed(&mut self) -> Vec<LockKey> {
        let keys: Vec<LockKey> = self
            .postponed
            .iter()
            .take(POSTPONED_AT_ONCE)
            .cloned()
            .collect();
        for key in &keys {
            self.postponed.remove(key);
            self.rejected.remove(key);
        }
        keys
    }

    /// Tells nodes that cannot tell of all names how those of known locks begin.
    pub(super) fn teach(&mut self) {
        let name = &self.group.config.name;
        let keys = self.index.snapshot().keys_of(name);
        let inbox = self.group.inbox();
        let names = keys.iter().map(LockKey::as_bytes);
        inbox.teach(learn(&inbox.taught(), names));
    }
}
