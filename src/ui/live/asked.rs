//! Which part of the board a page asks for, and what it is told of the rest.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::domain::{Bundles, Counts, LockId};
use crate::ui::first_view::BUNDLES;
use crate::ui::query::Query;

/// How many rows are asked for at once: those on screen, and as many on both sides as are scrolled past while others come.
const ROWS: usize = 200;
/// The first row that is asked for is a multiple of this, so that viewers of nearly the same rows share them.
const STEP: usize = 20;

/// Which part of the board is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// The list.
    pub(super) query: Query,
    /// How many rows of it come before those that are asked for.
    pub(super) from: usize,
    /// Locks that are shown by themselves, and by how many at once.
    pub(super) followed: BTreeMap<LockId, u32>,
}

impl Asked {
    /// How many rows that are. Bundles are shown a page at a time.
    pub(super) fn rows(&self) -> usize {
        match self.query.by {
            Some(_) => BUNDLES,
            None => ROWS,
        }
    }

    /// From where on to ask, where these rows of a list of so many are on screen and not all of them, and those near
    /// them, are asked for already.
    pub(super) fn next_for(&self, seen: &Range<usize>, total: usize) -> Option<usize> {
        let margin = ROWS / 8;
        let begin = seen.start.saturating_sub(margin);
        let end = (seen.end + margin).min(total);
        if begin >= self.from && end <= self.from + ROWS {
            return None;
        }
        let middle = usize::midpoint(seen.start, seen.end);
        let from = middle.saturating_sub(ROWS / 2) / STEP * STEP;
        Some(from).filter(|from| *from != self.from)
    }
}

/// What is told of the server's board beside the locks that are sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// How many the list has.
    pub(super) total: u32,
    /// How many are in which state.
    pub(super) counts: Counts,
    /// How many rows come before those that are sent.
    pub(super) from: u32,
    /// Locks that are sent and are no rows.
    pub(super) apart: Vec<LockId>,
    /// The bundles, where they are shown in place of locks.
    pub(super) bundles: Option<Bundles>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_asked_for_before_the_edge_comes_into_sight() {
        let asked = |from| Asked {
            from,
            ..Asked::default()
        };
        for (from, seen, total, next) in [
            (0, 0..20, 5, None),
            (0, 0..20, 100_000, None),
            (0, 150..170, 100_000, None),
            (0, 150..170, 170, None),
            (0, 160..180, 100_000, Some(60)),
            (0, 99_980..100_000, 100_000, Some(99_880)),
            (99_880, 99_980..100_000, 100_000, None),
            (60, 70..90, 100_000, Some(0)),
            (60, 90..110, 100_000, None),
        ] {
            assert_eq!(asked(from).next_for(&seen, total), next, "{from} {seen:?}");
        }
    }
}
