//! Merges what the nodes show for each key into one observation per key. No I/O.

use std::time::Duration;

use super::history::HoldExpectation;
use super::holders::LeasesByOwner;
use crate::domain::reason::Reason;
use crate::domain::{
    Confidence, Evidence, Fingerprint, Format, LockKey, Mode, NodeObservation, Observation,
    Timestamp,
};
use crate::server::stores::{DetectedLock, KeyReading, LockReading};

/// One key of a poll: the reply of each configured node and what the format recognition found.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyObservation {
    /// The key.
    pub key: LockKey,
    /// The reply of each configured node, in the order of the configuration.
    pub nodes: Vec<NodeObservation>,
    /// What the format says beyond the owner; `None` if no node shows a lock.
    pub format_info: Option<FormatInfo>,
    /// Whether a node that shows the lock restarted recently and may have lost another lock.
    pub restart_hazard: bool,
    /// Evidence of contention from the nodes. The observer adds evidence from other sources.
    pub evidence: Vec<Evidence>,
    /// Why accesses to this key cannot be detected. Filled in by the observer.
    pub contention_unavailable_reason: Option<Reason>,
    /// How far from the time of the poll a node may have read the key. Its deadline may be wrong by
    /// as much.
    pub read_uncertainty: Duration,
    /// The leases that the value gives to each owner, if the format stores them.
    pub(super) leases_by_owner: LeasesByOwner,
    /// Notifications for this key. Filled in by the watcher.
    pub feed: FeedActivity,
    /// The expected duration of a hold, based on earlier holds. Filled in by the observer.
    pub(super) expectation: Option<HoldExpectation>,
    /// The owner whose lease this console renewed, and how often. Filled in by the observer.
    pub local_renewals: Option<(Fingerprint, u32)>,
}

/// What change notifications say about a key since the last poll.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeedActivity {
    /// Since when the nodes have reported every change of the key; `None` if the key is only
    /// polled.
    pub complete_since: Option<Timestamp>,
    /// Writes that a quorum of the nodes reported since the last poll.
    pub writes: u32,
    /// Changes of owner per minute, for keys that change too often to read after every write.
    pub ownership_changes_per_minute: Option<f64>,
}

/// What a format says beyond the owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormatInfo {
    /// The library whose layout the value has.
    pub format: Format,
    /// How certain the recognition is.
    pub confidence: Confidence,
    /// Exclusive or shared.
    pub mode: Mode,
    /// When the owner claims to have acquired the lock.
    pub claimed_at: Option<Timestamp>,
    /// Whether several such locks together can identify a Spring lock registry.
    pub may_belong_to_registry: bool,
}

impl KeyObservation {
    /// Sets the format, where other locks show that it differs from what this key alone suggests.
    pub(super) fn set_format(&mut self, format: Format) {
        if let Some(info) = &mut self.format_info {
            info.format = format;
        }
        for node in &mut self.nodes {
            let owners = node.observation.owners_mut();
            owners.for_each(|owner| owner.format = format);
        }
    }
}

/// Turns a poll of `keys` into one observation per key, in order.
pub fn merge(reading: LockReading, keys: &[LockKey]) -> Vec<KeyObservation> {
    let mut observations: Vec<KeyObservation> = keys
        .iter()
        .map(|key| KeyObservation {
            key: key.clone(),
            nodes: Vec::with_capacity(reading.nodes.len()),
            format_info: None,
            restart_hazard: false,
            evidence: Vec::new(),
            contention_unavailable_reason: None,
            read_uncertainty: Duration::ZERO,
            leases_by_owner: LeasesByOwner::new(),
            feed: FeedActivity::default(),
            expectation: None,
            local_renewals: None,
        })
        .collect();
    for node in reading.nodes {
        let indexes = node.resolved_key_indexes(keys.len());
        match node.result {
            Ok(key_readings) => {
                for (index, key_reading) in indexes.into_iter().zip(key_readings) {
                    let Some(observation) = observations.get_mut(index) else {
                        continue;
                    };
                    observation.read_uncertainty =
                        observation.read_uncertainty.max(node.read_uncertainty);
                    let recognised = match key_reading {
                        KeyReading::Lock(lock) => Some(lock),
                        KeyReading::Absent | KeyReading::NotALock => None,
                    };
                    if let Some(info) = recognised.as_ref().map(format_info) {
                        // Nodes may disagree while the owner changes. The lock is shown with the
                        // format of the first reply.
                        observation.format_info.get_or_insert(info);
                        observation.restart_hazard |= node.is_restart_hazard;
                    }
                    // Collected from every node: the lease of an owner is the one until which a
                    // quorum shows it.
                    for owner in recognised.iter().flat_map(|lock| &lock.owners) {
                        if let Some(lease) = owner.lease {
                            let leases = observation.leases_by_owner.entry(owner.owner.fingerprint);
                            leases.or_default().push(lease);
                        }
                    }
                    let waiting = recognised.as_ref().and_then(|lock| lock.waiter_count);
                    add_queue_evidence(&mut observation.evidence, waiting.unwrap_or(0));
                    observation.nodes.push(NodeObservation {
                        node: node.node.clone(),
                        observation: to_observation(recognised),
                    });
                }
            }
            Err(error) => {
                for index in indexes {
                    let Some(observation) = observations.get_mut(index) else {
                        continue;
                    };
                    let unreachable = Observation::Unreachable {
                        reason: error.reason().clone(),
                    };
                    observation.nodes.push(NodeObservation {
                        node: node.node.clone(),
                        observation: unreachable,
                    });
                }
            }
        }
    }
    observations
}

fn format_info(recognised: &DetectedLock) -> FormatInfo {
    FormatInfo {
        format: recognised.format,
        confidence: recognised.confidence,
        mode: recognised.mode,
        claimed_at: recognised.claimed_at,
        may_belong_to_registry: recognised.may_be_registry_lock,
    }
}

/// A key that exists but is not a lock counts as absent.
fn to_observation(recognised: Option<DetectedLock>) -> Observation {
    match recognised {
        Some(DetectedLock { owners, lease, .. }) => {
            let mut owners = owners.into_iter().map(|recognised| recognised.owner);
            match owners.next() {
                Some(owner) => Observation::Holds {
                    owner,
                    lease,
                    others: owners.collect(),
                },
                None => Observation::Absent,
            }
        }
        None => Observation::Absent,
    }
}

/// Records the wait queue of a node. The same clients may wait on every node, so the longest queue
/// counts.
fn add_queue_evidence(evidence: &mut Vec<Evidence>, waiting: u32) {
    let waiting = u64::from(waiting);
    // The queue is the only evidence in a value, so it is always the first item.
    match evidence.first_mut() {
        Some(known) => known.value = known.value.max(waiting),
        None if waiting > 0 => evidence.push(Evidence {
            kind: "queue".to_owned(),
            value: waiting,
            window_ms: 0,
        }),
        None => {}
    }
}
