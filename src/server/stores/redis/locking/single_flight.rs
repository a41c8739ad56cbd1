//! Single flight for acquires: of several simultaneous acquires of one lock in this process, one
//! sends requests to the nodes and the others use its outcome.
//!
//! Sent separately, each acquire could win a different node, and none would reach a quorum. A
//! failure caused by a short lease does not apply to an acquire with a longer one, which then sends
//! its own requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::acquire_attempt::AcquireAttempt;
use super::layouts::Layout;
use super::{AcquireOutcome, AcquireParams, AcquireResult};
use crate::domain::{LockKey, NodeOutcome, NodeResult, Owner, Timestamp, quorum};
use crate::server::stores::redis::nodes::lock_node::LockNode;

type FlightKey = (LockKey, Layout);

/// The acquire attempts in flight in this process.
#[derive(Clone, Default)]
pub struct SingleFlight(Arc<Mutex<HashMap<FlightKey, watch::Receiver<Option<SharedOutcome>>>>>);

/// The outcome of an attempt, as shared with the acquires that joined it.
#[derive(Clone)]
struct SharedOutcome {
    outcome: AcquireOutcome,
    /// The requested lease.
    ttl: Duration,
    /// The timeout per node.
    node_timeout: Duration,
    /// The attempt took longer than its lease was valid.
    exceeded_lease: bool,
    /// The owner that made the attempt. Slow nodes may show it until the rollback arrives there.
    owner: Option<Owner>,
}

impl SharedOutcome {
    /// Whether an acquire with this lease and node timeout would have had the same outcome.
    fn applies_to(&self, ttl: Duration, node_timeout: Duration) -> bool {
        match self.outcome.result {
            AcquireResult::NoQuorum => {
                let had_enough_time = node_timeout <= self.node_timeout;
                had_enough_time && (ttl <= self.ttl || !self.exceeded_lease)
            }
            AcquireResult::Acquired(_)
            | AcquireResult::HeldByOther { .. }
            | AcquireResult::NotHeld
            | AcquireResult::WrongType(_) => true,
        }
    }
}

impl SingleFlight {
    /// Makes one attempt, or returns the outcome of a simultaneous one.
    ///
    /// An acquire that receives the failure of another one was waiting while that failed; one that
    /// receives its success learns the new owner. A caller-supplied token always sends its own
    /// requests, because it may already hold the lock.
    pub async fn acquire<N: LockNode>(
        &self,
        attempt: &mut AcquireAttempt<'_, N>,
        now: Timestamp,
    ) -> AcquireOutcome {
        let params = attempt.params();
        if params.caller_supplied {
            return attempt.try_once().await;
        }
        let key = (params.key.clone(), params.layout);
        let mut failed_before = None;
        loop {
            match self.join_or_lead(&key) {
                Flight::Lead(sender) => {
                    let outcome = self.lead(attempt, key.clone(), sender, now).await;
                    match remaining_lease_of_failed_leader(&outcome, failed_before.take()) {
                        // This acquire had joined an attempt that failed, and a node still has the
                        // lock of that attempt. The lock disappears with the rollback, or at the
                        // end of its lease.
                        Some(lease) => {
                            attempt
                                .clock()
                                .sleep(lease.min(attempt.node_timeout()))
                                .await
                        }
                        None => return outcome,
                    }
                }
                Flight::Join(receiver) => {
                    let (ttl, node_timeout) = (attempt.params().ttl, attempt.node_timeout());
                    if let Some(shared) = wait_for_outcome(receiver).await {
                        if shared.applies_to(ttl, node_timeout) {
                            return shared.outcome;
                        }
                        failed_before = shared.owner;
                    }
                }
            }
            // The leader was cancelled, or it failed because its timeout or lease was shorter than
            // those of this acquire.
        }
    }

    fn join_or_lead(&self, key: &FlightKey) -> Flight {
        match self.flights().entry(key.clone()) {
            Entry::Occupied(flight) => Flight::Join(flight.get().clone()),
            Entry::Vacant(vacant) => {
                let (sender, receiver) = watch::channel(None);
                vacant.insert(receiver);
                Flight::Lead(sender)
            }
        }
    }

    async fn lead<N: LockNode>(
        &self,
        attempt: &mut AcquireAttempt<'_, N>,
        key: FlightKey,
        sender: watch::Sender<Option<SharedOutcome>>,
        now: Timestamp,
    ) -> AcquireOutcome {
        let guard = FlightGuard { flights: self, key };
        let (started_at, node_timeout, ttl) = (
            attempt.clock().instant(),
            attempt.node_timeout(),
            attempt.params().ttl,
        );
        let outcome = attempt.try_once().await;
        // Before the outcome is published, so that later acquires do not join a finished flight.
        drop(guard);
        // Without followers, the outcome need not be converted.
        if sender.receiver_count() > 0 {
            let elapsed = outcome.completed_at.saturating_duration_since(started_at);
            sender.send_replace(Some(SharedOutcome {
                outcome: outcome_for_followers(&outcome, attempt.params(), now),
                ttl,
                node_timeout,
                exceeded_lease: quorum::validity(ttl, elapsed, attempt.drift()).is_none(),
                owner: attempt.params().layout.owner(
                    &attempt.params().key,
                    &attempt.params().token,
                    ttl,
                    now,
                ),
            }));
        }
        outcome
    }

    fn flights(
        &self,
    ) -> MutexGuard<'_, HashMap<FlightKey, watch::Receiver<Option<SharedOutcome>>>> {
        self.0.lock()
    }
}

/// The part that an acquire takes in a flight.
enum Flight {
    /// Makes the attempt and publishes its outcome.
    Lead(watch::Sender<Option<SharedOutcome>>),
    /// Waits for the outcome.
    Join(watch::Receiver<Option<SharedOutcome>>),
}

async fn wait_for_outcome(
    mut receiver: watch::Receiver<Option<SharedOutcome>>,
) -> Option<SharedOutcome> {
    receiver.wait_for(Option::is_some).await.ok()?.clone()
}

/// The remaining lease of the owner that blocked this attempt, if that owner is the failed attempt
/// which this acquire had joined.
fn remaining_lease_of_failed_leader(
    outcome: &AcquireOutcome,
    failed_before: Option<Owner>,
) -> Option<Duration> {
    match &outcome.result {
        AcquireResult::HeldByOther {
            owner: Some(owner),
            lease_ms: Some(lease_ms),
        } if owner.fingerprint == failed_before?.fingerprint => {
            Some(Duration::from_millis(*lease_ms))
        }
        _ => None,
    }
}

/// Removes the flight when it is dropped.
struct FlightGuard<'a> {
    flights: &'a SingleFlight,
    key: FlightKey,
}

impl Drop for FlightGuard<'_> {
    fn drop(&mut self) {
        self.flights.flights().remove(&self.key);
    }
}

/// Converts the leader's outcome for its followers: a lock that the leader acquired is held by
/// another owner, and what it released is absent.
fn outcome_for_followers(
    outcome: &AcquireOutcome,
    params: &AcquireParams,
    now: Timestamp,
) -> AcquireOutcome {
    let token = outcome.token.as_ref().unwrap_or(&params.token);
    let owner = params.layout.owner(&params.key, token, params.ttl, now);
    let for_follower = |result: &NodeResult| NodeResult {
        node: result.node.clone(),
        outcome: match &result.outcome {
            NodeOutcome::Acquired => NodeOutcome::OtherOwner {
                owner: owner.clone(),
            },
            NodeOutcome::Released => NodeOutcome::NotHeld,
            other => other.clone(),
        },
    };
    let held_by_other = |owner: Option<Owner>, validity: Duration| AcquireResult::HeldByOther {
        owner,
        lease_ms: u64::try_from(validity.as_millis()).ok(),
    };
    AcquireOutcome {
        nodes: outcome.nodes.iter().map(for_follower).collect(),
        result: match &outcome.result {
            AcquireResult::Acquired(validity) => held_by_other(owner.clone(), *validity),
            other => other.clone(),
        },
        completed_at: outcome.completed_at,
        fence: None,
        token: None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_failure_for_lack_of_time_does_not_apply_to_followers_with_more_time() {
        let ms = Duration::from_millis;
        let shared = |result, exceeded_lease| SharedOutcome {
            outcome: AcquireOutcome {
                nodes: Vec::new(),
                result,
                completed_at: Instant::now(),
                fence: None,
                token: None,
            },
            ttl: ms(1_000),
            node_timeout: ms(50),
            exceeded_lease,
            owner: None,
        };
        let held_by_other = AcquireResult::HeldByOther {
            owner: None,
            lease_ms: None,
        };
        for (result, exceeded_lease, ttl, node_timeout, applies) in [
            (AcquireResult::NoQuorum, false, 1_000, 50, true),
            (AcquireResult::NoQuorum, false, 500, 25, true),
            (AcquireResult::NoQuorum, false, 30_000, 500, false),
            (AcquireResult::NoQuorum, false, 1_010, 50, true),
            (AcquireResult::NoQuorum, true, 1_010, 50, false),
            (AcquireResult::NoQuorum, true, 1_000, 50, true),
            (held_by_other, true, 30_000, 500, true),
            (
                AcquireResult::WrongType("list".to_owned()),
                true,
                30_000,
                500,
                true,
            ),
        ] {
            let shared = shared(result.clone(), exceeded_lease);
            let actual = shared.applies_to(ms(ttl), ms(node_timeout));
            assert_eq!(
                actual, applies,
                "{result:?} for {ttl} ms, {node_timeout} ms a node"
            );
        }
    }
}
