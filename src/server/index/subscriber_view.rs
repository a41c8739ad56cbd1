//! Per-subscriber state of a view: what was sent and what has to be sent next. Each delta is
//! computed and encoded once for all subscribers with the same view and the same previous state.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;

use super::event::{EventId, write_sse_event};
use super::fold::is_same_view;
use super::snapshot::IndexSnapshot;
use super::stream::{ChangeStream, visible_groups};
use crate::domain::{
    Change, Fingerprint, GoneReason, Lock, LockCounts, LockId, Snapshot, Timestamp, Window,
    WindowQuery, WindowUpdate,
};

/// A computed view, shared by all of its subscribers.
#[derive(Debug)]
pub struct ViewSnapshot {
    /// A unique number.
    serial: u64,
    /// The event id at which the view was computed.
    pub id: EventId,
    /// The rows and counts of the view.
    pub window: Window,
    /// When the view may be computed again.
    pub stale_at: Instant,
    /// Deltas from earlier snapshots, by their serial number. Dropped with this snapshot.
    deltas: Mutex<HashMap<Option<u64>, Arc<ViewDelta>>>,
}

impl ViewSnapshot {
    /// Creates a snapshot with the next serial number.
    pub fn new(id: EventId, window: Window, stale_at: Instant) -> Self {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);
        Self {
            // Relaxed is sufficient: serials have to be unique, not ordered.
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            id,
            window,
            stale_at,
            deltas: Mutex::default(),
        }
    }

    /// The delta from the subscriber's state to this snapshot.
    pub fn delta(
        &self,
        subscriber: &SubscriberView,
        stream: &ChangeStream,
        now: Timestamp,
    ) -> Arc<ViewDelta> {
        if !subscriber.can_share_delta() {
            return Arc::new(subscriber.next_delta(self, stream, now));
        }
        // Computed under the lock, so that concurrent subscribers with the same state share one
        // delta.
        let mut deltas = self.deltas.lock();
        let delta = deltas
            .entry(subscriber.last_snapshot)
            .or_insert_with(|| Arc::new(subscriber.next_delta(self, stream, now)));
        Arc::clone(delta)
    }
}

/// The state of one subscriber, or of several that were sent the same events. Only the locks in its
/// view are kept: changes between two snapshots are merged into one delta.
#[derive(Clone, Debug)]
pub struct SubscriberView {
    view: WindowQuery,
    pinned: Vec<LockId>,
    last_id: Option<EventId>,
    /// The serial number of the last snapshot sent.
    last_snapshot: Option<u64>,
    /// The last event that a reconnecting client received.
    resume_from: Option<EventId>,
    locks: BTreeMap<LockId, Arc<Lock>>,
    /// The last update sent for the view, without the removed locks.
    window_update: WindowUpdate,
}

/// An event for a subscriber of a view.
#[derive(Debug)]
pub enum ViewEvent {
    /// The complete view, for a new subscriber or one that missed more changes than are retained.
    Snapshot(Box<Snapshot>),
    /// A change of a lock in the view, or of a group.
    Change(Box<Change>),
    /// Other changes of the view: counts, removed locks, position.
    Window(Box<WindowUpdate>),
}

/// The next events for a subscriber and its state afterwards.
#[derive(Debug)]
pub struct ViewDelta {
    /// The events in the order of delivery.
    pub events: Vec<ViewEvent>,
    /// The event id after the delta.
    pub id: EventId,
    /// When the next delta may be computed.
    pub stale_at: Instant,
    /// The state of the subscriber after the delta.
    pub subscriber: Arc<SubscriberView>,
    encoded: OnceLock<Bytes>,
}

impl ViewDelta {
    /// The events as server-sent events, encoded on first use; `None` if there are none.
    pub fn frame(&self) -> Option<Bytes> {
        let write = || {
            let mut frame = Vec::new();
            for event in &self.events {
                match event {
                    ViewEvent::Snapshot(all) => {
                        write_sse_event(&mut frame, "snapshot", self.id, all)
                    }
                    ViewEvent::Change(change) => {
                        write_sse_event(&mut frame, "change", self.id, change)
                    }
                    ViewEvent::Window(update) => {
                        write_sse_event(&mut frame, "window", self.id, update)
                    }
                }
            }
            frame.into()
        };
        (!self.events.is_empty()).then(|| self.encoded.get_or_init(write).clone())
    }
}

impl SubscriberView {
    /// Creates the state of a new subscriber of a view and of some pinned locks.
    pub fn new(view: WindowQuery, mut pinned: Vec<LockId>) -> Self {
        pinned.retain(|id| view.filter.visible_groups.contains(&id.group));
        Self {
            view,
            pinned,
            last_id: None,
            last_snapshot: None,
            resume_from: None,
            locks: BTreeMap::new(),
            window_update: WindowUpdate {
                total: 0,
                counts: LockCounts::default(),
                removed: Vec::new(),
                offset: 0,
                pinned: Vec::new(),
                buckets: None,
            },
        }
    }

    /// Resumes after an event id. Losses of locks since then are sent again, because a snapshot
    /// does not contain them.
    pub fn resuming_from(self, last_id: Option<EventId>) -> Self {
        Self {
            resume_from: last_id,
            ..self
        }
    }

    /// The view.
    pub fn view(&self) -> &WindowQuery {
        &self.view
    }

    /// Whether the next delta depends only on the view and the last snapshot, and can be shared.
    fn can_share_delta(&self) -> bool {
        self.pinned.is_empty() && (self.last_snapshot.is_some() || self.resume_from.is_none())
    }

    /// The complete view for a new subscriber.
    pub fn snapshot(
        &mut self,
        snapshot: &ViewSnapshot,
        index: &IndexSnapshot,
        now: Timestamp,
    ) -> Snapshot {
        let mut locks = snapshot.window.locks.clone();
        let mut pinned_locks = index.existing_locks(&self.pinned);
        pinned_locks.retain(|lock| !locks.iter().any(|other| other.id == lock.id));
        self.window_update = window_update(&snapshot.window, &pinned_locks);
        locks.extend(pinned_locks);
        self.locks = by_id(&locks);
        self.last_id = Some(snapshot.id);
        self.last_snapshot = Some(snapshot.serial);
        Snapshot {
            id: snapshot.id.to_string(),
            observed_at: now,
            // All visible groups, so that a client that filters by one group can offer the others.
            groups: visible_groups(index, &self.view.filter.visible_groups),
            locks,
            offset: self.window_update.offset,
            pinned: self.window_update.pinned.clone(),
            total: self.window_update.total,
            counts: self.window_update.counts.clone(),
            buckets: self.window_update.buckets.clone(),
        }
    }

    /// The delta from the last snapshot sent.
    fn next_delta(
        &self,
        snapshot: &ViewSnapshot,
        stream: &ChangeStream,
        now: Timestamp,
    ) -> ViewDelta {
        let mut subscriber = self.clone();
        let sent = subscriber.advance(snapshot, stream, now);
        ViewDelta {
            events: sent,
            id: snapshot.id,
            stale_at: snapshot.stale_at,
            subscriber: Arc::new(subscriber),
            encoded: OnceLock::new(),
        }
    }

    fn advance(
        &mut self,
        snapshot: &ViewSnapshot,
        stream: &ChangeStream,
        now: Timestamp,
    ) -> Vec<ViewEvent> {
        let index = stream.snapshot();
        // Read after the view was computed, so that the changes cover every lock that left it.
        let changes_since = self
            .last_id
            .and_then(|last_id| stream.changes_since(last_id, &self.view.filter.visible_groups));
        let Some((_, events)) = changes_since else {
            return self.restart(snapshot, &index, stream, now);
        };
        let mut current = by_id(&snapshot.window.locks);
        let mut pinned_locks = index.existing_locks(&self.pinned);
        pinned_locks.retain(|lock| !current.contains_key(&lock.id));
        current.extend(by_id(&pinned_locks));
        let mut sent = Vec::new();
        let mut groups = BTreeMap::new();
        let mut end_reasons = BTreeMap::new();
        for event in &events {
            // Changes after the snapshot belong to the next delta. Only end reasons are needed now:
            // locks that are missing are looked up in the newest index, so they may have ended
            // after the snapshot.
            let is_due = event.id.is_at_or_before(snapshot.id);
            match &event.change {
                Change::Group { group } if is_due => {
                    // Only the latest status of each group is sent.
                    groups.insert(group.name.as_str(), event);
                }
                Change::Lost { .. } if is_due => {
                    sent.push(ViewEvent::Change(Box::new(event.change.clone())))
                }
                Change::Gone { id, end_reason, at } => {
                    end_reasons.insert(id, (*end_reason, *at));
                }
                Change::Group { .. }
                | Change::Lost { .. }
                | Change::Appeared { .. }
                | Change::Renewed { .. }
                | Change::OwnerChanged { .. }
                | Change::Updated { .. } => {}
            }
        }
        let missing_ids: Vec<LockId> = self
            .locks
            .keys()
            .filter(|id| !current.contains_key(*id))
            .cloned()
            .collect();
        let mut removed = Vec::new();
        for id in missing_ids {
            if index.lock(&id).is_some() {
                removed.push(id);
            } else {
                let (end_reason, at) = end_reasons
                    .get(&id)
                    .copied()
                    .unwrap_or((GoneReason::Unknown, now));
                sent.push(ViewEvent::Change(Box::new(Change::Gone {
                    id,
                    end_reason,
                    at,
                })));
            }
        }
        for (id, lock) in &current {
            let change = diff(self.locks.get(id), lock);
            sent.extend(change.map(|change| ViewEvent::Change(Box::new(change))));
        }
        let groups = groups.into_values();
        sent.extend(groups.map(|event| ViewEvent::Change(Box::new(event.change.clone()))));
        let window_update = window_update(&snapshot.window, &pinned_locks);
        if !removed.is_empty() || self.window_update != window_update {
            self.window_update = window_update;
            let window_update = self.window_update.clone();
            sent.push(ViewEvent::Window(Box::new(WindowUpdate {
                removed,
                ..window_update
            })));
        }
        self.locks = current;
        self.last_id = Some(snapshot.id);
        self.last_snapshot = Some(snapshot.serial);
        sent
    }

    fn restart(
        &mut self,
        snapshot: &ViewSnapshot,
        index: &IndexSnapshot,
        stream: &ChangeStream,
        now: Timestamp,
    ) -> Vec<ViewEvent> {
        let since = self.last_id.or(self.resume_from);
        let full = self.snapshot(snapshot, index, now);
        let mut sent = vec![ViewEvent::Snapshot(Box::new(full))];
        let changes_since =
            since.and_then(|since| stream.changes_since(since, &self.view.filter.visible_groups));
        let changes_since = changes_since.into_iter().flat_map(|(_, events)| events);
        sent.extend(changes_since.filter_map(|event| match &event.change {
            // Losses after the snapshot are part of the next delta.
            lost @ Change::Lost { .. } if event.id.is_at_or_before(snapshot.id) => {
                Some(ViewEvent::Change(Box::new(lost.clone())))
            }
            _ => None,
        }));
        sent
    }
}

/// The update of a view without its locks.
fn window_update(window: &Window, pinned_locks: &[Arc<Lock>]) -> WindowUpdate {
    WindowUpdate {
        total: window.total,
        counts: window.counts.clone(),
        removed: Vec::new(),
        offset: window.offset,
        pinned: pinned_locks.iter().map(|lock| lock.id.clone()).collect(),
        buckets: window.buckets.clone(),
    }
}

fn by_id(locks: &[Arc<Lock>]) -> BTreeMap<LockId, Arc<Lock>> {
    let locks = locks.iter();
    locks
        .map(|lock| (lock.id.clone(), Arc::clone(lock)))
        .collect()
}

fn first_fingerprint(lock: &Lock) -> Option<&Fingerprint> {
    lock.owners.first().map(|owner| &owner.fingerprint)
}

/// The change of a lock between two snapshots, with all changes in between merged.
fn diff(before: Option<&Arc<Lock>>, now: &Arc<Lock>) -> Option<Change> {
    let lock = || Arc::clone(now);
    let Some(before) = before else {
        return Some(Change::Appeared { lock: lock() });
    };
    if Arc::ptr_eq(before, now) || is_same_view(before, now) {
        None
    } else if first_fingerprint(before) != first_fingerprint(now) {
        Some(Change::OwnerChanged { lock: lock() })
    } else if before.renewals.count < now.renewals.count {
        Some(Change::Renewed { lock: lock() })
    } else {
        Some(Change::Updated { lock: lock() })
    }
}

#[cfg(test)]
mod tests;
