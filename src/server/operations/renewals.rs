//! Auto-renewals that this console runs for its clients: locks acquired with `auto_renew`, extended
//! until they are released or lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Operations;
use super::acquire_request::{AcquireRequest, AcquiredLock};
use super::audit_scope::log_refusal;
use crate::domain::operation_error::LimitReached;
use crate::domain::reason::Reason;
use crate::domain::{Change, Fingerprint, LockId, NodeResult, OperationError, Permission};
use crate::server::access::Principal;
use crate::server::index::Index;
use crate::server::stores::{
    Group, HoldRequest, Loss, RenewalEnd, RenewalHandle, RenewalLimits, RenewalParams,
    RenewalPause, Token,
};

/// The maximum number of auto-renewals.
const MAX_RENEWALS: usize = 10_000;

/// The running auto-renewals by lock and hold.
#[derive(Clone)]
pub(super) struct Renewals {
    entries: Arc<Mutex<HashMap<RenewalKey, RenewalEntry>>>,
    permits: Arc<Semaphore>,
}

type RenewalKey = (LockId, Fingerprint);

/// An auto-renewal, and how often its lock must be released, for formats that count holds.
struct RenewalEntry {
    handle: Arc<RenewalHandle>,
    hold_count: u32,
    /// The principal that started it.
    principal: Principal,
}

/// A permit for one auto-renewal.
pub(super) type RenewalPermit = OwnedSemaphorePermit;

/// A successful acquire.
pub(super) struct GrantedLock<'a> {
    id: &'a LockId,
    request: &'a AcquireRequest,
    params: &'a HoldRequest,
    validity: Duration,
    nodes: &'a [NodeResult],
    principal: &'a Principal,
}

impl Default for Renewals {
    fn default() -> Self {
        Self::with_capacity(MAX_RENEWALS)
    }
}

impl Renewals {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Arc::default(),
            permits: Arc::new(Semaphore::new(capacity)),
        }
    }

    /// The number of auto-renewals.
    pub(super) fn count(&self) -> usize {
        self.entries().len()
    }

    fn reserve(&self) -> Result<RenewalPermit, OperationError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        permit.map_err(|_| OperationError::TooManyRequests {
            cause: LimitReached::AutoRenewals,
            retry_after_ms: 1_000,
        })
    }

    /// The active auto-renewal of a hold, as [`Group::hold_id`] identifies it.
    pub(super) fn get(&self, id: &LockId, hold: &Fingerprint) -> Option<Arc<RenewalHandle>> {
        let entries = self.entries();
        if entries.is_empty() {
            return None;
        }
        let entry = entries.get(&(id.clone(), *hold))?;
        entry.handle.is_active().then(|| Arc::clone(&entry.handle))
    }

    /// The active auto-renewal of a lock for the owner with this current fingerprint.
    pub(super) fn find_by_owner(
        &self,
        id: &LockId,
        owner: &Fingerprint,
    ) -> Option<Arc<RenewalHandle>> {
        let entries = self.entries();
        let mut holds = entries.iter().filter(|((lock_id, _), _)| lock_id == id);
        let entry = holds.find(|(_, entry)| entry.handle.state().owner == *owner);
        let renewal = entry.map(|(_, entry)| Arc::clone(&entry.handle));
        renewal.filter(|renewal| renewal.is_active())
    }

    /// Stops the auto-renewal before its owner releases the lock. If the owner has more holds, it
    /// is suspended until the returned pause is dropped.
    pub(super) fn prepare_release(&self, id: &LockId, hold: &Fingerprint) -> Option<RenewalPause> {
        let mut entries = self.entries();
        if entries.is_empty() {
            return None;
        }
        let key = (id.clone(), *hold);
        let entry = entries.get_mut(&key)?;
        entry.hold_count -= 1;
        if entry.hold_count > 0 {
            return Some(entry.handle.pause());
        }
        entry.handle.stop();
        entries.remove(&key);
        None
    }

    /// Starts an auto-renewal if there is a permit. Updates an existing one and returns `None`.
    fn start_or_extend(
        &self,
        group: &Group,
        granted: &GrantedLock<'_>,
        key: &RenewalKey,
        permit: Option<RenewalPermit>,
    ) -> Option<(Arc<RenewalHandle>, RenewalPermit)> {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(key)
            && entry.handle.is_active()
        {
            entry.hold_count += u32::from(granted.request.format.is_reentrant());
            entry.principal = granted.principal.clone();
            let (ttl, nodes) = (granted.params.ttl, granted.nodes.to_vec());
            let owner = group.owner_fingerprint(&granted.params.token);
            entry
                .handle
                .record_extension(ttl, granted.validity, nodes, owner);
            return None;
        }
        let permit = permit?;
        let renewal = Arc::new(group.start_renewal(granted.renewal_params(group)));
        let entry = RenewalEntry {
            handle: Arc::clone(&renewal),
            hold_count: 1,
            principal: granted.principal.clone(),
        };
        entries.insert(key.clone(), entry);
        Some((renewal, permit))
    }

    /// Ends the auto-renewals of principals that may no longer extend. The locks expire with their
    /// leases and are reported as lost.
    fn revoke_where(&self, is_revoked: impl Fn(&Principal, &LockId) -> bool) {
        let entries = self.entries();
        let revoked = entries
            .iter()
            .filter(|((id, _), entry)| is_revoked(&entry.principal, id));
        for (_, entry) in revoked {
            entry.handle.mark_lost(Loss::Revoked);
        }
    }

    /// Removes an auto-renewal, unless another one has replaced it.
    fn remove(&self, key: &RenewalKey, renewal: &Arc<RenewalHandle>) {
        let mut entries = self.entries();
        let is_same = |entry: &RenewalEntry| Arc::ptr_eq(&entry.handle, renewal);
        if entries.get(key).is_some_and(is_same) {
            entries.remove(key);
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<RenewalKey, RenewalEntry>> {
        self.entries.lock()
    }
}

impl<'a> GrantedLock<'a> {
    pub(super) fn new(
        id: &'a LockId,
        request: &'a AcquireRequest,
        params: &'a HoldRequest,
        validity: Duration,
        nodes: &'a [NodeResult],
        principal: &'a Principal,
    ) -> Self {
        Self {
            principal,
            id,
            request,
            params,
            validity,
            nodes,
        }
    }

    fn renewal_params(&self, group: &Group) -> RenewalParams {
        RenewalParams {
            key: self.params.key.clone(),
            token: self.params.token.clone(),
            ttl: self.params.ttl,
            validity: self.validity,
            nodes: self.nodes.to_vec(),
            limits: RenewalLimits::from_config(&group.config.locking),
            lead_time: Duration::ZERO,
        }
    }

    /// The owner's label.
    fn label(&self) -> Option<String> {
        let label = self.request.label.as_deref()?.trim();
        (!label.is_empty()).then(|| label.to_owned())
    }
}

impl Operations {
    /// Ends the auto-renewals of principals whose token or permission was revoked, as decided by
    /// `is_revoked`.
    pub fn revoke_renewals(&self, is_revoked: impl Fn(&Principal, &LockId) -> bool) {
        self.renewals.revoke_where(is_revoked);
    }

    /// Reserves an auto-renewal if one is requested and needed. This happens before the acquire, so
    /// that a lock is not acquired in vain.
    pub(super) fn reserve_renewal(
        &self,
        id: &LockId,
        request: &AcquireRequest,
        hold: &Fingerprint,
    ) -> Result<Option<RenewalPermit>, OperationError> {
        if !request.auto_renew || self.renewals.get(id, hold).is_some() {
            return Ok(None);
        }
        let permit = self.renewals.reserve();
        permit
            .map(Some)
            .inspect_err(|error| log_refusal("acquire", id, error))
    }

    /// Renews a lock that was just acquired for a caller in this process, until the handle is
    /// dropped. Only that caller is notified of a loss; without a successful extend it is notified
    /// `lead_time` before the end of the validity.
    pub fn start_local_renewal(
        &self,
        principal: &Principal,
        id: &LockId,
        acquired: &AcquiredLock,
        ttl: Duration,
        lead_time: Duration,
    ) -> Result<RenewalHandle, OperationError> {
        let group = self.group_for_operation(principal, Permission::Extend, id)?;
        // The validity counts from the nodes' replies; auditing the acquire may have taken some
        // time since.
        let validity = match acquired.valid_until {
            Some(until) => until.saturating_duration_since(Instant::now()),
            None => Duration::from_millis(acquired.validity_ms),
        };
        let params = RenewalParams {
            key: id.key.clone(),
            token: Token::from_bytes(acquired.token.as_bytes()),
            ttl,
            validity,
            nodes: acquired.nodes.clone(),
            limits: RenewalLimits::NONE,
            lead_time,
        };
        Ok(group.start_renewal(params))
    }

    /// Starts the auto-renewal after an acquire if there is a permit. An existing one continues
    /// with the new lease.
    pub(super) fn start_auto_renewal(
        &self,
        group: &Group,
        granted: &GrantedLock<'_>,
        permit: Option<RenewalPermit>,
    ) {
        // A token that was generated for this acquire cannot have an auto-renewal yet.
        if permit.is_none() && !granted.params.caller_supplied {
            return;
        }
        let key = (granted.id.clone(), group.hold_id(&granted.params.token));
        let Some((renewal, permit)) = self.renewals.start_or_extend(group, granted, &key, permit)
        else {
            return;
        };
        let (renewals, index, label) =
            (self.renewals.clone(), self.index().clone(), granted.label());
        tokio::spawn(async move {
            let end = record_renewals_until_end(&renewal, &index, &key.0).await;
            renewals.remove(&key, &renewal);
            drop(permit);
            if let RenewalEnd::Lost(loss) = end {
                let owner = renewal.state().owner;
                report_loss(&index, (key.0, owner), label, loss.reason()).await;
            }
        });
    }
}

/// Waits until the auto-renewal ends, and records its extends in the index meanwhile.
async fn record_renewals_until_end(
    renewal: &RenewalHandle,
    index: &Index,
    id: &LockId,
) -> RenewalEnd {
    let mut updates = renewal.subscribe();
    let mut recorded = updates.borrow_and_update().renewals();
    loop {
        // The handle owns the sender, so the channel stays open.
        let _changed = updates.changed().await;
        let state = updates.borrow_and_update().clone();
        let renewals = state.renewals();
        if renewals > recorded {
            index.record_local_renewals(id, &state.owner, renewals - recorded);
            index.poll_soon(id);
            recorded = renewals;
        }
        if let Some(end) = state.end {
            return end;
        }
    }
}

/// Publishes the loss of a lock to all subscribers.
async fn report_loss(
    index: &Index,
    (id, fingerprint): (LockId, Fingerprint),
    label: Option<String>,
    reason: Reason,
) {
    tracing::warn!(action = "auto-renew", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "lost: {reason}");
    index.poll_soon(&id);
    let at = index.now();
    let change = Change::Lost {
        id,
        fingerprint,
        label,
        at,
        reason,
    };
    index.publish(change).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_and_returned_on_drop() {
        let renewal = Renewals::with_capacity(2);
        let (first, second) = (renewal.reserve().unwrap(), renewal.reserve());
        assert!(second.is_ok());
        assert!(matches!(
            renewal.reserve(),
            Err(OperationError::TooManyRequests { .. })
        ));
        drop(first);
        assert!(renewal.reserve().is_ok());
    }
}
