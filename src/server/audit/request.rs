//! The input of the audit log: a requested operation and its outcome. Never contains a token.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::Serialize;

use crate::domain::{
    AuditDetail, AuditEntry, CancelFailure, Fingerprint, Format, LockId, LockKey, NodeObservation,
    NodeResult, OperationError, OperationKind, OperationResult,
};

/// Longer texts from clients are truncated, in characters. Longer reasons are rejected
/// by validation.
pub const MAX_TEXT_CHARS: usize = 500;

/// The principal of an audited operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AuditActor<'a> {
    /// The principal's name.
    pub actor: &'a str,
    /// The issuer and `sub` claim of an OpenID Connect user. Names are not unique, this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The authentication method.
    pub auth_method: &'a str,
    /// The client's IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
}

/// A requested operation.
#[derive(Clone, Debug)]
pub struct AuditRequest<'a> {
    /// The kind of operation.
    pub action: OperationKind,
    /// The principal.
    pub by: AuditActor<'a>,
    /// The group of the lock.
    pub group: Option<&'a str>,
    /// The lock.
    pub key: Option<&'a LockKey>,
    /// The owner that the operation targets.
    pub fingerprint: Option<Fingerprint>,
    /// The owner's label.
    pub label: Option<&'a str>,
    /// The lock format.
    pub format: Option<Format>,
    /// The requested lease.
    pub ttl_ms: Option<u64>,
    /// Whether the console renews the lock.
    pub auto_renew: bool,
    /// The reason that the user entered.
    pub reason: Option<&'a str>,
    /// Additional information.
    pub detail: Option<AuditDetail>,
}

impl<'a> AuditRequest<'a> {
    /// Whether the operation is carried out although its start cannot be written. An owner that
    /// cannot extend loses a lock that it relies on, and one that cannot release blocks others;
    /// both operations only do what the owner could do without the console.
    pub(super) fn is_allowed_unaudited(&self) -> bool {
        matches!(self.action, OperationKind::Extend | OperationKind::Release)
    }

    /// An operation without a lock.
    pub fn new(operation: OperationKind, by: AuditActor<'a>) -> Self {
        Self {
            action: operation,
            by,
            group: None,
            key: None,
            fingerprint: None,
            label: None,
            format: None,
            ttl_ms: None,
            auto_renew: false,
            reason: None,
            detail: None,
        }
    }

    /// Recreates the request from the entry of its start.
    pub fn from_entry(entry: &'a AuditEntry) -> Self {
        let by = AuditActor {
            actor: &entry.actor,
            subject: entry.subject.as_deref(),
            auth_method: &entry.auth_method,
            address: entry.address.as_deref().and_then(|text| text.parse().ok()),
            request_id: entry.request_id.as_deref(),
        };
        Self {
            group: entry.group.as_deref(),
            key: entry.key.as_ref(),
            fingerprint: entry.fingerprint,
            label: entry.label.as_deref(),
            format: entry.format,
            ttl_ms: entry.ttl_ms,
            auto_renew: entry.auto_renew.unwrap_or_default(),
            reason: entry.reason.as_deref(),
            detail: entry.detail.clone(),
            ..Self::new(entry.action, by)
        }
    }

    /// An operation on this lock.
    pub fn on_lock(operation: OperationKind, by: AuditActor<'a>, lock: &'a LockId) -> Self {
        Self {
            group: Some(&lock.group),
            key: Some(&lock.key),
            ..Self::new(operation, by)
        }
    }
}

/// The outcome of an operation.
#[derive(Clone, Debug)]
pub struct AuditOutcome {
    /// The result.
    pub result: OperationResult,
    /// The error code.
    pub code: Option<&'static str>,
    /// The error, or additional information.
    pub detail: Option<AuditDetail>,
    /// The owner that the lock shows since the operation, if it is another one.
    pub fingerprint: Option<Fingerprint>,
    /// The result on each node.
    pub nodes: Vec<NodeResult>,
    /// What each node showed after the operation.
    pub observed_after: Vec<NodeObservation>,
}

impl AuditOutcome {
    /// Success, with the result on each node.
    pub fn done(nodes: &[NodeResult]) -> Self {
        Self {
            result: OperationResult::Done,
            code: None,
            detail: None,
            fingerprint: None,
            nodes: nodes.to_vec(),
            observed_after: Vec::new(),
        }
    }

    /// Failure or rejection.
    pub fn from_error(error: &OperationError) -> Self {
        let (result, nodes, observed) = match error {
            OperationError::BadRequest { .. }
            | OperationError::Impossible { .. }
            | OperationError::ConfirmRequired { .. }
            | OperationError::PossibleLock { .. }
            | OperationError::NotReleasable { .. }
            | OperationError::LeaseNotRevoked { .. }
            | OperationError::CancelFailed {
                cause: CancelFailure::NoConnection | CancelFailure::NoStatement,
            }
            | OperationError::SignInRequired { .. }
            | OperationError::Forbidden { .. }
            | OperationError::OutsideKeys { .. }
            | OperationError::UnknownGroup { .. }
            | OperationError::AuditUnavailable
            | OperationError::StorageUnavailable { .. }
            | OperationError::Stopping
            | OperationError::TooManyRequests { .. } => {
                (OperationResult::Refused, [].as_slice(), [].as_slice())
            }
            OperationError::Held { nodes, .. }
            | OperationError::NotHeld { nodes }
            | OperationError::NotOwner { nodes }
            | OperationError::OwnerChanged { nodes, .. }
            | OperationError::HoldChanged { nodes }
            | OperationError::HoldEnded { nodes }
            | OperationError::WrongType { nodes, .. } => {
                (OperationResult::Refused, nodes.as_slice(), [].as_slice())
            }
            OperationError::CancelFailed {
                cause: CancelFailure::LockKept,
            } => (OperationResult::Failed, [].as_slice(), [].as_slice()),
            OperationError::PartlyReleased { nodes, .. } => {
                (OperationResult::Partial, nodes.as_slice(), [].as_slice())
            }
            OperationError::NoQuorum { nodes, .. } => {
                (OperationResult::Failed, nodes.as_slice(), [].as_slice())
            }
            OperationError::NotObserved { nodes } | OperationError::Unreachable { nodes, .. } => {
                (OperationResult::Failed, [].as_slice(), nodes.as_slice())
            }
            OperationError::NoResponse { .. } | OperationError::Internal { .. } => {
                (OperationResult::Failed, [].as_slice(), [].as_slice())
            }
        };
        Self {
            result,
            code: Some(error.code()),
            detail: Some(error_detail(error)),
            fingerprint: None,
            nodes: nodes.to_vec(),
            observed_after: observed.to_vec(),
        }
    }

    /// The outcome is unknown; `observed_after` is what the nodes showed of the lock afterwards.
    pub fn unknown(detail: AuditDetail, observed_after: Vec<NodeObservation>) -> Self {
        Self {
            result: OperationResult::Unknown,
            code: None,
            detail: Some(detail),
            fingerprint: None,
            nodes: Vec::new(),
            observed_after,
        }
    }

    /// Adds the new owner.
    #[must_use]
    pub fn with_owner(mut self, owner: Fingerprint) -> Self {
        self.fingerprint = Some(owner);
        self
    }

    /// Sets the additional information.
    #[must_use]
    pub fn with_detail(mut self, detail: AuditDetail) -> Self {
        self.detail = Some(detail);
        self
    }
}

/// The error as the detail of an entry, with a limited length: it may contain texts of the client.
fn error_detail(error: &OperationError) -> AuditDetail {
    let text = error.to_string();
    let error = Box::new(error.clone().without_nodes());
    let json = serde_json::to_string(&error).unwrap_or_default();
    if text.len() > MAX_TEXT_CHARS || json.len() > 2 * MAX_TEXT_CHARS {
        let text = truncate(&text).into_owned();
        return AuditDetail::Text { text };
    }
    AuditDetail::Error { error }
}

/// Truncates a text from a client to [`MAX_TEXT_CHARS`].
pub fn truncate(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]).into(),
        None => text.into(),
    }
}
