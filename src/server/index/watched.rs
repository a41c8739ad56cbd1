//! One viewer of a part of the board: what it was told, and what it is to be told next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::fold::same;
use super::stream::{EventId, Stream};
use crate::domain::{Change, Counts, Ending, Lock, LockId, Snapshot, Timestamp, View, WindowNews};

/// A viewer. It keeps what its window shows, and nothing else: what happens meanwhile is told as what came of it.
pub struct Watched {
    view: View,
    also: Vec<LockId>,
    place: Option<EventId>,
    /// Up to where somebody was told before who opens a window anew.
    since: Option<EventId>,
    shown: BTreeMap<LockId, Arc<Lock>>,
    total: u32,
    counts: Counts,
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
            since: None,
            shown: BTreeMap::new(),
            total: 0,
            counts: Counts::default(),
        }
    }

    /// The same for somebody who was told everything up to `place`: a snapshot does not tell which locks were lost since.
    pub fn after(self, place: Option<EventId>) -> Self {
        Self {
            since: place,
            ..self
        }
    }

    /// All that there is to see, for one who begins.
    pub fn snapshot(&mut self, stream: &Stream, now: Timestamp) -> (Snapshot, EventId, Instant) {
        let seen = stream.window(&self.view);
        let mut locks = seen.window.locks.clone();
        for lock in stream.locks(&self.also) {
            if !locks.iter().any(|shown| shown.id == lock.id) {
                locks.push(lock);
            }
        }
        self.place = Some(seen.id);
        self.shown = by_id(&locks);
        self.total = seen.window.total;
        self.counts.clone_from(&seen.window.counts);
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
            total: self.total,
            counts: self.counts.clone(),
        };
        (snapshot, seen.id, seen.until)
    }

    /// What there is to tell since the last time.
    pub fn next(&mut self, stream: &Stream, now: Timestamp) -> Telling {
        let Some(place) = self.place else {
            return self.begin(stream, now);
        };
        let seen = stream.window(&self.view);
        let mut here = by_id(&seen.window.locks);
        here.extend(by_id(&stream.locks(&self.also)));
        // Read after the window: whatever is missing there has been told of.
        let Some((place, events)) = stream.changes_since(place, &self.view.filter.sight) else {
            return self.begin(stream, now);
        };
        let mut told = Vec::new();
        let mut groups = BTreeMap::new();
        let mut endings = BTreeMap::new();
        for event in &events {
            match &event.change {
                Change::Group { group } => {
                    groups.insert(group.name.as_str(), event);
                }
                Change::Lost { .. } => told.push(Told::Change(Box::new(event.change.clone()))),
                Change::Gone { id, ending, at } => {
                    endings.insert(id, (*ending, *at));
                }
                Change::Appeared { .. }
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
        if !left.is_empty() || self.total != seen.window.total || self.counts != seen.window.counts
        {
            self.total = seen.window.total;
            self.counts.clone_from(&seen.window.counts);
            told.push(Told::Window(Box::new(WindowNews {
                total: self.total,
                counts: self.counts.clone(),
                left,
            })));
        }
        self.shown = here;
        // What came after the window was looked at is not told yet, but for how locks ended.
        self.place = Some(place);
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

fn by_id(locks: &[Arc<Lock>]) -> BTreeMap<LockId, Arc<Lock>> {
    let locks = locks.iter();
    locks
        .map(|lock| (lock.id.clone(), Arc::clone(lock)))
        .collect()
}

/// What happened to a lock between two looks at it, however much that was.
fn difference(before: Option<&Arc<Lock>>, now: &Arc<Lock>) -> Option<Change> {
    let lock = || Box::new(Lock::clone(now));
    let Some(before) = before else {
        return Some(Change::Appeared { lock: lock() });
    };
    if Arc::ptr_eq(before, now) || same(before, now) {
        None
    } else if before.owners.first() != now.owners.first() {
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
