//! The change stream: a bounded ring of recent changes. Each subscriber reads at its own speed; a
//! subscriber that falls too far behind receives a snapshot instead.

use std::collections::VecDeque;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::change_counters::ChangeCounters;
use super::event::{ChangeEvent, EventId};
use super::snapshot::IndexSnapshot;
use crate::domain::{Change, GroupView, Snapshot, Timestamp, VisibleGroups, WindowQuery};

/// Changes retained for subscribers that lag or reconnect. A subscriber that missed more receives a
/// snapshot.
pub const MAX_RETAINED_CHANGES: usize = 8_192;

/// The current snapshot and the recent changes that led to it.
#[derive(Debug)]
pub struct ChangeStream {
    newest: ArcSwap<IndexSnapshot>,
    recent: Mutex<RecentChanges>,
    latest: watch::Sender<u64>,
}

/// The recent changes. The lock is held only while changes are published or pointers to them are
/// copied.
#[derive(Debug, Default)]
struct RecentChanges {
    ring: VecDeque<Arc<ChangeEvent>>,
    counters: ChangeCounters,
}

impl ChangeStream {
    /// Creates a stream that starts at this snapshot and uses its epoch.
    pub fn new(first: IndexSnapshot) -> Self {
        Self {
            latest: watch::Sender::new(first.id().seq),
            newest: ArcSwap::from_pointee(first),
            recent: Mutex::default(),
        }
    }

    /// Applies the changes to the observer's copy and publishes both.
    pub(super) fn publish(&self, index: &mut IndexSnapshot, changes: Vec<Change>) {
        // The lock covers changes and snapshot, so that readers of one always find the other up to
        // date.
        let mut recent = self.recent.lock();
        for change in changes {
            index.id.seq += 1;
            index.apply(&change);
            recent.counters.record(&change);
            if recent.ring.len() == MAX_RETAINED_CHANGES {
                recent.ring.pop_front();
            }
            let event = ChangeEvent::new(index.id, change);
            recent.ring.push_back(Arc::new(event));
        }
        self.newest.store(Arc::new(index.clone()));
        drop(recent);
        self.notify(index.id);
    }

    /// Publishes the observer's copy after a change that no event describes. All subscribers
    /// receive a new snapshot.
    pub(super) fn reset(&self, index: &mut IndexSnapshot) {
        let mut recent = self.recent.lock();
        recent.ring.clear();
        index.id.seq += 1;
        self.newest.store(Arc::new(index.clone()));
        drop(recent);
        self.notify(index.id);
    }

    fn notify(&self, id: EventId) {
        // An empty publication keeps the sequence number and wakes no subscriber.
        let is_newer = |latest: &mut u64| std::mem::replace(latest, id.seq) != id.seq;
        self.latest.send_if_modified(is_newer);
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<IndexSnapshot> {
        self.newest.load_full()
    }

    /// The number of published changes of a group, by kind.
    pub fn change_counts(&self, group: &str) -> Vec<(&'static str, u64)> {
        self.recent.lock().counters.by_kind(group).collect()
    }

    /// The visible changes after `since` and the current event id; `None` if some of them are no
    /// longer retained.
    pub fn changes_since(
        &self,
        since: EventId,
        visible: &VisibleGroups,
    ) -> Option<(EventId, Vec<Arc<ChangeEvent>>)> {
        let recent = self.recent.lock();
        let id = self.newest.load().id();
        let missed = self.count_since(&recent, since)?;
        let skip = recent.ring.len().saturating_sub(missed);
        let changes = recent.ring.iter().skip(skip);
        let events = changes.filter(|event| visible.contains(event.change.group()));
        Some((id, events.cloned().collect()))
    }

    /// Whether all changes after this event id are still retained.
    pub(super) fn can_resume_from(&self, id: EventId) -> bool {
        self.count_since(&self.recent.lock(), id).is_some()
    }

    /// The number of changes after `since`, if all of them are retained.
    fn count_since(&self, recent: &RecentChanges, since: EventId) -> Option<usize> {
        let now = self.newest.load().id();
        let oldest = recent
            .ring
            .front()
            .map_or(now.seq, |event| event.id.seq - 1);
        // An id ahead of the stream was issued by another process, so it cannot be resumed.
        let is_kept = since.epoch == now.epoch && (oldest..=now.seq).contains(&since.seq);
        is_kept.then(|| usize::try_from(now.seq - since.seq).unwrap_or(usize::MAX))
    }

    /// Receives the newest sequence number after each publication.
    pub fn latest(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }
}

/// All visible locks and groups.
pub(super) fn full_snapshot(
    index: &IndexSnapshot,
    visible: &VisibleGroups,
    now: Timestamp,
) -> Snapshot {
    let locks = index.locks();
    let locks: Vec<_> = locks
        .filter(|lock| visible.contains(&lock.id.group))
        .cloned()
        .collect();
    Snapshot {
        id: index.id().to_string(),
        observed_at: now,
        groups: visible_groups(index, visible),
        total: u32::try_from(locks.len()).unwrap_or(u32::MAX),
        counts: WindowQuery::default()
            .evaluate_locks(locks.iter(), None, now)
            .counts,
        locks,
        offset: 0,
        pinned: Vec::new(),
        buckets: None,
    }
}

/// The visible groups.
pub(super) fn visible_groups(index: &IndexSnapshot, visible: &VisibleGroups) -> Vec<GroupView> {
    let groups = index.groups().iter();
    groups
        .filter(|group| visible.contains(&group.name))
        .map(|group| GroupView::clone(group))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GoneReason, LockId};

    const NOW: Timestamp = Timestamp::from_millis(5);
    const ALL: VisibleGroups = VisibleGroups::All;

    fn empty() -> (ChangeStream, IndexSnapshot) {
        let index = IndexSnapshot::new(Vec::new(), EventId { epoch: 5, seq: 0 });
        (ChangeStream::new(index.clone()), index)
    }

    fn gone(group: &str) -> Change {
        Change::Gone {
            id: LockId {
                group: group.into(),
                key: "k".into(),
            },
            end_reason: GoneReason::Unknown,
            at: NOW,
        }
    }

    fn count(stream: &ChangeStream, since: EventId, visible: &VisibleGroups) -> Option<usize> {
        let missed = stream.changes_since(since, visible);
        missed.map(|(_, changes)| changes.len())
    }

    #[test]
    fn a_subscriber_receives_exactly_the_missed_changes() {
        let (stream, mut index) = empty();
        let start = stream.snapshot().id();
        stream.publish(&mut index, vec![gone("a"), gone("b"), gone("a")]);
        let (id, changes) = stream.changes_since(start, &ALL).unwrap();
        assert_eq!((id.to_string().as_str(), changes.len()), ("5-3", 3));
        assert_eq!(id, stream.snapshot().id());
        assert_eq!(count(&stream, start, &VisibleGroups::only("a")), Some(2));
        assert_eq!(count(&stream, id, &ALL), Some(0));
    }

    #[test]
    fn changes_that_are_no_longer_retained_cannot_be_resumed() {
        let (stream, mut index) = empty();
        let start = stream.snapshot().id();
        stream.publish(
            &mut index,
            (0..MAX_RETAINED_CHANGES).map(|_| gone("a")).collect(),
        );
        assert_eq!(count(&stream, start, &ALL), Some(MAX_RETAINED_CHANGES));
        stream.publish(&mut index, vec![gone("a")]);
        assert_eq!(count(&stream, start, &ALL), None);
        let id = stream.snapshot().id();
        stream.reset(&mut index);
        assert_eq!(count(&stream, id, &ALL), None);
    }

    #[test]
    fn ids_of_another_epoch_or_ahead_of_the_stream_cannot_be_resumed() {
        let (stream, _) = empty();
        for id in ["4-0", "5-1", "5-18446744073709551615"] {
            let id = EventId::parse(id).unwrap();
            assert_eq!(count(&stream, id, &ALL), None, "{id}");
        }
    }
}
