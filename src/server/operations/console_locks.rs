//! Locks that users acquired from the console's pages. Their tokens stay on the server, so that no
//! page contains one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::audit_scope::audit_record;
use super::check_key;
use super::{AcquireRequest, Operations, millis};
use crate::domain::operation_error::DenialReason;
use crate::domain::{
    ConsoleLock, Fingerprint, LockId, OperationError, OperationKind, Permission, ReleaseResult,
};
use crate::server::access::Principal;
use crate::server::audit::AuditOutcome;
use crate::server::stores::{RenewalEnd, RenewalHandle, RenewalState, Token};

/// How long an expired lock stays listed, so that its owner sees that it expired.
const EXPIRED_RETENTION: Duration = Duration::from_mins(10);

/// The locks with their tokens, by principal.
#[derive(Default)]
pub(super) struct ConsoleLocks(Mutex<BTreeMap<ConsoleLockKey, ConsoleHold>>);

/// The key of a lock of one principal.
type ConsoleLockKey = (PrincipalId, LockId);

/// The identity of a principal, independent of the authentication method.
type PrincipalId = (&'static str, String);

fn principal_id(principal: &Principal) -> PrincipalId {
    let (kind, name) = principal.account_key();
    (kind, name.to_owned())
}

#[derive(Clone)]
struct ConsoleHold {
    /// The state at the last acquire or extend by the user.
    lock: ConsoleLock,
    token: String,
    /// Its auto-renewal.
    renewal: Option<Arc<RenewalHandle>>,
}

impl ConsoleHold {
    /// The current state.
    fn current(&self) -> ConsoleLock {
        let mut lock = self.lock.clone();
        if let Some(renewal) = &self.renewal {
            apply_renewal_state(&mut lock, renewal.state());
        }
        lock
    }
}

/// Applies the state of the auto-renewal.
fn apply_renewal_state(lock: &mut ConsoleLock, state: RenewalState) {
    lock.fingerprint = state.owner;
    lock.auto_renew = state.is_renewed();
    lock.extensions += state.renewals();
    lock.ttl_ms = millis(state.ttl());
    lock.renewal_stopped_reason = state.limit_reached.map(Into::into);
    lock.lost_reason = match state.end {
        Some(RenewalEnd::Lost(loss)) => Some(loss.reason()),
        Some(RenewalEnd::Stopped) | None => None,
    };
    lock.expires_at = state.expires_at;
    lock.nodes = state.nodes;
}

impl ConsoleLocks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConsoleLockKey, ConsoleHold>> {
        self.0.lock()
    }

    fn get(&self, principal: &Principal, id: &LockId) -> Result<ConsoleHold, OperationError> {
        self.lock()
            .get(&(principal_id(principal), id.clone()))
            .cloned()
            .ok_or(OperationError::NotHeld { nodes: Vec::new() })
    }
}

impl Operations {
    /// Whether this hold was acquired from the console's pages, by any principal.
    pub(super) fn has_console_lock(&self, id: &LockId, owner: &Fingerprint) -> bool {
        let holds = self.console_locks.lock();
        let mut holds = holds.iter();
        holds.any(|((_, lock), hold)| lock == id && hold.lock.fingerprint == *owner)
    }

    /// The locks that the principal acquired from the console's pages, oldest first.
    pub fn console_locks(&self, principal: &Principal) -> Vec<ConsoleLock> {
        let now = self.index().now();
        let mut holds = self.console_locks.lock();
        let (mut locks, own_id) = (Vec::new(), principal_id(principal));
        holds.retain(|(owner, _), hold| {
            let current = hold.current();
            let is_retained = now.since(current.expires_at) < EXPIRED_RETENTION;
            locks.extend((is_retained && *owner == own_id).then_some(current));
            is_retained
        });
        locks.sort_by(|a, b| {
            a.acquired_at
                .cmp(&b.acquired_at)
                .then_with(|| a.id.cmp(&b.id))
        });
        locks
    }

    /// Acquires a lock for a page; its token stays on the server.
    pub async fn acquire_console_lock(
        &self,
        principal: &Principal,
        id: LockId,
        request: &AcquireRequest,
    ) -> Result<ConsoleLock, OperationError> {
        check_key(&id.key)?;
        let acquired = self.acquire(principal, &id, request).await?;
        let token = Token::from_bytes(acquired.token.as_bytes());
        let group = self.group(&id.group).ok();
        let hold = ConsoleHold {
            renewal: group.and_then(|group| self.renewals.get(&id, &group.hold_id(&token))),
            lock: ConsoleLock {
                id: id.clone(),
                fingerprint: acquired.fingerprint,
                acquired_at: self.index().now(),
                ttl_ms: request.ttl_ms,
                expires_at: acquired.expires_at,
                nodes: acquired.nodes,
                token_available: true,
                auto_renew: false,
                fencing_token: acquired.fencing_token,
                extensions: 0,
                renewal_stopped_reason: None,
                lost_reason: None,
            },
            token: acquired.token,
        };
        let lock = hold.current();
        self.console_locks
            .lock()
            .insert((principal_id(principal), id), hold);
        Ok(lock)
    }

    /// Extends a lock that was acquired from a page.
    pub async fn extend_console_lock(
        &self,
        principal: &Principal,
        id: &LockId,
        ttl_ms: u64,
    ) -> Result<ConsoleLock, OperationError> {
        let hold = self.console_locks.get(principal, id)?;
        let extended = self.extend(principal, id, &hold.token, ttl_ms).await?;
        let mut holds = self.console_locks.lock();
        let hold = holds
            .get_mut(&(principal_id(principal), id.clone()))
            .ok_or(OperationError::NotHeld {
                nodes: extended.nodes.clone(),
            })?;
        hold.lock.ttl_ms = ttl_ms;
        hold.lock.expires_at = extended.expires_at;
        hold.lock.nodes = extended.nodes;
        if let Some(token) = extended.token {
            hold.lock.fingerprint = Token::from_bytes(token.as_bytes()).fingerprint();
            hold.token = token;
        }
        hold.lock.extensions += 1;
        // The auto-renewal had ended, but the extend shows that the lock is still held. It is not
        // renewed any more.
        if let Some(ended_renewal) = hold.renewal.take_if(|renewal| !renewal.is_active()) {
            hold.lock.extensions += ended_renewal.state().renewals();
        }
        Ok(hold.current())
    }

    /// Releases a lock that was acquired from a page. A lock that is already gone is removed from
    /// the list and reported as such.
    pub async fn release_console_lock(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<ReleaseResult, OperationError> {
        let hold = self.console_locks.get(principal, id)?;
        let result = self.release(principal, id, &hold.token).await;
        if matches!(
            result,
            Ok(ReleaseResult {
                hold_count: None,
                ..
            }) | Err(OperationError::NotHeld { .. } | OperationError::NotOwner { .. })
        ) {
            self.console_locks
                .lock()
                .remove(&(principal_id(principal), id.clone()));
        }
        result
    }

    /// Reveals the token of a lock that was acquired from a page, once.
    pub async fn reveal_token(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<String, OperationError> {
        let mut record = audit_record(OperationKind::RevealToken, principal, id);
        // A principal without permission to release could only pass the token on.
        let group = self.group_for_operation(principal, Permission::Release, id);
        self.audit_refusal(&record, group)?;
        let hold = self.console_locks.get(principal, id);
        record.fingerprint = hold.ok().map(|hold| hold.lock.fingerprint);
        let audit_entry = self.begin_audited(record, id).await?;
        let revealed = self.reveal_token_once(principal, id);
        audit_entry.end(&match &revealed {
            Ok(_) => AuditOutcome::done(&[]),
            Err(error) => AuditOutcome::from_error(error),
        });
        revealed
    }

    fn reveal_token_once(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<String, OperationError> {
        let mut holds = self.console_locks.lock();
        let hold = holds
            .get_mut(&(principal_id(principal), id.clone()))
            .ok_or(OperationError::NotHeld { nodes: Vec::new() })?;
        if !std::mem::take(&mut hold.lock.token_available) {
            return Err(OperationError::Forbidden {
                cause: DenialReason::TokenRevealed,
            });
        }
        Ok(hold.token.clone())
    }
}
