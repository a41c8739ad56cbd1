//! The part of the lock index that a page subscribes to, and the summary of the rest.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::domain::{Buckets, LockCounts, LockId};
use crate::ui::initial_view::BUCKETS_PER_PAGE;
use crate::ui::locks_query::LocksQuery;

/// Rows per subscription: those on screen, and enough on both sides to scroll while the next rows
/// are loaded.
const WINDOW_ROWS: usize = 200;
/// Offsets are multiples of this, so that subscribers of nearly the same rows share one cached view
/// on the server.
const OFFSET_STEP: usize = 20;

/// The subscribed part of the lock index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LiveSubscription {
    /// The list.
    pub(super) query: LocksQuery,
    /// The number of rows before the subscribed ones.
    pub(super) offset: usize,
    /// Locks that are sent wherever they are in the list, with a reference count.
    pub(super) pinned: BTreeMap<LockId, u32>,
}

impl LiveSubscription {
    /// The number of subscribed rows. Buckets are subscribed one page at a time.
    pub(super) fn row_count(&self) -> usize {
        match self.query.group_by {
            Some(_) => BUCKETS_PER_PAGE,
            None => WINDOW_ROWS,
        }
    }

    /// The new offset if the visible rows of a list with `total` rows, and a margin around them,
    /// are not subscribed yet.
    pub(super) fn next_offset(&self, seen: &Range<usize>, total: usize) -> Option<usize> {
        let margin = WINDOW_ROWS / 8;
        let begin = seen.start.saturating_sub(margin);
        let end = (seen.end + margin).min(total);
        if begin >= self.offset && end <= self.offset + WINDOW_ROWS {
            return None;
        }
        let middle = usize::midpoint(seen.start, seen.end);
        let from = middle.saturating_sub(WINDOW_ROWS / 2) / OFFSET_STEP * OFFSET_STEP;
        Some(from).filter(|from| *from != self.offset)
    }
}

/// The summary of the list, which the server sends with the locks.
#[derive(Clone, Debug, Default)]
pub(super) struct ListSummary {
    /// The number of locks in the list.
    pub(super) total: u32,
    /// The number of locks per state.
    pub(super) counts: LockCounts,
    /// The number of rows before those that were sent.
    pub(super) offset: u32,
    /// Pinned locks that are not rows of the list.
    pub(super) pinned: Vec<LockId>,
    /// The buckets, if the list is grouped.
    pub(super) buckets: Option<Buckets>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_subscribed_before_they_become_visible() {
        let subscribed_at = |from| LiveSubscription {
            offset: from,
            ..LiveSubscription::default()
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
            assert_eq!(
                subscribed_at(from).next_offset(&seen, total),
                next,
                "{from} {seen:?}"
            );
        }
    }
}
