//! Acquire: validates the request, makes one attempt or waits for the lock, and returns the token.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::acquire_request::{AcquireRequest, AcquiredLock};
use super::audit_scope::{audit_record, log_refusal, webhook_principal};
use super::owner_operations::{
    AttemptKind, acquired_or_error, check_token, check_ttl, no_quorum_error, token_text,
};
use super::renewals::{GrantedLock, RenewalPermit};
use super::{Operations, check_key, millis};
use crate::domain::operation_error::InvalidValue;
use crate::domain::{AuditDetail, LockId, OperationError, OperationKind, Permission};
use crate::server::access::{AuthMethod, Principal};
use crate::server::audit::AuditOutcome;
use crate::server::stores::{AcquireOutcome, Group, HoldRequest, HoldStatus, Token, WaiterInfo};
use crate::server::telemetry::traces;
use crate::server::webhooks::OperationEvent;

/// The maximum wait time of an acquire.
const MAX_WAIT: Duration = Duration::from_mins(5);
/// The maximum length of a label, in characters.
const MAX_LABEL_CHARS: usize = 64;

/// A validated acquire.
struct PreparedAcquire {
    group: Arc<Group>,
    params: HoldRequest,
    wait: Duration,
    label: String,
    renewal_permit: Option<RenewalPermit>,
}

impl Operations {
    /// Acquires a lock as any client of its format would.
    pub async fn acquire(
        &self,
        principal: &Principal,
        id: &LockId,
        request: &AcquireRequest,
    ) -> Result<AcquiredLock, OperationError> {
        let acquiring = async {
            let mut record = audit_record(OperationKind::Acquire, principal, id);
            record.label = request.label.as_deref();
            record.format = Some(request.format);
            Span::current().record("lockkeeper.format", request.format.slug());
            record.ttl_ms = Some(request.ttl_ms);
            record.auto_renew = request.auto_renew;
            let prepared = self.prepare_acquire(principal, id, request);
            let prepared = self.audit_refusal(&record, prepared)?;
            record.fingerprint = Some(prepared.params.token.fingerprint());
            let audit_entry = self.begin_audited(record, id).await?;
            let result = self.acquire_on(principal, id, request, prepared).await;
            audit_entry.end(&match &result {
                Ok(acquired) => {
                    AuditOutcome::done(&acquired.nodes).with_owner(acquired.fingerprint)
                }
                Err(error) => AuditOutcome::from_error(error),
            });
            result
        };
        self.instrumented(OperationKind::Acquire, id, Box::pin(acquiring), |result| {
            let nodes = result.as_ref().map(|acquired| &acquired.nodes[..]);
            let owner = result.as_ref().ok().map(|acquired| acquired.fingerprint);
            OperationEvent::new(
                OperationKind::Acquire,
                webhook_principal(principal),
                id,
                nodes,
            )
            .with_owner(owner)
        })
        .await
    }

    /// Checks whether the principal may acquire the lock.
    pub(super) fn authorize_acquire(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<(), OperationError> {
        self.group_for_operation(principal, Permission::Acquire, id)
            .map(drop)
    }

    /// Records in the audit log that the response to an acquire, with its token, was replayed.
    pub(super) async fn audit_replay(
        &self,
        principal: &Principal,
        id: &LockId,
        acquired: &AcquiredLock,
    ) -> Result<(), OperationError> {
        let mut record = audit_record(OperationKind::Acquire, principal, id);
        record.fingerprint = Some(acquired.fingerprint);
        let audit_entry = self.begin_audited(record, id).await?;
        audit_entry.end(&AuditOutcome::done(&[]).with_detail(AuditDetail::Replayed));
        Ok(())
    }

    fn prepare_acquire(
        &self,
        principal: &Principal,
        id: &LockId,
        request: &AcquireRequest,
    ) -> Result<PreparedAcquire, OperationError> {
        let group = self.group_for_operation(principal, Permission::Acquire, id)?;
        check_key(&id.key)?;
        let ttl = check_ttl(&group, id, request.ttl_ms)?;
        let wait = Duration::from_millis(request.wait_ms);
        // The command line waits in its own process, so it occupies no resources of a console.
        if wait > MAX_WAIT && *principal.auth_method() != AuthMethod::CommandLine {
            let max_ms = millis(MAX_WAIT);
            return Err(OperationError::invalid_field(
                "wait_ms",
                InvalidValue::WaitTooLong { max_ms },
            ));
        }
        let label = request.label.as_deref().unwrap_or("").trim();
        if label.chars().count() > MAX_LABEL_CHARS {
            return Err(OperationError::invalid_field(
                "label",
                InvalidValue::TooManyCharacters {
                    max: MAX_LABEL_CHARS,
                },
            ));
        }
        let format = request.format;
        if !group.can_acquire_format(format) {
            return Err(OperationError::invalid_field(
                "format",
                InvalidValue::UnsupportedFormat {
                    format,
                    supported: group.config.kind.capabilities().acquire_formats.to_vec(),
                },
            ));
        }
        let token = match &request.token {
            Some(token) => {
                let token = check_token(token)?;
                if let Some(cause) = group.invalid_token_reason(format, &token) {
                    return Err(OperationError::invalid_field("token", cause));
                }
                token
            }
            None => {
                let label = if label.is_empty() { "console" } else { label };
                group.generate_token(format, label)
            }
        };
        let params = HoldRequest {
            format,
            key: id.key.clone(),
            token,
            ttl,
            caller_supplied: request.token.is_some(),
        };
        let renewal_permit = self.reserve_renewal(id, request, &group.hold_id(&params.token))?;
        Ok(PreparedAcquire {
            group,
            params,
            wait,
            label: label.to_owned(),
            renewal_permit,
        })
    }

    async fn acquire_on(
        &self,
        principal: &Principal,
        id: &LockId,
        request: &AcquireRequest,
        prepared: PreparedAcquire,
    ) -> Result<AcquiredLock, OperationError> {
        let PreparedAcquire {
            group,
            mut params,
            wait,
            label,
            renewal_permit,
        } = prepared;
        let outcome = self.run_acquire(&group, id, &params, wait, &label).await;
        if !wait.is_zero() && outcome.valid_until().is_none() && group.closing().is_cancelled() {
            let error = OperationError::Stopping;
            self.record_refused_acquire(id, &error);
            return Err(error);
        }
        let fencing_token = outcome.fence;
        if let Some(stored_token) = &outcome.token {
            params.token = stored_token.clone();
        }
        let (validity, nodes) = acquired_or_error(&group, outcome, AttemptKind::Acquire)
            .inspect_err(|error| self.record_refused_acquire(id, error))?;
        let (expires_at, valid_until) =
            (self.index().now().plus(validity), Instant::now() + validity);
        let fingerprint = group.owner_fingerprint(&params.token);
        tracing::debug!(action = "acquire", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "acquired");
        let granted = GrantedLock::new(id, request, &params, validity, &nodes, principal);
        self.start_auto_renewal(&group, &granted, renewal_permit);
        self.index().poll_soon(id);
        Ok(AcquiredLock {
            token: token_text(&params.token),
            fingerprint,
            fencing_token,
            validity_ms: millis(validity),
            expires_at,
            nodes,
            valid_until: Some(valid_until),
        })
    }

    /// Returns an earlier response to an acquire with its current validity: from the auto-renewal
    /// of this console, or else as the nodes report it. If too few nodes can be read, the original
    /// validity still applies.
    pub(super) async fn refresh_acquired(
        &self,
        id: &LockId,
        acquired: &AcquiredLock,
    ) -> Result<AcquiredLock, OperationError> {
        let token = Token::from_bytes(acquired.token.as_bytes());
        let group = self.group(&id.group)?;
        if let Some(renewal) = self.renewals.get(id, &group.hold_id(&token)) {
            return Ok(acquired.with_valid_until(renewal.state().valid_until(), self.index().now()));
        }
        match group.check_hold(&id.key, &token).await {
            HoldStatus::ValidUntil(until) => {
                Ok(acquired.with_valid_until(until, self.index().now()))
            }
            HoldStatus::NotHeld(nodes) => Err(OperationError::HoldEnded { nodes }),
            HoldStatus::Unknown(nodes) => {
                let refreshed = acquired.with_remaining_validity(self.index().now());
                if refreshed.validity_ms == 0 {
                    return Err(no_quorum_error(group.quorum(), nodes));
                }
                Ok(refreshed)
            }
        }
    }

    /// Makes one attempt, or waits for the lock for up to `wait`.
    async fn run_acquire(
        &self,
        group: &Arc<Group>,
        id: &LockId,
        params: &HoldRequest,
        wait: Duration,
        label: &str,
    ) -> AcquireOutcome {
        let queues = self.queues(&id.group);
        let cancellation = CancellationToken::new();
        if wait.is_zero() {
            let acquiring = {
                let (group, params, cancellation) =
                    (Arc::clone(group), params.clone(), cancellation.clone());
                async move { group.acquire_once(&params, &queues, cancellation).await }
            };
            return run_to_completion(params.caller_supplied, cancellation, acquiring).await;
        }
        let waiter = WaiterInfo {
            label: (!label.is_empty()).then(|| label.to_owned()),
            fingerprint: group.hold_id(&params.token),
            since: self.index().now(),
            in_node_queue: group.enters_node_queue(params.format),
        };
        let position = queues.join_named(&id.key, Some(waiter));
        // The index shows the number of waiters for a lock, so it is published at the start and the
        // end of each wait.
        let report = WaiterCountReport {
            operations: self,
            id,
        };
        report.publish();
        let acquiring = {
            let (group, params, cancellation) =
                (Arc::clone(group), params.clone(), cancellation.clone());
            async move {
                // Boxed, because the future is large: unoptimised builds copy it on the stack, which a
                // thread of 2 MiB does not survive.
                let waiting = group.acquire_within(&params, wait, position, cancellation);
                Box::pin(waiting).await
            }
        };
        run_to_completion(params.caller_supplied, cancellation, acquiring).await
    }

    fn record_refused_acquire(&self, id: &LockId, error: &OperationError) {
        if matches!(error, OperationError::Held { .. }) {
            self.index()
                .local_demand()
                .record_refusal(id, self.index().monotonic_now());
        }
        log_refusal("acquire", id, error);
    }
}

/// Runs an acquire. With a caller-supplied token, an attempt in progress is completed even if the
/// client disconnects: only all replies together show what the owner held before and what must be
/// rolled back.
async fn run_to_completion(
    caller_supplied: bool,
    cancellation: CancellationToken,
    acquiring: impl Future<Output = AcquireOutcome> + Send + 'static,
) -> AcquireOutcome {
    if !caller_supplied {
        return acquiring.await;
    }
    let _cancel_on_drop = cancellation.drop_guard();
    let (sender, receiver) = oneshot::channel();
    let acquiring = traces::in_current_span(async move {
        // A disconnected client receives nothing, and the attempt has been rolled back.
        let _disconnected = sender.send(acquiring.await);
    });
    let task = tokio::spawn(acquiring);
    match receiver.await {
        Ok(outcome) => outcome,
        Err(_) => match task.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Ok(()) | Err(_) => std::future::pending().await,
        },
    }
}

/// Publishes the number of waiters for a lock, also when it is dropped.
struct WaiterCountReport<'a> {
    operations: &'a Operations,
    id: &'a LockId,
}

impl WaiterCountReport<'_> {
    fn publish(&self) {
        let (queues, key) = (self.operations.queues(&self.id.group), &self.id.key);
        let (waiting, on_nodes) = (queues.waiter_count(key), queues.node_queue_count(key));
        self.operations
            .index()
            .local_demand()
            .set_waiters(self.id, waiting, on_nodes);
    }
}

impl Drop for WaiterCountReport<'_> {
    fn drop(&mut self) {
        self.publish();
    }
}
