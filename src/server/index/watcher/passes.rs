//! What the scan finds: new names, and how much of each node was gone over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::Index;
use super::{KEYS_AT_ONCE, Watcher};
use crate::domain::{Coverage, LockKey, NodeAnswer};
use crate::server::nodes::{Group, Scanned};

/// Names that turned out to be no locks are not looked at again for this long.
const FORGET_REJECTED: Duration = Duration::from_secs(20);
/// Up to this many, rejected names are looked at in every pass: a lock that appears under such a name is seen at once.
const FEW_REJECTED: usize = 1_000;

impl Watcher {
    /// A watcher that looks once and does not stay.
    pub(in super::super) fn passing_by(index: Index, group: Arc<Group>) -> Self {
        Self {
            can_come_back: false,
            ..Self::new(index, group)
        }
    }

    /// Takes names for a survey, which has no next round to make up for what a node left unanswered in this one.
    pub(in super::super) async fn take_once(
        &mut self,
        first: Scanned,
        names: &mut mpsc::Receiver<Scanned>,
    ) {
        if !self.missed.is_empty() {
            self.passed_over.clear();
        }
        self.take(first, names).await;
    }

    /// Looks once more at the locks that nodes left unanswered which were gone over since.
    pub(in super::super) async fn look_at_unanswered(&mut self) {
        let gone_over: BTreeSet<&str> = self.gone_over().map(|(node, _)| node).collect();
        let name = &self.group.config.name;
        let was_missed =
            |node: &NodeAnswer| !node.answer.is_answer() && gone_over.contains(node.node.as_str());
        let index = self.index.snapshot();
        let missed = index
            .locks_of(name)
            .filter(|lock| lock.nodes.iter().any(was_missed));
        let keys: Vec<LockKey> = missed.map(|lock| lock.id.key.clone()).collect();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            self.look(keys).await;
        }
    }

    /// The nodes that a pass of the scan has gone over whole, and that have answered every look since it began.
    pub(in super::super) fn gone_over(&self) -> impl Iterator<Item = (&str, &Coverage)> {
        let holds = |(node, pass): &(&String, &Coverage)| {
            self.missed.get(*node).is_none_or(|missed_at| {
                pass.pass_started_at.is_some_and(|began| began > *missed_at)
            })
        };
        let passes = self.passes.iter().filter(holds);
        passes.map(|(node, pass)| (node.as_str(), pass))
    }

    /// Looks at names that a scan found, together with all others that wait.
    pub(in super::super) async fn take(
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
                    names_passed_over,
                    started_at,
                    took,
                    per_call,
                } => {
                    let before = self.passes.get(&node).map_or(0, |pass| pass.passes);
                    let coverage = Coverage {
                        patterns: Vec::new(),
                        passes: before.saturating_add(1),
                        keys_seen,
                        keys_matched,
                        names_passed_over,
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
        let index = self.index.snapshot();
        fresh.retain(|key| !index.has(group, key));
        let keys: Vec<LockKey> = fresh
            .into_iter()
            .filter(|key| !self.passed_over.contains(key))
            .collect();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            if !self.look(keys).await {
                return false;
            }
        }
        true
    }

    fn forget_rejected(&mut self) {
        if self.passed_over.len() <= FEW_REJECTED
            || self.passed_over_since.elapsed() > FORGET_REJECTED
        {
            self.passed_over.clear();
            self.passed_over_since = Instant::now();
        }
    }

    /// The last complete pass of all nodes together: keys add up, the oldest start and the longest pass count.
    pub(super) fn coverage(&self) -> Coverage {
        let passes = || self.passes.values();
        let calls: Vec<f64> = passes().filter_map(|pass| pass.call_ms).collect();
        Coverage {
            patterns: self.group.config.keys.clone(),
            keys_seen: passes().map(|pass| pass.keys_seen).sum(),
            keys_matched: passes().map(|pass| pass.keys_matched).sum(),
            names_passed_over: passes().map(|pass| pass.names_passed_over).sum(),
            pass_started_at: passes().filter_map(|pass| pass.pass_started_at).min(),
            pass_ms: passes().filter_map(|pass| pass.pass_ms).max(),
            call_ms: (!calls.is_empty()).then(|| calls.iter().sum::<f64>() / calls.len() as f64),
            passes: passes().map(|pass| pass.passes).min().unwrap_or(0),
            nodes_reached: u32::try_from(self.passes.len()).unwrap_or(u32::MAX),
        }
    }
}
