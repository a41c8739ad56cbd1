//! Windows of a lock list: a range of rows of the filtered and sorted list, with counts.

mod first_rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::buckets::{BucketsBuilder, counts_by_slug};
use super::{
    Buckets, Confidence, Filter, GroupBy, IndexState, Lock, LockCounts, LockId, Sort, SortKey,
    SortOrder, Timestamp, UnfilteredCounts,
};
use first_rows::FirstRows;

/// The filter, order and range of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WindowQuery {
    /// The locks of the list.
    pub filter: Filter,
    /// The sort criterion.
    pub sort: Sort,
    /// The direction of the order.
    pub order: SortOrder,
    /// If set, the window contains buckets instead of locks.
    pub group_by: Option<GroupBy>,
    /// The number of locks or buckets before the window.
    pub offset: usize,
    /// The maximum number of locks or buckets in the window.
    pub limit: usize,
}

/// A window of a lock list.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The locks in order; empty if the window contains buckets.
    pub locks: Vec<Arc<Lock>>,
    /// The number of locks before the window. Less than requested if the list is shorter.
    pub offset: u32,
    /// The number of locks that match the filter.
    pub total: u32,
    /// The number of matching locks after the cursor, including those in the window.
    pub remaining: u32,
    /// The number of locks per state.
    pub counts: LockCounts,
    /// The buckets, if the query groups the locks.
    pub buckets: Option<Buckets>,
}

/// The metadata of a window that changed together with its locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WindowUpdate {
    /// The number of locks that match the filter.
    pub total: u32,
    /// The number of locks per state.
    pub counts: LockCounts,
    /// Locks that are no longer sent, although they are still observed.
    pub removed: Vec<LockId>,
    /// The number of locks of the list before the window.
    #[serde(default)]
    pub offset: u32,
    /// Locks that are included because the subscriber follows them. They are not rows of the
    /// window.
    #[serde(default)]
    pub pinned: Vec<LockId>,
    /// The current buckets, if the window is grouped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
}

impl WindowQuery {
    /// Evaluates the query on the index at `now`. With `after`, only locks behind that position are
    /// included.
    pub fn evaluate(
        &self,
        index: &IndexState,
        after: Option<&SortKey<'_>>,
        now: Timestamp,
    ) -> Window {
        self.evaluate_locks(index.locks.values(), after, now)
    }

    /// Evaluates the query on the given locks. A caller can copy the `Arc`s first, so that it does
    /// not block the index while a large list is evaluated.
    pub fn evaluate_locks<'a>(
        &self,
        locks: impl Iterator<Item = &'a Arc<Lock>>,
        after: Option<&SortKey<'_>>,
        now: Timestamp,
    ) -> Window {
        let mut counts_builder = CountsBuilder::default();
        let mut total = 0_u32;
        let mut rows = FirstRows::new(self.offset.saturating_add(self.limit), self.order);
        let mut buckets = self
            .group_by
            .map(|group_by| BucketsBuilder::new(group_by, self.order));
        for lock in locks {
            if self.filter.visible_groups.contains(&lock.id.group) {
                counts_builder.add_unfiltered(lock);
            }
            if !self.filter.matches_scope(lock, now) {
                continue;
            }
            if lock.confidence == Confidence::Possible {
                counts_builder.possible += 1;
            } else {
                counts_builder.add(lock);
            }
            if self.filter.matches_state(lock) {
                total += 1;
                let sort_key = self.sort.sort_key(lock);
                if let Some(buckets) = &mut buckets {
                    buckets.add(lock, sort_key);
                } else if after.is_none_or(|after| self.order.compare(&sort_key, after).is_gt()) {
                    rows.add(sort_key, lock);
                }
            }
        }
        // If the list became shorter than the offset, the window shows its last rows.
        let offset = self.offset.min(rows.count().saturating_sub(self.limit));
        Window {
            remaining: u32::try_from(rows.count()).unwrap_or(u32::MAX),
            locks: rows.into_window(offset, self.limit),
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            total,
            counts: counts_builder.counts(),
            buckets: buckets.map(|buckets| buckets.into_page(self.offset, self.limit)),
        }
    }
}

/// Builds [`LockCounts`].
#[derive(Default)]
struct CountsBuilder {
    all: u32,
    attention: u32,
    possible: u32,
    verdicts: BTreeMap<super::Verdict, u32>,
    flags: BTreeMap<super::Flag, u32>,
    formats: BTreeMap<super::Format, u32>,
    unfiltered: UnfilteredCounts,
}

impl CountsBuilder {
    fn add_unfiltered(&mut self, lock: &Lock) {
        if lock.confidence != Confidence::Possible {
            self.unfiltered.all += 1;
            self.unfiltered.attention += u32::from(lock.needs_attention());
        }
    }

    fn add(&mut self, lock: &Lock) {
        self.all += 1;
        self.attention += u32::from(lock.needs_attention());
        *self.verdicts.entry(lock.verdict).or_default() += 1;
        *self.formats.entry(lock.format).or_default() += 1;
        for flag in &lock.flags {
            *self.flags.entry(*flag).or_default() += 1;
        }
    }

    fn counts(self) -> LockCounts {
        LockCounts {
            all: self.all,
            attention: self.attention,
            possible: self.possible,
            verdicts: counts_by_slug(self.verdicts, super::Verdict::slug),
            flags: counts_by_slug(self.flags, super::Flag::slug),
            formats: counts_by_slug(self.formats, super::Format::slug),
            unfiltered: self.unfiltered,
        }
    }
}

#[cfg(test)]
mod tests;
