//! The part of a board that somebody looks at: some rows of a sorted list, and how many there are of which kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::bundle::Bundling;
use super::{
    Board, Bundles, By, Confidence, Counts, Filter, Lock, LockId, Order, Rank, Sort, Timestamp,
};

/// What somebody looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// What the list is narrowed to.
    pub filter: Filter,
    /// What it is sorted by.
    pub sort: Sort,
    /// Which end comes first.
    pub order: Order,
    /// What its locks are bundled by; then bundles are shown in place of locks.
    pub by: Option<By>,
    /// How many locks (or bundles) of the list come before those that are shown.
    pub from: usize,
    /// How many at most.
    pub limit: usize,
}

/// What there is to see of it.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The locks, in order.
    pub locks: Vec<Arc<Lock>>,
    /// How many come before them: fewer than were asked for where the list has become shorter than that.
    pub from: u32,
    /// How many pass the filter.
    pub total: u32,
    /// Those among them that come behind the place that was asked for: on this page and on all further ones.
    pub rest: u32,
    /// How many are in which state.
    pub counts: Counts,
    /// The bundles, where they were asked for; then no lock is shown.
    pub bundles: Option<Bundles>,
}

/// What changed about a window beside its locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WindowNews {
    /// How many pass the filter now.
    pub total: u32,
    /// How many are in which state now.
    pub counts: Counts,
    /// The locks that are not among those sent any more, though they are still observed.
    pub left: Vec<LockId>,
    /// How many locks of the list come before the window.
    #[serde(default)]
    pub from: u32,
    /// The locks that are sent because they are followed, and are not rows of the window.
    #[serde(default)]
    pub apart: Vec<LockId>,
    /// The bundles as they are now, where the window shows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Bundles>,
}

impl View {
    /// What there is to see on the board at `now`, behind `after` if that is given.
    pub fn of(&self, board: &Board, after: Option<&Rank<'_>>, now: Timestamp) -> Window {
        self.among(board.locks.values(), after, now)
    }

    /// The same of these locks: whoever looks through many takes them along first, so that nobody waits for the board.
    pub fn among<'a>(
        &self,
        locks: impl Iterator<Item = &'a Arc<Lock>>,
        after: Option<&Rank<'_>>,
        now: Timestamp,
    ) -> Window {
        let mut tally = Tally::default();
        let mut total = 0_u32;
        let mut ranked: Vec<(Rank<'_>, &Arc<Lock>)> = Vec::new();
        let mut bundling = self.by.map(|by| Bundling::new(by, self.order));
        for lock in locks {
            if !self.filter.is_about(lock, now) {
                continue;
            }
            if lock.confidence == Confidence::Possible {
                tally.possible += 1;
            } else {
                tally.add(lock);
            }
            if self.filter.is_in_state(lock) {
                total += 1;
                let rank = self.sort.rank(lock);
                if let Some(bundling) = &mut bundling {
                    bundling.add(lock, rank);
                } else if after.is_none_or(|after| self.order.compare(&rank, after).is_gt()) {
                    ranked.push((rank, lock));
                }
            }
        }
        let rest = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
        let by_rank = |(a, _): &(Rank<'_>, _), (b, _): &(Rank<'_>, _)| self.order.compare(a, b);
        // A list that has become shorter still shows its end.
        let from = self.from.min(ranked.len().saturating_sub(self.limit));
        // Only the window is put in order: the others only have to come before or behind it.
        if from > 0 && from < ranked.len() {
            ranked.select_nth_unstable_by(from, by_rank);
        }
        let mut ranked = ranked.split_off(from);
        if self.limit < ranked.len() {
            ranked.select_nth_unstable_by(self.limit, by_rank);
            ranked.truncate(self.limit);
        }
        ranked.sort_unstable_by(by_rank);
        Window {
            // Looked through, not taken apart: a list made of what is taken apart would keep the room that all locks needed.
            locks: ranked.iter().map(|(_, lock)| Arc::clone(lock)).collect(),
            from: u32::try_from(from).unwrap_or(u32::MAX),
            total,
            rest,
            counts: tally.counts(),
            bundles: bundling.map(|bundling| bundling.window(self.from, self.limit)),
        }
    }
}

/// [`Counts`] while they are being counted.
#[derive(Default)]
struct Tally {
    all: u32,
    attention: u32,
    possible: u32,
    verdicts: BTreeMap<super::Verdict, u32>,
    flags: BTreeMap<super::Flag, u32>,
    formats: BTreeMap<super::Format, u32>,
}

impl Tally {
    fn add(&mut self, lock: &Lock) {
        self.all += 1;
        self.attention += u32::from(lock.needs_attention());
        *self.verdicts.entry(lock.verdict).or_default() += 1;
        *self.formats.entry(lock.format).or_default() += 1;
        for flag in &lock.flags {
            *self.flags.entry(*flag).or_default() += 1;
        }
    }

    fn counts(self) -> Counts {
        fn named<T>(
            counts: BTreeMap<T, u32>,
            slug: fn(T) -> &'static str,
        ) -> BTreeMap<String, u32> {
            let counts = counts.into_iter();
            counts
                .map(|(of, count)| (slug(of).to_owned(), count))
                .collect()
        }
        Counts {
            all: self.all,
            attention: self.attention,
            possible: self.possible,
            verdicts: named(self.verdicts, super::Verdict::slug),
            flags: named(self.flags, super::Flag::slug),
            formats: named(self.formats, super::Format::slug),
        }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
