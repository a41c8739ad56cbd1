//! Clears the restart hazard of a node that lost no locks, or whose lost locks no client relies on
//! that it lost. The node then grants new locks immediately.

use std::sync::Arc;

use super::Operations;
use super::audit_scope::audit_principal;
use super::force_release::check_reason;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{AuditDetail, NodeView, OperationError, OperationKind, Permission, Scope};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, AuditRequest};
use crate::server::stores::{Group, NodeRecord};

impl Operations {
    /// Clears the restart hazard of the current run of a node. In production `confirm` must be the node's name.
    /// Returns the new state of the node, and the record to store.
    pub async fn clear_restart_hazard(
        &self,
        principal: &Principal,
        group: &str,
        node: &str,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<(NodeView, NodeRecord), OperationError> {
        let mut record = AuditRequest::new(
            OperationKind::ClearRestartHazard,
            audit_principal(principal),
        );
        record.group = Some(group);
        record.reason = Some(reason.trim());
        record.detail = Some(AuditDetail::Node {
            node: node.to_owned(),
        });
        let prepared = self.prepare_clear_hazard(principal, group, node, reason, confirm);
        let group = self.audit_refusal(&record, prepared)?;
        let audit_entry = self.audit.begin(record).await?;
        let result = clear_restart_hazard(&group, node);
        audit_entry.end(&match &result {
            Ok(_) => AuditOutcome::done(&[]),
            Err(error) => AuditOutcome::from_error(error),
        });
        let request_id = principal.request_id().map(tracing::field::display);
        if result.is_ok() {
            tracing::warn!(action = "clear-restart-hazard", group = group.config.name, node, by = principal.name(), reason = ?reason.trim(), request.id = request_id, "an operator cleared for the node; it grants new locks again");
        }
        result
    }

    fn prepare_clear_hazard(
        &self,
        principal: &Principal,
        name: &str,
        node: &str,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<Arc<Group>, OperationError> {
        let group = self.visible_group(principal, name)?;
        let scope = Scope::group(name).with_read_only(group.config.read_only);
        principal.authorize(Permission::ClearRestartHazard, scope)?;
        check_reason(reason)?;
        let views = group.node_views();
        if !views.iter().any(|view| view.name == node) {
            return Err(unknown_node_error(node));
        }
        if group.config.environment.requires_confirmation() && confirm != Some(node) {
            return Err(OperationError::invalid_field(
                "confirm",
                InvalidValue::NodeNameRequired,
            ));
        }
        Ok(group)
    }
}

fn clear_restart_hazard(
    group: &Group,
    node: &str,
) -> Result<(NodeView, NodeRecord), OperationError> {
    let record = group.clear_restart_hazard(node).ok_or_else(|| {
        OperationError::invalid_field(
            "node",
            InvalidValue::UnknownRunId {
                node: node.to_owned(),
            },
        )
    })?;
    let views = group.node_views();
    let view = views.into_iter().find(|view| view.name == node);
    let view = view.ok_or_else(|| unknown_node_error(node))?;
    Ok((view, record))
}

/// The error for a node that the group does not have.
pub(super) fn unknown_node_error(node: &str) -> OperationError {
    OperationError::invalid_field(
        "node",
        InvalidValue::UnknownNode {
            node: node.to_owned(),
        },
    )
}
