//! Processes the results of the scan: new keys, and the coverage of each node.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::Index;
use super::{MAX_KEYS_PER_POLL, Watcher};
use crate::domain::{LockKey, NodeObservation, ScanCoverage, ScanProgress};
use crate::server::stores::Group;
use crate::server::stores::scan::{ScanEvent, scanned_patterns};

/// How long keys that are not locks are skipped.
const REJECTED_TTL: Duration = Duration::from_secs(20);
/// Up to this many non-lock keys are read again in every pass, so that a lock created under such a
/// key is found without delay.
const MAX_RECHECKED_REJECTED: usize = 1_000;

impl Watcher {
    /// A watcher for a one-shot scan.
    pub(in super::super) fn one_shot(index: Index, group: Arc<Group>) -> Self {
        Self {
            is_long_running: false,
            ..Self::new(index, group, Arc::default())
        }
    }

    /// Processes keys of a one-shot scan. It has no later round to retry keys that a node left
    /// unanswered.
    pub(in super::super) async fn process_scan_once(
        &mut self,
        first: ScanEvent,
        scan_events: &mut mpsc::Receiver<ScanEvent>,
    ) {
        // A key may count as a non-lock only because a node did not reply.
        if !self.last_missed_at.is_empty() {
            self.non_locks.clear();
        }
        self.process_scan(first, scan_events).await;
    }

    /// Reads again the locks that a node left unanswered before it was scanned completely.
    pub(in super::super) async fn poll_missed_locks(&mut self) {
        let scanned_nodes: BTreeSet<&str> = self.scanned_nodes().map(|(node, _)| node).collect();
        let name = &self.group.config.name;
        let was_missed = |node: &NodeObservation| {
            !node.observation.is_reachable() && scanned_nodes.contains(node.node.as_str())
        };
        let index = self.index.snapshot();
        let missed = index
            .locks_of(name)
            .filter(|lock| lock.nodes.iter().any(was_missed));
        let keys: Vec<LockKey> = missed.map(|lock| lock.id.key.clone()).collect();
        for keys in keys.chunks(MAX_KEYS_PER_POLL) {
            self.poll(keys).await;
        }
    }

    /// The nodes with a completed pass that have replied to every poll since the pass began.
    pub(in super::super) fn scanned_nodes(&self) -> impl Iterator<Item = (&str, &ScanCoverage)> {
        let is_complete = |(node, pass): &(&String, &ScanCoverage)| {
            self.last_missed_at.get(*node).is_none_or(|missed_at| {
                pass.pass_started_at.is_some_and(|began| began > *missed_at)
            })
        };
        let passes = self.passes.iter().filter(is_complete);
        passes.map(|(node, pass)| (node.as_str(), pass))
    }

    /// Reads the keys found by the scan, in one batch with others that are waiting.
    pub(in super::super) async fn process_scan(
        &mut self,
        first: ScanEvent,
        scan_events: &mut mpsc::Receiver<ScanEvent>,
    ) -> bool {
        let mut new_keys = BTreeSet::new();
        let mut next = Some(first);
        while let Some(scanned) = next {
            match scanned {
                ScanEvent::Names(keys) => new_keys.extend(keys),
                ScanEvent::PassProgress { node, progress } => {
                    // Only the first pass over a node is shown with its progress.
                    if !self.passes.contains_key(&node) {
                        self.progress.insert(node, progress);
                    }
                }
                ScanEvent::PassCompleted {
                    node,
                    considers_every_key,
                    keys_seen,
                    keys_matched,
                    names_skipped,
                    started_at,
                    duration,
                    mean_call_duration,
                } => {
                    let before = self.passes.get(&node).map_or(0, |pass| pass.passes);
                    let coverage = ScanCoverage {
                        patterns: scanned_patterns(&self.group.config, considers_every_key),
                        passes: before.saturating_add(1),
                        keys_seen,
                        keys_matched,
                        keys_skipped: names_skipped,
                        progress: None,
                        pass_started_at: Some(started_at),
                        pass_ms: Some(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
                        call_ms: Some(mean_call_duration.as_secs_f64() * 1000.0),
                        nodes_reached: 1,
                    };
                    self.progress.remove(&node);
                    self.passes.insert(node, coverage);
                    self.expire_non_locks();
                }
            }
            next = if new_keys.len() < MAX_KEYS_PER_POLL {
                scan_events.try_recv().ok()
            } else {
                None
            };
        }
        let group = &self.group.config.name;
        let index = self.index.snapshot();
        // Indexed locks are polled or notified. The scan only adds new ones.
        new_keys.retain(|key| !index.contains_key(group, key));
        let keys: Vec<LockKey> = new_keys
            .into_iter()
            .filter(|key| !self.non_locks.contains(key))
            .collect();
        self.names.record_found(&keys);
        for keys in keys.chunks(MAX_KEYS_PER_POLL) {
            if !self.poll(keys).await {
                return false;
            }
        }
        true
    }

    fn expire_non_locks(&mut self) {
        if self.non_locks.len() <= MAX_RECHECKED_REJECTED
            || self.non_locks_since.elapsed() > REJECTED_TTL
        {
            self.non_locks.clear();
            self.non_locks_since = Instant::now();
        }
    }

    /// How far the first pass is, on the nodes that have not completed it.
    fn progress(&self) -> Option<ScanProgress> {
        let each = || self.progress.values();
        (!self.progress.is_empty()).then(|| ScanProgress {
            keys_considered: each().map(|progress| progress.keys_considered).sum(),
            keys_total: each().map(|progress| progress.keys_total).sum(),
        })
    }

    /// The patterns that were scanned for on every node.
    fn scanned_patterns(&self) -> Vec<String> {
        let config = &self.group.config;
        let every_key = scanned_patterns(config, true);
        let is_every_key = self.passes.values().all(|pass| pass.patterns == every_key);
        scanned_patterns(config, config.considers_every_key() && is_every_key)
    }

    /// The last completed pass of all nodes: keys are summed; the oldest start and the longest
    /// duration count.
    pub(super) fn coverage(&self) -> ScanCoverage {
        let passes = || self.passes.values();
        let calls: Vec<f64> = passes().filter_map(|pass| pass.call_ms).collect();
        ScanCoverage {
            patterns: self.scanned_patterns(),
            keys_seen: passes().map(|pass| pass.keys_seen).sum(),
            keys_matched: passes().map(|pass| pass.keys_matched).sum(),
            keys_skipped: passes().map(|pass| pass.keys_skipped).sum(),
            progress: self.progress(),
            pass_started_at: passes().filter_map(|pass| pass.pass_started_at).min(),
            pass_ms: passes().filter_map(|pass| pass.pass_ms).max(),
            call_ms: (!calls.is_empty()).then(|| calls.iter().sum::<f64>() / calls.len() as f64),
            // A pass over the group is complete when the slowest node has completed it.
            passes: passes().map(|pass| pass.passes).min().unwrap_or(0),
            nodes_reached: u32::try_from(self.passes.len()).unwrap_or(u32::MAX),
        }
    }
}
