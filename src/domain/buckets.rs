//! Groups the locks of a list into buckets by prefix, owner or group.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::group_by::{host_of, prefix_of};
use super::{Flag, GroupBy, Lock, LockId, SortKey, SortOrder, Timestamp, Verdict};

/// The locks of a list that have the same prefix, owner or group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bucket {
    /// The common prefix, owner or group. Empty for locks without a prefix, or without a label that
    /// names an owner.
    pub name: String,
    /// The number of locks in the bucket.
    pub lock_count: u32,
    /// The number of locks that need attention.
    pub attention: u32,
    /// The number of locks for each verdict; a verdict without locks is absent.
    pub verdicts: BTreeMap<String, u32>,
    /// The number of locks for each flag.
    pub flags: BTreeMap<String, u32>,
    /// `acquired_at` of the lock that has been held the longest.
    pub oldest_acquired_at: Timestamp,
    /// The first lock of the bucket in the order of the list.
    pub first_lock: LockId,
}

/// A page of the buckets of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Buckets {
    /// How the locks are grouped.
    pub group_by: GroupBy,
    /// The buckets, ordered by their first lock.
    pub rows: Vec<Bucket>,
    /// The number of buckets before the first one in `rows`.
    pub offset: u32,
    /// The total number of buckets.
    pub total: u32,
}

/// Collects locks into buckets.
pub(super) struct BucketsBuilder<'a> {
    group_by: GroupBy,
    order: SortOrder,
    totals: HashMap<Cow<'a, str>, BucketTotals<'a>>,
}

struct BucketTotals<'a> {
    locks: u32,
    attention: u32,
    verdicts: BTreeMap<Verdict, u32>,
    flags: BTreeMap<Flag, u32>,
    oldest: Timestamp,
    first: SortKey<'a>,
}

impl<'a> BucketsBuilder<'a> {
    pub(super) fn new(group_by: GroupBy, order: SortOrder) -> Self {
        Self {
            group_by,
            order,
            totals: HashMap::new(),
        }
    }

    /// Adds a lock to its bucket. A lock with several owners is added to the bucket of each owner.
    pub(super) fn add(&mut self, lock: &'a Lock, sort_key: SortKey<'a>) {
        match self.group_by {
            GroupBy::Prefix => self.add_to_bucket(prefix_of(lock), lock, sort_key),
            GroupBy::Group => self.add_to_bucket(Cow::Borrowed(&lock.id.group), lock, sort_key),
            GroupBy::Owner => {
                let mut hosts: Vec<&str> = lock.owners.iter().map(host_of).collect();
                hosts.sort_unstable();
                hosts.dedup();
                if hosts.is_empty() {
                    hosts.push("");
                }
                for host in hosts {
                    self.add_to_bucket(Cow::Borrowed(host), lock, sort_key.clone());
                }
            }
        }
    }

    fn add_to_bucket(&mut self, name: Cow<'a, str>, lock: &Lock, sort_key: SortKey<'a>) {
        let totals = self.totals.entry(name).or_insert_with(|| BucketTotals {
            locks: 0,
            attention: 0,
            verdicts: BTreeMap::new(),
            flags: BTreeMap::new(),
            oldest: lock.acquired_at,
            first: sort_key.clone(),
        });
        totals.locks += 1;
        totals.attention += u32::from(lock.needs_attention());
        *totals.verdicts.entry(lock.verdict).or_default() += 1;
        for flag in &lock.flags {
            *totals.flags.entry(*flag).or_default() += 1;
        }
        totals.oldest = totals.oldest.min(lock.acquired_at);
        if self.order.compare(&sort_key, &totals.first).is_lt() {
            totals.first = sort_key;
        }
    }

    /// Returns up to `limit` buckets from the given offset. If the list is shorter than that, the
    /// page ends with the last bucket.
    pub(super) fn into_page(self, offset: usize, limit: usize) -> Buckets {
        let (group_by, order) = (self.group_by, self.order);
        let mut sorted: Vec<(Cow<'a, str>, BucketTotals<'a>)> = self.totals.into_iter().collect();
        // A lock with several owners can be the first lock of several buckets, so the name breaks
        // ties.
        sorted.sort_unstable_by(|(a_name, a), (b_name, b)| {
            order
                .compare(&a.first, &b.first)
                .then_with(|| a_name.cmp(b_name))
        });
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let total = count(sorted.len());
        let offset = offset.min(sorted.len().saturating_sub(limit));
        let rows = sorted.into_iter().skip(offset).take(limit);
        Buckets {
            group_by,
            rows: rows
                .map(|(name, totals)| totals.into_bucket(name))
                .collect(),
            offset: count(offset),
            total,
        }
    }
}

impl BucketTotals<'_> {
    fn into_bucket(self, name: Cow<'_, str>) -> Bucket {
        Bucket {
            name: name.into_owned(),
            lock_count: self.locks,
            attention: self.attention,
            verdicts: counts_by_slug(self.verdicts, Verdict::slug),
            flags: counts_by_slug(self.flags, Flag::slug),
            oldest_acquired_at: self.oldest,
            first_lock: self.first.id().clone(),
        }
    }
}

/// Counts with the names that the API uses.
pub(super) fn counts_by_slug<T>(
    counts: BTreeMap<T, u32>,
    slug: fn(T) -> &'static str,
) -> BTreeMap<String, u32> {
    let counts = counts.into_iter();
    counts
        .map(|(counted, count)| (slug(counted).to_owned(), count))
        .collect()
}

#[cfg(test)]
mod tests;
