//! Metrics of observed locks: counts by group, format, verdict and flag, the oldest holds and
//! renewals, and changes.

use std::collections::BTreeMap;

use strum::VariantArray as _;

use super::ScrapeContext;
use super::scrape::Scrape;
use crate::domain::{Confidence, Flag, Format, Lock, Mode, Timestamp, Verdict};

/// Counts of the locks of one group.
#[derive(Default)]
struct GroupCounts {
    formats: BTreeMap<Format, FormatCounts>,
    flags: [u64; Flag::VARIANTS.len()],
    attention: u64,
    possible: u64,
}

/// Counts of the locks of one format.
#[derive(Default)]
struct FormatCounts {
    verdicts: [u64; Verdict::VARIANTS.len()],
    /// The start of the oldest hold.
    oldest_hold: Option<Timestamp>,
    /// The oldest last renewal.
    oldest_renewal: Option<Timestamp>,
}

impl GroupCounts {
    fn count(&mut self, lock: &Lock) {
        // Any key with a short string could be a possible lock, so it must not trigger alerts.
        if lock.confidence == Confidence::Possible {
            self.possible += 1;
            return;
        }
        self.attention += u64::from(lock.needs_attention());
        for flag in &lock.flags {
            self.flags[index_of(Flag::VARIANTS, flag)] += 1;
        }
        let format = self.formats.entry(lock.format).or_default();
        format.verdicts[index_of(Verdict::VARIANTS, &lock.verdict)] += 1;
        if lock.verdict != Verdict::Held {
            return;
        }
        // The owners of a shared lock change while the lock stays, so its age is not the age of a
        // hold.
        if lock.mode == Mode::Exclusive {
            format.oldest_hold = earlier(format.oldest_hold, Some(lock.acquired_at));
        }
        format.oldest_renewal = earlier(format.oldest_renewal, lock.renewals.last_at);
    }
}

fn index_of<T: PartialEq>(all: &[T], value: &T) -> usize {
    all.iter()
        .position(|known| known == value)
        .expect("VARIANTS contains every variant")
}

fn earlier(first: Option<Timestamp>, second: Option<Timestamp>) -> Option<Timestamp> {
    first.into_iter().chain(second).min()
}

pub(super) fn record(scrape: &Scrape, context: &ScrapeContext<'_>, now: Timestamp) {
    let locks = scrape.gauges(
        "lockkeeper_locks",
        "Observed locks, without possible locks.",
        &["group", "format", "verdict"],
    );
    let flagged = scrape.gauges(
        "lockkeeper_locks_flagged",
        "Locks with a flag; a lock can have several.",
        &["group", "flag"],
    );
    let attention = scrape.gauges(
        "lockkeeper_locks_needing_attention",
        "Locks that need attention.",
        &["group"],
    );
    let possible = scrape.gauges(
        "lockkeeper_possible_locks",
        "Keys that could be locks (confidence `possible`).",
        &["group"],
    );
    let holds = scrape.gauges(
        "lockkeeper_max_hold_age_seconds",
        "Age of the oldest current hold, as observed by this console.",
        &["group", "format"],
    );
    let renewals = scrape.gauges(
        "lockkeeper_max_renewal_age_seconds",
        "Longest time since the last renewal, over held locks that have been renewed.",
        &["group", "format"],
    );
    let changes = scrape.counters(
        "lockkeeper_changes_total",
        "Observed changes: appeared, renewed, owner-changed, updated, released, expired, gone; and lost, of locks that this console renews.",
        &["group", "change"],
    );
    let age = |since: Timestamp| now.since(since).as_secs_f64();
    for (group, counts) in &count_locks(context) {
        for (format, format_counts) in &counts.formats {
            for (verdict, n) in Verdict::VARIANTS.iter().zip(format_counts.verdicts) {
                locks
                    .with_label_values(&[&**group, format.slug(), verdict.slug()])
                    .set(n as f64);
            }
            let labels = [&**group, format.slug()];
            if let Some(since) = format_counts.oldest_hold {
                holds.with_label_values(&labels).set(age(since));
            }
            if let Some(since) = format_counts.oldest_renewal {
                renewals.with_label_values(&labels).set(age(since));
            }
        }
        for (flag, n) in Flag::VARIANTS.iter().zip(counts.flags) {
            flagged
                .with_label_values(&[&**group, flag.slug()])
                .set(n as f64);
        }
        attention
            .with_label_values(&[group])
            .set(counts.attention as f64);
        possible
            .with_label_values(&[group])
            .set(counts.possible as f64);
        for (kind, n) in context.index.stream().change_counts(group) {
            changes.with_label_values(&[&**group, kind]).inc_by(n);
        }
    }
}

/// Counts the locks of every visible group. Groups without locks are included, because alerts need
/// the value 0.
fn count_locks(context: &ScrapeContext<'_>) -> BTreeMap<String, GroupCounts> {
    let mut groups: BTreeMap<String, GroupCounts> = context
        .groups
        .iter()
        .map(|group| (group.name.clone(), GroupCounts::default()))
        .collect();
    for lock in context.index.snapshot().locks() {
        if let Some(group) = groups.get_mut(&lock.id.group) {
            group.count(lock);
        }
    }
    groups
}
