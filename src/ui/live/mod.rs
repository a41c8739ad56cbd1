//! The board in the browser: first state from the server's page, then changes as they happen, and how old all of it is.

mod again;
mod asked;
mod freshness;
mod loading;
mod me;
mod news;
mod stream;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leptos::prelude::*;

use crate::domain::{Board, Bundles, By, Counts, GroupView, Lock, LockId, Me, Painted, Timestamp};

use super::calls;
use super::query::Query;
pub use again::again;
use asked::{Asked, Sums};
pub use freshness::Freshness;
pub use loading::Loading;
pub use news::{Gone, Lost};

/// The board and the server's clock, for every page. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Live {
    /// The board as the server painted it first, and for whom.
    pub first: Loading<Painted>,
    /// Who the page is shown to, once that is known.
    pub me: RwSignal<Option<Me>>,
    /// The server's clock, four times a second. While a page wakes up it is the moment of the first board.
    pub now: RwSignal<Timestamp>,
    /// Whether whoever sees the page is not let in any more.
    pub is_out: RwSignal<bool>,
    /// The build of the server that was heard first.
    pub build: RwSignal<Option<String>>,
    /// Whether another build of the server was heard since.
    pub is_newer: RwSignal<bool>,
    /// The locks that were lost while this page was open, the latest last.
    pub lost: RwSignal<Vec<Lost>>,
    board: StoredValue<Board>,
    asked: RwSignal<Asked>,
    sums: RwSignal<Sums>,
    /// The endings that were seen, the latest last.
    gone: StoredValue<Vec<(LockId, Gone)>>,
    locks_changed: RwSignal<u32>,
    groups_changed: RwSignal<u32>,
    position: RwSignal<Option<String>>,
    painted_at: RwSignal<Option<Timestamp>>,
    heard_at: RwSignal<Option<Timestamp>>,
}

impl Live {
    /// Provides the board to the pages, and follows the server in the browser.
    pub fn provide() -> Self {
        let live = Self {
            first: Loading::new(|| calls::board(stream::page())),
            me: RwSignal::new(None),
            now: RwSignal::new(Timestamp::from_millis(0)),
            is_out: RwSignal::new(false),
            build: RwSignal::new(None),
            is_newer: RwSignal::new(false),
            lost: RwSignal::new(Vec::new()),
            board: StoredValue::new(Board::default()),
            asked: RwSignal::new(Asked::default()),
            sums: RwSignal::new(Sums::default()),
            gone: StoredValue::new(Vec::new()),
            locks_changed: RwSignal::new(0),
            groups_changed: RwSignal::new(0),
            position: RwSignal::new(None),
            painted_at: RwSignal::new(None),
            heard_at: RwSignal::new(None),
        };
        provide_context(live);
        // Effects run in the browser only, and after the page has woken up with the server's own words. This one runs once
        // more when there are any: what it starts lives until it runs again.
        let has_begun = Memo::new(move |_| live.position.with(Option::is_some));
        Effect::new(move || {
            if has_begun.get() {
                stream::follow(live);
            }
        });
        live
    }

    /// The board that was provided.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Takes the first board, unless there is one already. Called while the page that shows it is built, on both sides.
    pub fn begin(self, painted: Painted) {
        if self.position.with_untracked(Option::is_none) {
            self.me.set(Some(painted.me));
            let snapshot = painted.board;
            self.now.set(snapshot.observed_at);
            self.painted_at.set(Some(snapshot.observed_at));
            self.replace(snapshot);
        }
    }

    /// Looks at one lock; tracks every change of locks.
    pub fn lock(self, id: &LockId) -> Option<Lock> {
        self.with_locks(|locks| locks.get(id).map(|lock| Lock::clone(lock)))
    }

    /// The same without a copy of it.
    pub fn shared(self, id: &LockId) -> Option<Arc<Lock>> {
        self.with_locks(|locks| locks.get(id).cloned())
    }

    /// Looks at one lock without tracking anything.
    pub fn lock_untracked(self, id: &LockId) -> Option<Lock> {
        self.board
            .with_value(|board| board.locks.get(id).map(|lock| Lock::clone(lock)))
    }

    /// Has the locks of this list sent, now and whenever it becomes another one.
    pub fn look_at(self, query: Memo<Query>) {
        Effect::new(move || {
            let query = query.get();
            let is_new = self.asked.with_untracked(|asked| asked.query != query);
            if is_new {
                self.asked.update(|asked| {
                    // A list in another order, or of other locks, is read from where its address says.
                    asked.from = query.from;
                    asked.query = query;
                });
            }
        });
    }

    /// Has those rows of the list sent that are on screen, and those near them.
    pub fn look_at_rows(self, seen: &Range<usize>) {
        let total = self.sums.with_untracked(|sums| size(sums.total));
        let next = self
            .asked
            .with_untracked(|asked| asked.next_for(seen, total));
        if let Some(from) = next {
            self.asked.update(|asked| asked.from = from);
        }
    }

    /// Has this lock sent wherever it stands in the list, for as long as the part of the page lives that asks for it.
    pub fn follow(self, id: &LockId) {
        let followed = id.clone();
        self.asked
            .update(|asked| *asked.followed.entry(followed).or_default() += 1);
        let followed = id.clone();
        on_cleanup(move || {
            self.asked.update(|asked| {
                if let Some(by) = asked.followed.get_mut(&followed) {
                    *by -= 1;
                }
                asked.followed.retain(|_, by| *by > 0);
            });
        });
    }

    /// How many locks the list has, sent or not; tracks that number.
    pub fn total(self) -> usize {
        self.sums.with(|sums| size(sums.total))
    }

    /// The rows of the list that were sent, in the order of this query, and how many come before them; tracks every change
    /// of locks.
    pub fn rows(self, query: &Query) -> (usize, Vec<LockId>) {
        let (from, apart) = self
            .sums
            .with_untracked(|sums| (size(sums.from), sums.apart.clone()));
        let rows = self.with_locks(|locks| {
            let here = locks.values().map(|lock| &**lock);
            let here = here.filter(|lock| !apart.contains(&lock.id));
            let ids = query.in_order(here).into_iter();
            ids.map(|lock| lock.id.clone()).collect()
        });
        (from, rows)
    }

    /// How many rows come before those that were sent, without tracking that.
    pub fn from_untracked(self) -> usize {
        self.sums.with_untracked(|sums| size(sums.from))
    }

    /// The bundles that were sent, where they are of this kind; tracks them.
    pub fn bundles(self, by: By) -> Option<Bundles> {
        self.sums.with(|sums| {
            let bundles = sums.bundles.as_ref();
            bundles.filter(|bundles| bundles.by == by).cloned()
        })
    }

    /// How many locks are in which state; tracks these numbers.
    pub fn with_counts<T>(self, look: impl FnOnce(&Counts) -> T) -> T {
        self.sums.with(|sums| look(&sums.counts))
    }

    /// Looks at the locks that were sent; tracks every change of locks.
    pub fn with_locks<T>(self, look: impl FnOnce(&BTreeMap<LockId, Arc<Lock>>) -> T) -> T {
        self.locks_changed.track();
        self.board.with_value(|board| look(&board.locks))
    }

    /// Looks at the groups; tracks their changes, which come every second.
    pub fn with_groups<T>(self, look: impl FnOnce(&[GroupView]) -> T) -> T {
        self.groups_changed.track();
        self.board.with_value(|board| look(&board.groups))
    }

    /// One group; tracks the changes of groups.
    pub fn group(self, name: &str) -> Option<GroupView> {
        self.groups_changed.track();
        self.board.with_value(|board| board.group(name).cloned())
    }

    /// How a lock left the board, if it was seen leaving; tracks every change of locks.
    pub fn ending(self, id: &LockId) -> Option<Gone> {
        self.locks_changed.track();
        self.gone.with_value(|gone| {
            let ending = gone.iter().rfind(|(known, _)| known == id);
            ending.map(|(_, gone)| *gone)
        })
    }

    /// When the locks that can be looked at were last looked at on their nodes: the oldest of the groups that answer.
    pub fn looked_at(self) -> Option<Timestamp> {
        self.with_groups(|groups| {
            groups
                .iter()
                .filter(|group| group.nodes_up() > 0)
                .filter_map(|group| group.looked_at)
                .min()
        })
    }

    /// When a lock on the board was last seen on a node. A lock that stays as it is brings no change, but is looked at.
    pub fn seen_at(self, lock: &Lock) -> Timestamp {
        let shown = lock.nodes.iter().any(|node| node.answer.owner().is_some());
        let looked = self.group(&lock.id.group).and_then(|group| group.looked_at);
        looked
            .filter(|_| shown)
            .map_or(lock.observed_at, |looked| looked.max(lock.observed_at))
    }
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
