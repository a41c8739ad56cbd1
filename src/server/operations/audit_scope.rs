//! Audits every operation: its start, its refusal and its result.

use super::Operations;
use crate::domain::{
    AuditDetail, AuditFilter, AuditHistogram, AuditPage, ChainCheck, LockId, NodeObservation,
    OperationError, OperationKind, Permission, ReleaseResult, Scope,
};
use crate::server::access::Principal;
use crate::server::audit::{AuditActor, AuditOutcome, AuditRequest, AuditSearch, OpenOperation};
use crate::server::webhooks;

/// The audit record of an operation on a lock.
pub(super) fn audit_record<'a>(
    kind: OperationKind,
    principal: &'a Principal,
    id: &'a LockId,
) -> AuditRequest<'a> {
    AuditRequest::on_lock(kind, audit_principal(principal), id)
}

/// The principal as recorded in the audit log.
pub(super) fn audit_principal(principal: &Principal) -> AuditActor<'_> {
    AuditActor {
        actor: principal.name(),
        subject: principal.subject(),
        auth_method: principal.auth_method().slug(),
        address: principal.address(),
        request_id: principal.request_id().map(|request| &*request.0),
    }
}

/// The principal as sent to webhooks.
pub(super) fn webhook_principal(principal: &Principal) -> webhooks::EventActor {
    webhooks::EventActor {
        name: principal.name().to_owned(),
        subject: principal.subject().map(str::to_owned),
        auth_method: principal.auth_method().slug(),
        request_id: principal.request_id().map(ToString::to_string),
    }
}

impl Operations {
    /// Audits the refusal if the checks before an operation failed.
    pub(super) fn audit_refusal<T>(
        &self,
        record: &AuditRequest<'_>,
        result: Result<T, OperationError>,
    ) -> Result<T, OperationError> {
        result.inspect_err(|error| self.audit.record_rejection(record, error))
    }

    /// Audits a rejected cross-site request for an operation.
    pub fn audit_cross_site_request(
        &self,
        principal: &Principal,
        kind: OperationKind,
        lock: Option<&LockId>,
        error: &OperationError,
    ) {
        let record = match lock {
            Some(id) => audit_record(kind, principal, id),
            None => AuditRequest::new(kind, audit_principal(principal)),
        };
        self.audit.record_rejection(&record, error);
    }

    /// Writes the start of an operation before it is executed. Without an audit entry the operation
    /// is rejected.
    pub(super) async fn begin_audited<'a>(
        &self,
        record: AuditRequest<'a>,
        id: &LockId,
    ) -> Result<OpenOperation<'a>, OperationError> {
        let kind = record.action.slug();
        let entry = self.audit.begin(record).await;
        entry.inspect_err(|error| log_refusal(kind, id, error))
    }

    /// Closes the audit entries of processes that were killed, with what the nodes report of their
    /// locks now.
    pub async fn close_orphaned_operations(&self) {
        for group in self.all_groups().iter() {
            group.wait_for_first_attempts().await;
        }
        self.audit
            .close_orphaned_operations(|id| self.inspect_for_recovery(id))
            .await;
    }

    async fn inspect_for_recovery(&self, id: LockId) -> Vec<NodeObservation> {
        let Ok(group) = self.group(&id.group) else {
            return Vec::new();
        };
        let inspected = self.index.inspect(&group, &id.key).await;
        inspected
            .map(|inspected| inspected.nodes)
            .unwrap_or_default()
    }

    /// The state of the audit log's hash chain.
    pub async fn chain_check(&self, principal: &Principal) -> Result<ChainCheck, OperationError> {
        principal.authorize(Permission::ReadAudit, Scope::console())?;
        Ok(self.audit.chain_check().await)
    }

    /// Searches the audit log, newest entries first. Only groups that the principal may see are
    /// included.
    pub async fn search_audit(
        &self,
        principal: &Principal,
        filter: AuditFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<AuditPage, OperationError> {
        authorize_search(principal, &filter)?;
        let search = AuditSearch {
            filter,
            visible_groups: principal.grant().visible_groups(),
            limit,
            cursor,
        };
        self.audit.search(search).await
    }

    /// Counts the entries of the audit log over time. Only groups that the principal may see are
    /// included.
    pub async fn audit_histogram(
        &self,
        principal: &Principal,
        filter: AuditFilter,
    ) -> Result<AuditHistogram, OperationError> {
        authorize_search(principal, &filter)?;
        let visible_groups = principal.grant().visible_groups();
        self.audit.histogram(filter, visible_groups).await
    }
}

fn authorize_search(principal: &Principal, filter: &AuditFilter) -> Result<(), OperationError> {
    let scope = match &filter.group {
        Some(group) => Scope::group(group),
        None => Scope::console(),
    };
    principal.authorize(Permission::ReadAudit, scope)
}

pub(super) fn log_refusal(kind: &str, id: &LockId, error: &OperationError) {
    tracing::debug!(action = kind, lock.group = id.group, lock.key = ?id.key, code = error.code(), "rejected: {error}");
}

/// The audit entry for the result of a release.
pub(super) fn release_audit_end(result: &Result<ReleaseResult, OperationError>) -> AuditOutcome {
    match result {
        Ok(released) => {
            let outcome = AuditOutcome::done(&released.nodes);
            match released.hold_count {
                Some(holds) => outcome.with_detail(AuditDetail::StillHeld { hold_count: holds }),
                None => outcome,
            }
        }
        Err(error) => AuditOutcome::from_error(error),
    }
}
