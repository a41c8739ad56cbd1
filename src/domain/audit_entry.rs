//! An entry of the audit log, as it is stored and as the API returns it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AuditDetail, Fingerprint, Format, LockId, LockKey, NodeObservation, NodeResult, OperationKind,
    OperationResult, Timestamp,
};

/// An operation, including rejected ones. An entry never contains a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// The sequence number of the entry. A later entry has a higher number.
    pub seq: u64,
    /// The id of the operation. The `begin` and the `end` entry of an operation have the same id.
    pub id: String,
    /// The action.
    pub action: OperationKind,
    /// The name of the user, token or program that performed the action.
    pub actor: String,
    /// The issuer and the subject (`sub`) of a user who signed in with an OpenID Connect provider.
    /// Unlike the name, the pair is never assigned to another user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How the actor was authenticated: `browser`, `token`, `proxy`, `command-line`, `local`.
    pub auth_method: String,
    /// The IP address of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The id of the HTTP request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The group of the operation, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The lock of the operation. The fields are absent if the operation had no lock.
    #[serde(flatten)]
    #[schema(value_type = AuditEntryKey)]
    pub key: Option<LockKey>,
    /// The owner that the operation affected. For an acquire, the requesting owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The label of the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The requested format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The requested lease, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Whether auto-renewal was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_renew: Option<bool>,
    /// The reason that the actor gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the operation started.
    pub started_at: Timestamp,
    /// When the operation ended; absent while it is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The result.
    #[serde(default)]
    pub result: OperationResult,
    /// The stable error code, if the operation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error or other details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<AuditDetail>,
    /// The result on each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeResult>,
    /// What each node showed of the lock afterwards, if the result is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_after: Vec<NodeObservation>,
}

/// The OpenAPI schema of the optional lock name.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it stands for `Option<LockKey>` in the OpenAPI document"
)]
struct AuditEntryKey {
    /// The lock's name; percent-encoded if it is not valid UTF-8.
    key: Option<String>,
    /// The lock's name as one percent-encoded path segment, which is exact for every name.
    key_encoded: Option<String>,
}

impl AuditEntry {
    /// The group and key, if the entry has both.
    pub fn lock(&self) -> Option<LockId> {
        let (group, key) = (self.group.clone()?, self.key.clone()?);
        Some(LockId { group, key })
    }
}
