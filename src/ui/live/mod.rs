//! The lock index in the browser: the initial snapshot from the rendered page, then live updates,
//! with their freshness.

mod freshness;
mod permissions;
mod poll;
mod server_resource;
mod stream;
mod subscription;
mod updates;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leptos::prelude::*;

use crate::domain::{
    Buckets, CurrentUser, GroupBy, GroupView, IndexState, InitialState, Lock, LockCounts, LockId,
    NodeRecovery, NodeState, Timestamp,
};

use super::calls;
use super::locks_query::LocksQuery;
pub use freshness::Freshness;
pub use poll::poll;
pub use server_resource::ServerResource;
use subscription::{ListSummary, LiveSubscription};
pub use updates::{LockEnding, LostLock};

/// The lock index and the clock of the server, for all pages. The type is a cheap handle.
#[derive(Clone, Copy)]
pub struct Live {
    /// The initial snapshot and the user it was rendered for.
    pub initial: ServerResource<InitialState>,
    /// The user of the page; `None` before the initial snapshot is loaded.
    pub user: RwSignal<Option<CurrentUser>>,
    /// The clock of the server, updated four times a second. During hydration it is the time of the
    /// initial snapshot.
    pub now: RwSignal<Timestamp>,
    /// Whether the session of the user has ended.
    pub is_signed_out: RwSignal<bool>,
    /// The build of the server that sent the first ping.
    pub server_build: RwSignal<Option<String>>,
    /// Whether the server is now another build.
    pub is_outdated: RwSignal<bool>,
    /// Auto-renewed locks that were lost while this page was open, newest last.
    pub lost_locks: RwSignal<Vec<LostLock>>,
    /// Nodes that came back while this page was open, the latest last.
    pub recoveries: RwSignal<Vec<NodeRecovery>>,
    index: StoredValue<IndexState>,
    subscription: RwSignal<LiveSubscription>,
    summary: RwSignal<ListSummary>,
    /// The query of the locks that were sent; `None` for those of the initial snapshot.
    listed_query: RwSignal<Option<LocksQuery>>,
    /// Observed endings, newest last.
    endings: StoredValue<Vec<(LockId, LockEnding)>>,
    locks_changed: RwSignal<u32>,
    groups_changed: RwSignal<u32>,
    last_event_id: RwSignal<Option<String>>,
    rendered_at: RwSignal<Option<Timestamp>>,
    last_event_at: RwSignal<Option<Timestamp>>,
}

impl Live {
    /// Provides the index as context. In the browser it is connected to the event stream.
    pub fn provide() -> Self {
        let live = Self {
            initial: ServerResource::new(|| calls::initial_state(stream::page_address())),
            user: RwSignal::new(None),
            now: RwSignal::new(Timestamp::from_millis(0)),
            is_signed_out: RwSignal::new(false),
            server_build: RwSignal::new(None),
            is_outdated: RwSignal::new(false),
            lost_locks: RwSignal::new(Vec::new()),
            recoveries: RwSignal::new(Vec::new()),
            index: StoredValue::new(IndexState::default()),
            subscription: RwSignal::new(LiveSubscription::default()),
            summary: RwSignal::new(ListSummary::default()),
            listed_query: RwSignal::new(None),
            endings: StoredValue::new(Vec::new()),
            locks_changed: RwSignal::new(0),
            groups_changed: RwSignal::new(0),
            last_event_id: RwSignal::new(None),
            rendered_at: RwSignal::new(None),
            last_event_at: RwSignal::new(None),
        };
        provide_context(live);
        // Effects run in the browser only, after hydration. This one runs again once the initial
        // snapshot is applied; what it starts lives until it runs again.
        let has_snapshot = Memo::new(move |_| live.has_snapshot());
        Effect::new(move || {
            if has_snapshot.get() {
                stream::connect(live);
            }
        });
        live
    }

    /// The index from the context.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Whether the page has its initial snapshot. Tracked.
    pub fn has_snapshot(self) -> bool {
        self.last_event_id.with(Option::is_some)
    }

    /// Applies the initial snapshot, unless there is one already. Called while the page is
    /// rendered, on server and browser.
    pub fn hydrate(self, painted: InitialState) {
        if self.last_event_id.with_untracked(Option::is_none) {
            self.user.set(Some(painted.user));
            let snapshot = painted.snapshot;
            self.now.set(snapshot.observed_at);
            self.rendered_at.set(Some(snapshot.observed_at));
            self.apply_snapshot(snapshot);
        }
    }

    /// A copy of one lock. Tracks every change of locks.
    pub fn lock(self, id: &LockId) -> Option<Lock> {
        self.with_locks(|locks| locks.get(id).map(|lock| Lock::clone(lock)))
    }

    /// One lock without copying it. Tracks every change of locks.
    pub fn lock_arc(self, id: &LockId) -> Option<Arc<Lock>> {
        self.with_locks(|locks| locks.get(id).cloned())
    }

    /// A copy of one lock, without tracking.
    pub fn lock_untracked(self, id: &LockId) -> Option<Lock> {
        self.index
            .with_value(|index| index.locks.get(id).map(|lock| Lock::clone(lock)))
    }

    /// Subscribes to this list, and to another one whenever the query changes.
    pub fn set_query(self, query: Memo<LocksQuery>) {
        Effect::new(move || {
            let query = query.get();
            let is_new = self
                .subscription
                .with_untracked(|subscription| subscription.query != query);
            if is_new {
                self.subscription.update(|subscription| {
                    // Another list starts at the offset of its URL.
                    subscription.offset = query.offset;
                    subscription.query = query;
                });
            }
        });
    }

    /// Subscribes to the visible rows of the list and a margin around them.
    pub fn set_visible_rows(self, seen: &Range<usize>) {
        let total = self.summary.with_untracked(|sums| to_usize(sums.total));
        let next = self
            .subscription
            .with_untracked(|subscription| subscription.next_offset(seen, total));
        if let Some(from) = next {
            self.subscription
                .update(|subscription| subscription.offset = from);
        }
    }

    /// Subscribes to this lock wherever it is in the list, until the calling component is
    /// unmounted.
    pub fn pin(self, id: &LockId) {
        let pinned = id.clone();
        self.subscription
            .update(|subscription| *subscription.pinned.entry(pinned).or_default() += 1);
        let pinned = id.clone();
        on_cleanup(move || {
            self.subscription.update(|subscription| {
                if let Some(by) = subscription.pinned.get_mut(&pinned) {
                    *by -= 1;
                }
                subscription.pinned.retain(|_, by| *by > 0);
            });
        });
    }

    /// Whether the locks that were sent are those of this query: false from a change of the query
    /// until the server has answered. Tracked.
    pub fn lists(self, query: &LocksQuery) -> bool {
        self.listed_query
            .with(|listed| listed.as_ref().is_none_or(|listed| listed == query))
    }

    /// The number of locks in the list, sent or not. Tracked.
    pub fn total(self) -> usize {
        self.summary.with(|sums| to_usize(sums.total))
    }

    /// The number of rows before those that were sent, and the sent rows in the order of this
    /// query. Tracks every change of locks.
    pub fn rows(self, query: &LocksQuery) -> (usize, Vec<LockId>) {
        let (from, apart) = self
            .summary
            .with_untracked(|sums| (to_usize(sums.offset), sums.pinned.clone()));
        let rows = self.with_locks(|locks| {
            let here = locks.values().map(|lock| &**lock);
            let here = here.filter(|lock| !apart.contains(&lock.id));
            let ids = query.sort_locks(here).into_iter();
            ids.map(|lock| lock.id.clone()).collect()
        });
        (from, rows)
    }

    /// The number of rows before those that were sent, without tracking.
    pub fn offset_untracked(self) -> usize {
        self.summary.with_untracked(|sums| to_usize(sums.offset))
    }

    /// The buckets that were sent, if they have this grouping. Tracked.
    pub fn buckets(self, by: GroupBy) -> Option<Buckets> {
        self.summary.with(|sums| {
            let bundles = sums.buckets.as_ref();
            bundles.filter(|bundles| bundles.group_by == by).cloned()
        })
    }

    /// Reads the number of locks per state. Tracked.
    pub fn with_counts<T>(self, read: impl FnOnce(&LockCounts) -> T) -> T {
        self.summary.with(|sums| read(&sums.counts))
    }

    /// Reads the locks that were sent. Tracks every change of locks.
    pub fn with_locks<T>(self, read: impl FnOnce(&BTreeMap<LockId, Arc<Lock>>) -> T) -> T {
        self.locks_changed.track();
        self.index.with_value(|index| read(&index.locks))
    }

    /// Reads the groups. Tracks their changes, which arrive every second.
    pub fn with_groups<T>(self, read: impl FnOnce(&[GroupView]) -> T) -> T {
        self.groups_changed.track();
        self.index.with_value(|index| read(&index.groups))
    }

    /// The number of nodes that are not up. Nodes before the first connection attempt are not
    /// counted. Tracks the changes of groups.
    pub fn failed_node_count(self) -> usize {
        self.with_groups(|groups| {
            let nodes = groups.iter().flat_map(|group| &group.nodes);
            let failed = nodes.filter(|node| node.state != NodeState::Up && node.since.is_some());
            failed.count()
        })
    }

    /// Whether every lock of the console is sent to this page: the list has no filter and is not
    /// longer than the window. Tracked.
    pub fn has_every_lock(self) -> bool {
        let is_filtered = self
            .subscription
            .with(|subscription| subscription.query.is_filtered());
        let total = self.total();
        !is_filtered && self.with_locks(|locks| locks.len() >= total)
    }

    /// A copy of one group. Tracks the changes of groups.
    pub fn group(self, name: &str) -> Option<GroupView> {
        self.groups_changed.track();
        self.index.with_value(|index| index.group(name).cloned())
    }

    /// How a lock left the index; `None` if that was not observed. Tracks every change of locks.
    pub fn ending(self, id: &LockId) -> Option<LockEnding> {
        self.locks_changed.track();
        self.endings.with_value(|gone| {
            let ending = gone.iter().rfind(|(known, _)| known == id);
            ending.map(|(_, gone)| *gone)
        })
    }

    /// The locks of which the end was observed in the last `ms` milliseconds, at most `most` of them,
    /// the latest first. Tracks every change of locks and the clock.
    pub fn recent_endings(self, ms: i64, most: usize) -> Vec<LockId> {
        self.locks_changed.track();
        let since = self.now.get().plus_millis(-ms);
        self.endings.with_value(|gone| {
            let recent = gone.iter().rev().take_while(|(_, gone)| gone.at > since);
            recent.take(most).map(|(id, _)| id.clone()).collect()
        })
    }

    /// When the locks were last polled on their nodes: the oldest time among the groups with a
    /// reachable node.
    pub fn last_polled_at(self) -> Option<Timestamp> {
        self.with_groups(|groups| {
            groups
                .iter()
                .filter(|group| group.nodes_up() > 0)
                .filter_map(|group| group.last_polled_at)
                .min()
        })
    }

    /// When a lock was last observed on a node. An unchanged lock causes no event, but the polls of
    /// its group confirm it.
    pub fn last_seen_at(self, lock: &Lock) -> Timestamp {
        let is_observed = lock
            .nodes
            .iter()
            .any(|node| node.observation.owner().is_some());
        let polled_at = self
            .group(&lock.id.group)
            .and_then(|group| group.last_polled_at);
        polled_at
            .filter(|_| is_observed)
            .map_or(lock.observed_at, |polled_at| {
                polled_at.max(lock.observed_at)
            })
    }
}

fn to_usize(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
