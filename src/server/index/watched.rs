//! Viewers of a part of the board: what they were told, and what they are to be told next. It is worked out and written once for all
//! who look at the same part and were told the same before.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;

use super::event::{EventId, write_event};
use super::fold::same;
use super::snapshot::IndexSnapshot;
use super::stream::{Stream, groups};
use crate::domain::{
    Change, Counts, Ending, Fingerprint, Lock, LockId, Snapshot, Timestamp, View, Window,
    WindowNews,
};

/// What was seen of a part of the board, shared by all who look at it.
#[derive(Debug)]
pub struct ViewSnapshot {
    /// Another one for each.
    number: u64,
    /// Where in the stream of changes that was.
    pub id: EventId,
    /// What was there.
    pub window: Window,
    /// When somebody may look again.
    pub until: Instant,
    /// What viewers are told who saw another one before, by its number. It goes when this is not the newest any more.
    steps: Mutex<HashMap<Option<u64>, Arc<Step>>>,
}

impl ViewSnapshot {
    /// This window was there.
    pub fn new(id: EventId, window: Window, until: Instant) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            id,
            window,
            until,
            steps: Mutex::default(),
        }
    }

    /// What a viewer of this part is told next.
    pub fn step(&self, viewer: &Watched, stream: &Stream, now: Timestamp) -> Arc<Step> {
        if !viewer.is_one_of_many() {
            return Arc::new(viewer.next(self, stream, now));
        }
        // One at a time: those who come to the same step at the same moment share it.
        let mut steps = self.steps.lock();
        let step = steps
            .entry(viewer.seen)
            .or_insert_with(|| Arc::new(viewer.next(self, stream, now)));
        Arc::clone(step)
    }
}

/// A viewer, or several who were told the same. It keeps what its window shows, and nothing else: what happens meanwhile is told as what came of it.
#[derive(Clone, Debug)]
pub struct Watched {
    view: View,
    also: Vec<LockId>,
    place: Option<EventId>,
    /// The number of the snapshot that it was told of last.
    seen: Option<u64>,
    /// Up to where somebody was told before who opens a window anew.
    since: Option<EventId>,
    shown: BTreeMap<LockId, Arc<Lock>>,
    /// What else was told of the window, but for the locks that left it.
    news: WindowNews,
}

/// What a viewer is told.
#[derive(Debug)]
pub enum Told {
    /// Everything in its window: it is new, or missed more than is kept.
    Snapshot(Box<Snapshot>),
    /// A change of its window, or of a group.
    Change(Box<Change>),
    /// What else changed.
    Window(Box<WindowNews>),
}

/// What a viewer is told next, and what it knows then.
#[derive(Debug)]
pub struct Step {
    /// In this order.
    pub told: Vec<Told>,
    /// Where in the stream of changes that is.
    pub place: EventId,
    /// Before that, nothing else is worth looking for.
    pub until: Instant,
    /// The viewer, when it was told.
    pub after: Arc<Watched>,
    written: OnceLock<Bytes>,
}

impl Step {
    /// All of it as server-sent events: written out by the first who sends it. Nothing where there is nothing to tell.
    pub fn frame(&self) -> Option<Bytes> {
        let write = || {
            let mut frame = Vec::new();
            for told in &self.told {
                match told {
                    Told::Snapshot(all) => write_event(&mut frame, "snapshot", self.place, all),
                    Told::Change(change) => write_event(&mut frame, "change", self.place, change),
                    Told::Window(news) => write_event(&mut frame, "window", self.place, news),
                }
            }
            frame.into()
        };
        (!self.told.is_empty()).then(|| self.written.get_or_init(write).clone())
    }
}

impl Watched {
    /// Somebody who looks at a part of the board, and at these locks wherever they stand.
    pub fn new(view: View, mut also: Vec<LockId>) -> Self {
        also.retain(|id| view.filter.sight.shows(&id.group));
        Self {
            view,
            also,
            place: None,
            seen: None,
            since: None,
            shown: BTreeMap::new(),
            news: WindowNews {
                total: 0,
                counts: Counts::default(),
                left: Vec::new(),
                from: 0,
                apart: Vec::new(),
                bundles: None,
            },
        }
    }

    /// The same for somebody who was told everything up to `place`: a snapshot does not tell which locks were lost since.
    pub fn after(self, place: Option<EventId>) -> Self {
        Self {
            since: place,
            ..self
        }
    }

    /// The part of the board that it looks at.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether what it is told next depends on nothing but the part it looks at and what it was told last.
    fn is_one_of_many(&self) -> bool {
        self.also.is_empty() && (self.seen.is_some() || self.since.is_none())
    }

    /// All that there is to see, for one who begins.
    pub fn snapshot(
        &mut self,
        seen: &ViewSnapshot,
        index: &IndexSnapshot,
        now: Timestamp,
    ) -> Snapshot {
        let mut locks = seen.window.locks.clone();
        let mut apart = index.locks_among(&self.also);
        apart.retain(|lock| !locks.iter().any(|shown| shown.id == lock.id));
        self.news = news(&seen.window, &apart);
        locks.extend(apart);
        self.shown = by_id(&locks);
        self.place = Some(seen.id);
        self.seen = Some(seen.number);
        Snapshot {
            id: seen.id.to_string(),
            observed_at: now,
            // All that may be seen: who looks at the locks of one may choose another.
            groups: groups(index, &self.view.filter.sight),
            locks,
            from: self.news.from,
            apart: self.news.apart.clone(),
            total: self.news.total,
            counts: self.news.counts.clone(),
            bundles: self.news.bundles.clone(),
        }
    }

    /// What there is to tell since the last time.
    fn next(&self, seen: &ViewSnapshot, stream: &Stream, now: Timestamp) -> Step {
        let mut after = self.clone();
        let told = after.see(seen, stream, now);
        Step {
            told,
            place: seen.id,
            until: seen.until,
            after: Arc::new(after),
            written: OnceLock::new(),
        }
    }

    fn see(&mut self, seen: &ViewSnapshot, stream: &Stream, now: Timestamp) -> Vec<Told> {
        let index = stream.snapshot();
        // Read after the locks: whatever is missing there has been told of.
        let missed = self
            .place
            .and_then(|place| stream.changes_since(place, &self.view.filter.sight));
        let Some((_, events)) = missed else {
            return self.begin(seen, &index, stream, now);
        };
        let mut here = by_id(&seen.window.locks);
        let mut apart = index.locks_among(&self.also);
        apart.retain(|lock| !here.contains_key(&lock.id));
        here.extend(by_id(&apart));
        let mut told = Vec::new();
        let mut groups = BTreeMap::new();
        let mut endings = BTreeMap::new();
        for event in &events {
            // What came after the window was looked at is not told yet, but for how locks ended.
            let is_told = event.id.was_told_by(seen.id);
            match &event.change {
                Change::Group { group } if is_told => {
                    groups.insert(group.name.as_str(), event);
                }
                Change::Lost { .. } if is_told => {
                    told.push(Told::Change(Box::new(event.change.clone())))
                }
                Change::Gone { id, ending, at } => {
                    endings.insert(id, (*ending, *at));
                }
                Change::Group { .. }
                | Change::Lost { .. }
                | Change::Appeared { .. }
                | Change::Renewed { .. }
                | Change::ChangedHands { .. }
                | Change::Updated { .. } => {}
            }
        }
        let missing: Vec<LockId> = self
            .shown
            .keys()
            .filter(|id| !here.contains_key(*id))
            .cloned()
            .collect();
        let mut left = Vec::new();
        for id in missing {
            if index.lock(&id).is_some() {
                left.push(id);
            } else {
                let (ending, at) = endings.get(&id).copied().unwrap_or((Ending::Unknown, now));
                told.push(Told::Change(Box::new(Change::Gone { id, ending, at })));
            }
        }
        for (id, lock) in &here {
            let change = difference(self.shown.get(id), lock);
            told.extend(change.map(|change| Told::Change(Box::new(change))));
        }
        let groups = groups.into_values();
        told.extend(groups.map(|event| Told::Change(Box::new(event.change.clone()))));
        let news = news(&seen.window, &apart);
        if !left.is_empty() || self.news != news {
            self.news = news;
            let news = self.news.clone();
            told.push(Told::Window(Box::new(WindowNews { left, ..news })));
        }
        self.shown = here;
        self.place = Some(seen.id);
        self.seen = Some(seen.number);
        told
    }

    fn begin(
        &mut self,
        seen: &ViewSnapshot,
        index: &IndexSnapshot,
        stream: &Stream,
        now: Timestamp,
    ) -> Vec<Told> {
        let since = self.place.or(self.since);
        let snapshot = self.snapshot(seen, index, now);
        let mut told = vec![Told::Snapshot(Box::new(snapshot))];
        let missed = since.and_then(|since| stream.changes_since(since, &self.view.filter.sight));
        let missed = missed.into_iter().flat_map(|(_, events)| events);
        told.extend(missed.filter_map(|event| match &event.change {
            // What comes after the snapshot is told again, as part of what happened since.
            lost @ Change::Lost { .. } if event.id.was_told_by(seen.id) => {
                Some(Told::Change(Box::new(lost.clone())))
            }
            _ => None,
        }));
        told
    }
}

/// What is told of a window beside its locks.
fn news(window: &Window, apart: &[Arc<Lock>]) -> WindowNews {
    WindowNews {
        total: window.total,
        counts: window.counts.clone(),
        left: Vec::new(),
        from: window.from,
        apart: apart.iter().map(|lock| lock.id.clone()).collect(),
        bundles: window.bundles.clone(),
    }
}

fn by_id(locks: &[Arc<Lock>]) -> BTreeMap<LockId, Arc<Lock>> {
    let locks = locks.iter();
    locks
        .map(|lock| (lock.id.clone(), Arc::clone(lock)))
        .collect()
}

fn first_of(lock: &Lock) -> Option<&Fingerprint> {
    lock.owners.first().map(|owner| &owner.fingerprint)
}

/// What happened to a lock between two looks at it, however much that was.
fn difference(before: Option<&Arc<Lock>>, now: &Arc<Lock>) -> Option<Change> {
    let lock = || Arc::clone(now);
    let Some(before) = before else {
        return Some(Change::Appeared { lock: lock() });
    };
    if Arc::ptr_eq(before, now) || same(before, now) {
        None
    } else if first_of(before) != first_of(now) {
        Some(Change::ChangedHands { lock: lock() })
    } else if before.renewals.count < now.renewals.count {
        Some(Change::Renewed { lock: lock() })
    } else {
        Some(Change::Updated { lock: lock() })
    }
}

#[cfg(test)]
#[path = "watched_tests.rs"]
mod tests;
