//! The observed holds of each lock: owner, start and end. Written only by the observer, from the
//! changes that it publishes.
//!
//! **Retention.** For each lock the latest [`MAX_HOLDS_PER_LOCK`] holds, none for longer than
//! [`MAX_AGE`] after it ended; over all locks [`MAX_LOCKS`] with [`MAX_HOLDS`] holds, and the
//! durations of [`MAX_PATTERNS`] key patterns. Beyond that, the tenth of the locks that changed
//! longest ago is dropped, locks without an owner first.
//!
//! **Memory.** An ended hold takes 64 bytes; its label is shared with the owner's other holds.
//! Measured on x86-64 with 100,000 locks (`tests::hold_stats::memory_per_lock_and_hold`): 299 bytes
//! for a held lock including its key, 306 with one ended hold, 547 with four. At full capacity:
//! below 100 MB; 100,000 locks held once: 31 MB.
//!
//! A lock that renews keeps its latest renewals ([`recent_renewals`]) in 248 more bytes: 25 MB for
//! 100,000 locks.
//!
//! **Not recorded.** Holds that begin and end between two polls, and owners that were never
//! observed with a quorum: those are the remains of a failed acquire. For an exclusive lock, the
//! owner on most nodes counts; for a shared lock, each owner (up to [`MAX_SHARED_OWNERS`]).

mod hold;
mod hold_stats;
mod lock_history;
mod recent_renewals;
mod records;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::name_pattern::pattern_of;
use crate::domain::{
    Change, Fingerprint, Format, GoneReason, GroupView, History, Hold, HoldEndReason, HoldStats,
    Lock, LockId, LockKey, RecordedHold, Retention, StatsScope, Timestamp, glob,
};
use hold::OpenHold;
use hold_stats::DurationSamples;
pub(super) use hold_stats::HoldExpectation;
use lock_history::{Arrival, HoldChange, LockHistory};
pub(super) use records::RecordFeed;
pub use records::{HistoryRecord, LostRecords, OpenHoldRecord, RecordStream};

/// Holds kept per lock.
pub const MAX_HOLDS_PER_LOCK: usize = 100;
/// How long an ended hold is kept.
pub const MAX_AGE: Duration = Duration::from_hours(24);
/// Locks with history, held or not.
pub const MAX_LOCKS: usize = 150_000;
/// Holds kept over all locks.
pub const MAX_HOLDS: usize = 500_000;
/// Key patterns with duration statistics.
pub const MAX_PATTERNS: usize = 2_000;
/// Owners of a shared lock that are tracked at the same time.
pub const MAX_SHARED_OWNERS: usize = 16;

/// How often expired holds are removed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(5);

/// The holds of all locks.
pub struct Histories {
    state: Mutex<HistoryState>,
    feed: Arc<RecordFeed>,
}

/// The circumstances of a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeContext {
    /// When the nodes were read.
    pub read_at: Timestamp,
    /// When the lock was last observed before, on the current wall clock; `None` if it was not
    /// indexed.
    pub last_observed_at: Option<Timestamp>,
    /// Milliseconds by which the wall clock was stepped since then.
    pub clock_step_ms: i64,
    /// Since when the nodes have reported every change of the lock; `None` if it is only polled.
    pub feed_complete_since: Option<Timestamp>,
    /// Whether a write was reported since the last poll, so that the change has only just happened.
    pub had_notification: bool,
}

struct HistoryState {
    groups: HashMap<String, GroupHolds>,
    /// Interned owner labels.
    labels: HashSet<Arc<str>>,
    locks: usize,
    holds: usize,
    /// Since when no hold was dropped before its retention ended.
    since: Timestamp,
    swept_at: Timestamp,
    bounds: Bounds,
}

#[derive(Clone, Copy)]
struct Bounds {
    locks: usize,
    holds: usize,
    patterns: usize,
}

#[derive(Default)]
struct GroupHolds {
    locks: HashMap<LockKey, LockHistory>,
    patterns: HashMap<Box<str>, DurationSamples>,
    /// The scanned patterns, and when the last complete pass over all nodes began. A lock that the
    /// pass did not find was absent then.
    scanned: Option<(Vec<String>, Timestamp)>,
}

impl Histories {
    /// Creates an empty history.
    pub(super) fn new(now: Timestamp) -> Self {
        Self::with_bounds(
            now,
            Bounds {
                locks: MAX_LOCKS,
                holds: MAX_HOLDS,
                patterns: MAX_PATTERNS,
            },
        )
    }

    fn with_bounds(now: Timestamp, bounds: Bounds) -> Self {
        let state = HistoryState {
            groups: HashMap::new(),
            labels: HashSet::new(),
            locks: 0,
            holds: 0,
            since: now,
            swept_at: now,
            bounds,
        };
        Self {
            state: Mutex::new(state),
            feed: Arc::default(),
        }
    }

    /// Where changes of holds are reported for the recorder.
    pub(super) fn feed(&self) -> &Arc<RecordFeed> {
        &self.feed
    }

    /// The current holds of a lock, for the recorder.
    pub(super) fn open_holds_of(&self, id: &LockId) -> Vec<OpenHoldRecord> {
        let state = self.state();
        let group = state.groups.get(&id.group);
        let lock = group.and_then(|group| group.locks.get(&id.key));
        let Some((lock, format)) = lock.and_then(|lock| Some((lock, lock.format()?))) else {
            return Vec::new();
        };
        let holds = lock.open_holds();
        holds.map(|open| open_record(id, format, open)).collect()
    }

    /// Records a change that is about to be published.
    pub(super) fn record(&self, change: &Change, context: ChangeContext) {
        let feed = &self.feed;
        let mut state = self.state();
        match change {
            Change::Appeared { lock } => state.record_held(lock, Arrival::Appeared, context, feed),
            Change::OwnerChanged { lock } => {
                state.record_held(lock, Arrival::TookOver, context, feed);
            }
            Change::Renewed { lock } | Change::Updated { lock } => {
                state.record_held(lock, Arrival::Existing, context, feed);
            }
            Change::Gone {
                id,
                end_reason: gone_reason,
                at,
            } => state.record_gone(id, *gone_reason, *at, context.clock_step_ms, feed),
            Change::Group { .. } | Change::Lost { .. } => {}
        }
    }

    /// Records the start of the latest complete scan pass of a group.
    pub(super) fn record_scan_pass(&self, view: &GroupView) {
        self.state().record_scan_pass(view);
    }

    /// Marks the current or the just ended hold of an owner as force-released.
    pub(super) fn record_force_release(&self, id: &LockId, owner: &Fingerprint, at: Timestamp) {
        let mut state = self.state();
        let Some(lock) = state.lock_mut(id) else {
            return;
        };
        if let Some(ended_at) = lock.record_force_release(*owner, at) {
            let forced = HistoryRecord::HoldForced {
                id: id.clone(),
                owner: *owner,
                ended_at,
            };
            self.feed.send(forced, at);
        }
    }

    /// The expected duration of a hold of this lock, from its own holds or those of its key
    /// pattern.
    pub(super) fn expectation(&self, id: &LockId) -> Option<HoldExpectation> {
        let mut state = self.state();
        let group = state.groups.get_mut(&id.group)?;
        let own = group.locks.get_mut(&id.key);
        if let Some(expectation) = own.and_then(LockHistory::own_expectation) {
            return Some(expectation);
        }
        let pattern = pattern_of(&id.key)?;
        let samples = group.patterns.get_mut(pattern.as_str())?;
        samples.expectation()
    }

    /// Since when the holds in memory are complete.
    pub(super) fn recorded_since(&self, now: Timestamp) -> Timestamp {
        self.state().since.max(oldest(now))
    }

    /// The holds, renewals and duration statistics of a lock.
    pub(super) fn history_of(&self, id: &LockId, now: Timestamp) -> History {
        let state = self.state();
        let group = state.groups.get(&id.group);
        let lock = group.and_then(|group| group.locks.get(&id.key));
        History {
            holds: lock.map_or_else(Vec::new, |lock| lock.holds(oldest(now))),
            renewals: lock.map_or_else(Vec::new, LockHistory::renewals),
            hold_stats: group.and_then(|group| group.stats(&id.key)),
            retention: Retention {
                max_holds: u32::try_from(MAX_HOLDS_PER_LOCK).unwrap_or(u32::MAX),
                max_age_ms: u64::try_from(MAX_AGE.as_millis()).unwrap_or(u64::MAX),
                since: state.since.max(oldest(now)),
            },
        }
    }

    /// The locks with history. Names share their bytes, so that this takes a few milliseconds.
    pub(super) fn lock_ids(&self) -> Vec<LockId> {
        let state = self.state();
        let of_group = |(group, holds): (&String, &GroupHolds)| {
            let id = |key: &LockKey| LockId {
                group: group.clone(),
                key: key.clone(),
            };
            holds.locks.keys().map(id).collect::<Vec<_>>()
        };
        state.groups.iter().flat_map(of_group).collect()
    }

    /// The format and the holds of a lock.
    pub(super) fn holds_of(&self, id: &LockId, now: Timestamp) -> Option<(Format, Vec<Hold>)> {
        let state = self.state();
        let lock = state.groups.get(&id.group)?.locks.get(&id.key)?;
        Some((lock.format()?, lock.holds(oldest(now))))
    }

    fn state(&self) -> MutexGuard<'_, HistoryState> {
        self.state.lock()
    }
}

/// Reports a change of a hold.
fn report_change(
    feed: &RecordFeed,
    id: &LockId,
    format: Format,
    change: &HoldChange<'_>,
    at: Timestamp,
) {
    if !feed.is_started() {
        return;
    }
    let record = match *change {
        HoldChange::Started(open) => HistoryRecord::HoldStarted(open_record(id, format, open)),
        HoldChange::Renewed(open) => HistoryRecord::HoldRenewed(open_record(id, format, open)),
        HoldChange::Ended {
            ended,
            min_margin_ms,
            attempts,
        } => HistoryRecord::HoldEnded(RecordedHold {
            id: id.clone(),
            format,
            hold: ended.to_hold(),
            min_margin_ms: min_margin_ms.map(u64::from),
            attempts: attempts.map(u64::from),
        }),
    };
    feed.send(record, at);
}

fn open_record(id: &LockId, format: Format, open: &OpenHold) -> OpenHoldRecord {
    OpenHoldRecord {
        hold: RecordedHold {
            id: id.clone(),
            format,
            hold: open.to_hold(),
            min_margin_ms: open.min_margin_ms.map(u64::from),
            attempts: open.attempts.count.map(u64::from),
        },
        expires_at: open.expires_at,
    }
}

/// The earliest end of a hold that is kept.
fn oldest(now: Timestamp) -> Timestamp {
    now.plus_millis(-i64::try_from(MAX_AGE.as_millis()).unwrap_or(i64::MAX))
}

impl HistoryState {
    fn lock_mut(&mut self, id: &LockId) -> Option<&mut LockHistory> {
        self.groups.get_mut(&id.group)?.locks.get_mut(&id.key)
    }

    fn record_held(
        &mut self,
        lock: &Lock,
        arrival: Arrival,
        context: ChangeContext,
        feed: &RecordFeed,
    ) {
        // Swept on writes, so that no separate task is needed.
        self.sweep(context.read_at);
        // `entry` would clone the name for every observation.
        if !self.groups.contains_key(&lock.id.group) {
            let name = lock.id.group.clone();
            self.groups.insert(name, GroupHolds::default());
        }
        let Some(group) = self.groups.get_mut(&lock.id.group) else {
            return;
        };
        let absent_since = group.absent_since(&lock.id.key);
        let labels = &mut self.labels;
        let history = group.locks.entry(lock.id.key.clone()).or_insert_with(|| {
            self.locks += 1;
            LockHistory::default()
        });
        let before = history.len();
        let mut report = |change: HoldChange<'_>| {
            report_change(feed, &lock.id, lock.format, &change, context.read_at);
        };
        let intern_label = |label: &str| intern(labels, label);
        let ended = history.record_held(
            lock,
            arrival,
            context,
            absent_since,
            intern_label,
            &mut report,
        );
        self.holds = self.holds + history.len() - before;
        let max_patterns = self.bounds.patterns;
        group.add_durations(&lock.id.key, &ended, context.read_at, max_patterns);
        self.enforce_bounds();
    }

    fn record_gone(
        &mut self,
        id: &LockId,
        gone_reason: GoneReason,
        at: Timestamp,
        clock_step_ms: i64,
        feed: &RecordFeed,
    ) {
        self.sweep(at);
        let Some(group) = self.groups.get_mut(&id.group) else {
            return;
        };
        let Some(lock) = group.locks.get_mut(&id.key) else {
            return;
        };
        let end_reason = match gone_reason {
            GoneReason::Released => HoldEndReason::Released,
            GoneReason::Expired => HoldEndReason::Expired,
            GoneReason::Unknown => HoldEndReason::Unknown,
        };
        let before = lock.len();
        // The holds were recorded by the clock as it was before the step.
        lock.apply_clock_step(clock_step_ms);
        let format = lock.format().unwrap_or(Format::Plain);
        let mut report = |change: HoldChange<'_>| report_change(feed, id, format, &change, at);
        let ended = lock.record_gone(end_reason, at, &mut report);
        self.holds = self.holds + lock.len() - before;
        group.add_durations(&id.key, &ended, at, self.bounds.patterns);
        self.enforce_bounds();
    }

    fn record_scan_pass(&mut self, view: &GroupView) {
        let coverage = &view.coverage;
        let is_complete = usize::try_from(coverage.nodes_reached) == Ok(view.nodes.len());
        // A partial pass proves no absence: the lock may exist on another node.
        let complete_pass = coverage.pass_started_at.filter(|_| is_complete);
        let Some(started_at) = complete_pass else {
            return;
        };
        let group = self.groups.entry(view.name.clone()).or_default();
        match &mut group.scanned {
            Some((patterns, at)) if *patterns == coverage.patterns => *at = started_at,
            Some(_) | None => group.scanned = Some((coverage.patterns.clone(), started_at)),
        }
    }

    /// Removes expired holds and patterns.
    fn sweep(&mut self, now: Timestamp) {
        if now.since(self.swept_at) < SWEEP_INTERVAL {
            return;
        }
        self.swept_at = now;
        let oldest = oldest(now);
        for group in self.groups.values_mut() {
            group.locks.retain(|_, lock| lock.forget_before(oldest));
            group
                .patterns
                .retain(|_, samples| samples.changed_at >= Some(oldest));
        }
        self.recount();
    }

    /// Drops the tenth of the locks that changed longest ago if a bound is exceeded. Dropping a
    /// tenth amortises the cost of the selection.
    fn enforce_bounds(&mut self) {
        if self.locks <= self.bounds.locks && self.holds <= self.bounds.holds {
            return;
        }
        let histories = self.groups.values().flat_map(|group| group.locks.values());
        let mut ranks: Vec<_> = histories.map(LockHistory::rank).collect();
        let tenth = ranks.len() / 10;
        let (_, cutoff, _) = ranks.select_nth_unstable(tenth);
        let cutoff = *cutoff;
        for group in self.groups.values_mut() {
            group.locks.retain(|_, lock| lock.rank() > cutoff);
        }
        // Holds of the dropped locks are missing up to their latest change, so the history is
        // complete only after that.
        self.since = self.since.max(cutoff.1);
        self.recount();
    }

    fn recount(&mut self) {
        let groups = self.groups.values();
        self.locks = groups.clone().map(|group| group.locks.len()).sum();
        let histories = groups.flat_map(|group| group.locks.values());
        self.holds = histories.map(LockHistory::len).sum();
        // A label with a single reference is used by no hold.
        self.labels.retain(|label| Arc::strong_count(label) > 1);
    }
}

impl GroupHolds {
    /// The latest time at which a lock that was not indexed was certainly absent.
    fn absent_since(&self, key: &LockKey) -> Option<Timestamp> {
        let scanned = self.scanned.as_ref().filter(|(patterns, _)| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| glob::matches(pattern.as_bytes(), key.as_bytes()))
        });
        scanned.map(|(_, started_at)| *started_at)
    }

    /// Adds durations to the statistics of the key pattern.
    fn add_durations(
        &mut self,
        key: &LockKey,
        durations_ms: &[u64],
        now: Timestamp,
        max_patterns: usize,
    ) {
        if durations_ms.is_empty() {
            return;
        }
        let Some(pattern) = pattern_of(key) else {
            return;
        };
        if self.patterns.len() >= max_patterns && !self.patterns.contains_key(pattern.as_str()) {
            let mut times: Vec<_> = self.patterns.values().map(|one| one.changed_at).collect();
            let tenth = times.len() / 10;
            let (_, cutoff, _) = times.select_nth_unstable(tenth);
            let cutoff = *cutoff;
            self.patterns
                .retain(|_, samples| samples.changed_at > cutoff);
        }
        let samples = self.patterns.entry(pattern.into()).or_default();
        samples.add(durations_ms, now);
    }

    /// The statistics of the lock itself if it has enough holds, else those of its pattern, else
    /// the few of its own.
    fn stats(&self, key: &LockKey) -> Option<HoldStats> {
        let own = self.locks.get(key).and_then(LockHistory::stats);
        let has_enough = |stats: &HoldStats| stats.overdue_after_ms().is_some();
        if own.as_ref().is_some_and(has_enough) {
            return own;
        }
        let pattern = pattern_of(key);
        let samples = pattern
            .as_ref()
            .and_then(|pattern| self.patterns.get(pattern.as_str()));
        let stats = samples
            .and_then(|samples| HoldStats::from_durations(&mut samples.all(), StatsScope::Pattern));
        let of_pattern = stats.map(|stats| HoldStats { pattern, ..stats });
        of_pattern.filter(has_enough).or(own)
    }
}

/// Returns the shared copy of a label.
fn intern(labels: &mut HashSet<Arc<str>>, label: &str) -> Arc<str> {
    if let Some(known) = labels.get(label) {
        return Arc::clone(known);
    }
    let label: Arc<str> = label.into();
    labels.insert(Arc::clone(&label));
    label
}

#[cfg(test)]
mod tests;
