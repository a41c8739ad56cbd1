//! The stream of changes: a bounded ring that every viewer reads at its own pace, falling back to a snapshot.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::event::{Event, EventId};
use super::frame::Frame;
use super::published::Published;
use super::queries::Queries;
use super::steps::Steps;
use super::whole::Latest;
use super::windows::{Seen, Windows};
use crate::domain::{Board, Change, Lock, LockId, Sight, Snapshot, Timestamp, View};

/// How many changes are kept for viewers that lag or reconnect. One that missed more gets a snapshot.
pub const KEPT_CHANGES: usize = 8_192;

/// What a viewer gets next.
#[derive(Clone, Debug)]
pub enum Next {
    /// The whole board: the viewer is new, or missed more than is kept.
    Snapshot(Box<Snapshot>),
    /// What changed since.
    Changes(Vec<Arc<Event>>),
}

/// The board together with the changes that led to it.
#[derive(Debug)]
pub struct Stream {
    epoch: i64,
    state: Mutex<State>,
    windows: Windows,
    steps: Steps,
    whole: Latest,
    pub(super) queries: Queries,
    latest: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    board: Board,
    ring: VecDeque<Arc<Event>>,
    seq: u64,
    published: Published,
}

impl State {
    fn has_all_since(&self, seq: u64) -> bool {
        let oldest = self.ring.front().map_or(self.seq, |event| event.id.seq - 1);
        // A place ahead of us was never handed out: not ours to continue.
        (oldest..=self.seq).contains(&seq)
    }
}

impl Stream {
    /// A stream that begins with `board`; `started_at` becomes its epoch.
    pub fn new(board: Board, started_at: Timestamp) -> Self {
        let state = State {
            board,
            ring: VecDeque::new(),
            seq: 0,
            published: Published::default(),
        };
        Self {
            epoch: started_at.millis(),
            state: Mutex::new(state),
            windows: Windows::default(),
            steps: Steps::default(),
            whole: Latest::default(),
            queries: Queries::default(),
            latest: watch::Sender::new(0),
        }
    }

    /// Applies changes to the board and makes them known. For the observer only.
    pub(super) fn publish(&self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let seq = {
            let mut state = self.state();
            for change in changes {
                state.seq += 1;
                state.published.add(&change);
                let event = Event {
                    id: EventId {
                        epoch: self.epoch,
                        seq: state.seq,
                    },
                    change: change.clone(),
                    frame: Frame::default(),
                };
                if state.ring.len() == KEPT_CHANGES {
                    state.ring.pop_front();
                }
                state.ring.push_back(Arc::new(event));
                state.board.apply(change);
            }
            state.seq
        };
        self.latest.send_replace(seq);
    }

    /// Changes something about the board that viewers need not hear of (the moment a lock was last looked at).
    pub(super) fn touch(&self, change: impl FnOnce(&mut Board)) {
        change(&mut self.state().board);
    }

    /// Reads the board. Keep it short: the observer waits.
    pub fn read<T>(&self, look: impl FnOnce(&Board) -> T) -> T {
        look(&self.state().board)
    }

    /// How many changes of a group were published, by their kind.
    pub fn published(&self, group: &str) -> Vec<(&'static str, u64)> {
        self.state().published.of(group).collect()
    }

    /// Changes the board in a way that no change tells of: everybody who watches gets all of it again. For the observer only.
    pub(super) fn begin_again(&self, change: impl FnOnce(&mut Board)) {
        let seq = {
            let mut state = self.state();
            change(&mut state.board);
            state.ring.clear();
            state.seq += 1;
            state.seq
        };
        self.windows.forget();
        self.latest.send_replace(seq);
    }

    /// Every lock, and where in the stream of changes that is. They are taken along while the board is held and looked through
    /// afterwards: a search of the whole board must not keep the observer waiting.
    pub fn all(&self) -> (EventId, Vec<Arc<Lock>>) {
        let state = self.state();
        let id = EventId {
            epoch: self.epoch,
            seq: state.seq,
        };
        (id, state.board.locks.values().cloned().collect())
    }

    /// The whole board, as far as somebody may see it.
    pub fn snapshot(&self, sight: &Sight, now: Timestamp) -> (EventId, Snapshot) {
        let (id, mut locks, mut groups) = {
            let state = self.state();
            let id = EventId {
                epoch: self.epoch,
                seq: state.seq,
            };
            let locks: Vec<_> = state.board.locks.values().cloned().collect();
            (id, locks, state.board.groups.clone())
        };
        locks.retain(|lock| sight.shows(&lock.id.group));
        groups.retain(|group| sight.shows(&group.name));
        let counts = View::default().among(locks.iter(), None, now).counts;
        let snapshot = Snapshot {
            id: id.to_string(),
            observed_at: now,
            groups,
            total: u32::try_from(locks.len()).unwrap_or(u32::MAX),
            counts,
            locks,
            from: 0,
            apart: Vec::new(),
            bundles: None,
        };
        (id, snapshot)
    }

    /// What there is to see of a part of the board, and where that stands in the stream; nobody looks at the same part
    /// more often than it can be told.
    pub fn window(&self, view: &View, now: Timestamp) -> Arc<Seen> {
        self.windows.of(view, |view| {
            let (id, locks) = self.all();
            (id, view.among(locks.iter(), None, now))
        })
    }

    /// Whether somebody looked at that part a moment ago, so that looking again costs nothing.
    pub fn has_window(&self, view: &View) -> bool {
        self.windows.has(view)
    }

    /// What viewers were told lately.
    pub(super) fn steps(&self) -> &Steps {
        &self.steps
    }

    /// The whole board as somebody is getting it.
    pub(super) fn latest_whole(&self) -> &Latest {
        &self.whole
    }

    /// As if nobody had looked lately.
    #[cfg(test)]
    pub(super) fn forget_windows(&self) {
        self.windows.forget();
    }

    /// These locks, as far as they are on the board.
    pub fn locks(&self, ids: &[LockId]) -> Vec<Arc<Lock>> {
        let state = self.state();
        ids.iter()
            .filter_map(|id| state.board.locks.get(id).cloned())
            .collect()
    }

    /// What a viewer that stands at `since` gets next, without waiting; its new place with it.
    pub fn next(&self, since: Option<EventId>, sight: &Sight, now: Timestamp) -> (EventId, Next) {
        let missed = since.and_then(|since| self.changes_since(since, sight));
        missed.map_or_else(
            || {
                let (id, snapshot) = self.snapshot(sight, now);
                (id, Next::Snapshot(Box::new(snapshot)))
            },
            |(place, changes)| (place, Next::Changes(changes)),
        )
    }

    /// What changed since, and where the stream stands now; nothing where that is not known any more.
    pub fn changes_since(
        &self,
        since: EventId,
        sight: &Sight,
    ) -> Option<(EventId, Vec<Arc<Event>>)> {
        let state = self.state();
        if since.epoch != self.epoch || !state.has_all_since(since.seq) {
            return None;
        }
        let missed = usize::try_from(state.seq - since.seq).unwrap_or(usize::MAX);
        let skip = state.ring.len().saturating_sub(missed);
        let changes = state.ring.iter().skip(skip);
        let wanted = changes.filter(|event| sight.shows(event.change.group()));
        let place = EventId {
            epoch: self.epoch,
            seq: state.seq,
        };
        Some((place, wanted.cloned().collect()))
    }

    /// Whether somebody who was told everything up to there can be told what came after it.
    pub(super) fn continues(&self, place: EventId) -> bool {
        place.epoch == self.epoch && self.state().has_all_since(place.seq)
    }

    /// Told the newest sequence number whenever something was published.
    pub fn latest(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A reader that panicked left the board as it was: only the observer writes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Ending, LockId};

    const NOW: Timestamp = Timestamp::from_millis(5);
    const ALL: Sight = Sight::Everything;

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

    fn changes(next: &Next) -> Option<usize> {
        match next {
            Next::Changes(events) => Some(events.len()),
            Next::Snapshot(_) => None,
        }
    }

    #[test]
    fn a_viewer_gets_exactly_what_it_missed() {
        let stream = Stream::new(Board::default(), NOW);
        let (start, first) = stream.next(None, &ALL, NOW);
        assert_eq!(changes(&first), None);
        stream.publish(vec![gone("a"), gone("b"), gone("a")]);
        let (place, next) = stream.next(Some(start), &ALL, NOW);
        assert_eq!(
            (place.to_string().as_str(), changes(&next)),
            ("5-3", Some(3))
        );
        assert_eq!(
            changes(&stream.next(Some(start), &Sight::of("a"), NOW).1),
            Some(2)
        );
        assert_eq!(changes(&stream.next(Some(place), &ALL, NOW).1), Some(0));
    }

    #[test]
    fn a_viewer_that_missed_too_much_gets_a_snapshot() {
        let stream = Stream::new(Board::default(), NOW);
        let (start, _) = stream.next(None, &ALL, NOW);
        stream.publish((0..KEPT_CHANGES).map(|_| gone("a")).collect());
        assert_eq!(
            changes(&stream.next(Some(start), &ALL, NOW).1),
            Some(KEPT_CHANGES)
        );
        stream.publish(vec![gone("a")]);
        assert_eq!(changes(&stream.next(Some(start), &ALL, NOW).1), None);
    }

    #[test]
    fn an_id_from_another_start_or_from_nowhere_gets_a_snapshot() {
        let stream = Stream::new(Board::default(), NOW);
        for id in ["4-0", "5-1", "5-18446744073709551615"] {
            assert_eq!(
                changes(&stream.next(EventId::parse(id), &ALL, NOW).1),
                None,
                "{id}"
            );
        }
    }
}
