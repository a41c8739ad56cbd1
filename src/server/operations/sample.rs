//! Records all commands of one node for a few seconds (`MONITOR`), to find clients that fail to
//! acquire locks.

use std::time::Duration;

use super::Operations;
use super::audit_scope::audit_principal;
use super::clear_restart_hazard::unknown_node_error;
use crate::domain::operation_error::{DenialReason, InvalidValue, LimitReached};
use crate::domain::{AuditDetail, MonitorSample, OperationError, OperationKind, Permission, Scope};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, AuditRequest};
use crate::server::stores::SampleError;

/// The maximum duration of a sample.
pub const MAX_SAMPLE_DURATION: Duration = Duration::from_secs(10);

impl Operations {
    /// Takes a sample of one node. It changes nothing, so it is allowed in read-only groups. During
    /// a sample each command costs the node 1.25 to 2 times as much, so only one sample runs at a
    /// time.
    pub async fn monitor_sample(
        &self,
        principal: &Principal,
        group: &str,
        node: &str,
        duration: Duration,
    ) -> Result<MonitorSample, OperationError> {
        let mut record = AuditRequest::new(OperationKind::Monitor, audit_principal(principal));
        record.group = Some(group);
        record.detail = Some(AuditDetail::Sample {
            node: node.to_owned(),
            seconds: duration.as_secs(),
        });
        let sample = self.sample(principal, group, node, duration).await;
        match &sample {
            Ok(_) => self.audit.record(&record, &AuditOutcome::done(&[])),
            Err(error) => self.audit.record_rejection(&record, error),
        }
        sample
    }

    async fn sample(
        &self,
        principal: &Principal,
        group: &str,
        node: &str,
        duration: Duration,
    ) -> Result<MonitorSample, OperationError> {
        let name = group;
        let group = self.visible_group(principal, name)?;
        principal.authorize(Permission::Monitor, Scope::group(name))?;
        let views = group.node_views();
        if !views.iter().any(|view| view.name == node) {
            return Err(unknown_node_error(node));
        }
        if duration.is_zero() || duration > MAX_SAMPLE_DURATION {
            let max = MAX_SAMPLE_DURATION.as_secs();
            return Err(OperationError::invalid_field(
                "seconds",
                InvalidValue::OutOfRange { min: 1, max },
            ));
        }
        let _guard = self
            .sampling
            .try_lock()
            .map_err(|_| OperationError::TooManyRequests {
                cause: LimitReached::SampleRunning,
                retry_after_ms: 1_000,
            })?;
        let sample = group.sample_contention(node, duration).await;
        let sample = sample.ok_or_else(|| unknown_node_error(node))?;
        let sample = sample.map_err(|reason| match reason {
            SampleError::Rejected(cause) => OperationError::Forbidden {
                cause: DenialReason::SampleRejected { cause },
            },
            SampleError::Unreachable(reason) => OperationError::Unreachable {
                nodes_reached: 0,
                nodes_total: 1,
                quorum: 1,
                nodes: vec![crate::domain::NodeObservation {
                    node: node.to_owned(),
                    observation: crate::domain::Observation::Unreachable { reason },
                }],
            },
        })?;
        self.index.record_sample(&group.config.name, &sample).await;
        Ok(sample)
    }
}
