//! Which keys of a node were written since that was last asked: those of which the node told, and those that we read.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use parking_lot::{Mutex, MutexGuard};

/// More are not kept apart.
const MOST: usize = 200_000;

/// The keys, each as a number that no stranger can foresee.
#[derive(Default)]
pub struct Written {
    hasher: RandomState,
    marks: Mutex<Marks>,
}

/// What was written.
#[derive(Default)]
pub struct Marks {
    /// These keys.
    pub keys: HashSet<u64>,
    /// These were read by us, which is a touch too: whether we still do.
    pub read: HashMap<u64, bool>,
    /// Any.
    pub everything: bool,
}

impl Marks {
    /// Whether this key is among them.
    pub fn has(&self, key: u64) -> bool {
        self.everything || self.keys.contains(&key) || self.read.contains_key(&key)
    }
}

impl Written {
    /// What a key is kept as.
    pub fn number(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// This one was written.
    pub fn note(&self, key: &[u8]) {
        let number = self.number(key);
        let mut marks = self.marks();
        if marks.keys.len() >= MOST {
            marks.keys.clear();
            marks.everything = true;
        }
        if !marks.everything {
            marks.keys.insert(number);
        }
    }

    /// We begin to read this one, or have read it.
    pub fn read(&self, key: &[u8], still: bool) {
        let number = self.number(key);
        let mut marks = self.marks();
        if marks.read.len() < MOST {
            marks.read.insert(number, still);
        } else {
            marks.everything = true;
        }
    }

    /// Any may have been.
    pub fn everything(&self) {
        let mut marks = self.marks();
        marks.keys.clear();
        marks.everything = true;
    }

    /// Takes what was noted.
    pub fn take(&self) -> Marks {
        std::mem::take(&mut self.marks())
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock()
    }
}
