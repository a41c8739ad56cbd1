//! The keys of a node that were written or read by the console since the last round.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use parking_lot::{Mutex, MutexGuard};

/// The maximum number of keys. Beyond it, all keys count as written.
const MAX_KEYS: usize = 200_000;

/// The marked keys. They are stored as randomly seeded hashes, so that clients cannot construct
/// collisions.
#[derive(Default)]
pub struct WriteMarks {
    hasher: RandomState,
    marked_keys: Mutex<MarkedKeys>,
}

/// The keys marked since the last round.
#[derive(Default)]
pub struct MarkedKeys {
    /// Keys that were written.
    pub keys: HashSet<u64>,
    /// Keys that the console read, which is an access as well; `true` while the read is in
    /// progress.
    pub read: HashMap<u64, bool>,
    /// Any key may have been written.
    pub all: bool,
}

impl MarkedKeys {
    /// Whether this key is marked.
    pub fn has(&self, key: u64) -> bool {
        self.all || self.keys.contains(&key) || self.read.contains_key(&key)
    }
}

impl WriteMarks {
    /// The hash of a key.
    pub fn key_hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Marks a key as written.
    pub fn mark_written(&self, key: &[u8]) {
        let key_hash = self.key_hash(key);
        let mut marked_keys = self.marked_keys();
        if marked_keys.keys.len() >= MAX_KEYS {
            marked_keys.keys.clear();
            marked_keys.all = true;
        }
        if !marked_keys.all {
            marked_keys.keys.insert(key_hash);
        }
    }

    /// Marks a key as read by the console, or as being read.
    pub fn mark_read(&self, key: &[u8], in_progress: bool) {
        let key_hash = self.key_hash(key);
        let mut marked_keys = self.marked_keys();
        if marked_keys.read.len() < MAX_KEYS {
            marked_keys.read.insert(key_hash, in_progress);
        } else {
            marked_keys.all = true;
        }
    }

    /// Marks all keys as written.
    pub fn mark_all(&self) {
        let mut marked_keys = self.marked_keys();
        marked_keys.keys.clear();
        marked_keys.all = true;
    }

    /// Takes the marks.
    pub fn take(&self) -> MarkedKeys {
        std::mem::take(&mut self.marked_keys())
    }

    fn marked_keys(&self) -> MutexGuard<'_, MarkedKeys> {
        self.marked_keys.lock()
    }
}
