//! Watches one group: looks at its known locks every second and at new names as the scan finds them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::merge::{Entry, merge};
use super::observer::Report;
use super::{Index, view_of};
use crate::domain::quorum::{Judgement, judge};
use crate::domain::{Answer, Coverage, LockKey, Timestamp, Verdict};
use crate::server::nodes::{Group, Look, Scanned};

/// How often known locks are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// The pause between two looks at locks that were acted on: however many acts there are, looking costs the nodes little.
const BETWEEN_ACTED: Duration = Duration::from_millis(100);
/// Keys per look: bounds memory and the time that one report holds the observer.
const KEYS_AT_ONCE: usize = 2_000;
/// A lock caught in the middle of a change of owners is looked at once more after this time before it is called split or partial.
const SETTLE: Duration = Duration::from_millis(60);
/// Names that turned out to be no locks are not looked at again for this long.
const FORGET_REJECTED: Duration = Duration::from_secs(20);
/// A lock that went away is looked at for this much longer: busy locks come back between two passes of the scan.
const AFTERLOOK: Duration = Duration::from_secs(10);
/// Up to this many, rejected names are looked at in every pass: a lock that appears under such a name is seen at once.
const FEW_REJECTED: usize = 1_000;

/// Watches one group until `stop` is cancelled.
pub(super) async fn watch(
    index: Index,
    group: Arc<Group>,
    mut acted: mpsc::Receiver<LockKey>,
    stop: CancellationToken,
) {
    let (found, mut names) = mpsc::channel(64);
    let scanning = tokio::spawn(Arc::clone(&group).scan(found, stop.clone()));
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watcher = Watcher::new(index, group);
    let mut rested = Instant::now();
    loop {
        let going_on = tokio::select! {
            () = stop.cancelled() => false,
            _ = tick.tick() => watcher.round().await,
            Some(key) = next_after(rested, &mut acted) => {
                rested = Instant::now() + BETWEEN_ACTED;
                watcher.look_at_acted(key, &mut acted).await
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
    tokio::time::sleep_until(rested).await;
    acted.recv().await
}

pub(super) struct Watcher {
    index: Index,
    group: Arc<Group>,
    /// The last complete pass of each node.
    passes: BTreeMap<String, Coverage>,
    rejected: HashSet<LockKey>,
    rejected_since: Instant,
    looked_at: Option<Timestamp>,
    /// The locks that were on the board in the last round.
    known: BTreeSet<LockKey>,
    /// Locks that went away lately, and when to stop looking for them.
    lately: BTreeMap<LockKey, Instant>,
    /// When a node last left a look unanswered.
    missed: BTreeMap<String, Timestamp>,
}

impl Watcher {
    pub(super) fn new(index: Index, group: Arc<Group>) -> Self {
        Self {
            index,
            group,
            passes: BTreeMap::new(),
            rejected: HashSet::new(),
            rejected_since: Instant::now(),
            looked_at: None,
            known: BTreeSet::new(),
            lately: BTreeMap::new(),
            missed: BTreeMap::new(),
        }
    }

    /// Takes names for a survey, which has no next round to make up for what a node left unanswered in this one.
    pub(super) async fn take_once(&mut self, first: Scanned, names: &mut mpsc::Receiver<Scanned>) {
        if !self.missed.is_empty() {
            self.rejected.clear();
        }
        self.take(first, names).await;
    }

    /// Looks once more at the locks that nodes left unanswered which were gone over since.
    pub(super) async fn look_at_unanswered(&mut self) {
        let gone_over: BTreeSet<&str> = self.gone_over().map(|(node, _)| node).collect();
        let name = &self.group.config.name;
        let keys = self
            .index
            .stream
            .read(|board| super::known::unanswered(board, name, |node| gone_over.contains(node)));
        for keys in keys.chunks(KEYS_AT_ONCE) {
            self.look(keys).await;
        }
    }

    /// The nodes that a pass of the scan has gone over whole, and that have answered every look since it began.
    pub(super) fn gone_over(&self) -> impl Iterator<Item = (&str, &Coverage)> {
        let holds = |(node, pass): &(&String, &Coverage)| {
            self.missed.get(*node).is_none_or(|missed_at| {
                pass.pass_started_at.is_some_and(|began| began > *missed_at)
            })
        };
        let passes = self.passes.iter().filter(holds);
        passes.map(|(node, pass)| (node.as_str(), pass))
    }

    /// Looks at every known lock and reports the group's health. False when nobody listens any more.
    async fn round(&mut self) -> bool {
        let name = self.group.config.name.clone();
        let known: BTreeSet<LockKey> = self
            .index
            .stream
            .read(|board| super::known::keys_of(board, &name));
        let now = Instant::now();
        self.lately.extend(
            self.known
                .difference(&known)
                .map(|key| (key.clone(), now + AFTERLOOK)),
        );
        self.lately
            .retain(|key, until| *until > now && !known.contains(key));
        let keys: Vec<LockKey> = known.iter().chain(self.lately.keys()).cloned().collect();
        self.known = known;
        let asked_at = self.index.now();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            if !self.look(keys).await {
                return false;
            }
        }
        self.tell_group(asked_at).await
    }

    /// Reports the group's health and coverage; `asked_at` is when its locks were looked at. False when nobody listens.
    pub(super) async fn tell_group(&mut self, asked_at: Timestamp) -> bool {
        if self
            .group
            .nodes()
            .iter()
            .any(|node| node.state == crate::domain::NodeState::Up)
        {
            self.looked_at = Some(asked_at);
        }
        let mut view = view_of(&self.group);
        view.coverage = self.coverage();
        view.looked_at = self.looked_at;
        self.index
            .reports
            .send(Report::Group(Box::new(view)))
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
        self.look(&keys).await
    }

    /// Looks at names that a scan found, together with all others that wait.
    pub(super) async fn take(
        &mut self,
        first: Scanned,
        names: &mut mpsc::Receiver<Scanned>,
    ) -> bool {
        let mut fresh = BTreeSet::new();
        let mut next = Some(first);
        while let Some(scanned) = next {
            match scanned {
                Scanned::Names(keys) => fresh.extend(keys),
                Scanned::Pass {
                    node,
                    keys_seen,
                    keys_matched,
                    started_at,
                    took,
                    per_call,
                } => {
                    let coverage = Coverage {
                        patterns: Vec::new(),
                        keys_seen,
                        keys_matched,
                        pass_started_at: Some(started_at),
                        pass_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
                        call_ms: Some(per_call.as_secs_f64() * 1000.0),
                        nodes_reached: 1,
                    };
                    self.passes.insert(node, coverage);
                    self.forget_rejected();
                }
            }
            next = if fresh.len() < KEYS_AT_ONCE {
                names.try_recv().ok()
            } else {
                None
            };
        }
        let group = &self.group.config.name;
        self.index
            .stream
            .read(|board| super::known::retain_unknown(board, group, &mut fresh));
        let keys: Vec<LockKey> = fresh
            .into_iter()
            .filter(|key| !self.rejected.contains(key))
            .collect();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            if !self.look(keys).await {
                return false;
            }
        }
        true
    }

    /// Asks all nodes about some keys and reports what they say. What looks like the middle of a change is asked again.
    async fn look(&mut self, keys: &[LockKey]) -> bool {
        let explicit = self.group.config.keys_are_explicit;
        let look = self.group.look(keys).await;
        self.note_missed(&look);
        let (mut asked_at, nodes_seen) = (
            look.asked_at,
            look.nodes.iter().any(|node| node.seen.is_ok()),
        );
        let mut entries = merge(look, keys, explicit);
        let unsettled: Vec<LockKey> = entries
            .iter()
            .filter(|entry| self.is_unsettled(entry))
            .map(|entry| entry.key.clone())
            .collect();
        if !unsettled.is_empty() {
            let settled: Vec<Entry> = entries
                .into_iter()
                .filter(|entry| !unsettled.contains(&entry.key))
                .collect();
            if !self.report(asked_at, settled).await {
                return false;
            }
            sleep(SETTLE).await;
            let again = self.group.look(&unsettled).await;
            self.note_missed(&again);
            asked_at = again.asked_at;
            entries = merge(again, &unsettled, explicit);
        }
        if nodes_seen {
            let refused = entries
                .iter()
                .filter(|entry| entry.told.is_none())
                .map(|entry| entry.key.clone());
            self.rejected.extend(refused);
        }
        self.report(asked_at, entries).await
    }

    fn note_missed(&mut self, look: &Look) {
        let now = self.index.now();
        let missed = look.nodes.iter().filter(|node| node.seen.is_err());
        self.missed
            .extend(missed.map(|node| (node.node.clone(), now)));
    }

    async fn report(&self, asked_at: Timestamp, entries: Vec<Entry>) -> bool {
        let report = Report::Looked {
            group: self.group.config.name.clone(),
            asked_at,
            entries,
            reply: None,
        };
        self.index.reports.send(report).await.is_ok()
    }

    /// Newly split or partial: the nodes may have been asked between two steps of one acquire or release.
    fn is_unsettled(&self, entry: &Entry) -> bool {
        let answers: Vec<&Answer> = entry.nodes.iter().map(|node| &node.answer).collect();
        match judge(&answers) {
            Judgement::Seen(seen) => match seen.verdict {
                Verdict::Split | Verdict::Partial => {
                    let id = crate::domain::LockId {
                        group: self.group.config.name.clone(),
                        key: entry.key.clone(),
                    };
                    let before = self
                        .index
                        .stream
                        .read(|board| board.locks.get(&id).map(|lock| lock.verdict));
                    before != Some(seen.verdict)
                }
                Verdict::Held => seen.is_split,
                Verdict::Unknown => false,
            },
            Judgement::NotObserved | Judgement::CannotTell => false,
        }
    }

    fn forget_rejected(&mut self) {
        if self.rejected.len() <= FEW_REJECTED || self.rejected_since.elapsed() > FORGET_REJECTED {
            self.rejected.clear();
            self.rejected_since = Instant::now();
        }
    }

    /// The last complete pass of all nodes together: keys add up, the oldest start and the longest pass count.
    fn coverage(&self) -> Coverage {
        let passes = || self.passes.values();
        let calls: Vec<f64> = passes().filter_map(|pass| pass.call_ms).collect();
        Coverage {
            patterns: self.group.config.keys.clone(),
            keys_seen: passes().map(|pass| pass.keys_seen).sum(),
            keys_matched: passes().map(|pass| pass.keys_matched).sum(),
            pass_started_at: passes().filter_map(|pass| pass.pass_started_at).min(),
            pass_ms: passes().filter_map(|pass| pass.pass_ms).max(),
            call_ms: (!calls.is_empty()).then(|| calls.iter().sum::<f64>() / calls.len() as f64),
            nodes_reached: u32::try_from(self.passes.len()).unwrap_or(u32::MAX),
        }
    }
}
