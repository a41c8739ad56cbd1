//! Watches force-released locks for one renewal interval, and reports in the log and the audit log
//! whether the owner, still running, acquired its lock again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use super::audit_scope::{audit_record, webhook_principal};
use crate::domain::{
    AuditDetail, Fingerprint, Format, Lock, LockId, OperationKind, ReleaseWatch, Timestamp,
};
use crate::server::access::Principal;
use crate::server::audit::{AuditLog, AuditOutcome};
use crate::server::index::Index;
use crate::server::webhooks::{OperationEvent, WebhookEvent, Webhooks};

/// The maximum number of watches: more than a single request can start.
const MAX_WATCHES: usize = 1_024;
/// How often each watch reads the index. Reading is cheap, and a lock that reappeared in between is
/// found in its history.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The running watches.
pub struct ReleaseWatches {
    permits: Arc<Semaphore>,
}

impl Default for ReleaseWatches {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_WATCHES)),
        }
    }
}

/// A force-released lock.
pub struct ForceReleasedLock {
    /// The lock.
    pub id: LockId,
    /// Its former owner.
    pub owner: Fingerprint,
    /// When it was released.
    pub released_at: Timestamp,
    /// The lock as the index had it before.
    pub last_state: Option<Arc<Lock>>,
    /// The principal that released it.
    pub principal: Principal,
}

impl ReleaseWatches {
    /// Starts watching a lock. At the limit it is not watched.
    pub fn start(
        &self,
        index: &Index,
        audit: &AuditLog,
        webhooks: &Webhooks,
        lock: ForceReleasedLock,
    ) {
        let ForceReleasedLock {
            id,
            owner,
            released_at: at,
            ..
        } = &lock;
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            tracing::debug!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "not watched: the limit of {MAX_WATCHES} watches is reached");
            return;
        };
        let release_watch_ms = lock.last_state.as_ref().map_or_else(
            || Format::Plain.release_watch_ms(None, None),
            |lock| lock.release_watch_ms(*at),
        );
        let task = WatchTask {
            index: index.clone(),
            audit: audit.clone(),
            webhooks: webhooks.clone(),
            until: at.plus(Duration::from_millis(release_watch_ms)),
            lock,
        };
        tokio::spawn(async move {
            task.run().await;
            drop(permit);
        });
    }
}

struct WatchTask {
    index: Index,
    audit: AuditLog,
    webhooks: Webhooks,
    until: Timestamp,
    lock: ForceReleasedLock,
}

impl WatchTask {
    async fn run(self) {
        let mut tick = interval(CHECK_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_state = None;
        loop {
            tick.tick().await;
            let now = self.index.now();
            let state = self.check(now, last_state.as_ref());
            if !matches!(state, ReleaseWatch::Watching { .. }) {
                self.report(&state);
                return;
            }
            last_state = Some(state);
        }
    }

    fn check(&self, now: Timestamp, last_state: Option<&ReleaseWatch>) -> ReleaseWatch {
        let ForceReleasedLock {
            id,
            owner,
            released_at: at,
            ..
        } = &self.lock;
        let lock = self.index.snapshot().lock(id).cloned();
        let lock = lock.as_deref().map(|lock| (lock, lock.observed_at));
        let state = ReleaseWatch::evaluate(owner, *at, self.until, lock, now, last_state);
        match state {
            ReleaseWatch::Gone => self.reacquired_in_history().unwrap_or(ReleaseWatch::Gone),
            ReleaseWatch::Watching { .. }
            | ReleaseWatch::Reacquired { .. }
            | ReleaseWatch::TakenOver { .. }
            | ReleaseWatch::StillHeld => state,
        }
    }

    /// Finds a hold that began and ended between two reads of the index.
    fn reacquired_in_history(&self) -> Option<ReleaseWatch> {
        let ForceReleasedLock {
            id,
            owner,
            released_at: at,
            ..
        } = &self.lock;
        let mut holds = self.index.history(id).holds.into_iter();
        let hold = holds.find(|hold| hold.fingerprint == *owner && hold.started_at > *at)?;
        Some(ReleaseWatch::Reacquired {
            at: hold.started_at,
        })
    }

    fn report(&self, state: &ReleaseWatch) {
        let ForceReleasedLock {
            id,
            owner,
            principal,
            ..
        } = &self.lock;
        match state {
            ReleaseWatch::Reacquired { at } => {
                let mut record = audit_record(OperationKind::Reacquired, principal, id);
                record.fingerprint = Some(*owner);
                self.audit.record(
                    &record,
                    &AuditOutcome::done(&[]).with_detail(AuditDetail::Reacquired),
                );
                if self
                    .webhooks
                    .is_subscribed(OperationKind::Reacquired, &id.group)
                {
                    let event = OperationEvent::new(
                        OperationKind::Reacquired,
                        webhook_principal(principal),
                        id,
                        Ok(&[]),
                    );
                    let event = WebhookEvent::operation(event.with_owner(Some(*owner)), *at);
                    self.webhooks
                        .enqueue_operation(OperationKind::Reacquired, &id.group, &event);
                }
                tracing::warn!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, %at, "re-acquired by its previous owner, which is still running");
            }
            ReleaseWatch::StillHeld => {
                tracing::warn!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "still held: a node still reports the previous owner");
            }
            ReleaseWatch::TakenOver {
                owner: new_owner,
                at,
            } => {
                tracing::info!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, by = %new_owner.fingerprint, %at, "acquired by another owner");
            }
            ReleaseWatch::Gone => {
                tracing::info!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "not re-acquired within one renewal interval");
            }
            ReleaseWatch::Watching { .. } => {}
        }
    }
}
