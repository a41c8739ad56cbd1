//! Rows of a list that belong together, added up: by the beginning of their names, by who holds them, or by their group.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::by::{host_of, prefix_of};
use super::{By, Flag, Lock, LockId, Order, Rank, Timestamp, Verdict};

/// Locks of a list that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bundle {
    /// What they have in common; empty for those without a prefix, or without a label that names an owner.
    pub name: String,
    /// How many locks that are.
    pub locks: u32,
    /// How many of them a person should look at.
    pub attention: u32,
    /// How many have which verdict; a verdict that is not there is nobody's.
    pub verdicts: BTreeMap<String, u32>,
    /// How many have which flag.
    pub flags: BTreeMap<String, u32>,
    /// Since when the oldest of them is known to be held.
    pub oldest: Timestamp,
    /// The first of them in the order of the list.
    pub first: LockId,
}

/// A part of the bundles of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bundles {
    /// What makes a bundle.
    pub by: By,
    /// The bundles. Each stands where the first of its locks would: in the usual order, those that need a person first.
    pub rows: Vec<Bundle>,
    /// How many bundles come before these.
    pub from: u32,
    /// How many there are.
    pub total: u32,
}

/// Bundles while locks are put into them.
pub(super) struct Bundling<'a> {
    by: By,
    order: Order,
    sums: HashMap<Cow<'a, str>, Sum<'a>>,
}

struct Sum<'a> {
    locks: u32,
    attention: u32,
    verdicts: BTreeMap<Verdict, u32>,
    flags: BTreeMap<Flag, u32>,
    oldest: Timestamp,
    first: Rank<'a>,
}

impl<'a> Bundling<'a> {
    pub(super) fn new(by: By, order: Order) -> Self {
        Self {
            by,
            order,
            sums: HashMap::new(),
        }
    }

    /// Puts a lock into the bundle that it belongs to; one of several owners belongs to each of them.
    pub(super) fn add(&mut self, lock: &'a Lock, rank: Rank<'a>) {
        match self.by {
            By::Prefix => self.put(prefix_of(lock), lock, rank),
            By::Group => self.put(Cow::Borrowed(&lock.id.group), lock, rank),
            By::Owner => {
                let mut hosts: Vec<&str> = lock.owners.iter().map(host_of).collect();
                hosts.sort_unstable();
                hosts.dedup();
                if hosts.is_empty() {
                    hosts.push("");
                }
                for host in hosts {
                    self.put(Cow::Borrowed(host), lock, rank.clone());
                }
            }
        }
    }

    fn put(&mut self, name: Cow<'a, str>, lock: &Lock, rank: Rank<'a>) {
        let sum = self.sums.entry(name).or_insert_with(|| Sum {
            locks: 0,
            attention: 0,
            verdicts: BTreeMap::new(),
            flags: BTreeMap::new(),
            oldest: lock.acquired_at,
            first: rank.clone(),
        });
        sum.locks += 1;
        sum.attention += u32::from(lock.needs_attention());
        *sum.verdicts.entry(lock.verdict).or_default() += 1;
        for flag in &lock.flags {
            *sum.flags.entry(*flag).or_default() += 1;
        }
        sum.oldest = sum.oldest.min(lock.acquired_at);
        if self.order.compare(&rank, &sum.first).is_lt() {
            sum.first = rank;
        }
    }

    /// So many of the bundles, behind so many others; a list that is shorter shows its end.
    pub(super) fn window(self, from: usize, limit: usize) -> Bundles {
        let (by, order) = (self.by, self.order);
        let mut sums: Vec<(Cow<'a, str>, Sum<'a>)> = self.sums.into_iter().collect();
        // A lock of several owners may be the first of several bundles.
        sums.sort_unstable_by(|(a_name, a), (b_name, b)| {
            order
                .compare(&a.first, &b.first)
                .then_with(|| a_name.cmp(b_name))
        });
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let total = count(sums.len());
        let from = from.min(sums.len().saturating_sub(limit));
        let rows = sums.into_iter().skip(from).take(limit);
        Bundles {
            by,
            rows: rows.map(|(name, sum)| sum.bundle(name)).collect(),
            from: count(from),
            total,
        }
    }
}

impl Sum<'_> {
    fn bundle(self, name: Cow<'_, str>) -> Bundle {
        fn named<T>(
            counts: BTreeMap<T, u32>,
            slug: fn(T) -> &'static str,
        ) -> BTreeMap<String, u32> {
            let counts = counts.into_iter();
            counts
                .map(|(of, count)| (slug(of).to_owned(), count))
                .collect()
        }
        Bundle {
            name: name.into_owned(),
            locks: self.locks,
            attention: self.attention,
            verdicts: named(self.verdicts, Verdict::slug),
            flags: named(self.flags, Flag::slug),
            oldest: self.oldest,
            first: self.first.id().clone(),
        }
    }
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
