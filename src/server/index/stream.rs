//! The stream of changes: a bounded ring that every viewer reads at its own pace, falling back to a snapshot.

use std::collections::VecDeque;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::event::{Event, EventId};
use super::published::Published;
use super::snapshot::IndexSnapshot;
use crate::domain::{Change, GroupView, Sight, Snapshot, Timestamp, View};

/// How many changes are kept for viewers that lag or reconnect. One that missed more gets a snapshot.
pub const KEPT_CHANGES: usize = 8_192;

/// The newest snapshot of what is observed, and the changes that led to it.
#[derive(Debug)]
pub struct Stream {
    newest: ArcSwap<IndexSnapshot>,
    recent: Mutex<Recent>,
    latest: watch::Sender<u64>,
}

/// The latest changes. Locked for as long as it takes to publish some, or to copy pointers to those that somebody missed.
#[derive(Debug, Default)]
struct Recent {
    ring: VecDeque<Arc<Event>>,
    published: Published,
}

impl Stream {
    /// A stream that begins with this snapshot, whose epoch it has.
    pub fn new(first: IndexSnapshot) -> Self {
        Self {
            latest: watch::Sender::new(first.id().seq),
            newest: ArcSwap::from_pointee(first),
            recent: Mutex::default(),
        }
    }

    /// Applies these changes to the observer's copy, and makes both known.
    pub(super) fn publish(&self, index: &mut IndexSnapshot, changes: Vec<Change>) {
        // Who is told of changes finds the snapshot with them, and the other way round.
        let mut recent = self.recent.lock();
        for change in changes {
            index.id.seq += 1;
            index.apply(&change);
            recent.published.add(&change);
            if recent.ring.len() == KEPT_CHANGES {
                recent.ring.pop_front();
            }
            let event = Event::new(index.id, change);
            recent.ring.push_back(Arc::new(event));
        }
        self.newest.store(Arc::new(index.clone()));
        drop(recent);
        self.tell(index.id);
    }

    /// Makes the observer's copy known after a change that no event tells of: everybody who watches gets all of it again.
    pub(super) fn begin_again(&self, index: &mut IndexSnapshot) {
        let mut recent = self.recent.lock();
        recent.ring.clear();
        index.id.seq += 1;
        self.newest.store(Arc::new(index.clone()));
        drop(recent);
        self.tell(index.id);
    }

    fn tell(&self, id: EventId) {
        let is_newer = |latest: &mut u64| std::mem::replace(latest, id.seq) != id.seq;
        self.latest.send_if_modified(is_newer);
    }

    /// What is observed, as it is now.
    pub fn snapshot(&self) -> Arc<IndexSnapshot> {
        self.newest.load_full()
    }

    /// How many changes of a group were published, by their kind.
    pub fn published(&self, group: &str) -> Vec<(&'static str, u64)> {
        self.recent.lock().published.of(group).collect()
    }

    /// What changed since, and where the stream stands now; nothing where that is not known any more.
    pub fn changes_since(
        &self,
        since: EventId,
        sight: &Sight,
    ) -> Option<(EventId, Vec<Arc<Event>>)> {
        let recent = self.recent.lock();
        let place = self.newest.load().id();
        let missed = self.missed(&recent, since)?;
        let skip = recent.ring.len().saturating_sub(missed);
        let changes = recent.ring.iter().skip(skip);
        let wanted = changes.filter(|event| sight.shows(event.change.group()));
        Some((place, wanted.cloned().collect()))
    }

    /// Whether somebody who was told everything up to there can be told what came after it.
    pub(super) fn continues(&self, place: EventId) -> bool {
        self.missed(&self.recent.lock(), place).is_some()
    }

    /// How many changes came after that place, if all of them are kept.
    fn missed(&self, recent: &Recent, since: EventId) -> Option<usize> {
        let now = self.newest.load().id();
        let oldest = recent
            .ring
            .front()
            .map_or(now.seq, |event| event.id.seq - 1);
        // A place ahead of us was never handed out: not ours to continue.
        let is_kept = since.epoch == now.epoch && (oldest..=now.seq).contains(&since.seq);
        is_kept.then(|| usize::try_from(now.seq - since.seq).unwrap_or(usize::MAX))
    }

    /// Told the newest sequence number whenever something was published.
    pub fn latest(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }
}

/// Everything that somebody may see.
pub(super) fn everything(index: &IndexSnapshot, sight: &Sight, now: Timestamp) -> Snapshot {
    let locks = index.locks();
    let locks: Vec<_> = locks
        .filter(|lock| sight.shows(&lock.id.group))
        .cloned()
        .collect();
    Snapshot {
        id: index.id().to_string(),
        observed_at: now,
        groups: groups(index, sight),
        total: u32::try_from(locks.len()).unwrap_or(u32::MAX),
        counts: View::default().among(locks.iter(), None, now).counts,
        locks,
        from: 0,
        apart: Vec::new(),
        bundles: None,
    }
}

/// The groups that somebody may see.
pub(super) fn groups(index: &IndexSnapshot, sight: &Sight) -> Vec<GroupView> {
    let groups = index.groups().iter();
    groups
        .filter(|group| sight.shows(&group.name))
        .map(|group| GroupView::clone(group))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Ending, LockId};

    const NOW: Timestamp = Timestamp::from_millis(5);
    const ALL: Sight = Sight::Everything;

    fn empty() -> (Stream, IndexSnapshot) {
        let index = IndexSnapshot::new(Vec::new(), EventId { epoch: 5, seq: 0 });
        (Stream::new(index.clone()), index)
    }

    fn gone(group: &str) -> Change {
        Change::Gone {
            id: LockId {
                group: group.into(),
                key: "k".into(),
            },
            ending: Ending::Unknown,
            at: NOW,
        }
    }

    fn count(stream: &Stream, since: EventId, sight: &Sight) -> Option<usize> {
        let missed = stream.changes_since(since, sight);
        missed.map(|(_, changes)| changes.len())
    }

    #[test]
    fn a_viewer_gets_exactly_what_it_missed() {
        let (stream, mut index) = empty();
        let start = stream.snapshot().id();
        stream.publish(&mut index, vec![gone("a"), gone("b"), gone("a")]);
        let (place, changes) = stream.changes_since(start, &ALL).unwrap();
        assert_eq!((place.to_string().as_str(), changes.len()), ("5-3", 3));
        assert_eq!(place, stream.snapshot().id());
        assert_eq!(count(&stream, start, &Sight::of("a")), Some(2));
        assert_eq!(count(&stream, place, &ALL), Some(0));
    }

    #[test]
    fn what_was_missed_too_long_ago_is_not_known_any_more() {
        let (stream, mut index) = empty();
        let start = stream.snapshot().id();
        stream.publish(&mut index, (0..KEPT_CHANGES).map(|_| gone("a")).collect());
        assert_eq!(count(&stream, start, &ALL), Some(KEPT_CHANGES));
        stream.publish(&mut index, vec![gone("a")]);
        assert_eq!(count(&stream, start, &ALL), None);
        let place = stream.snapshot().id();
        stream.begin_again(&mut index);
        assert_eq!(count(&stream, place, &ALL), None);
    }

    #[test]
    fn nothing_came_after_an_id_from_another_start_or_from_nowhere() {
        let (stream, _) = empty();
        for id in ["4-0", "5-1", "5-18446744073709551615"] {
            let id = EventId::parse(id).unwrap();
            assert_eq!(count(&stream, id, &ALL), None, "{id}");
        }
    }
}
