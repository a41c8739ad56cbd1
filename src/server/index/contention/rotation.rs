//! Which locks of a node the sensor reads in each round, when it cannot read all of them.

use std::collections::BTreeSet;

use crate::domain::LockKey;

/// Locks read in one round. Two rounds per second keep a sensor below 1,000 locks per second, which
/// costs about 0.2 % of a server's core; with more locks, the round goes through them in slices.
pub(super) const MAX_LOCKS_PER_ROUND: usize = 500;

/// Of these, how many may be locks with evidence of contention, or locks that a page shows.
const MAX_PREFERRED: usize = MAX_LOCKS_PER_ROUND / 2;

/// The same slice is read in this many rounds, three seconds: an access shows only in the comparison
/// of readings in different seconds, and the next one must confirm it.
const ROUNDS_PER_SLICE: u32 = 6;

/// The position in the locks of a group, ordered by key.
#[derive(Default)]
pub(super) struct Rotation {
    /// The slice begins after this lock.
    after: Option<LockKey>,
    /// The rounds in which the slice was read.
    rounds: u32,
    /// The last preferred lock that was read, if there are too many for one round.
    after_preferred: Option<LockKey>,
}

impl Rotation {
    /// The locks of the next round. `locks_after` returns up to so many locks after a key.
    pub(super) fn next(
        &mut self,
        locks_after: impl Fn(Option<&LockKey>, usize) -> Vec<LockKey>,
        preferred: &BTreeSet<LockKey>,
    ) -> Vec<LockKey> {
        let all = locks_after(None, MAX_LOCKS_PER_ROUND + 1);
        if all.len() <= MAX_LOCKS_PER_ROUND {
            *self = Self::default();
            return all;
        }
        let mut keys: BTreeSet<LockKey> = self.next_preferred(preferred);
        let free = MAX_LOCKS_PER_ROUND - keys.len();
        let mut slice = locks_after(self.after.as_ref(), free);
        if slice.is_empty() {
            self.after = None;
            slice = locks_after(None, free);
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS_PER_SLICE {
            self.rounds = 0;
            self.after = slice.last().cloned();
        }
        keys.extend(slice);
        keys.into_iter().collect()
    }

    fn next_preferred(&mut self, preferred: &BTreeSet<LockKey>) -> BTreeSet<LockKey> {
        if preferred.len() <= MAX_PREFERRED {
            return preferred.clone();
        }
        let after = self.after_preferred.take();
        let later: Vec<&LockKey> = preferred
            .iter()
            .filter(|key| after.as_ref().is_none_or(|after| *key > after))
            .take(MAX_PREFERRED)
            .collect();
        // Fewer: the next round begins with the first one again.
        if later.len() == MAX_PREFERRED {
            self.after_preferred = later.last().copied().cloned();
        }
        later.into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(count: usize) -> Vec<LockKey> {
        let name = |n| LockKey::from(format!("lock:{n:05}").as_str());
        (0..count).map(name).collect()
    }

    fn next(rotation: &mut Rotation, all: &[LockKey], preferred: &[LockKey]) -> Vec<LockKey> {
        let locks_after = |after: Option<&LockKey>, count| {
            let later = all
                .iter()
                .filter(|key| after.is_none_or(|after| *key > after));
            later.take(count).cloned().collect()
        };
        rotation.next(locks_after, &preferred.iter().cloned().collect())
    }

    #[test]
    fn all_locks_are_read_in_each_round_if_they_are_few() {
        let (all, mut rotation) = (locks(MAX_LOCKS_PER_ROUND), Rotation::default());
        for _ in 0..3 * ROUNDS_PER_SLICE {
            assert_eq!(next(&mut rotation, &all, &all[..3]), all);
        }
    }

    #[test]
    fn each_lock_is_read_in_several_rounds_in_turn() {
        let (all, mut rotation) = (locks(3 * MAX_LOCKS_PER_ROUND), Rotation::default());
        for slice in all.chunks(MAX_LOCKS_PER_ROUND).cycle().take(5) {
            for _ in 0..ROUNDS_PER_SLICE {
                assert_eq!(next(&mut rotation, &all, &[]), slice);
            }
        }
    }

    #[test]
    fn preferred_locks_are_read_in_each_round_and_leave_room_for_the_others() {
        let (all, mut rotation) = (locks(2_000), Rotation::default());
        let preferred = &all[1_990..];
        let mut read = BTreeSet::new();
        for _ in 0..5 * ROUNDS_PER_SLICE {
            let round = next(&mut rotation, &all, preferred);
            assert!(preferred.iter().all(|key| round.contains(key)));
            assert!(round.len() <= MAX_LOCKS_PER_ROUND, "{}", round.len());
            read.extend(round);
        }
        assert_eq!(read.len(), all.len());
    }

    #[test]
    fn too_many_preferred_locks_take_turns() {
        let (all, mut rotation) = (locks(2_000), Rotation::default());
        let preferred = &all[1_000..];
        let mut read = BTreeSet::new();
        for _ in 0..4 {
            let round = next(&mut rotation, &all, preferred);
            assert_eq!(round.len(), MAX_LOCKS_PER_ROUND);
            read.extend(round);
        }
        assert!(preferred.iter().all(|key| read.contains(key)));
    }
}
