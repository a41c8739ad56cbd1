//! One viewer of a part of the board: what it was told, and what it is to be told next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::event::EventId;
use super::fold::same;
use super::stream::Stream;
use super::windows::Seen;
use crate::domain::{
    Change, Counts, Ending, Fingerprint, Lock, LockId, Snapshot, Timestamp, View, Window,
    WindowNews,
};

/// A viewer, or several who were told the same. It keeps what its window shows, and nothing else: what happens meanwhile is told as what came of it.
#[derive(Clone, Debug)]
pub struct Watched {
    view: View,
    also: Vec<LockId>,
    place: Option<EventId>,
    /// What was told last.
    seen: Option<Arc<Seen>>,
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

/// What a viewer is told next.
pub struct Telling {
    /// In this order.
    pub told: Vec<Told>,
    /// Where in the stream of changes that is.
    pub place: EventId,
    /// Before that, nothing else is worth looking for.
    pub until: Instant,
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

    /// What it was told last.
    pub(super) fn seen(&self) -> Option<&Arc<Seen>> {
        self.seen.as_ref()
    }

    /// Whether what it is told next depends on nothing but the part it looks at and what it was told last.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.also.is_empty() && (self.seen.is_some() || self.since.is_none())
    }

    /// All that there is to see, for one who begins.
    pub fn snapshot(&mut self, stream: &Stream, now: Timestamp) -> (Snapshot, EventId, Instant) {
        let seen = stream.window(&self.view, now);
        let mut locks = seen.window.locks.clone();
        let mut apart = stream.locks(&self.also);
        apart.retain(|lock| !locks.iter().any(|shown| shown.id == lock.id));
        self.place = Some(seen.id);
        self.seen = Some(Arc::clone(&seen));
        self.news = news(&seen.window, &apart);
        locks.extend(apart);
        self.shown = by_id(&locks);
        let snapshot = Snapshot {
            id: seen.id.to_string(),
            observed_at: now,
            // All that may be seen: who looks at the locks of one may choose another.
            groups: stream.read(|board| {
                let groups = board.groups.iter();
                groups
                    .filter(|group| self.view.filter.sight.shows(&group.name))
                    .cloned()
                    .collect()
            }),
            locks,
            from: self.news.from,
            apart: self.news.apart.clone(),
            total: self.news.total,
            counts: self.news.counts.clone(),
            bundles: self.news.bundles.clone(),
        };
        (snapshot, seen.id, seen.until)
    }

    /// What there is to tell since the last time.
    pub fn next(&mut self, stream: &Stream, now: Timestamp) -> Telling {
        let Some(place) = self.place else {
            return self.begin(stream, now);
        };
        let seen = stream.window(&self.view, now);
        let mut here = by_id(&seen.window.locks);
        let mut apart = stream.locks(&self.also);
        apart.retain(|lock| !here.contains_key(&lock.id));
        here.extend(by_id(&apart));
        // Read after the window: whatever is missing there has been told of.
        let Some((_, events)) = stream.changes_since(place, &self.view.filter.sight) else {
            return self.begin(stream, now);
        };
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
        let still_there = by_id(&stream.locks(&missing));
        let mut left = Vec::new();
        for id in missing {
            if still_there.contains_key(&id) {
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
        self.seen = Some(Arc::clone(&seen));
        Telling {
            told,
            place: seen.id,
            until: seen.until,
        }
    }

    fn begin(&mut self, stream: &Stream, now: Timestamp) -> Telling {
        let since = self.place.or(self.since);
        let (snapshot, place, until) = self.snapshot(stream, now);
        let mut told = vec![Told::Snapshot(Box::new(snapshot))];
        let missed = since.and_then(|since| stream.changes_since(since, &self.view.filter.sight));
        let missed = missed.into_iter().flat_map(|(_, events)| events);
        told.extend(missed.filter_map(|event| match &event.change {
            // What comes after the snapshot is told again, as part of what happened since.
            lost @ Change::Lost { .. } if event.id.was_told_by(place) => {
                Some(Told::Change(Box::new(lost.clone())))
            }
            _ => None,
        }));
        Telling { told, place, until }
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
    let lock = || Box::new(Lock::clone(now));
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
