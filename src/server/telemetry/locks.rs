//! What is observed, in numbers: locks by group, format and verdict, flags, the oldest holds and renewals, and changes.

use std::collections::BTreeMap;

use strum::VariantArray as _;

use super::Now;
use super::scrape::Scrape;
use crate::domain::{Confidence, Flag, Format, Lock, Mode, Timestamp, Verdict};

/// What is counted of the locks of one group.
#[derive(Default)]
struct InGroup {
    formats: BTreeMap<Format, OfFormat>,
    flags: [u64; Flag::VARIANTS.len()],
    attention: u64,
    possible: u64,
}

/// And of one format.
#[derive(Default)]
struct OfFormat {
    verdicts: [u64; Verdict::VARIANTS.len()],
    /// When the oldest hold began.
    oldest_hold: Option<Timestamp>,
    /// When the lock that waits longest for its next renewal was renewed last.
    oldest_renewal: Option<Timestamp>,
}

impl InGroup {
    fn see(&mut self, lock: &Lock) {
        // Anything could be a possible lock; it is neither listed nor an alarm.
        if lock.confidence == Confidence::Possible {
            self.possible += 1;
            return;
        }
        self.attention += u64::from(lock.needs_attention());
        for flag in &lock.flags {
            self.flags[place(Flag::VARIANTS, flag)] += 1;
        }
        let format = self.formats.entry(lock.format).or_default();
        format.verdicts[place(Verdict::VARIANTS, &lock.verdict)] += 1;
        if lock.verdict != Verdict::Held {
            return;
        }
        // Of a shared lock only the first of its owners is known that long; its place is taken again and again.
        if lock.mode == Mode::Exclusive {
            format.oldest_hold = earlier(format.oldest_hold, Some(lock.acquired_at));
        }
        format.oldest_renewal = earlier(format.oldest_renewal, lock.renewals.last_at);
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter()
        .position(|known| known == one)
        .expect("the list has all of them")
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

pub(super) fn read(scrape: &Scrape, now: &Now<'_>, at: Timestamp) {
    let locks = scrape.gauges(
        "lockkeeper_locks",
        "Locks that are observed, without those that are only possible ones.",
        &["group", "format", "verdict"],
    );
    let flagged = scrape.gauges(
        "lockkeeper_locks_flagged",
        "Locks with a flag; a lock may have several.",
        &["group", "flag"],
    );
    let attention = scrape.gauges(
        "lockkeeper_locks_needing_attention",
        "Locks that a person should look at.",
        &["group"],
    );
    let possible = scrape.gauges(
        "lockkeeper_possible_locks",
        "Keys that may be locks and may be anything else.",
        &["group"],
    );
    let holds = scrape.gauges(
        "lockkeeper_oldest_hold_seconds",
        "For how long the lock that is held longest has been held, as far as that was seen.",
        &["group", "format"],
    );
    let renewals = scrape.gauges(
        "lockkeeper_oldest_renewal_seconds",
        "How long ago the held lock was renewed that waits longest for its next renewal, of those that were renewed at all.",
        &["group", "format"],
    );
    let changes = scrape.counters(
        "lockkeeper_changes_total",
        "Changes that were seen: appeared, renewed, changed-hands, updated, released, expired, gone; and lost, of locks kept here.",
        &["group", "change"],
    );
    let age = |since: Timestamp| at.since(since).as_secs_f64();
    for (group, of) in &counted(now) {
        for (format, of) in &of.formats {
            for (verdict, n) in Verdict::VARIANTS.iter().zip(of.verdicts) {
                locks
                    .with_label_values(&[&**group, format.slug(), verdict.slug()])
                    .set(n as f64);
            }
            let labels = [&**group, format.slug()];
            if let Some(since) = of.oldest_hold {
                holds.with_label_values(&labels).set(age(since));
            }
            if let Some(since) = of.oldest_renewal {
                renewals.with_label_values(&labels).set(age(since));
            }
        }
        for (flag, n) in Flag::VARIANTS.iter().zip(of.flags) {
            flagged
                .with_label_values(&[&**group, flag.slug()])
                .set(n as f64);
        }
        attention
            .with_label_values(&[group])
            .set(of.attention as f64);
        possible.with_label_values(&[group]).set(of.possible as f64);
        for (kind, n) in now.index.stream().published(group) {
            changes.with_label_values(&[&**group, kind]).inc_by(n);
        }
    }
}

/// Every group, also one without locks: an alarm needs the number 0.
fn counted(now: &Now<'_>) -> BTreeMap<String, InGroup> {
    let mut groups: BTreeMap<String, InGroup> = now
        .groups
        .iter()
        .map(|group| (group.name.clone(), InGroup::default()))
        .collect();
    for lock in now.index.snapshot().locks() {
        if let Some(group) = groups.get_mut(&lock.id.group) {
            group.see(lock);
        }
    }
    groups
}
