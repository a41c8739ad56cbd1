//! Revokes the lease of a hold that an operator saw, with all keys that end with it.
//!
//! etcd revokes a lease without a comparison, but the id of a lease is never used again, so no other
//! owner's lease can be revoked. The keys are read again immediately before. A key that the owner adds
//! between that and the revocation also ends.

use sha2::{Digest as _, Sha256};

use super::Shared;
use super::client::{EtcdError, KeyBytes, LeaseId};
use super::force_release::{ReleaseCheck, failure_reason};
use super::formats::contended_name;
use crate::domain::reason::PossibleEffect;
use crate::domain::{
    Fingerprint, LeaseKey, LeaseKeys, LeaseRefusal, LockKey, NodeOutcome, ObservedHold,
};
use crate::server::stores::{ForceRefusal, ForceReleaseOutcome, ForceTarget, fingerprint};

/// The largest number of keys that are listed, and revoked together.
const MAX_LEASE_KEYS: usize = 100;

impl Shared {
    /// The keys of the lease that a lock is held with. `None` if it is not held.
    pub async fn lease_keys(&self, key: &LockKey) -> Result<Option<LeaseKeys>, EtcdError> {
        let (_, lock_keys) = self.read_lock(key).await?;
        let Some(lock) = lock_keys.held_lock(key) else {
            return Ok(None);
        };
        match self.keys_of(lock.holder.lease).await {
            Err(EtcdError::LeaseNotFound) => Ok(None),
            keys => keys.map(Some),
        }
    }

    /// Revokes the lease of exactly the hold that an operator saw, if its keys are those with the
    /// fingerprint `shown`.
    pub async fn revoke_lease(
        &self,
        target: ForceTarget<'_>,
        shown: &Fingerprint,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (member, check) = self.check_hold_of_operator(target).await?;
        let ReleaseCheck::Matching { holder, observed } = check else {
            return Ok(self.outcome(member, check.outcome(), ObservedHold::default()));
        };
        let keys = match self.keys_of(holder.lease).await {
            Ok(keys) => keys,
            Err(error) => {
                let outcome = to_outcome(&error);
                return Ok(self.outcome(member, outcome, observed));
            }
        };
        check_keys(&keys, shown)?;
        let outcome = match self.client.revoke_once(holder.lease).await {
            Ok(()) => NodeOutcome::Released,
            Err(error) => to_outcome(&error),
        };
        Ok(self.outcome(member, outcome, observed))
    }

    async fn keys_of(&self, lease: LeaseId) -> Result<LeaseKeys, EtcdError> {
        if lease == LeaseId::NONE {
            return Ok(LeaseKeys::default());
        }
        let keys = self.client.lease_keys(lease).await?;
        Ok(self.to_lease_keys(lease, keys))
    }

    fn to_lease_keys(&self, lease: LeaseId, mut keys: Vec<KeyBytes>) -> LeaseKeys {
        keys.sort_unstable();
        let total = keys.len();
        let mut listed: Vec<LeaseKey> = Vec::new();
        let mut outside = 0;
        for KeyBytes(key) in &keys {
            let name = contended_name(key, lease);
            let shown = LeaseKey {
                key: LockKey::new(name.unwrap_or(key)),
                is_contender: name.is_some(),
            };
            if !self.covers(&shown.key) {
                outside += 1;
            } else if listed.len() < MAX_LEASE_KEYS {
                listed.push(shown);
            }
        }
        let is_complete = listed.len() == total && total > 0;
        LeaseKeys {
            keys: listed,
            total: u32::try_from(total).unwrap_or(u32::MAX),
            outside_prefixes: outside,
            fingerprint: is_complete.then(|| list_fingerprint(lease, &keys)),
        }
    }
}

/// Fails if the keys are not those that were shown, or not all of them are.
fn check_keys(keys: &LeaseKeys, shown: &Fingerprint) -> Result<(), ForceRefusal> {
    let max = u32::try_from(MAX_LEASE_KEYS).unwrap_or(u32::MAX);
    let cause = match &keys.fingerprint {
        Some(current) if current == shown => return Ok(()),
        Some(_) => LeaseRefusal::KeysChanged,
        None if keys.outside_prefixes > 0 => LeaseRefusal::OutsidePrefixes {
            count: keys.outside_prefixes,
        },
        None if keys.total > max => LeaseRefusal::TooManyKeys {
            total: keys.total,
            max,
        },
        None => LeaseRefusal::NoLease,
    };
    Err(ForceRefusal::LeaseNotRevoked(cause))
}

/// Identifies a lease and the list of its keys. It is a digest, from which the lease does not follow.
fn list_fingerprint(lease: LeaseId, keys: &[KeyBytes]) -> Fingerprint {
    let mut digest = Sha256::new();
    digest.update(lease.0.to_be_bytes());
    for KeyBytes(key) in keys {
        digest.update((key.len() as u64).to_be_bytes());
        digest.update(key);
    }
    fingerprint(&digest.finalize())
}

fn to_outcome(error: &EtcdError) -> NodeOutcome {
    match error {
        EtcdError::LeaseNotFound => NodeOutcome::NotHeld,
        error => NodeOutcome::Failed {
            reason: failure_reason(error, PossibleEffect::Released),
        },
    }
}
