//! Watches one group. Reads keys with notifications, keys whose timers fired, and new keys found by
//! the scan; once per second, reads all locks that no notifications cover.

mod hot_keys;
mod notifications;
mod poll;
mod scan_passes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::report::Report;
use super::{Index, initial_group_view};
use crate::domain::{
    FeedLevel, LockKey, NodeState, NodeView, ScanCoverage, ScanProgress, Timestamp,
};
use crate::server::stores::{Group, GroupFeedCoverage, LockNames};
use hot_keys::HotKeys;
use poll::UnsettledLock;

/// How often locks without notifications are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// With notifications for every change, all locks are still read once within this number of rounds,
/// in case a notification was lost.
const RECONCILE_ROUNDS: usize = 60;
/// The shortest time between polls requested by operations. Bounds the load on the nodes for any
/// rate of operations.
const REQUESTED_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The same for polls caused by notifications. After a quiet period there is no delay.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(9);
/// How often it is checked whether every node was probed.
const FIRST_REPLY_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Keys per poll. Bounds memory and the time for which one report blocks the observer.
const MAX_KEYS_PER_POLL: usize = 2_000;
/// A removed lock is still polled for this long: busy locks reappear between two scan passes.
const REMOVED_LOCK_POLL_TIME: Duration = Duration::from_secs(10);
/// A larger difference between wall clock and monotonic clock is a clock step, not drift.
const CLOCK_STEP_THRESHOLD: Duration = Duration::from_secs(1);

/// Watches one group until `stop` is cancelled.
pub(super) async fn watch(
    index: Index,
    group: Arc<Group>,
    mut poll_requests: mpsc::Receiver<LockKey>,
    stop: CancellationToken,
) {
    let (scanned_tx, mut scan_events) = mpsc::channel(64);
    let names = Arc::new(lock_names(&index, &group));
    group.start_feeds(Arc::clone(&names), stop.clone());
    let scanning = tokio::spawn({
        let (group, names, stop) = (Arc::clone(&group), Arc::clone(&names), stop.clone());
        async move { group.scan(scanned_tx, names, stop).await }
    });
    let mut tick = interval(POLL_INTERVAL);
    // A slow round delays the next one instead of causing a burst.
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let group_entry = index.groups.get(&group.config.name);
    let recheck_timers = group_entry
        .map(|group| group.recheck_timers)
        .unwrap_or_default();
    let clock = group.clock().clone();
    let mut watcher = Watcher::new(index, Arc::clone(&group), names);
    // For requested polls and for notifications.
    let mut not_before = [Instant::now(); 2];
    loop {
        let is_running = tokio::select! {
            () = stop.cancelled() => false,
            _ = tick.tick() => watcher.poll_round().await,
            () = wait_until_all_nodes_probed(&group), if !watcher.has_polled_all_nodes => {
                watcher.has_polled_all_nodes = true;
                watcher.poll_round().await
            }
            Some(key) = next_requested(not_before[0], &mut poll_requests) => {
                let is_running = watcher.poll_requested(key, &mut poll_requests).await;
                not_before[0] = Instant::now() + REQUESTED_POLL_INTERVAL;
                is_running
            }
            () = wait_for_notification(not_before[1], &group) => {
                let is_running = watcher.process_notifications().await;
                not_before[1] = Instant::now() + NOTIFICATION_INTERVAL;
                is_running
            }
            keys = recheck_timers.next(&clock, MAX_KEYS_PER_POLL) => watcher.poll(&keys).await,
            () = sleep_until(watcher.next_unsettled_at()), if watcher.has_unsettled() => {
                watcher.poll_unsettled().await
            }
            () = sleep_until(watcher.next_sample_at()), if watcher.has_samples() => {
                watcher.poll_hot_keys().await
            }
            // Always ready: the resync proceeds in batches between other events.
            () = std::future::ready(()), if watcher.needs_resync() => {
                watcher.continue_resync().await
            }
            Some(scanned) = scan_events.recv() => watcher.process_scan(scanned, &mut scan_events).await,
        };
        if !is_running {
            break;
        }
    }
    scanning.abort();
}

/// The names of the group's locks, which the index knows.
fn lock_names(index: &Index, group: &Group) -> LockNames {
    let (index, name) = (index.clone(), group.config.name.clone());
    let prefixes = Arc::clone(group.prefixes());
    LockNames::new(prefixes, move |key| {
        index.snapshot().contains_key(&name, key)
    })
}

/// The next requested key, not before `not_before`.
async fn next_requested(
    not_before: Instant,
    poll_requests: &mut mpsc::Receiver<LockKey>,
) -> Option<LockKey> {
    sleep_until(not_before).await;
    poll_requests.recv().await
}

/// Waits for a notification, not before `not_before`.
async fn wait_for_notification(not_before: Instant, group: &Group) {
    sleep_until(not_before).await;
    group.wait_for_change().await;
}

/// Waits until every node has replied or was found to be unreachable.
async fn wait_until_all_nodes_probed(group: &Group) {
    while group.node_views().iter().any(|node| node.since.is_none()) {
        sleep(FIRST_REPLY_CHECK_INTERVAL).await;
    }
}

/// The state of a node as far as it affects its locks. The start time reveals an outage between two
/// rounds.
type NodeCondition = (NodeState, Option<Timestamp>, bool, FeedLevel);

pub(super) struct Watcher {
    index: Index,
    group: Arc<Group>,
    /// The names under which locks were found.
    names: Arc<LockNames>,
    /// Changes when a prefix is excluded or no longer excluded.
    decisions: watch::Receiver<u64>,
    /// The last completed scan pass of each node.
    passes: BTreeMap<String, ScanCoverage>,
    /// How far the first pass over each node is.
    progress: BTreeMap<String, ScanProgress>,
    /// Keys that are not locks. The scan skips them for a while.
    non_locks: HashSet<LockKey>,
    non_locks_since: Instant,
    /// Keys that exist but are not locks.
    rejected: HashSet<LockKey>,
    /// Rejected keys that were written since.
    postponed: BTreeSet<LockKey>,
    last_polled_at: Option<Timestamp>,
    /// The indexed locks without notifications, as of the last round.
    polled_keys: BTreeSet<LockKey>,
    /// Recently removed locks, and until when they are polled.
    recently_removed: BTreeMap<LockKey, Instant>,
    /// New keys without a reply. The next round retries them.
    unanswered: BTreeSet<LockKey>,
    /// When each node last failed to reply to a poll.
    last_missed_at: BTreeMap<String, Timestamp>,
    /// Locks that were read during a change of owner.
    unsettled: HashMap<LockKey, UnsettledLock>,
    /// Whether later rounds can complete what a poll left open. False for a one-shot scan.
    is_long_running: bool,
    hot_keys: HotKeys,
    /// Locks that are still to be read after a discontinuity.
    resync: VecDeque<LockKey>,
    /// The last key read by the reconciliation.
    reconcile_cursor: Option<LockKey>,
    node_conditions: Vec<NodeCondition>,
    /// Whether a round has run since every node was probed. The first replies are shown without
    /// delay.
    has_polled_all_nodes: bool,
    last_round: Option<(Timestamp, Instant)>,
}

impl Watcher {
    pub(super) fn new(index: Index, group: Arc<Group>, names: Arc<LockNames>) -> Self {
        Self {
            index,
            group,
            decisions: names.prefixes().subscribe(),
            names,
            passes: BTreeMap::new(),
            progress: BTreeMap::new(),
            non_locks: HashSet::new(),
            non_locks_since: Instant::now(),
            rejected: HashSet::new(),
            postponed: BTreeSet::new(),
            last_polled_at: None,
            polled_keys: BTreeSet::new(),
            recently_removed: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            last_missed_at: BTreeMap::new(),
            unsettled: HashMap::new(),
            is_long_running: true,
            hot_keys: HotKeys::default(),
            resync: VecDeque::new(),
            reconcile_cursor: None,
            node_conditions: Vec::new(),
            has_polled_all_nodes: false,
            last_round: None,
        }
    }

    /// Runs the polls that are due every second and reports the group's health. Returns false when
    /// the observer has stopped.
    async fn poll_round(&mut self) -> bool {
        self.names.expire_found();
        if self.decisions.has_changed().unwrap_or(false) {
            self.decisions.mark_unchanged();
            // Locks that were read while their prefix was excluded count as other keys.
            self.rejected.clear();
            self.non_locks.clear();
        }
        let read_at = self.index.now();
        if self.detect_discontinuity(read_at) {
            self.resync_all();
        }
        let feed = self.group.feed_coverage();
        if feed.needs_prefixes() {
            self.learn_prefixes();
        }
        let mut keys = if feed.covers_everything() {
            self.polled_keys.clear();
            self.recently_removed.clear();
            self.next_to_reconcile()
        } else {
            self.keys_without_feed(&feed)
        };
        keys.extend(self.index.local_demand.keys_of(&self.group.config.name));
        keys.extend(self.next_postponed());
        keys.extend(self.hot_keys.remove_cooled(Instant::now()));
        // A key may be due for several reasons.
        keys.sort_unstable();
        keys.dedup();
        for keys in keys.chunks(MAX_KEYS_PER_POLL) {
            if !self.poll(keys).await {
                return false;
            }
        }
        self.retry_unanswered().await && self.report_group(read_at).await
    }

    /// The indexed locks without notifications, and recently removed ones.
    fn keys_without_feed(&mut self, feed: &GroupFeedCoverage) -> Vec<LockKey> {
        let name = &self.group.config.name;
        let mut polled_keys = self.index.snapshot().keys_of(name);
        polled_keys.retain(|key| feed.complete_since(key).is_none());
        let now = Instant::now();
        self.recently_removed.extend(
            self.polled_keys
                .difference(&polled_keys)
                .map(|key| (key.clone(), now + REMOVED_LOCK_POLL_TIME)),
        );
        self.recently_removed
            .retain(|key, until| *until > now && !polled_keys.contains(key));
        let keys = polled_keys
            .iter()
            .chain(self.recently_removed.keys())
            .cloned()
            .collect();
        self.polled_keys = polled_keys;
        keys
    }

    /// Compares node states and clock with the last round. Returns whether a node changed or the
    /// clock was stepped; all locks are read again then.
    fn detect_discontinuity(&mut self, now: Timestamp) -> bool {
        let condition = |node: &NodeView| {
            let is_hazard = node.hazard_until.is_some();
            (node.state, node.since, is_hazard, node.feed)
        };
        let node_conditions: Vec<NodeCondition> =
            self.group.node_views().iter().map(condition).collect();
        let changed = node_conditions != self.node_conditions;
        self.node_conditions = node_conditions;
        let before = self.last_round.replace((now, Instant::now()));
        let stepped = before.is_some_and(|(then, instant)| {
            let elapsed_ms = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
            let deviation = now.millis_since(then).saturating_sub(elapsed_ms);
            u128::from(deviation.unsigned_abs()) > CLOCK_STEP_THRESHOLD.as_millis()
        });
        changed || stepped
    }

    /// Reports the group's health and coverage. `read_at` is when its locks were read. Returns
    /// false when the observer has stopped.
    pub(super) async fn report_group(&mut self, read_at: Timestamp) -> bool {
        let nodes = self.group.node_views();
        if nodes.iter().any(|node| node.state == NodeState::Up) {
            self.last_polled_at = Some(read_at);
        }
        // A node that left the cluster no longer counts towards the coverage.
        let is_member = |name: &String| nodes.iter().any(|node| node.name == *name);
        self.passes.retain(|name, _| is_member(name));
        self.progress.retain(|name, _| is_member(name));
        let mut view = initial_group_view(&self.group);
        view.coverage = self.coverage();
        view.last_polled_at = self.last_polled_at;
        self.index
            .reports
            .send(Report::GroupStatus(Arc::new(view)))
            .await
            .is_ok()
    }

    /// Reads the locks for which a poll was requested.
    async fn poll_requested(
        &mut self,
        first: LockKey,
        poll_requests: &mut mpsc::Receiver<LockKey>,
    ) -> bool {
        let mut keys = BTreeSet::from([first]);
        // Requests that arrived since the last poll share one poll.
        while let Ok(key) = poll_requests.try_recv() {
            keys.insert(key);
        }
        let keys: Vec<LockKey> = keys.into_iter().collect();
        for key in &keys {
            // Without this, the access sensor would attribute the console's own commands to other
            // clients.
            self.group.record_own_access(key);
        }
        self.poll(&keys).await
    }
}
