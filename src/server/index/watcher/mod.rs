//! Watches one group: looks at what its nodes tell, at what is due, at new names as the scan finds them, and every second
//! at what no node tells of.

mod heat;
mod looking;
mod passes;
mod told;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::report::Report;
use super::{Index, view_of};
use crate::domain::{Coverage, FeedLevel, LockKey, NodeState, NodeView, Timestamp};
use crate::server::nodes::Group;
use heat::Heat;
use looking::Unsettled;

/// How often locks are looked at of which no node tells.
const EVERY: Duration = Duration::from_secs(1);
/// Where nodes tell of every change, everything is looked at once in so many seconds all the same.
const RECONCILED_IN: usize = 60;
/// The pause between two looks at locks that were acted on: however many acts there are, looking costs the nodes little.
const BETWEEN_ACTED: Duration = Duration::from_millis(100);
/// The same between looks at what nodes told. After a quiet moment there is none.
const BETWEEN_TOLD: Duration = Duration::from_millis(9);
/// How often it is asked whether every node has been asked.
const BETWEEN_MEETINGS: Duration = Duration::from_millis(20);
/// Keys per look: bounds memory and the time that one report holds the observer.
const KEYS_AT_ONCE: usize = 2_000;
/// A lock that went away is looked at for this much longer: busy locks come back between two passes of the scan.
const AFTERLOOK: Duration = Duration::from_secs(10);
/// Our own clock does not jump like this by itself.
const CLOCK_STEP: Duration = Duration::from_secs(1);

/// Watches one group until `stop` is cancelled.
pub(super) async fn watch(
    index: Index,
    group: Arc<Group>,
    mut acted: mpsc::Receiver<LockKey>,
    stop: CancellationToken,
) {
    group.feed(stop.clone());
    let (found, mut names) = mpsc::channel(64);
    let scanning = tokio::spawn(Arc::clone(&group).scan(found, stop.clone()));
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let seat = index.seats.of(&group.config.name);
    let due = seat.map(|seat| seat.due).unwrap_or_default();
    let clock = group.clock().clone();
    let mut watcher = Watcher::new(index, Arc::clone(&group));
    let mut rested = [Instant::now(); 2];
    loop {
        let going_on = tokio::select! {
            () = stop.cancelled() => false,
            _ = tick.tick() => watcher.round().await,
            () = asked_every_node(&group), if !watcher.has_met_nodes => {
                watcher.has_met_nodes = true;
                watcher.round().await
            }
            Some(key) = next_after(rested[0], &mut acted) => {
                let going_on = watcher.look_at_acted(key, &mut acted).await;
                rested[0] = Instant::now() + BETWEEN_ACTED;
                going_on
            }
            () = told_after(rested[1], &group) => {
                let going_on = watcher.look_at_told().await;
                rested[1] = Instant::now() + BETWEEN_TOLD;
                going_on
            }
            keys = due.next(&clock, KEYS_AT_ONCE) => watcher.look(&keys).await,
            () = sleep_until(watcher.wakes_at()), if watcher.has_unsettled() => {
                watcher.look_at_unsettled().await
            }
            () = sleep_until(watcher.samples_at()), if watcher.has_samples() => {
                watcher.look_at_samples().await
            }
            () = std::future::ready(()), if watcher.has_to_resync() => {
                watcher.look_at_more().await
            }
            Some(scanned) = names.recv() => watcher.take(scanned, &mut names).await,
        };
        if !going_on {
            break;
        }
    }
    scanning.abort();
}

/// The next key, but not before `rested`.
async fn next_after(rested: Instant, acted: &mut mpsc::Receiver<LockKey>) -> Option<LockKey> {
    sleep_until(rested).await;
    acted.recv().await
}

/// Waits until a node told something, but not before `rested`.
async fn told_after(rested: Instant, group: &Group) {
    sleep_until(rested).await;
    group.inbox().rung().await;
}

/// Waits until every node answered or was found to be out of reach.
async fn asked_every_node(group: &Group) {
    while group.nodes().iter().any(|node| node.since.is_none()) {
        sleep(BETWEEN_MEETINGS).await;
    }
}

/// How a node is and since when, as far as it changes what is shown of its locks: it may have been away between two rounds.
type NodeFace = (NodeState, Option<Timestamp>, bool, FeedLevel);

pub(super) struct Watcher {
    index: Index,
    group: Arc<Group>,
    /// The last complete pass of each node.
    passes: BTreeMap<String, Coverage>,
    /// Names under which a look showed no lock: the scan may pass them over for a while.
    passed_over: HashSet<LockKey>,
    passed_over_since: Instant,
    /// Names under which there is something else than a lock.
    rejected: HashSet<LockKey>,
    /// Those of them that were written since.
    postponed: BTreeSet<LockKey>,
    looked_at: Option<Timestamp>,
    /// The locks that were on the board in the last round and that no node tells of.
    known: BTreeSet<LockKey>,
    /// Locks that went away lately, and when to stop looking for them.
    lately: BTreeMap<LockKey, Instant>,
    /// New names that went unanswered: the next round asks again.
    unanswered: BTreeSet<LockKey>,
    /// When a node last left a look unanswered.
    missed: BTreeMap<String, Timestamp>,
    /// Locks that were caught in the middle of a change.
    unsettled: HashMap<LockKey, Unsettled>,
    /// Whether a look may be taken up again later.
    can_come_back: bool,
    heat: Heat,
    /// What is still to be looked at because anything may have happened to it.
    resync: VecDeque<LockKey>,
    /// Where the slow round over everything stands.
    reconciled: Option<LockKey>,
    faces: Vec<NodeFace>,
    /// Whether there was a round since every node has been asked: what they say first is shown at once.
    has_met_nodes: bool,
    last_round: Option<(Timestamp, Instant)>,
}

impl Watcher {
    pub(super) fn new(index: Index, group: Arc<Group>) -> Self {
        Self {
            index,
            group,
            passes: BTreeMap::new(),
            passed_over: HashSet::new(),
            passed_over_since: Instant::now(),
            rejected: HashSet::new(),
            postponed: BTreeSet::new(),
            looked_at: None,
            known: BTreeSet::new(),
            lately: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            missed: BTreeMap::new(),
            unsettled: HashMap::new(),
            can_come_back: true,
            heat: Heat::default(),
            resync: VecDeque::new(),
            reconciled: None,
            faces: Vec::new(),
            has_met_nodes: false,
            last_round: None,
        }
    }

    /// Looks at what has to be looked at every second, and reports the group's health. False when nobody listens any more.
    async fn round(&mut self) -> bool {
        let asked_at = self.index.now();
        if self.is_another_world(asked_at) {
            self.resync_everything();
        }
        let fed = self.group.fed();
        let mut keys = if fed.is_everything() {
            self.known.clear();
            self.lately.clear();
            self.next_to_reconcile()
        } else {
            if fed.is_learning() {
                self.teach();
            }
            self.untold(&fed)
        };
        keys.extend(self.index.wants.wanted(&self.group.config.name));
        keys.extend(self.next_postponed());
        keys.extend(self.heat.cool());
        keys.sort_unstable();
        keys.dedup();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            if !self.look(keys).await {
                return false;
            }
        }
        self.look_at_unanswered_names().await && self.tell_group(asked_at).await
    }

    /// The known locks of which no node tells, and those that went away lately.
    fn untold(&mut self, fed: &crate::server::nodes::Fed) -> Vec<LockKey> {
        let name = &self.group.config.name;
        let mut known = self.index.snapshot().keys_of(name);
        known.retain(|key| fed.since(key).is_none());
        let now = Instant::now();
        self.lately.extend(
            self.known
                .difference(&known)
                .map(|key| (key.clone(), now + AFTERLOOK)),
        );
        self.lately
            .retain(|key, until| *until > now && !known.contains(key));
        let keys = known.iter().chain(self.lately.keys()).cloned().collect();
        self.known = known;
        keys
    }

    /// Whether a node or a clock is not what it was a round ago.
    fn is_another_world(&mut self, now: Timestamp) -> bool {
        let face = |node: &NodeView| {
            let is_hazard = node.hazard_until.is_some();
            (node.state, node.since, is_hazard, node.feed)
        };
        let faces: Vec<NodeFace> = self.group.nodes().iter().map(face).collect();
        let changed = faces != self.faces;
        self.faces = faces;
        let before = self.last_round.replace((now, Instant::now()));
        let stepped = before.is_some_and(|(then, instant)| {
            let ours = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
            let off = now.millis_since(then).saturating_sub(ours);
            u128::from(off.unsigned_abs()) > CLOCK_STEP.as_millis()
        });
        changed || stepped
    }

    /// Reports the group's health and coverage; `asked_at` is when its locks were looked at. False when nobody listens.
    pub(super) async fn tell_group(&mut self, asked_at: Timestamp) -> bool {
        let nodes = self.group.nodes();
        if nodes.iter().any(|node| node.state == NodeState::Up) {
            self.looked_at = Some(asked_at);
        }
        // Nodes of a cluster that serve nothing any more have nothing to be counted.
        self.passes
            .retain(|name, _| nodes.iter().any(|node| node.name == *name));
        let mut view = view_of(&self.group);
        view.coverage = self.coverage();
        view.looked_at = self.looked_at;
        self.index
            .reports
            .send(Report::Group(Arc::new(view)))
            .await
            .is_ok()
    }

    /// Looks at the locks that something was done to.
    async fn look_at_acted(&mut self, first: LockKey, acted: &mut mpsc::Receiver<LockKey>) -> bool {
        let mut keys = BTreeSet::from([first]);
        while let Ok(key) = acted.try_recv() {
            keys.insert(key);
        }
        let keys: Vec<LockKey> = keys.into_iter().collect();
        for key in &keys {
            self.group.touched_by_us(key);
        }
        self.look(&keys).await
    }
}
