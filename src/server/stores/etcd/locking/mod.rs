//! Acquire, extend and release, as clientv3's `concurrency.Mutex` and `etcdctl lock` do it, so that
//! both exclude each other.
//!
//! A contender writes `<name>/<lease in hex>` with a lease of its own. The contender with the lowest
//! `create_revision` below the name holds the lock; each other one waits until the one before it is
//! gone. `create_revision` is the fencing token: it only ever rises. The lease is chosen by the token
//! of the request, so the hold of a request without a reply can be found and ended.
//!
//! The TTL of a lease is fixed when it is granted, in whole seconds. An extend renews it for that
//! long.

mod contender;
mod hold_token;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::contender::{Place, QueuedContender};
pub use self::hold_token::hold_id;
use self::hold_token::{TokenParts, stored_token};
use super::client::{EtcdError, LeaseId, encode};
use super::force_release::failure_reason;
use super::formats::CONSOLE_VALUE_PREFIX;
use super::reading::LockKeys;
use super::{Etcd, Shared};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{LockKey, NodeOutcome, NodeResult, Owner};
use crate::server::stores::{AcquireOutcome, AcquireResult, HoldRequest, HoldStatus, Token};

/// The share of a lease that is not relied on, because clocks run at different rates.
const DRIFT_DIVISOR: u32 = 100;
/// The pause before a failed request of a waiter is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

impl Etcd {
    /// Makes one attempt to acquire a lock. Nothing is written while another owner holds it.
    pub(super) async fn try_acquire(&self, request: &HoldRequest) -> AcquireOutcome {
        let shared = &self.shared;
        if let Some(refusal) = shared.refuse_name(&request.key) {
            return refusal;
        }
        let parts = TokenParts::of_request(&request.token);
        match shared.read_lock(&request.key).await {
            Ok((member, lock_keys)) => {
                let holder = lock_keys.held_lock(&request.key).map(|lock| lock.holder);
                if holder.is_some_and(|holder| !parts.is_of(holder)) {
                    return shared.held_by_other(&request.key, member, &lock_keys);
                }
            }
            Err(error) => return shared.failed(&error, PossibleEffect::Acquired),
        }
        let mut contender = QueuedContender::new(shared, request, parts);
        match contender.enter().await {
            Ok(Place::First { member }) => contender.acquired(member),
            Ok(Place::Behind) => {
                let outcome = shared.read_other(&request.key, parts).await;
                contender.leave().await;
                outcome
            }
            Err(error) => shared.failed(&error, PossibleEffect::Acquired),
        }
    }

    /// Acquires a lock as soon as it is available, until `wait` is over or `cancellation` is
    /// cancelled.
    pub(super) async fn wait_and_acquire(
        &self,
        request: &HoldRequest,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        let shared = &self.shared;
        if let Some(refusal) = shared.refuse_name(&request.key) {
            return refusal;
        }
        let parts = TokenParts::of_request(&request.token);
        let mut contender = QueuedContender::new(shared, request, parts);
        let closing = shared.service.closing.clone();
        let waiting = tokio::select! {
            result = contender.wait_until_first() => Some(result),
            () = tokio::time::sleep(wait) => None,
            () = cancellation.cancelled() => None,
            () = closing.cancelled() => None,
        };
        match waiting {
            Some(Ok(member)) => contender.acquired(member),
            Some(Err(error)) => shared.failed(&error, PossibleEffect::Acquired),
            None => {
                let outcome = shared.read_other(&request.key, parts).await;
                contender.leave().await;
                outcome
            }
        }
    }
}

impl Shared {
    /// Renews the lease of a lock that the token owns.
    pub async fn extend(&self, key: &LockKey, token: &Token) -> AcquireOutcome {
        let parts = TokenParts::of(token);
        let started = Instant::now();
        let renewal = self.client.keep_alive(parts.lease).await;
        let (member, lock_keys) = match self.read_lock(key).await {
            Ok(read) => read,
            Err(error) => return self.failed(&error, PossibleEffect::Extended),
        };
        let holder = lock_keys.held_lock(key).map(|lock| lock.holder);
        let Some(holder) = holder.filter(|holder| parts.is_of(holder)) else {
            return self.held_by_other(key, member, &lock_keys);
        };
        match renewal {
            Ok(granted) => {
                let result = AcquireResult::Acquired(validity(granted, started));
                let mut outcome = self.outcome_of(member, NodeOutcome::Extended, result);
                outcome.token = stored_token(holder).filter(|stored| stored != token);
                outcome
            }
            // The lease has ended, and its key is about to be deleted.
            Err(EtcdError::LeaseNotFound) => {
                self.outcome_of(member, NodeOutcome::NotHeld, AcquireResult::NotHeld)
            }
            Err(error) => self.failed(&error, PossibleEffect::Extended),
        }
    }

    /// Deletes the key of the hold, and revokes its lease.
    pub async fn release(self: &Arc<Self>, key: &LockKey, token: &Token) -> Vec<NodeResult> {
        let parts = TokenParts::of(token);
        let own = encode(&parts.key(key));
        let mut compare =
            vec![json!({ "key": own, "target": "LEASE", "result": "EQUAL", "lease": parts.lease })];
        if let Some(revision) = parts.create_revision {
            let revision = revision.to_string();
            compare.push(
                json!({ "key": own, "target": "CREATE", "result": "EQUAL", "create_revision": revision }),
            );
        }
        let body = json!({
            "compare": compare,
            "success": [
                { "request_range": { "key": own } },
                { "request_delete_range": { "key": own } },
            ],
        });
        let (member, outcome) = match self.client.txn(&body).await {
            Ok(reply) if reply.body.succeeded => {
                let ranges = reply.body.responses.first();
                let deleted = ranges.and_then(|reply| reply.response_range.as_ref());
                let is_own = deleted
                    .and_then(|range| range.kvs.first())
                    .is_some_and(|kv| kv.value.starts_with(CONSOLE_VALUE_PREFIX.as_bytes()));
                // The lease of another client can have other keys.
                if is_own {
                    self.revoke_later(parts.lease, Duration::ZERO);
                }
                (reply.member, NodeOutcome::Released)
            }
            Ok(reply) => (reply.member, self.read_outcome(key).await),
            Err(error) => {
                let reason = failure_reason(&error, PossibleEffect::Released);
                let member = self.client.members_by_preference()[0];
                (member, NodeOutcome::Failed { reason })
            }
        };
        vec![self.node_result(member, outcome)]
    }

    /// Whether the token still holds the lock.
    pub async fn check_hold(&self, key: &LockKey, token: &Token) -> HoldStatus {
        let parts = TokenParts::of(token);
        let started = Instant::now();
        let lease = self.client.time_to_live(parts.lease).await;
        let unknown = |error: &EtcdError| {
            let member = self.client.members_by_preference()[0];
            let reason = error.reason();
            let outcome = NodeOutcome::Failed { reason };
            HoldStatus::Unknown(vec![self.node_result(member, outcome)])
        };
        let (member, lock_keys) = match self.read_lock(key).await {
            Ok(read) => read,
            Err(error) => return unknown(&error),
        };
        let holder = lock_keys.held_lock(key).map(|lock| lock.holder);
        match (holder, lease) {
            (Some(holder), Ok(reply)) if parts.is_of(holder) && reply.ttl > 0 => {
                let left = Duration::from_secs(u64::try_from(reply.ttl).unwrap_or(0));
                HoldStatus::ValidUntil(started + validity(left, started))
            }
            (Some(holder), Err(error)) if parts.is_of(holder) => unknown(&error),
            (Some(_) | None, _) => {
                let outcome = self.outcome_now(key, &lock_keys, parts);
                HoldStatus::NotHeld(vec![self.node_result(member, outcome)])
            }
        }
    }

    /// Why no lock of this name can be acquired.
    fn refuse_name(&self, key: &LockKey) -> Option<AcquireOutcome> {
        let text = if !self.covers(key) {
            "the name is not below a configured prefix"
        } else if std::str::from_utf8(key.as_bytes()).is_err() {
            "the name is not text"
        } else {
            return None;
        };
        let member = self.client.members_by_preference()[0];
        let reason = Reason::text(text);
        let outcome = NodeOutcome::Failed { reason };
        let result = AcquireResult::WrongType(text.to_owned());
        Some(self.outcome_of(member, outcome, result))
    }

    /// What holds the lock now, for an acquire that did not get it.
    async fn read_other(&self, key: &LockKey, parts: TokenParts) -> AcquireOutcome {
        let (member, lock_keys) = match self.read_lock(key).await {
            Ok(read) => read,
            Err(error) => return self.failed(&error, PossibleEffect::Acquired),
        };
        let holder = lock_keys.held_lock(key).map(|lock| lock.holder);
        if holder.is_some_and(|holder| !parts.is_of(holder)) {
            return self.held_by_other(key, member, &lock_keys);
        }
        // The owner has just released it.
        let result = AcquireResult::HeldByOther {
            owner: None,
            lease_ms: None,
        };
        self.outcome_of(member, NodeOutcome::OtherOwner { owner: None }, result)
    }

    async fn read_outcome(&self, key: &LockKey) -> NodeOutcome {
        match self.read_lock(key).await {
            Ok((_, lock_keys)) => match self.owner_in(key, &lock_keys) {
                Some((owner, _)) => NodeOutcome::OtherOwner { owner: Some(owner) },
                None => NodeOutcome::NotHeld,
            },
            Err(error) => NodeOutcome::Failed {
                reason: error.reason(),
            },
        }
    }

    fn outcome_now(&self, key: &LockKey, lock_keys: &LockKeys, parts: TokenParts) -> NodeOutcome {
        let holder = lock_keys.held_lock(key).map(|lock| lock.holder);
        match (holder, self.owner_in(key, lock_keys)) {
            (Some(holder), Some((owner, _))) if !parts.is_of(holder) => {
                NodeOutcome::OtherOwner { owner: Some(owner) }
            }
            (Some(_) | None, _) => NodeOutcome::NotHeld,
        }
    }

    /// The owner, and how many milliseconds its lease lasts.
    fn owner_in(&self, key: &LockKey, lock_keys: &LockKeys) -> Option<(Owner, Option<u64>)> {
        let now = self.service.clock.reading();
        let lock = self.detect(key, lock_keys, now)?;
        let lease_ms = lock.lease.remaining_ms(now.wall);
        let owner = lock.owners.into_iter().next()?.owner;
        Some((owner, lease_ms))
    }

    fn held_by_other(&self, key: &LockKey, member: usize, lock_keys: &LockKeys) -> AcquireOutcome {
        match self.owner_in(key, lock_keys) {
            Some((owner, lease_ms)) => {
                let outcome = NodeOutcome::OtherOwner {
                    owner: Some(owner.clone()),
                };
                let owner = Some(owner);
                let result = AcquireResult::HeldByOther { owner, lease_ms };
                self.outcome_of(member, outcome, result)
            }
            None => self.outcome_of(member, NodeOutcome::NotHeld, AcquireResult::NotHeld),
        }
    }

    fn failed(&self, error: &EtcdError, effect: PossibleEffect) -> AcquireOutcome {
        let member = self.client.members_by_preference()[0];
        let reason = failure_reason(error, effect);
        let outcome = NodeOutcome::Failed { reason };
        self.outcome_of(member, outcome, AcquireResult::NoQuorum)
    }

    fn outcome_of(
        &self,
        member: usize,
        outcome: NodeOutcome,
        result: AcquireResult,
    ) -> AcquireOutcome {
        AcquireOutcome {
            nodes: vec![self.node_result(member, outcome)],
            result,
            completed_at: Instant::now(),
            fence: None,
            token: None,
        }
    }

    /// The outcome at a member.
    pub fn node_result(&self, member: usize, outcome: NodeOutcome) -> NodeResult {
        NodeResult {
            node: self.node_name(member),
            outcome,
        }
    }

    /// Revokes a lease in the background. If no member replies, it is repeated until the lease has
    /// ended by itself.
    fn revoke_later(self: &Arc<Self>, lease: LeaseId, ttl: Duration) {
        let shared = Arc::clone(self);
        let until = Instant::now() + ttl;
        self.service.cleanup_tasks.spawn(async move {
            let stop = shared.service.stop.clone();
            while let Err(error) = shared.client.revoke(lease).await {
                if matches!(error, EtcdError::LeaseNotFound) || Instant::now() >= until {
                    return;
                }
                let pause = tokio::time::sleep(RETRY_PAUSE);
                if stop.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        });
    }
}

/// How long a lease that was requested at `started` can be relied on from now.
fn validity(granted: Duration, started: Instant) -> Duration {
    let drift = granted / DRIFT_DIVISOR;
    granted
        .saturating_sub(started.elapsed())
        .saturating_sub(drift)
}
