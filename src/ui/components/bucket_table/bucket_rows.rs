//! The rows of the bucket table, and the rules that keep them in place while the order is frozen.

use std::collections::HashSet;

use crate::domain::{Bucket, Buckets};
use crate::ui::components::pager::PageRange;
use crate::ui::locks_query::LocksQuery;

/// The buckets as displayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketRows {
    /// The buckets in display order.
    pub rows: Vec<Bucket>,
    /// The range of rows that is shown.
    pub page: PageRange,
    /// The number of buckets that would appear or disappear if the order were not frozen.
    pub pending_changes: usize,
    /// Whether the buckets were received.
    pub is_loaded: bool,
    query: LocksQuery,
    apply_count: u32,
}

impl BucketRows {
    /// Returns the rows to display after `received`. The tuple has whether the order is frozen, and
    /// how many times pending changes were applied.
    pub fn next(
        before: Option<&Self>,
        query: &LocksQuery,
        received: Option<Buckets>,
        (is_frozen, apply_count): (bool, u32),
    ) -> Self {
        let before = before.filter(|before| before.query == *query && before.is_loaded);
        let Some(received) = received else {
            return before.cloned().unwrap_or_default();
        };
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let page = |rows: &[Bucket]| PageRange {
            from: size(received.offset),
            rows: rows.len(),
            total: size(received.total).max(size(received.offset) + rows.len()),
        };
        let frozen = before.filter(|before| {
            is_frozen
                && before.apply_count == apply_count
                && before.page.from == size(received.offset)
        });
        let (rows, pending_changes) = match frozen {
            Some(frozen) => {
                let current = |row: &Bucket| {
                    received
                        .rows
                        .iter()
                        .find(|received| received.name == row.name)
                };
                let rows = frozen.rows.iter().map(|row| match current(row) {
                    Some(current) => current.clone(),
                    None => without_locks(row),
                });
                (
                    rows.collect(),
                    count_differences(&frozen.rows, &received.rows),
                )
            }
            None => (received.rows.clone(), 0),
        };
        Self {
            page: page(&rows),
            rows,
            pending_changes,
            is_loaded: true,
            query: query.clone(),
            apply_count,
        }
    }

    /// The names of the buckets, in order.
    pub fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    /// Returns the bucket of this name.
    pub fn bucket(&self, name: &str) -> Option<&Bucket> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// The bucket after its last lock is gone.
fn without_locks(row: &Bucket) -> Bucket {
    Bucket {
        lock_count: 0,
        attention: 0,
        verdicts: Default::default(),
        flags: Default::default(),
        ..row.clone()
    }
}

/// Counts the buckets that are in only one of the lists.
fn count_differences(frozen: &[Bucket], received: &[Bucket]) -> usize {
    let names =
        |rows: &[Bucket]| -> HashSet<String> { rows.iter().map(|row| row.name.clone()).collect() };
    names(frozen).symmetric_difference(&names(received)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GroupBy, Timestamp};

    fn received(names: &str, total: u32) -> Option<Buckets> {
        let row = |name: char| Bucket {
            name: name.to_string(),
            lock_count: total,
            attention: 0,
            verdicts: Default::default(),
            flags: Default::default(),
            oldest_acquired_at: Timestamp::from_millis(0),
            first_lock: crate::domain::LockId {
                group: "g".into(),
                key: "k".into(),
            },
        };
        Some(Buckets {
            group_by: GroupBy::Prefix,
            rows: names.chars().map(row).collect(),
            offset: 0,
            total,
        })
    }

    fn rows(bucket_rows: &BucketRows) -> String {
        bucket_rows.names().concat()
    }

    #[test]
    fn frozen_buckets_keep_their_rows_and_update_their_counts() {
        let query = LocksQuery::default();
        let first = BucketRows::next(None, &query, received("abc", 3), (true, 0));
        assert_eq!((rows(&first).as_str(), first.pending_changes), ("abc", 0));
        let frozen = BucketRows::next(Some(&first), &query, received("xca", 4), (true, 0));
        assert_eq!((rows(&frozen).as_str(), frozen.pending_changes), ("abc", 2));
        let counts: Vec<u32> = frozen.rows.iter().map(|row| row.lock_count).collect();
        assert_eq!(counts, [4, 0, 4], "a removed bucket has no locks");
        let applied = BucketRows::next(Some(&frozen), &query, received("xca", 4), (true, 1));
        assert_eq!(
            (rows(&applied).as_str(), applied.pending_changes),
            ("xca", 0)
        );
        let unfrozen = BucketRows::next(Some(&frozen), &query, received("xca", 4), (false, 0));
        assert_eq!(rows(&unfrozen), "xca");
    }

    #[test]
    fn a_new_query_discards_the_frozen_rows_until_its_reply_arrives() {
        let query = LocksQuery::default();
        let first = BucketRows::next(None, &query, received("abc", 3), (true, 0));
        let other = LocksQuery::parse("q=x");
        assert_eq!(
            BucketRows::next(Some(&first), &query, None, (true, 0)),
            first
        );
        let loading = BucketRows::next(Some(&first), &other, None, (true, 0));
        assert!(!loading.is_loaded && loading.rows.is_empty());
        let loaded = BucketRows::next(Some(&loading), &other, received("x", 1), (true, 0));
        assert_eq!((rows(&loaded).as_str(), loaded.is_loaded), ("x", true));
    }
}
