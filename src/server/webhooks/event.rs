//! Webhook events: one JSON document each. They contain no tokens.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::notice::Notice;
use crate::domain::reason::Reason;
use crate::domain::{
    Fingerprint, Flag, GoneReason, Lock, LockId, NodeResult, OperationError, OperationKind,
    Timestamp,
};

/// An event. All attempts send the same bytes. Clones share them.
#[derive(Clone, Debug)]
pub struct WebhookEvent {
    id: Arc<str>,
    at: Timestamp,
    body: Arc<str>,
    notice: Arc<Notice>,
}

/// The JSON document, as <https://www.standardwebhooks.com> defines it.
#[derive(Serialize)]
struct EventDocument<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    data: &'a T,
}

impl WebhookEvent {
    pub(super) fn new(kind: &str, at: Timestamp, data: &impl Serialize, notice: Notice) -> Self {
        let document = EventDocument {
            kind,
            timestamp: at,
            data,
        };
        let body = serde_json::to_string(&document).expect("all map keys are strings");
        Self {
            // Unique, in the form of the examples of Standard Webhooks.
            id: format!("msg_{:032x}", rand::random::<u128>()).into(),
            at,
            body: body.into(),
            notice: Arc::new(notice),
        }
    }

    /// A completed operation: `operation.succeeded` or `operation.failed`.
    pub fn operation(operation: OperationEvent, at: Timestamp) -> Self {
        let kind = match operation.problem {
            None => "operation.succeeded",
            Some(_) => "operation.failed",
        };
        let notice = Notice::operation(
            operation.action,
            &operation.id,
            &operation.actor.name,
            operation.reason.as_deref(),
            operation.problem.as_ref().map(|problem| &problem.error),
        );
        Self::new(kind, at, &operation, notice)
    }

    /// A raised flag: `flag.raised`.
    pub(super) fn raised(flag: Flag, lock: &Lock, at: Timestamp) -> Self {
        let notice = Notice::raised(flag, lock);
        Self::new("flag.raised", at, &FlagRaised { flag, lock }, notice)
    }

    /// The end of a reported flag: `flag.cleared`.
    pub(super) fn cleared(
        flag: Flag,
        id: &LockId,
        end_reason: Option<GoneReason>,
        at: Timestamp,
    ) -> Self {
        let data = FlagCleared {
            flag,
            id,
            end_reason,
        };
        let notice = Notice::cleared(flag, id, end_reason);
        Self::new("flag.cleared", at, &data, notice)
    }

    /// An auto-renewed lock that its owner lost: `lock.lost`.
    pub(super) fn lost(lost: &LockLostData<'_>, at: Timestamp) -> Self {
        Self::new("lock.lost", at, lost, Notice::lost(lost))
    }

    /// The head of the audit log's hash chain: `audit.head`. A receiver that stores it can detect
    /// whether earlier entries were changed or removed.
    pub fn audit_head(seq: u64, hash: &str, at: Timestamp) -> Self {
        let notice = Notice::audit_head(seq, hash);
        Self::new("audit.head", at, &AuditHead { seq, hash }, notice)
    }

    /// A test that a user requested: `test`.
    pub(super) fn test(webhook: &str, at: Timestamp) -> Self {
        let data = json!({ "webhook": webhook });
        Self::new("test", at, &data, Notice::test(webhook))
    }

    /// The id, the same at every attempt, so that a receiver can discard duplicates.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When the event happened.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The event in words.
    pub(super) fn notice(&self) -> &Notice {
        &self.notice
    }

    /// The document as Standard Webhooks receivers get it.
    pub fn body(&self) -> &str {
        &self.body
    }
}

#[derive(Serialize)]
struct AuditHead<'a> {
    seq: u64,
    hash: &'a str,
}

#[derive(Serialize)]
struct FlagRaised<'a> {
    flag: Flag,
    lock: &'a Lock,
}

#[derive(Serialize)]
struct FlagCleared<'a> {
    flag: Flag,
    #[serde(flatten)]
    id: &'a LockId,
    /// Why the lock ended; null if it still exists without the flag.
    end_reason: Option<GoneReason>,
}

/// A lock that its owner must no longer rely on.
#[derive(Serialize)]
pub(super) struct LockLostData<'a> {
    #[serde(flatten)]
    pub(super) id: &'a LockId,
    pub(super) fingerprint: &'a Fingerprint,
    /// The owner's label.
    pub(super) label: Option<&'a str>,
    pub(super) reason: &'a Reason,
}

/// A completed operation.
#[derive(Debug, Serialize)]
pub struct OperationEvent {
    action: OperationKind,
    #[serde(flatten)]
    id: LockId,
    /// The affected owner.
    fingerprint: Option<Fingerprint>,
    /// Why, in the words of the caller.
    reason: Option<String>,
    actor: EventActor,
    request_id: Option<String>,
    /// The result on each node.
    nodes: Vec<NodeResult>,
    /// Why the operation was rejected.
    problem: Option<OperationProblem>,
}

/// The principal of an operation.
#[derive(Debug, Serialize)]
pub struct EventActor {
    /// The display name.
    pub name: String,
    /// The identifier at the identity provider: display names are not unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The authentication method.
    pub auth_method: &'static str,
    /// The request id. The document has it beside the actor.
    #[serde(skip)]
    pub request_id: Option<String>,
}

#[derive(Debug, Serialize)]
struct OperationProblem {
    detail: String,
    #[serde(flatten)]
    error: OperationError,
}

impl OperationEvent {
    /// An operation of a principal on a lock.
    pub fn new(
        operation: OperationKind,
        actor: EventActor,
        id: &LockId,
        result: Result<&[NodeResult], &OperationError>,
    ) -> Self {
        Self {
            action: operation,
            id: id.clone(),
            fingerprint: None,
            reason: None,
            request_id: actor.request_id.clone(),
            actor,
            nodes: result.map(<[NodeResult]>::to_vec).unwrap_or_default(),
            problem: result.err().map(|error| OperationProblem {
                detail: error.to_string(),
                error: error.clone(),
            }),
        }
    }

    /// Sets the affected owner.
    #[must_use]
    pub fn with_owner(self, owner: Option<Fingerprint>) -> Self {
        Self {
            fingerprint: owner,
            ..self
        }
    }

    /// Sets the reason given by the caller.
    #[must_use]
    pub fn with_reason(self, reason: &str) -> Self {
        Self {
            reason: Some(reason.trim().to_owned()),
            ..self
        }
    }
}
