//! Recently removed locks. A reply that is older than the removal must not bring a lock back.

use std::collections::HashMap;

use crate::domain::LockId;
use crate::server::clock::MonotonicTime;

/// The longest delay of a node's reply. An older tombstone has no effect.
const MAX_REPLY_DELAY_MS: i64 = 10_000;
/// Expired tombstones are pruned once there are this many; four times as many are kept at most.
const PRUNE_THRESHOLD: usize = 4_096;

/// For each removed lock, when the nodes were read that no longer showed it.
#[derive(Default)]
pub(super) struct Tombstones(HashMap<LockId, MonotonicTime>);

impl Tombstones {
    /// Records that a lock was absent when the nodes were read at `read_at`.
    pub(super) fn record(&mut self, id: LockId, read_at: MonotonicTime) {
        if self.0.len() >= PRUNE_THRESHOLD {
            self.0
                .retain(|_, gone| read_at.millis_since(*gone) < MAX_REPLY_DELAY_MS);
        }
        // Bounds the memory. If a lock has no tombstone, a late reply can show it again until the
        // next poll finds it absent.
        if self.0.len() < PRUNE_THRESHOLD * 4 {
            self.0.insert(id, read_at);
        }
    }

    /// Whether a later reading than `read_at` showed the lock as absent.
    pub(super) fn was_gone_after(&self, id: &LockId, read_at: MonotonicTime) -> bool {
        self.0.get(id).is_some_and(|gone| *gone > read_at)
    }

    /// Drops the tombstones of removed groups.
    pub(super) fn retain_groups(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|id, _| is_kept(&id.group));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(n: usize) -> LockId {
        LockId {
            group: "orders".to_owned(),
            key: format!("lock:{n}").as_str().into(),
        }
    }

    #[test]
    fn a_reply_older_than_the_removal_is_detected() {
        let mut tombstones = Tombstones::default();
        let at = |ms| MonotonicTime::default().plus(Duration::from_millis(ms));
        tombstones.record(id(1), at(1_000));
        assert!(tombstones.was_gone_after(&id(1), at(999)));
        assert!(!tombstones.was_gone_after(&id(1), at(1_000)));
        assert!(!tombstones.was_gone_after(&id(2), at(999)));
        tombstones.retain_groups(|group| group != "orders");
        assert!(!tombstones.was_gone_after(&id(1), at(999)));
    }

    #[test]
    fn expired_tombstones_are_pruned_and_their_number_is_bounded() {
        let mut tombstones = Tombstones::default();
        let at = |ms| MonotonicTime::default().plus(Duration::from_millis(ms));
        for n in 0..PRUNE_THRESHOLD {
            tombstones.record(id(n), at(0));
        }
        tombstones.record(id(PRUNE_THRESHOLD), at(MAX_REPLY_DELAY_MS.unsigned_abs()));
        assert_eq!(tombstones.0.len(), 1);
        for n in 0..PRUNE_THRESHOLD * 5 {
            tombstones.record(id(n), at(MAX_REPLY_DELAY_MS.unsigned_abs()));
        }
        assert_eq!(tombstones.0.len(), PRUNE_THRESHOLD * 4);
    }
}
