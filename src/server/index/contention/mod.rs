//! Evidence of contention for each lock: from the sensors of the nodes and from this console's own
//! requests.

mod node_sensor;
mod rotation;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::local_demand::LocalDemand;
use crate::domain::reason::Reason;
use crate::domain::{Evidence, LockId, LockKey, SampledLock};
use crate::server::clock::MonotonicTime;
use crate::server::stores::redis::nodes::access_detection::{AccessCount, DetectionUnavailable};
use crate::server::stores::redis::nodes::waiters::WaiterCounts;
pub(super) use node_sensor::run_sensors;

/// How long the result of a `MONITOR` sample is reported.
const SAMPLE_TTL: Duration = Duration::from_mins(1);

/// Evidence of contention for all locks that have any.
#[derive(Debug)]
pub(super) struct Contention {
    local_demand: Arc<LocalDemand>,
    signals: Mutex<HashMap<LockId, LockSignals>>,
}

/// The signals of one lock.
#[derive(Debug, Default)]
struct LockSignals {
    /// By the node's index in the configuration.
    nodes: BTreeMap<usize, NodeSignals>,
    sample: Option<SampledAttempts>,
    /// A client accessed the lock and may have been blocking since. Blocked clients are reported
    /// until there are none.
    has_access_evidence: bool,
}

/// The signals of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct NodeSignals {
    accesses: AccessCount,
    waiters: WaiterCounts,
    unavailable: Option<DetectionUnavailable>,
}

#[derive(Debug)]
struct SampledAttempts {
    until: MonotonicTime,
    failed: u64,
    window: Duration,
}

impl NodeSignals {
    fn is_empty(&self) -> bool {
        self.accesses.contended_seconds == 0
            && self.waiters == WaiterCounts::default()
            && self.unavailable.is_none()
    }

    /// Whether the difference is not worth an update. A window that grows is reported with the next
    /// change.
    fn is_similar_to(&self, other: &Self) -> bool {
        // The window grows every second, and an update per second would carry no information.
        let window = self
            .accesses
            .observed_seconds
            .abs_diff(other.accesses.observed_seconds);
        self.accesses.contended_seconds == other.accesses.contended_seconds
            && (self.accesses.contended_seconds == 0 || window < 5)
            && self.waiters == other.waiters
            && self.unavailable == other.unavailable
    }
}

impl Contention {
    pub(super) fn new(local_demand: Arc<LocalDemand>) -> Self {
        Self {
            local_demand,
            signals: Mutex::default(),
        }
    }

    /// The evidence for this lock; also the reason why accesses cannot be detected, if that applies
    /// to every node that has the lock.
    pub(super) fn evidence_for(
        &self,
        id: &LockId,
        now: MonotonicTime,
    ) -> (Vec<Evidence>, Option<Reason>) {
        let mut signals = self.signals();
        let Some(signals) = signals.get_mut(id) else {
            return (self.local_demand.evidence(id, 0, now), None);
        };
        let max_of =
            |figure: fn(&NodeSignals) -> u64| signals.nodes.values().map(figure).max().unwrap_or(0);
        // A client that wants the lock contacts every node, so the counts of the nodes must not be
        // added up.
        let queue = max_of(|node| node.waiters.queue);
        let subscribers = max_of(|node| node.waiters.subscribers);
        let mut evidence = self.local_demand.evidence(id, queue, now);
        if subscribers > 0 {
            evidence.push(new_evidence("subscribers", subscribers, Duration::ZERO));
        }
        let access_counts = signals.nodes.values().map(|node| node.accesses);
        if let Some(accesses) = access_counts
            .max_by_key(|accesses| accesses.contended_seconds)
            .filter(|accesses| accesses.contended_seconds > 0)
        {
            let window = Duration::from_secs(accesses.observed_seconds.into());
            evidence.push(new_evidence(
                "idle-touch",
                accesses.contended_seconds.into(),
                window,
            ));
        }
        let blocked = max_of(|node| node.waiters.blocked);
        let has_access = evidence.iter().any(|item| item.kind == "idle-touch");
        // A blocked client alone is no evidence: workers also block on idle queues.
        signals.has_access_evidence = blocked > 0 && (signals.has_access_evidence || has_access);
        if signals.has_access_evidence {
            evidence.push(new_evidence("blocked", blocked, Duration::ZERO));
        }
        signals.sample.take_if(|sample| sample.until < now);
        if let Some(sample) = signals.sample.as_ref().filter(|sample| sample.failed > 0) {
            evidence.push(new_evidence("monitor-sample", sample.failed, sample.window));
        }
        let mut unavailable_reasons = signals.nodes.values().map(|node| node.unavailable);
        // One node that can detect accesses is sufficient.
        let unavailable = unavailable_reasons
            .next()
            .flatten()
            .filter(|_| unavailable_reasons.all(|unavailable| unavailable.is_some()));
        (evidence, unavailable.map(DetectionUnavailable::reason))
    }

    /// Records the failed attempts seen by a `MONITOR` sample.
    pub(super) fn record_sample(
        &self,
        group: &str,
        locks: &[SampledLock],
        window: Duration,
        now: MonotonicTime,
    ) {
        let mut signals = self.signals();
        for lock in locks.iter().filter(|lock| lock.failed > 0) {
            let id = LockId {
                group: group.to_owned(),
                key: lock.key.clone(),
            };
            signals.entry(id).or_default().sample = Some(SampledAttempts {
                until: now.plus(SAMPLE_TTL),
                failed: lock.failed,
                window,
            });
        }
    }

    /// Removes a lock that is gone.
    pub(super) fn remove(&self, id: &LockId) {
        self.signals().remove(id);
    }

    /// The locks of a group that other clients access or wait for.
    fn contended_keys(&self, group: &str) -> BTreeSet<LockKey> {
        let is_contended = |node: &NodeSignals| {
            node.accesses.contended_seconds > 0 || node.waiters != WaiterCounts::default()
        };
        self.signals()
            .iter()
            .filter(|(id, signals)| id.group == group && signals.nodes.values().any(is_contended))
            .map(|(id, _)| id.key.clone())
            .collect()
    }

    /// The previous signals of one node.
    fn node_signals(&self, group: &str, key: &LockKey, node_index: usize) -> NodeSignals {
        let id = LockId {
            group: group.to_owned(),
            key: key.clone(),
        };
        let signals = self.signals();
        let node = signals
            .get(&id)
            .and_then(|signals| signals.nodes.get(&node_index));
        node.copied().unwrap_or_default()
    }

    /// Updates the signals of one node. Returns whether the lock has to be published again.
    fn update_node(&self, group: &str, key: &LockKey, node_index: usize, now: NodeSignals) -> bool {
        let id = LockId {
            group: group.to_owned(),
            key: key.clone(),
        };
        let mut all = self.signals();
        let Some(signals) = all.get_mut(&id) else {
            if now.is_empty() {
                return false;
            }
            all.entry(id).or_default().nodes.insert(node_index, now);
            return true;
        };
        let before = signals.nodes.get(&node_index).copied().unwrap_or_default();
        let differs = !now.is_similar_to(&before);
        if now.is_empty() {
            signals.nodes.remove(&node_index);
            if signals.nodes.is_empty() && signals.sample.is_none() {
                all.remove(&id);
            }
        } else if differs {
            signals.nodes.insert(node_index, now);
        }
        differs
    }

    /// Clears the accesses seen on a node. Returns the locks that had any.
    fn clear_accesses(&self, group: &str, node_index: usize) -> Vec<LockKey> {
        let mut changed = Vec::new();
        for (id, signals) in self.signals().iter_mut() {
            if id.group == group
                && let Some(node) = signals.nodes.get_mut(&node_index)
                && (node.accesses.contended_seconds > 0 || node.unavailable.is_some())
            {
                node.accesses = AccessCount::default();
                node.unavailable = None;
                changed.push(id.key.clone());
            }
        }
        changed
    }

    fn signals(&self) -> MutexGuard<'_, HashMap<LockId, LockSignals>> {
        self.signals.lock()
    }
}

fn new_evidence(kind: &str, value: u64, window: Duration) -> Evidence {
    Evidence {
        kind: kind.to_owned(),
        value,
        window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_counts_are_not_summed_and_own_waiters_are_added() {
        let local_demand = Arc::new(LocalDemand::default());
        let contention = Contention::new(Arc::clone(&local_demand));
        let now = MonotonicTime::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let evidence_text = || {
            let (evidence, unavailable) = contention.evidence_for(&id, now);
            let parts = evidence.into_iter();
            let parts = parts.map(|one| format!("{} {} {}", one.kind, one.value, one.window_ms));
            (parts.collect::<Vec<_>>().join(", "), unavailable)
        };
        let of_node = |contended, queue| NodeSignals {
            accesses: AccessCount {
                contended_seconds: contended,
                observed_seconds: 60,
            },
            waiters: WaiterCounts {
                queue,
                subscribers: 1,
                blocked: 0,
            },
            unavailable: None,
        };
        assert!(contention.update_node("default", &id.key, 0, of_node(7, 2)));
        assert!(!contention.update_node("default", &id.key, 0, of_node(7, 2)));
        assert!(contention.update_node("default", &id.key, 1, of_node(6, 2)));
        local_demand.set_waiters(&id, 3, 0);
        let all = "queue 5 0, subscribers 1 0, idle-touch 7 60000";
        assert_eq!(evidence_text(), (all.to_owned(), None));
        let unavailable = NodeSignals {
            unavailable: Some(DetectionUnavailable::SharedInteger),
            ..NodeSignals::default()
        };
        contention.update_node("default", &id.key, 0, unavailable);
        assert!(
            evidence_text().1.is_none(),
            "one node can still detect accesses"
        );
        contention.update_node("default", &id.key, 1, unavailable);
        assert!(evidence_text().1.is_some());
        assert_eq!(
            contention.clear_accesses("default", 0),
            vec![id.key.clone()]
        );
        contention.remove(&id);
        assert_eq!(evidence_text().0, "queue 3 0");
    }

    #[test]
    fn blocked_clients_count_from_an_access_until_none_is_left() {
        let contention = Contention::new(Arc::default());
        let now = MonotonicTime::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let evidence_text = |contended, blocked| {
            let shown = NodeSignals {
                accesses: AccessCount {
                    contended_seconds: contended,
                    observed_seconds: 60,
                },
                waiters: WaiterCounts {
                    blocked,
                    ..WaiterCounts::default()
                },
                unavailable: None,
            };
            contention.update_node("default", &id.key, 0, shown);
            let evidence = contention.evidence_for(&id, now).0.into_iter();
            let parts = evidence.map(|one| format!("{} {}", one.kind, one.value));
            parts.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            evidence_text(0, 5),
            "",
            "clients blocked on an idle queue are not contention"
        );
        assert_eq!(evidence_text(1, 6), "idle-touch 1, blocked 6");
        assert_eq!(
            evidence_text(0, 6),
            "blocked 6",
            "a client that is still blocked"
        );
        assert_eq!(evidence_text(0, 0), "");
        assert_eq!(evidence_text(0, 5), "");
    }
}
