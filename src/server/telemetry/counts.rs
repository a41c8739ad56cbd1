//! Numbers by name that are counted without a lock: names are few and come as they are met.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many names are told apart: more than there are outcomes of an act or statuses of an answer.
const MOST_NAMES: usize = 40;

/// A number for each name.
pub struct Counts<N> {
    slots: [Slot<N>; MOST_NAMES],
}

struct Slot<N> {
    name: OnceLock<N>,
    n: AtomicU64,
}

impl<N: Copy + Eq> Default for Counts<N> {
    fn default() -> Self {
        Self {
            slots: std::array::from_fn(|_| Slot {
                name: OnceLock::new(),
                n: AtomicU64::new(0),
            }),
        }
    }
}

impl<N: Copy + Eq> Counts<N> {
    /// Adds one to the number of this name. A name beyond the most is not counted; there are not so many.
    pub fn add(&self, name: N) {
        self.add_many(name, 1);
    }

    /// Adds so many to it; of none, that there is such a name.
    pub fn add_many(&self, name: N, n: u64) {
        let mut slots = self.slots.iter();
        // A free slot is taken on the way: whoever comes first at one decides whose it is.
        if let Some(slot) = slots.find(|slot| *slot.name.get_or_init(|| name) == name) {
            slot.n.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Every name that was met, with its number.
    pub fn each(&self) -> impl Iterator<Item = (N, u64)> {
        let met = |slot: &Slot<N>| Some((*slot.name.get()?, slot.n.load(Ordering::Relaxed)));
        self.slots.iter().map_while(met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_number_whoever_counts() {
        let counts = Counts::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..30_000_u16 {
                        counts.add(n % 30);
                    }
                });
            }
        });
        let mut each: Vec<(u16, u64)> = counts.each().collect();
        each.sort_unstable();
        let wanted: Vec<_> = (0..30).map(|name| (name, 4_000)).collect();
        assert_eq!(each, wanted);
    }

    #[test]
    fn names_beyond_the_most_do_no_harm() {
        let counts = Counts::default();
        for n in 0..1_000_u16 {
            counts.add(n);
        }
        assert_eq!(counts.each().count(), MOST_NAMES);
    }
}
