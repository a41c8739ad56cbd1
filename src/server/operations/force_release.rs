//! Force-release: the checks before it, audit and log around it, and the state of the nodes after
//! it.

use std::sync::Arc;
use tracing::Span;

use super::audit_scope::{audit_record, log_refusal, webhook_principal};
use super::owner_operations::check_released;
use super::release_completion::IncompleteRelease;
use super::release_watch::ForceReleasedLock;
use super::{Operations, check_key};
use crate::domain::operation_error::{ConfirmationCause, InternalError, InvalidValue};
use crate::domain::{
    AuditDetail, Fingerprint, Lock, LockId, NodeOutcome, NodeResult, ObservedHold, OperationError,
    OperationKind, Permission, ReleaseMethod, ReleaseResult,
};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, OpenOperation};
use crate::server::stores::{
    ForceRefusal, ForceReleaseOutcome, ForceTarget, Group, Loss, RenewalHandle,
};
use crate::server::telemetry::traces;
use crate::server::webhooks::OperationEvent;

/// The maximum length of a reason, in characters.
const MAX_REASON_CHARS: usize = 500;

/// A force-release request.
#[derive(Clone, Copy, Debug)]
pub struct ForceReleaseRequest<'a> {
    /// The fingerprint of the expected owner.
    pub fingerprint: &'a Fingerprint,
    /// The expected hold, as far as it is known.
    pub expected_hold: ObservedHold,
    /// The reason for the release.
    pub reason: &'a str,
    /// The lock's name as confirmation, where required.
    pub confirm: Option<&'a str>,
    /// What is done to the lock and its owner.
    pub method: &'a ReleaseMethod,
}

/// An owned copy of the request for a spawned task.
pub(super) struct OwnedForceReleaseRequest {
    fingerprint: Fingerprint,
    expected_hold: ObservedHold,
    reason: String,
    confirm: Option<String>,
    method: ReleaseMethod,
}

impl ForceReleaseRequest<'_> {
    pub(super) fn to_owned_request(self) -> OwnedForceReleaseRequest {
        OwnedForceReleaseRequest {
            fingerprint: *self.fingerprint,
            expected_hold: self.expected_hold,
            reason: self.reason.to_owned(),
            confirm: self.confirm.map(str::to_owned),
            method: self.method.clone(),
        }
    }
}

impl OwnedForceReleaseRequest {
    pub(super) fn as_request(&self) -> ForceReleaseRequest<'_> {
        ForceReleaseRequest {
            fingerprint: &self.fingerprint,
            expected_hold: self.expected_hold,
            reason: &self.reason,
            confirm: self.confirm.as_deref(),
            method: &self.method,
        }
    }
}

impl Operations {
    /// Force-releases a lock if its owner is still the expected one.
    ///
    /// Production groups, and formats in which a release does harm, require the lock's name as
    /// confirmation. The format is read from the nodes. Once started, the operation and everything
    /// after it is completed even if the caller disconnects.
    pub async fn force_release(
        self: &Arc<Self>,
        principal: &Principal,
        id: &LockId,
        request: ForceReleaseRequest<'_>,
    ) -> Result<ReleaseResult, OperationError> {
        let (operations, principal, id) = (Arc::clone(self), principal.clone(), id.clone());
        let request = request.to_owned_request();
        let releasing = async move {
            let request = request.as_request();
            operations
                .force_release_audited(&principal, &id, request)
                .await
        };
        let releasing = tokio::spawn(traces::in_current_span(releasing));
        releasing.await.unwrap_or_else(|error| {
            Err(OperationError::Internal {
                cause: InternalError::OperationAborted {
                    text: error.to_string(),
                },
            })
        })
    }

    async fn force_release_audited(
        self: &Arc<Self>,
        principal: &Principal,
        id: &LockId,
        request: ForceReleaseRequest<'_>,
    ) -> Result<ReleaseResult, OperationError> {
        let releasing = async {
            let mut record = audit_record(OperationKind::ForceRelease, principal, id);
            record.fingerprint = Some(*request.fingerprint);
            record.reason = Some(request.reason.trim());
            let prepared = self.prepare_force_release(principal, id, request);
            let group = self.audit_refusal(&record, prepared)?;
            if matches!(request.method, ReleaseMethod::RevokeLease(_)) {
                let allowed = self.authorize_lease_keys(principal, &group, id).await;
                self.audit_refusal(&record, allowed)?;
            }
            let audit_entry = self.begin_audited(record, id).await?;
            self.run_force_release(principal, &group, id, request, audit_entry)
                .await
        };
        self.instrumented(OperationKind::ForceRelease, id, releasing, |result| {
            let nodes = result.as_ref().map(|released| &released.nodes[..]);
            let kind = OperationKind::ForceRelease;
            OperationEvent::new(kind, webhook_principal(principal), id, nodes)
                .with_owner(Some(*request.fingerprint))
                .with_reason(request.reason)
        })
        .await
    }

    async fn run_force_release(
        self: &Arc<Self>,
        principal: &Principal,
        group: &Arc<Group>,
        id: &LockId,
        request: ForceReleaseRequest<'_>,
        audit_entry: OpenOperation<'_>,
    ) -> Result<ReleaseResult, OperationError> {
        let ForceReleaseRequest {
            fingerprint,
            reason,
            expected_hold,
            ..
        } = request;
        let request_id = principal.request_id().map(tracing::field::display);
        tracing::info!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, reason = ?reason.trim(), request.id = request_id, "started");
        let renewal = self.renewals.find_by_owner(id, fingerprint);
        let renewal_pause = renewal.as_ref().map(RenewalHandle::pause);
        let last_state = self.indexed_lock(id);
        if let Some(lock) = &last_state {
            Span::current().record("lockkeeper.format", lock.format.slug());
        }
        let target = force_target(id, request, last_state.as_deref());
        let outcome = match request.method {
            ReleaseMethod::Lock => group.force_release(target).await,
            ReleaseMethod::RevokeLease(shown) => group.revoke_lease(target, shown).await,
            ReleaseMethod::CancelStatement => group.cancel_statement(target).await,
        };
        let at = self.index().now();
        let outcome = match outcome.map_err(|refusal| refusal_error(refusal, id)) {
            Ok(outcome) => outcome,
            Err(error) => {
                log_refusal("force-release", id, &error);
                audit_entry.end(&AuditOutcome::from_error(&error));
                return Err(error);
            }
        };
        let result = check_force_released(group, &outcome);
        // The result is audited first, before a later step can fail.
        audit_entry.end(&match &result {
            Ok(()) => {
                let done = AuditOutcome::done(&outcome.nodes);
                match request.method {
                    ReleaseMethod::Lock => done,
                    ReleaseMethod::RevokeLease(_) => done.with_detail(AuditDetail::LeaseRevoked),
                    ReleaseMethod::CancelStatement => {
                        done.with_detail(AuditDetail::StatementCancelled)
                    }
                }
            }
            Err(error) => AuditOutcome::from_error(error),
        });
        if matches!(result, Ok(()) | Err(OperationError::PartlyReleased { .. })) {
            self.spawn_completion(IncompleteRelease {
                group: Arc::clone(group),
                id: id.clone(),
                fingerprint: *fingerprint,
                expected_hold: expected_hold.or(outcome.hold),
                known_format: target.known_format,
                harm_accepted: target.harm_accepted,
                reason: reason.trim().to_owned(),
                nodes: outcome.nodes.clone(),
                last_state: last_state.clone(),
                principal: principal.clone(),
                is_partial: result.is_err(),
            });
        }
        if result.is_ok() {
            let lock = ForceReleasedLock {
                id: id.clone(),
                owner: *fingerprint,
                released_at: at,
                last_state: last_state.clone(),
                principal: principal.clone(),
            };
            self.handle_force_released(lock, renewal.as_ref()).await;
        }
        // Resumes the auto-renewal of a lock that was not released, which notices if the lock is
        // lost.
        drop(renewal_pause);
        let observed_after = self.inspect_nodes(group, &id.key).await?.lock;
        result.inspect_err(|error| log_refusal("force-release", id, error))?;
        tracing::info!(action = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, nodes = ?outcome_labels(&outcome.nodes), request.id = request_id, "released");
        Ok(ReleaseResult {
            nodes: outcome.nodes,
            at,
            hold_count: None,
            observed_after,
        })
    }

    /// Handles the loss of an owner's quorum: history, auto-renewal, waiters, and the release
    /// watch.
    pub(super) async fn handle_force_released(
        &self,
        lock: ForceReleasedLock,
        renewal: Option<&Arc<RenewalHandle>>,
    ) {
        self.index()
            .record_force_release(&lock.id, &lock.owner)
            .await;
        if let Some(renewal) = renewal {
            renewal.mark_lost(Loss::ForceReleased);
        }
        self.queues(&lock.id.group).wake_first(&lock.id.key);
        self.release_watches
            .start(self.index(), &self.audit, &self.webhooks, lock);
    }

    /// Returns what a force-release would do according to the current state of the nodes: runs the
    /// same checks and comparisons and changes nothing.
    pub async fn dry_run_force_release(
        &self,
        principal: &Principal,
        id: &LockId,
        request: ForceReleaseRequest<'_>,
    ) -> Result<Vec<NodeResult>, OperationError> {
        let group = self.prepare_force_release(principal, id, request)?;
        let indexed_lock = self.indexed_lock(id);
        let target = force_target(id, request, indexed_lock.as_deref());
        let outcome = group.dry_run_force_release(target).await;
        let outcome = outcome.map_err(|refusal| refusal_error(refusal, id))?;
        check_force_released(&group, &outcome)?;
        Ok(outcome.nodes)
    }

    /// Runs the checks that need no request to the nodes, and returns the group.
    fn prepare_force_release(
        &self,
        principal: &Principal,
        id: &LockId,
        request: ForceReleaseRequest<'_>,
    ) -> Result<Arc<Group>, OperationError> {
        let group = self.group_for_operation(principal, Permission::ForceRelease, id)?;
        check_key(&id.key)?;
        check_reason(request.reason)?;
        if group.config.environment.requires_confirmation() && !is_confirmed(id, request) {
            return Err(OperationError::ConfirmRequired {
                key: id.key.clone(),
                cause: ConfirmationCause::Production,
            });
        }
        if self.was_reacquired_since(id, request.fingerprint, request.expected_hold) {
            let error = OperationError::HoldChanged { nodes: Vec::new() };
            log_refusal("force-release", id, &error);
            return Err(error);
        }
        Ok(group)
    }

    /// The lock as the index has it.
    pub(super) fn indexed_lock(&self, id: &LockId) -> Option<Arc<Lock>> {
        self.index().snapshot().lock(id).cloned()
    }

    /// Whether, according to the index, this owner has released the lock since it was seen and
    /// acquired it again.
    pub(super) fn was_reacquired_since(
        &self,
        id: &LockId,
        fingerprint: &Fingerprint,
        expected_hold: ObservedHold,
    ) -> bool {
        let Some(since) = expected_hold.acquired_at else {
            return false;
        };
        let lock = self.indexed_lock(id);
        lock.is_some_and(|lock| lock.was_reacquired_since(fingerprint, since))
    }
}

pub(super) fn check_reason(reason: &str) -> Result<(), OperationError> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(OperationError::invalid_field(
            "reason",
            InvalidValue::BlankReason,
        ));
    }
    if reason.chars().count() > MAX_REASON_CHARS {
        return Err(OperationError::invalid_field(
            "reason",
            InvalidValue::TooManyCharacters {
                max: MAX_REASON_CHARS,
            },
        ));
    }
    Ok(())
}

fn is_confirmed(id: &LockId, request: ForceReleaseRequest<'_>) -> bool {
    request.confirm == Some(&*id.key.text())
}

fn force_target<'a>(
    id: &'a LockId,
    request: ForceReleaseRequest<'a>,
    indexed_lock: Option<&Lock>,
) -> ForceTarget<'a> {
    ForceTarget {
        key: &id.key,
        fingerprint: request.fingerprint,
        expected_hold: request.expected_hold,
        known_format: indexed_lock.map(|lock| lock.format),
        harm_accepted: is_confirmed(id, request),
    }
}

/// Checks whether the lock was released.
fn check_force_released(
    group: &Group,
    outcome: &ForceReleaseOutcome,
) -> Result<(), OperationError> {
    let other = |nodes| OperationError::OwnerChanged {
        owner: outcome.current_owner.clone(),
        nodes,
    };
    check_released(group.quorum(), &outcome.nodes, other)
}

fn refusal_error(refusal: ForceRefusal, id: &LockId) -> OperationError {
    let key = id.key.clone();
    match refusal {
        ForceRefusal::UncertainLock => OperationError::PossibleLock { key },
        ForceRefusal::LeaseNotRevoked(cause) => OperationError::LeaseNotRevoked { cause },
        ForceRefusal::CancelFailed(cause) => OperationError::CancelFailed { cause },
        ForceRefusal::NotReleasable(format) => OperationError::NotReleasable { format },
        ForceRefusal::Harmful(format) => OperationError::ConfirmRequired {
            key,
            cause: ConfirmationCause::ReleaseRisk { format },
        },
    }
}

/// The outcome on each node, for the log.
fn outcome_labels(nodes: &[NodeResult]) -> Vec<String> {
    nodes
        .iter()
        .map(|node| {
            let label = match &node.outcome {
                NodeOutcome::Acquired => "acquired",
                NodeOutcome::Extended => "extended",
                NodeOutcome::Released => "released",
                NodeOutcome::Releasable => "releasable",
                NodeOutcome::Holds { .. } => "holds",
                NodeOutcome::NotHeld => "not-held",
                NodeOutcome::OtherOwner { .. } => "other-owner",
                NodeOutcome::OtherHold => "other-hold",
                NodeOutcome::Pending => "pending",
                NodeOutcome::Failed { .. } => "failed",
            };
            format!("{}={label}", node.node)
        })
        .collect()
}
