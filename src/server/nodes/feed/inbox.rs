//! What the nodes of a group told and nobody has taken yet: each key once however often it was written, and bounded.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::domain::LockKey;

/// More keys than this are not kept apart: then everything is looked at.
const MOST_KEYS: usize = 200_000;

/// What the nodes told.
pub struct Inbox {
    nodes: usize,
    told: Mutex<Told>,
    rung: Notify,
    /// How names of known locks begin, for nodes that cannot tell of all names.
    learnt: watch::Sender<Arc<[Vec<u8>]>>,
}

/// What was told since it was last taken.
#[derive(Default)]
pub struct Told {
    /// The keys that were written.
    pub keys: HashMap<LockKey, Writes>,
    /// Something may have changed that is not among them.
    pub everything: bool,
}

/// How often each node, in the order of the configuration, told of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes(Vec<u32>);

impl Writes {
    /// How often at least `quorum` nodes told of a write. One more write on a single node is no renewal of the lock.
    pub fn on(&self, quorum: usize) -> u32 {
        let mut each = self.0.clone();
        each.sort_unstable_by(|one, other| other.cmp(one));
        quorum
            .checked_sub(1)
            .and_then(|n| each.get(n).copied())
            .unwrap_or(0)
    }
}

impl Inbox {
    /// An empty one for a group of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            told: Mutex::new(Told::default()),
            rung: Notify::new(),
            learnt: watch::Sender::new(Arc::new([])),
        }
    }

    /// A node tells that a key was written so many times; none where something beside it was.
    pub(super) fn tell(&self, place: usize, key: &[u8], writes: u32) {
        // A scan passes over such a name as well, and counts it.
        if key.len() > LockKey::MAX_BYTES {
            return;
        }
        let mut told = self.told();
        let key = LockKey::new(key);
        if told.keys.len() >= MOST_KEYS && !told.keys.contains_key(&key) {
            told.keys.clear();
            told.everything = true;
        }
        let nodes = self.nodes;
        let each = told
            .keys
            .entry(key)
            .or_insert_with(|| Writes(vec![0; nodes]));
        if let Some(count) = each.0.get_mut(place) {
            *count = count.saturating_add(writes);
        }
        drop(told);
        self.rung.notify_one();
    }

    /// Anything may have changed.
    pub fn everything(&self) {
        self.told().everything = true;
        self.rung.notify_one();
    }

    /// Waits until something was told.
    pub async fn rung(&self) {
        self.rung.notified().await;
    }

    /// Takes what was told.
    pub fn take(&self) -> Told {
        std::mem::take(&mut self.told())
    }

    /// Teaches the nodes that cannot tell of all names how those of known locks begin.
    pub fn teach(&self, prefixes: Vec<Vec<u8>>) {
        self.learnt.send_if_modified(|known| {
            let is_new = **known != *prefixes;
            if is_new {
                *known = prefixes.into();
            }
            is_new
        });
    }

    /// What was taught last.
    pub fn taught(&self) -> Vec<Vec<u8>> {
        self.learnt.borrow().to_vec()
    }

    pub(super) fn learnt(&self) -> watch::Receiver<Arc<[Vec<u8>]>> {
        self.learnt.subscribe()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_once_with_what_each_node_told_of_it() {
        let inbox = Inbox::new(3);
        inbox.tell(0, b"a", 1);
        inbox.tell(2, b"a", 1);
        inbox.tell(2, b"a", 1);
        inbox.tell(1, b"b", 0);
        let told = inbox.take();
        assert_eq!(told.keys.len(), 2);
        let of_a = &told.keys[&LockKey::from("a")];
        assert_eq!((of_a.on(1), of_a.on(2), of_a.on(3)), (2, 1, 0));
        assert_eq!(told.keys[&LockKey::from("b")].on(1), 0);
        assert!(inbox.take().keys.is_empty());
    }

    #[test]
    fn a_name_that_is_too_long_is_not_kept() {
        let inbox = Inbox::new(1);
        inbox.tell(0, &[b'x'; LockKey::MAX_BYTES], 1);
        inbox.tell(0, &[b'x'; LockKey::MAX_BYTES + 1], 1);
        assert_eq!(inbox.take().keys.len(), 1);
    }

    #[test]
    fn more_keys_than_are_kept_apart_become_everything() {
        let inbox = Inbox::new(1);
        for n in 0..=MOST_KEYS {
            inbox.tell(0, n.to_string().as_bytes(), 1);
        }
        let told = inbox.take();
        assert!(told.everything);
        assert_eq!(told.keys.len(), 1);
    }
}
