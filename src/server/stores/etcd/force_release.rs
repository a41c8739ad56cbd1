//! Force-release: deletes the key of exactly the hold that an operator saw. One transaction compares
//! the `create_revision` and the lease of the key, which no other hold has, and deletes it. The next
//! contender then holds the lock. The lease, which can have other keys, is not revoked.

use serde_json::json;

use super::Shared;
use super::client::{EtcdError, KeyValue, Reply, TxnReply, encode};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{Confidence, NodeOutcome, NodeResult, ObservedHold, Owner};
use crate::server::stores::{DetectedLock, ForceRefusal, ForceReleaseOutcome, ForceTarget};

/// What etcd showed before anything was changed.
pub enum ReleaseCheck {
    /// The requested hold.
    Matching {
        /// The key that holds the lock.
        holder: KeyValue,
        /// The hold.
        observed: ObservedHold,
    },
    /// Another owner, or keys that are no lock.
    OtherOwner(Option<Owner>),
    /// No owner.
    Absent,
    /// The lock was not read.
    Unreadable(EtcdError),
}

impl Shared {
    /// Releases exactly the hold that an operator saw.
    pub async fn force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (member, check) = self.check_hold_of_operator(target).await?;
        let ReleaseCheck::Matching { holder, observed } = check else {
            return Ok(self.outcome(member, check.outcome(), ObservedHold::default()));
        };
        match self.delete_hold(&holder).await {
            Ok(reply) if reply.body.succeeded => {
                Ok(self.outcome(reply.member, NodeOutcome::Released, observed))
            }
            // The key has changed since it was read. What holds the lock now is read again.
            Ok(_) => {
                let (member, check) = self.check_hold_of_operator(target).await?;
                let outcome = match check {
                    ReleaseCheck::Matching { .. } => NodeOutcome::OtherHold,
                    check => check.outcome(),
                };
                Ok(self.outcome(member, outcome, observed))
            }
            Err(error) => {
                let outcome = NodeOutcome::Failed {
                    reason: failure_reason(&error, PossibleEffect::Released),
                };
                Ok(self.outcome(member, outcome, observed))
            }
        }
    }

    /// Returns what [`Self::force_release`] would do, without changing anything.
    pub async fn dry_run_force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (member, check) = self.check_hold_of_operator(target).await?;
        let observed = match &check {
            ReleaseCheck::Matching { observed, .. } => *observed,
            ReleaseCheck::OtherOwner(_) | ReleaseCheck::Absent | ReleaseCheck::Unreadable(_) => {
                ObservedHold::default()
            }
        };
        Ok(self.outcome(member, check.outcome(), observed))
    }

    /// Deletes a key if it still has the `create_revision` and the lease that were read.
    pub async fn delete_hold(&self, holder: &KeyValue) -> Result<Reply<TxnReply>, EtcdError> {
        let key = encode(&holder.key);
        let body = json!({
            "compare": [
                {
                    "key": key,
                    "target": "CREATE",
                    "result": "EQUAL",
                    "create_revision": holder.create_revision.to_string(),
                },
                { "key": key, "target": "LEASE", "result": "EQUAL", "lease": holder.lease },
            ],
            "success": [{ "request_delete_range": { "key": key } }],
        });
        self.client.txn(&body).await
    }

    /// Reads the lock and compares it with the requested hold. Fails if it must not be released.
    pub async fn check_hold_of_operator(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<(usize, ReleaseCheck), ForceRefusal> {
        let (member, lock_keys) = match self.read_lock(target.key).await {
            Ok(read) => read,
            Err(error) => {
                let member = self.client.members_by_preference()[0];
                return Ok((member, ReleaseCheck::Unreadable(error)));
            }
        };
        let now = self.service.clock.reading();
        let holder = lock_keys.held_lock(target.key).map(|lock| lock.holder);
        let lock = self.detect(target.key, &lock_keys, now);
        let (Some(holder), Some(lock)) = (holder, lock) else {
            let check = if lock_keys.is_empty() {
                ReleaseCheck::Absent
            } else {
                ReleaseCheck::OtherOwner(None)
            };
            return Ok((member, check));
        };
        let owner = &lock.owners[0].owner;
        if owner.fingerprint != *target.fingerprint {
            return Ok((member, ReleaseCheck::OtherOwner(Some(owner.clone()))));
        }
        self.refuse(&lock, target)?;
        let observed = ObservedHold {
            acquired_at: None,
            expires_at: lock.lease.expires_at(),
            hold_count: None,
        };
        let holder = holder.clone();
        Ok((member, ReleaseCheck::Matching { holder, observed }))
    }

    /// Fails if the lock must not be released.
    fn refuse(&self, lock: &DetectedLock, target: ForceTarget<'_>) -> Result<(), ForceRefusal> {
        let is_certain = match lock.confidence {
            Confidence::Sure => true,
            // Other keys have the same shape, so the name must match the configured patterns too.
            Confidence::Likely => {
                let patterns = self.service.config.key_patterns();
                patterns.matches_keys(target.key.as_bytes())
            }
            Confidence::Possible => false,
        };
        if !is_certain {
            return Err(ForceRefusal::UncertainLock);
        }
        target.check_format(lock.format)
    }

    pub fn outcome(
        &self,
        member: usize,
        outcome: NodeOutcome,
        hold: ObservedHold,
    ) -> ForceReleaseOutcome {
        let node = self.node_name(member);
        ForceReleaseOutcome::new(vec![NodeResult { node, outcome }], hold)
    }
}

impl ReleaseCheck {
    /// The outcome if nothing is changed.
    pub fn outcome(self) -> NodeOutcome {
        match self {
            Self::Matching { .. } => NodeOutcome::Releasable,
            Self::OtherOwner(owner) => NodeOutcome::OtherOwner { owner },
            Self::Absent => NodeOutcome::NotHeld,
            Self::Unreadable(error) => NodeOutcome::nothing_changed(error.reason()),
        }
    }
}

/// The reason of a failed write. Without a reply, it may have been executed.
pub fn failure_reason(error: &EtcdError, effect: PossibleEffect) -> Reason {
    let cause = Box::new(error.reason());
    if error.is_without_effect() {
        Reason::NothingChanged { cause }
    } else {
        Reason::UnknownEffect { cause, effect }
    }
}
