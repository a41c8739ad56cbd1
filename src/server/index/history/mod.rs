//! Who held which lock from when to when: written by the observer alone, from the changes that it publishes.
//!
//! **Kept.** Of each lock the latest [`MOST_HOLDS_OF_A_LOCK`] holds, none for longer than [`SPAN`] after it ended; of all locks
//! [`MOST_LOCKS`] with [`MOST_HOLDS`] holds, and durations of [`MOST_PATTERNS`] name patterns. Beyond that, the tenth of the
//! locks that changed longest ago is forgotten, those that nobody holds first.
//!
//! **What it takes.** A hold that ended is 56 bytes; its label is shared with every other hold of that owner. Measured on x86-64
//! with 100,000 locks (`tests::usual::memory_is_what_the_comment_says`): 299 bytes for a lock that is held, name included, 306 once
//! it has one hold behind it, 547 with four. Full to the brim: below 100 MB; 100,000 locks that are held once: 31 MB.
//!
//! A lock that renews remembers the latest of its renewals ([`beats`]) in 248 bytes more: 25 MB for 100,000 of them.
//!
//! **Not a hold.** One that began and ended between two looks. An owner that was never seen with a quorum: the remains of an acquire that failed. Of an exclusive lock the
//! owner on most nodes counts, of a shared one each (up to [`MOST_AT_ONCE`]).

mod beats;
mod holds;
mod past;
mod usual;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::name_pattern::pattern_of;
use crate::domain::{
    Change, Ending, Fingerprint, GroupView, History, HowEnded, Lock, LockId, LockKey, Retention,
    Timestamp, Usual, UsualOf, glob,
};
use holds::Who;
use past::{Came, Past};
pub(super) use usual::Expected;
use usual::Samples;

/// So many holds of one lock are kept.
pub const MOST_HOLDS_OF_A_LOCK: usize = 100;
/// No hold is kept for longer than this after it ended.
pub const SPAN: Duration = Duration::from_hours(24);
/// So many locks are remembered, held or not.
pub const MOST_LOCKS: usize = 150_000;
/// So many holds of all locks together.
pub const MOST_HOLDS: usize = 500_000;
/// So many name patterns.
pub const MOST_PATTERNS: usize = 2_000;
/// So many owners of a shared lock are followed at once.
pub const MOST_AT_ONCE: usize = 16;

/// How often what is too old is thrown away.
const SWEPT_EVERY: Duration = Duration::from_mins(5);

/// What was held by whom.
pub struct Histories(Mutex<State>);

/// What else the observer knows when it publishes a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// When the nodes were asked.
    pub asked_at: Timestamp,
    /// When the lock was last seen before, if it was on the board; as the wall clock goes now.
    pub before: Option<Timestamp>,
    /// By how many milliseconds the wall clock was set since.
    pub stepped_ms: i64,
    /// Since when the nodes tell of every change of it; nothing where it is only looked at now and then.
    pub fed_since: Option<Timestamp>,
    /// They told of one since the last look: it has only just happened.
    pub told: bool,
}

struct State {
    groups: HashMap<String, GroupPast>,
    /// The names that owners gave themselves, each once.
    labels: HashSet<Arc<str>>,
    locks: usize,
    holds: usize,
    /// Since when nothing had to be forgotten before its time.
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
struct GroupPast {
    locks: HashMap<LockKey, Past>,
    patterns: HashMap<Box<str>, Samples>,
    /// The names that are scanned for, and when the last whole pass over all nodes began: what it did not find was not there.
    scanned: Option<(Vec<String>, Timestamp)>,
}

impl Histories {
    /// Nothing yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self::within(
            now,
            Bounds {
                locks: MOST_LOCKS,
                holds: MOST_HOLDS,
                patterns: MOST_PATTERNS,
            },
        )
    }

    fn within(now: Timestamp, bounds: Bounds) -> Self {
        Self(Mutex::new(State {
            groups: HashMap::new(),
            labels: HashSet::new(),
            locks: 0,
            holds: 0,
            since: now,
            swept_at: now,
            bounds,
        }))
    }

    /// A change is about to be published.
    pub(super) fn see(&self, change: &Change, seen: Seen) {
        let mut state = self.state();
        match change {
            Change::Appeared { lock } => state.shown(lock, Came::ToTheLock, seen),
            Change::ChangedHands { lock } => state.shown(lock, Came::AfterAnother, seen),
            Change::Renewed { lock } | Change::Updated { lock } => {
                state.shown(lock, Came::Earlier, seen);
            }
            Change::Gone { id, ending, at } => state.gone(id, *ending, *at, seen.stepped_ms),
            Change::Group { .. } | Change::Lost { .. } => {}
        }
    }

    /// A group was gone over.
    pub(super) fn group(&self, view: &GroupView) {
        self.state().group(view);
    }

    /// An owner's lock was released by force: this is how its hold ends, or has just ended.
    pub(super) fn forced(&self, id: &LockId, owner: &Fingerprint, at: Timestamp) {
        let mut state = self.state();
        if let (Some(past), Some(owner)) = (state.past(id), Who::of(owner)) {
            past.forced(owner, at);
        }
    }

    /// What is expected of a hold of this lock, by what is usual for it or for locks of its name pattern.
    pub(super) fn expected(&self, id: &LockId) -> Option<Expected> {
        let mut state = self.state();
        let group = state.groups.get_mut(&id.group)?;
        if let Some(past) = group.locks.get_mut(&id.key)
            && past.has_enough()
        {
            return past.expected();
        }
        let pattern = pattern_of(&id.key)?;
        let samples = group.patterns.get_mut(pattern.as_str())?;
        samples.expected()
    }

    /// Who held this lock.
    pub(super) fn of(&self, id: &LockId, now: Timestamp) -> History {
        let state = self.state();
        let group = state.groups.get(&id.group);
        let past = group.and_then(|group| group.locks.get(&id.key));
        History {
            holds: past.map_or_else(Vec::new, |past| past.tell(oldest(now))),
            beats: past.map_or_else(Vec::new, Past::beats),
            usual: group.and_then(|group| group.usual(&id.key)),
            retention: Retention {
                holds: u32::try_from(MOST_HOLDS_OF_A_LOCK).unwrap_or(u32::MAX),
                span_ms: u64::try_from(SPAN.as_millis()).unwrap_or(u64::MAX),
                since: state.since.max(oldest(now)),
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

/// What ended before this is not kept.
fn oldest(now: Timestamp) -> Timestamp {
    now.plus_millis(-i64::try_from(SPAN.as_millis()).unwrap_or(i64::MAX))
}

impl State {
    fn past(&mut self, id: &LockId) -> Option<&mut Past> {
        self.groups.get_mut(&id.group)?.locks.get_mut(&id.key)
    }

    fn shown(&mut self, lock: &Lock, came: Came, seen: Seen) {
        self.sweep(seen.asked_at);
        if !self.groups.contains_key(&lock.id.group) {
            let name = lock.id.group.clone();
            self.groups.insert(name, GroupPast::default());
        }
        let Some(group) = self.groups.get_mut(&lock.id.group) else {
            return;
        };
        let absent_since = group.absent_since(&lock.id.key);
        let labels = &mut self.labels;
        let past = group.locks.entry(lock.id.key.clone()).or_insert_with(|| {
            self.locks += 1;
            Past::default()
        });
        let before = past.len();
        let ended = past.shown(lock, came, seen, absent_since, |label| {
            intern(labels, label)
        });
        self.holds = self.holds + past.len() - before;
        let most = self.bounds.patterns;
        group.learn(&lock.id.key, &ended, seen.asked_at, most);
        self.make_room();
    }

    fn gone(&mut self, id: &LockId, ending: Ending, at: Timestamp, stepped_ms: i64) {
        self.sweep(at);
        let Some(group) = self.groups.get_mut(&id.group) else {
            return;
        };
        let Some(past) = group.locks.get_mut(&id.key) else {
            return;
        };
        let how = match ending {
            Ending::Released => HowEnded::Released,
            Ending::Expired => HowEnded::Expired,
            Ending::Unknown => HowEnded::Unknown,
        };
        let before = past.len();
        past.shift(stepped_ms);
        let ended = past.gone(how, at);
        self.holds = self.holds + past.len() - before;
        group.learn(&id.key, &ended, at, self.bounds.patterns);
        self.make_room();
    }

    fn group(&mut self, view: &GroupView) {
        let coverage = &view.coverage;
        let is_whole = usize::try_from(coverage.nodes_reached) == Ok(view.nodes.len());
        let whole_pass = coverage.pass_started_at.filter(|_| is_whole);
        let Some(began) = whole_pass else { return };
        let group = self.groups.entry(view.name.clone()).or_default();
        match &mut group.scanned {
            Some((patterns, at)) if *patterns == coverage.patterns => *at = began,
            Some(_) | None => group.scanned = Some((coverage.patterns.clone(), began)),
        }
    }

    /// Throws away what is too old.
    fn sweep(&mut self, now: Timestamp) {
        if now.since(self.swept_at) < SWEPT_EVERY {
            return;
        }
        self.swept_at = now;
        let oldest = oldest(now);
        for group in self.groups.values_mut() {
            group.locks.retain(|_, past| past.forget_before(oldest));
            group
                .patterns
                .retain(|_, samples| samples.changed_at >= Some(oldest));
        }
        self.tidy();
    }

    /// Forgets the tenth of the locks that changed longest ago, once there are too many.
    fn make_room(&mut self) {
        if self.locks <= self.bounds.locks && self.holds <= self.bounds.holds {
            return;
        }
        let pasts = self.groups.values().flat_map(|group| group.locks.values());
        let mut ranks: Vec<_> = pasts.map(Past::rank).collect();
        let tenth = ranks.len() / 10;
        let (_, last_to_go, _) = ranks.select_nth_unstable(tenth);
        let last_to_go = *last_to_go;
        for group in self.groups.values_mut() {
            group.locks.retain(|_, past| past.rank() > last_to_go);
        }
        self.since = self.since.max(last_to_go.1);
        self.tidy();
    }

    fn tidy(&mut self) {
        let groups = self.groups.values();
        self.locks = groups.clone().map(|group| group.locks.len()).sum();
        let pasts = groups.flat_map(|group| group.locks.values());
        self.holds = pasts.map(Past::len).sum();
        self.labels.retain(|label| Arc::strong_count(label) > 1);
    }
}

impl GroupPast {
    /// The latest moment at which this lock was certainly not there, if it was not on the board.
    fn absent_since(&self, key: &LockKey) -> Option<Timestamp> {
        let scanned = self.scanned.as_ref().filter(|(patterns, _)| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| glob::matches(pattern.as_bytes(), key.as_bytes()))
        });
        scanned.map(|(_, began)| *began)
    }

    /// Adds holds that ended to what is known of all locks with such a name.
    fn learn(&mut self, key: &LockKey, lasted_ms: &[u64], now: Timestamp, most: usize) {
        if lasted_ms.is_empty() {
            return;
        }
        let Some(pattern) = pattern_of(key) else {
            return;
        };
        if self.patterns.len() >= most && !self.patterns.contains_key(pattern.as_str()) {
            let mut times: Vec<_> = self.patterns.values().map(|one| one.changed_at).collect();
            let tenth = times.len() / 10;
            let (_, last_to_go, _) = times.select_nth_unstable(tenth);
            let last_to_go = *last_to_go;
            self.patterns
                .retain(|_, samples| samples.changed_at > last_to_go);
        }
        let samples = self.patterns.entry(pattern.into()).or_default();
        samples.add(lasted_ms, now);
    }

    /// What is usual: of the lock itself where it has enough holds, else of its pattern, else what little there is.
    fn usual(&self, key: &LockKey) -> Option<Usual> {
        let own = self.locks.get(key).and_then(Past::usual);
        let has_enough = |usual: &Usual| usual.overdue_after_ms().is_some();
        if own.as_ref().is_some_and(has_enough) {
            return own;
        }
        let pattern = pattern_of(key);
        let samples = pattern
            .as_ref()
            .and_then(|pattern| self.patterns.get(pattern.as_str()));
        let usual = samples.and_then(|samples| Usual::of(&mut samples.all(), UsualOf::Pattern));
        let of_pattern = usual.map(|usual| Usual { pattern, ..usual });
        of_pattern.filter(has_enough).or(own)
    }
}

/// The one copy of a label.
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
