//! The live index of all observed locks: snapshots, a stream of changes, and on-demand inspection
//! of one lock.
//!
//! Watchers read the nodes and send reports; one observer task folds them into the index and
//! publishes the changes.

mod change_counters;
mod contention;
pub mod event;
mod feed_inference;
mod flag_records;
mod fold;
mod full_snapshot;
mod group_registry;
mod history;
mod holders;
mod inspection;
mod leading_owner;
mod local_demand;
mod local_renewals;
mod merge;
mod observer;
mod one_shot_scan;
mod queries;
mod recheck_timers;
mod redisson_semaphores;
mod renewal_tracker;
mod report;
mod snapshot;
mod spring_registries;
pub mod stream;
mod subscriber_view;
mod subscription;
mod tombstones;
mod update_throttle;
mod view_cache;
mod watcher;

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{
    ActivityQuery, Change, Fingerprint, Format, GroupView, History, Hold, Lock, LockId, LockKey,
    MonitorSample, NodeObservation, OperationError, RecordedHold, Timestamp, VisibleGroups,
};
use crate::server::clock::{Clock, MonotonicTime};
use crate::server::stores::scan::initial_coverage;
use crate::server::stores::{Group, LockReading, ReadCause};
use contention::Contention;
use event::EventId;
use full_snapshot::FullSnapshotCache;
use group_registry::GroupRegistry;
use history::Histories;
pub use history::{HistoryRecord, LostRecords, OpenHoldRecord, RecordStream};
use local_demand::LocalDemand;
use local_renewals::LocalRenewals;
use observer::Observer;
pub use one_shot_scan::OneShotScan;
use queries::QueryPermits;
use redisson_semaphores::RedissonSemaphores;
use report::Report;
pub use snapshot::IndexSnapshot;
use stream::ChangeStream;
pub use subscriber_view::SubscriberView;
pub use subscription::{Subscription, Topic};
use view_cache::ViewCache;

/// Keys waiting for an immediate poll after an operation. Beyond that, requests are dropped: the
/// regular poll covers them.
const MAX_PENDING_POLLS: usize = 512;

/// Handle to the index. Cheap to clone.
#[derive(Clone)]
pub struct Index {
    stream: Arc<ChangeStream>,
    queries: QueryPermits,
    views: ViewCache,
    full_snapshots: FullSnapshotCache,
    reports: mpsc::Sender<Report>,
    groups: GroupRegistry,
    local_demand: Arc<LocalDemand>,
    contention: Arc<Contention>,
    removals: broadcast::WeakSender<LockId>,
    histories: Arc<Histories>,
    local_renewals: Arc<LocalRenewals>,
    semaphores: Arc<RedissonSemaphores>,
    clock: Clock,
}

/// The result of inspecting one lock.
#[derive(Clone, Debug)]
pub struct LockInspection {
    /// The lock as indexed after the inspection; `None` if no node shows it.
    pub lock: Option<Lock>,
    /// The reply of each configured node.
    pub nodes: Vec<NodeObservation>,
}

impl Index {
    /// Starts observing the groups until `stop` is cancelled.
    pub fn start(
        groups: &[Arc<Group>],
        clock: Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        let index = Self::without_watchers(groups, clock, stop, tasks);
        for group in groups {
            index.watch(group, stop, tasks);
        }
        index
    }

    /// Starts watching a group until `stop` is cancelled.
    pub fn watch(&self, group: &Arc<Group>, stop: &CancellationToken, tasks: &TaskTracker) {
        let (poll_requests, inbox) = mpsc::channel(MAX_PENDING_POLLS);
        self.groups.insert(group, Some(poll_requests));
        let (index, group) = (self.clone(), Arc::clone(group));
        tasks.spawn(contention::run_sensors(
            index.clone(),
            Arc::clone(&group),
            stop.clone(),
        ));
        tasks.spawn(watcher::watch(index, group, inbox, stop.clone()));
    }

    /// Replaces the set of observed groups. Locks of removed groups, and of groups in `changed`,
    /// are dropped from the index; every subscriber then receives a new snapshot.
    pub async fn replace_groups(&self, groups: &[Arc<Group>], changed: &[String]) {
        let names: Vec<&str> = groups
            .iter()
            .map(|group| group.config.name.as_str())
            .collect();
        self.groups.retain(&names);
        let report = Report::GroupsReplaced {
            views: groups
                .iter()
                .map(|group| initial_group_view(group))
                .collect(),
            changed: changed.to_vec(),
            at: self.now(),
        };
        // Fails only during shutdown, when there are no subscribers left.
        let _stopping = self.reports.send(report).await;
    }

    /// Creates an index without watchers: nothing is scanned, and locks are read only on request.
    pub fn without_watchers(
        groups: &[Arc<Group>],
        clock: Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        // A new epoch per start invalidates the event ids that clients kept from an earlier
        // process.
        let first = EventId {
            epoch: clock.now().millis(),
            seq: 0,
        };
        let initial_views = groups
            .iter()
            .map(|group| initial_group_view(group))
            .collect();
        let first = IndexSnapshot::new(initial_views, first);
        let stream = Arc::new(ChangeStream::new(first));
        let views = ViewCache::default();
        // A full queue applies back pressure to the watchers only.
        let (reports, inbox) = mpsc::channel(64);
        let local_demand = Arc::new(LocalDemand::default());
        let contention = Arc::new(Contention::new(Arc::clone(&local_demand)));
        let (removals, _) = broadcast::channel(1024);
        let weak_removals = removals.downgrade();
        let registry = GroupRegistry::default();
        for group in groups {
            registry.insert(group, None);
        }
        let histories = Arc::new(Histories::new(clock.now()));
        let local_renewals = Arc::new(LocalRenewals::default());
        let observer = Observer::new(
            Arc::clone(&stream),
            views.clone(),
            Arc::clone(&contention),
            removals,
            registry.clone(),
            Arc::clone(&histories),
            Arc::clone(&local_renewals),
        );
        tasks.spawn(observer.run(inbox, stop.clone()));
        Self {
            stream,
            queries: QueryPermits::default(),
            views,
            full_snapshots: FullSnapshotCache::default(),
            reports,
            groups: registry,
            local_demand,
            contention,
            removals: weak_removals,
            histories,
            local_renewals,
            semaphores: Arc::default(),
            clock,
        }
    }

    /// Scans every node of a group once, without subscribing to changes. Ends when each reachable
    /// node has completed a pass, or at `deadline`. The locks found are in the index when this
    /// returns.
    pub async fn scan_once(
        &self,
        group: &Arc<Group>,
        deadline: tokio::time::Instant,
    ) -> OneShotScan {
        one_shot_scan::scan_once(self.clone(), Arc::clone(group), deadline).await
    }

    /// Waits until all reports sent so far have been applied. Reports are processed in order, so an
    /// empty report is acknowledged only after all earlier ones.
    async fn flush(&self) {
        let (reply, acknowledged) = oneshot::channel();
        let report = Report::KeysRead {
            group: String::new(),
            read_at: self.clock.reading(),
            observations: Vec::new(),
            reply: Some(reply),
        };
        if self.reports.send(report).await.is_ok() {
            let _sender_dropped = acknowledged.await;
        }
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<IndexSnapshot> {
        self.stream.snapshot()
    }

    /// The stream of changes.
    pub fn stream(&self) -> &ChangeStream {
        &self.stream
    }

    /// The wall clock of the server.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The monotonic clock of the server.
    pub fn monotonic_now(&self) -> MonotonicTime {
        self.clock.monotonic()
    }

    /// Schedules a poll of a lock after an operation on it. Never blocks: when the queue is full,
    /// the lock is read by the next regular poll.
    pub fn poll_soon(&self, id: &LockId) {
        let poll_requests = self
            .groups
            .get(&id.group)
            .and_then(|group| group.poll_requests);
        if let Some(poll_requests) = poll_requests {
            // If the queue is full, the next regular poll reads the key.
            let _full = poll_requests.try_send(id.key.clone());
        }
    }

    /// Removes the locks whose prefix an admin excluded. They are not in the snapshot when this
    /// returns.
    pub async fn remove_excluded(&self, group: &str) {
        let report = Report::PrefixExcluded {
            group: group.to_owned(),
            at: self.now(),
        };
        // Fails only during shutdown.
        let _stopping = self.reports.send(report).await;
        self.flush().await;
    }

    /// Publishes a change that cannot be observed on the nodes, such as a lost lock.
    pub async fn publish(&self, change: Change) {
        let report = Report::Publish(Box::new(change));
        // Fails only during shutdown, when there are no subscribers left.
        let _stopping = self.reports.send(report).await;
    }

    /// Records `times` renewals of an owner's lease that this console made.
    pub fn record_local_renewals(&self, id: &LockId, owner: &Fingerprint, times: u32) {
        self.local_renewals.record(id, owner, times);
    }

    /// Records a force-release, so that the hold is not reported as released by its owner.
    pub async fn record_force_release(&self, id: &LockId, owner: &Fingerprint) {
        let report = Report::ForceReleased {
            id: id.clone(),
            owner: *owner,
            at: self.now(),
        };
        // Fails only during shutdown, when no more requests are served.
        let _stopping = self.reports.send(report).await;
    }

    /// The observed holds of a lock.
    pub fn history(&self, id: &LockId) -> History {
        self.histories.history_of(id, self.now())
    }

    /// Starts to report changes for the recorder of the history. `None` if it was started before.
    pub fn start_recording(&self) -> Option<RecordStream> {
        self.histories.feed().start()
    }

    /// Reports a record as the observer does.
    #[cfg(test)]
    pub(in crate::server) fn report_record(&self, record: HistoryRecord) {
        self.histories.feed().send(record, self.now());
    }

    /// The current holds, flags and node states, for a recorder that missed changes.
    pub async fn current_records(&self) -> Result<Vec<HistoryRecord>, OperationError> {
        let histories = Arc::clone(&self.histories);
        self.query(move |index, now| {
            let mut records = Vec::new();
            for lock in index.locks() {
                let open = histories.open_holds_of(&lock.id).into_iter();
                records.extend(open.map(HistoryRecord::HoldStarted));
                records.extend(lock.flags.iter().map(|flag| HistoryRecord::Flag {
                    id: lock.id.clone(),
                    flag: *flag,
                    is_raised: true,
                    at: now,
                }));
            }
            for group in index.groups() {
                let nodes = group.nodes.iter();
                records.extend(nodes.filter_map(|node| {
                    Some(HistoryRecord::Node {
                        group: group.name.clone(),
                        node: node.name.clone(),
                        state: node.state,
                        at: node.since?,
                    })
                }));
            }
            records
        })
        .await
    }

    /// Since when the holds in memory are complete.
    pub fn recorded_since(&self) -> Timestamp {
        self.histories.recorded_since(self.now())
    }

    /// The holds in memory that match a query. Runs on a separate thread; each lock's holds are
    /// copied on their own, so that the observer never waits for all of them.
    pub async fn recorded_holds(
        &self,
        query: ActivityQuery,
        visible: VisibleGroups,
    ) -> Result<Vec<RecordedHold>, OperationError> {
        let histories = Arc::clone(&self.histories);
        self.query(move |_, now| {
            let mut ids = histories.lock_ids();
            ids.retain(|id| visible.contains(&id.group) && query.matches_lock(id));
            let of_lock = |id: LockId| {
                let (format, holds) = histories.holds_of(&id, now).unzip();
                let holds = holds.unwrap_or_default().into_iter();
                let query = &query;
                let overlapping = holds.filter_map(move |hold: Hold| {
                    (query.overlaps(hold.started_at, hold.ended_at) && query.matches_hold(&hold))
                        .then(|| RecordedHold {
                            id: id.clone(),
                            format: format.unwrap_or(Format::Plain),
                            hold,
                            min_margin_ms: None,
                            attempts: None,
                        })
                });
                overlapping.collect::<Vec<_>>()
            };
            let mut holds: Vec<_> = ids.into_iter().flat_map(of_lock).collect();
            holds.sort_by_key(|hold| std::cmp::Reverse(hold.hold.started_at));
            holds
        })
        .await
    }

    /// Receives the id of every lock that is removed from the index. Closed when the observer
    /// stops.
    pub fn subscribe_to_removals(&self) -> broadcast::Receiver<LockId> {
        let closed = || broadcast::channel(1).1;
        self.removals
            .upgrade()
            .map_or_else(closed, |removals| removals.subscribe())
    }

    /// Records a `MONITOR` sample as evidence of contention.
    pub async fn record_sample(&self, group: &str, sample: &MonitorSample) {
        if sample.failures_unavailable_reason.is_some() {
            return;
        }
        let now = self.monotonic_now();
        let window = std::time::Duration::from_millis(sample.duration_ms);
        self.contention
            .record_sample(group, &sample.locks, window, now);
        let report = Report::ContentionChanged {
            group: group.to_owned(),
            at: now,
            keys: sample.locks.iter().map(|lock| lock.key.clone()).collect(),
        };
        // Fails only during shutdown.
        let _stopping = self.reports.send(report).await;
    }

    /// The acquire attempts and waiters of this console.
    pub fn local_demand(&self) -> &LocalDemand {
        &self.local_demand
    }

    /// Reads some keys from the nodes of a group, with the semaphores discovered so far.
    async fn read_locks(
        &self,
        group: &Group,
        keys: &[LockKey],
        cause: ReadCause<'_>,
    ) -> LockReading {
        let discovered = self.semaphores.format_overrides(&group.config.name);
        group.read_locks(keys, cause, &discovered).await
    }

    /// Tracks a key as a Redisson semaphore after a client was seen waiting for a permit.
    fn track_semaphore(&self, group: &Group, key: &LockKey) {
        let config = &group.config;
        let is_allowed = config.key_restriction(key.as_bytes()).is_none();
        if is_allowed && self.semaphores.insert(&config.name, key) {
            self.poll_soon(&LockId {
                group: config.name.clone(),
                key: key.clone(),
            });
        }
    }
}

/// The view of a group before anything was observed.
fn initial_group_view(group: &Group) -> GroupView {
    let config = &group.config;
    GroupView {
        name: config.name.clone(),
        kind: config.kind,
        environment: config.environment,
        quorum: u32::try_from(group.quorum()).unwrap_or(u32::MAX),
        read_only: config.read_only,
        nodes: group.node_views(),
        coverage: initial_coverage(config),
        last_polled_at: None,
    }
}
