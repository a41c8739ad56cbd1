//! Collects the changes reported by the nodes of a group until they are processed. Each key is
//! stored once however often it was written, and the size is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::domain::LockKey;

/// The maximum number of keys. Beyond it, a full resync is requested instead.
const MAX_KEYS: usize = 200_000;

/// The changes reported by the nodes of a group.
pub struct ChangeBuffer {
    nodes: usize,
    pending: Mutex<PendingChanges>,
    notify: Notify,
    /// Prefixes of known locks, for nodes whose feed cannot cover all keys.
    learned_prefixes: watch::Sender<Arc<[Vec<u8>]>>,
}

/// The changes since the last call of [`ChangeBuffer::take`].
#[derive(Default)]
pub struct PendingChanges {
    /// The written keys, with the writes of each node.
    pub keys: HashMap<LockKey, WriteCounts>,
    /// Other keys may have changed as well: all keys must be read again.
    pub is_full_resync: bool,
}

/// The number of writes that each node reported, in configuration order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteCounts(Vec<u32>);

impl WriteCounts {
    /// The number of writes that at least `quorum` nodes reported. An additional write on a single
    /// node is not a renewal of the lock.
    pub fn at_quorum(&self, quorum: usize) -> u32 {
        let mut each = self.0.clone();
        // Descending, so that the entry at quorum − 1 is what at least a quorum reported.
        each.sort_unstable_by(|one, other| other.cmp(one));
        quorum
            .checked_sub(1)
            .and_then(|n| each.get(n).copied())
            .unwrap_or(0)
    }
}

impl ChangeBuffer {
    /// Creates an empty buffer for a group of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            pending: Mutex::new(PendingChanges::default()),
            notify: Notify::new(),
            learned_prefixes: watch::Sender::new(Arc::new([])),
        }
    }

    /// Records that a node reported `writes` writes of a key; 0 for a write to a companion key.
    pub fn record_write(&self, node_index: usize, key: &[u8], writes: u32) {
        // Scans skip and count such names too.
        if key.len() > LockKey::MAX_BYTES {
            return;
        }
        let mut pending = self.pending();
        let key = LockKey::new(key);
        if pending.keys.len() >= MAX_KEYS && !pending.keys.contains_key(&key) {
            // A full resync reads all keys, so the single ones are superfluous.
            pending.keys.clear();
            pending.is_full_resync = true;
        }
        let nodes = self.nodes;
        let each = pending
            .keys
            .entry(key)
            .or_insert_with(|| WriteCounts(vec![0; nodes]));
        if let Some(count) = each.0.get_mut(node_index) {
            *count = count.saturating_add(writes);
        }
        drop(pending);
        self.notify.notify_one();
    }

    /// Requests that all keys are read again.
    pub fn request_full_resync(&self) {
        self.pending().is_full_resync = true;
        self.notify.notify_one();
    }

    /// Waits until a change is recorded.
    pub async fn wait_for_change(&self) {
        self.notify.notified().await;
    }

    /// Takes the pending changes.
    pub fn take(&self) -> PendingChanges {
        std::mem::take(&mut self.pending())
    }

    /// Sets the prefixes of known locks, for nodes whose feed cannot cover all keys.
    pub fn set_learned_prefixes(&self, prefixes: Vec<Vec<u8>>) {
        self.learned_prefixes.send_if_modified(|current| {
            let is_new = **current != *prefixes;
            if is_new {
                *current = prefixes.into();
            }
            is_new
        });
    }

    /// The current prefixes of known locks.
    pub fn learned_prefixes(&self) -> Vec<Vec<u8>> {
        self.learned_prefixes.borrow().to_vec()
    }

    /// Subscribes to the prefixes of known locks.
    pub fn subscribe_learned_prefixes(&self) -> watch::Receiver<Arc<[Vec<u8>]>> {
        self.learned_prefixes.subscribe()
    }

    fn pending(&self) -> MutexGuard<'_, PendingChanges> {
        self.pending.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stored_once_with_the_writes_of_each_node() {
        let inbox = ChangeBuffer::new(3);
        inbox.record_write(0, b"a", 1);
        inbox.record_write(2, b"a", 1);
        inbox.record_write(2, b"a", 1);
        inbox.record_write(1, b"b", 0);
        let pending = inbox.take();
        assert_eq!(pending.keys.len(), 2);
        let of_a = &pending.keys[&LockKey::from("a")];
        assert_eq!(
            (of_a.at_quorum(1), of_a.at_quorum(2), of_a.at_quorum(3)),
            (2, 1, 0)
        );
        assert_eq!(pending.keys[&LockKey::from("b")].at_quorum(1), 0);
        assert!(inbox.take().keys.is_empty());
    }

    #[test]
    fn a_name_that_is_too_long_is_not_stored() {
        let inbox = ChangeBuffer::new(1);
        inbox.record_write(0, &[b'x'; LockKey::MAX_BYTES], 1);
        inbox.record_write(0, &[b'x'; LockKey::MAX_BYTES + 1], 1);
        assert_eq!(inbox.take().keys.len(), 1);
    }

    #[test]
    fn too_many_keys_become_a_full_resync() {
        let inbox = ChangeBuffer::new(1);
        for n in 0..=MAX_KEYS {
            inbox.record_write(0, n.to_string().as_bytes(), 1);
        }
        let pending = inbox.take();
        assert!(pending.is_full_resync);
        assert_eq!(pending.keys.len(), 1);
    }
}
