//! The errors of operations, as the API and the UI report them.

mod authentication_error;
mod confirmation_cause;
mod denial_reason;
mod internal_error;
mod invalid_value;
mod key_setting;
mod limit_reached;
mod request_error;
mod storage_failure;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::code_tag::json_with_code;
use super::{CancelFailure, Format, LeaseRefusal, LockKey, NodeObservation, NodeResult, Owner};
pub use authentication_error::{AuthenticationError, ProviderFailure};
pub use confirmation_cause::ConfirmationCause;
pub use denial_reason::DenialReason;
pub use internal_error::InternalError;
pub use invalid_value::{InvalidValue, format_list};
pub use key_setting::KeySetting;
pub use limit_reached::{LimitReached, LimitedResource};
pub use request_error::RequestError;
pub use storage_failure::StorageFailure;

/// The error of an operation. `code` is stable; the `Display` text is the message of the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum OperationError {
    /// The request cannot be parsed.
    #[error("{cause}")]
    BadRequest {
        /// The parse error.
        cause: RequestError,
    },
    /// A field has a value that is out of range or not applicable.
    #[error("{field}: {cause}")]
    Impossible {
        /// The name of the field.
        field: String,
        /// Why the value was rejected.
        cause: InvalidValue,
        /// The shortest accepted `ttl_ms`, if the requested one is too short.
        #[serde(skip_serializing_if = "Option::is_none")]
        min_ttl_ms: Option<u64>,
    },
    /// The request must repeat the lock's name, because the group is a production group or a
    /// release of this format has side effects.
    #[error("{cause}: set `confirm` to the lock's name")]
    ConfirmRequired {
        /// The lock's name.
        #[serde(flatten)]
        key: LockKey,
        /// Why the confirmation is required.
        cause: ConfirmationCause,
    },
    /// The key may not be a lock.
    #[error("the key is only a possible lock, so it cannot be released through the console")]
    PossibleLock {
        /// The lock's name.
        #[serde(flatten)]
        key: LockKey,
    },
    /// Locks of this format can only be released by their owner.
    #[error("{}", format.not_releasable_reason().unwrap_or_default())]
    NotReleasable {
        /// The format.
        format: Format,
    },
    /// The request is not authenticated.
    #[error("{cause}")]
    SignInRequired {
        /// Which credential is missing or invalid.
        cause: AuthenticationError,
    },
    /// The caller lacks the permission, or the group is read-only.
    #[error("{cause}")]
    Forbidden {
        /// Which permission is missing.
        cause: DenialReason,
    },
    /// Operations on this name are not allowed in this group.
    #[error("{}", outside_keys(key, patterns, *setting))]
    OutsideKeys {
        /// The lock's name.
        #[serde(flatten)]
        key: LockKey,
        /// The allowed patterns, paths or prefixes; empty for a name that the console reserves.
        patterns: Vec<String>,
        /// The setting that has them.
        #[serde(default)]
        setting: KeySetting,
    },
    /// The group is not configured.
    #[error("group {group:?} is not configured")]
    UnknownGroup {
        /// The requested name.
        group: String,
    },
    /// No reachable node shows the lock, and too few nodes are unreachable to hold a quorum.
    #[error("no reachable node shows the lock")]
    NotObserved {
        /// What each node shows of the lock.
        nodes: Vec<NodeObservation>,
    },
    /// Too few nodes are reachable to determine the state of the lock.
    #[error("{nodes_reached} of {nodes_total} nodes replied; a quorum requires {quorum}")]
    Unreachable {
        /// The number of nodes that replied.
        nodes_reached: u32,
        /// The number of configured nodes.
        nodes_total: u32,
        /// The number of nodes that an owner needs.
        quorum: u32,
        /// What each node shows of the lock.
        nodes: Vec<NodeObservation>,
    },
    /// Another owner holds the lock.
    #[error("the lock is held by another owner")]
    Held {
        /// The owner, if a node shows it.
        owner: Option<Owner>,
        /// The remaining lease; null for a lock without expiry, or if no owner has a quorum.
        lease_ms: Option<u64>,
        /// When a retry is useful, in milliseconds from now.
        retry_after_ms: u64,
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// Too few nodes replied or were eligible. No other owner holds the lock.
    #[error("no quorum: {nodes_reached} nodes replied, {quorum} are required")]
    NoQuorum {
        /// The number of nodes that replied.
        nodes_reached: u32,
        /// The number of nodes that an owner needs.
        quorum: u32,
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// The release reached too few nodes, so the owner may still hold a quorum. The console
    /// completes the release when the nodes become reachable.
    #[error(
        "released on {released} of {nodes_total} nodes; {remaining} other nodes may still hold the lock (quorum: {quorum})"
    )]
    PartlyReleased {
        /// The number of nodes on which the lock was released.
        released: u32,
        /// The number of nodes that may still hold the lock for the same owner.
        remaining: u32,
        /// The number of configured nodes.
        nodes_total: u32,
        /// The number of nodes that an owner needs.
        quorum: u32,
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// No node holds the lock for this owner.
    #[error("the lock is not held")]
    NotHeld {
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// A replayed acquire: the hold of the first request has ended.
    #[error("the lock that this request acquired is no longer held")]
    HoldEnded {
        /// What each node shows of the hold.
        nodes: Vec<NodeResult>,
    },
    /// The token does not match the owner's.
    #[error("the lock is held by another owner; nothing was changed")]
    NotOwner {
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// The owner changed since the caller observed the lock.
    #[error("the lock now has another owner; nothing was changed")]
    OwnerChanged {
        /// The current owner, if a node shows it.
        owner: Option<Owner>,
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// The owner is the same, but its hold changed since the caller observed the lock.
    #[error(
        "the owner has renewed, re-entered or re-acquired the lock since you viewed it; nothing was changed"
    )]
    HoldChanged {
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// The lease of the lock was not revoked.
    #[error("{cause}")]
    LeaseNotRevoked {
        /// Why not.
        cause: LeaseRefusal,
    },
    /// Cancelling the statement of the owner did not release the lock.
    #[error("{cause}")]
    CancelFailed {
        /// Why not.
        cause: CancelFailure,
    },
    /// The value of the key is not a lock of the expected format.
    #[error("the key is not a lock of this format: {type_name}")]
    WrongType {
        /// The type of the value in Redis, or a description of the value.
        type_name: String,
        /// The result on each node.
        nodes: Vec<NodeResult>,
    },
    /// The audit log is not writable. Operations that cannot be recorded are rejected.
    #[error("the audit log is not writable, so operations are rejected: see the server log")]
    AuditUnavailable,
    /// The operation needs the storage of the console, which is unavailable.
    #[error("{cause}")]
    StorageUnavailable {
        /// Which use of the storage failed.
        cause: StorageFailure,
    },
    /// The console is shutting down, so the wait for the lock ended.
    #[error("the console is shutting down; the wait for the lock was cancelled")]
    Stopping,
    /// A rate limit or concurrency limit was reached.
    #[error("{cause}")]
    TooManyRequests {
        /// Which limit was reached.
        cause: LimitReached,
        /// When a retry is useful, in milliseconds from now.
        retry_after_ms: u64,
    },
    /// The browser received no response from the console. The API never returns this error.
    #[error("no response from the console: {detail}")]
    NoResponse {
        /// The error of the browser.
        detail: String,
    },
    /// A bug or an unexpected failure of the console.
    #[error("internal error: {cause}")]
    Internal {
        /// The cause.
        cause: InternalError,
    },
}

json_with_code!(OperationError);

impl OperationError {
    /// The stable error code of the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "bad-request",
            Self::Impossible { .. } => "impossible",
            Self::ConfirmRequired { .. } => "confirm-required",
            Self::PossibleLock { .. } => "possible-lock",
            Self::NotReleasable { .. } => "not-releasable",
            Self::SignInRequired { .. } => "sign-in-required",
            Self::Forbidden { .. } => "forbidden",
            Self::OutsideKeys { .. } => "outside-keys",
            Self::UnknownGroup { .. } => "unknown-group",
            Self::NotObserved { .. } => "not-observed",
            Self::Unreachable { .. } => "unreachable",
            Self::Held { .. } => "held",
            Self::NoQuorum { .. } => "no-quorum",
            Self::PartlyReleased { .. } => "partly-released",
            Self::NotHeld { .. } => "not-held",
            Self::HoldEnded { .. } => "hold-ended",
            Self::NotOwner { .. } => "not-owner",
            Self::OwnerChanged { .. } => "owner-changed",
            Self::HoldChanged { .. } => "hold-changed",
            Self::LeaseNotRevoked { .. } => "lease-not-revoked",
            Self::CancelFailed { .. } => "cancel-failed",
            Self::WrongType { .. } => "wrong-type",
            Self::AuditUnavailable => "audit-unavailable",
            Self::StorageUnavailable { .. } => "storage-unavailable",
            Self::Stopping => "stopping",
            Self::TooManyRequests { .. } => "too-many-requests",
            Self::NoResponse { .. } => "no-response",
            Self::Internal { .. } => "internal",
        }
    }

    /// An error of a field without a minimum lease.
    pub fn invalid_field(field: impl Into<String>, cause: InvalidValue) -> Self {
        Self::Impossible {
            field: field.into(),
            cause,
            min_ttl_ms: None,
        }
    }

    /// Removes the results and observations of the nodes.
    #[must_use]
    pub fn without_nodes(mut self) -> Self {
        match &mut self {
            Self::NotObserved { nodes } | Self::Unreachable { nodes, .. } => nodes.clear(),
            Self::Held { nodes, .. }
            | Self::NoQuorum { nodes, .. }
            | Self::PartlyReleased { nodes, .. }
            | Self::NotHeld { nodes }
            | Self::HoldEnded { nodes }
            | Self::NotOwner { nodes }
            | Self::OwnerChanged { nodes, .. }
            | Self::HoldChanged { nodes }
            | Self::WrongType { nodes, .. } => nodes.clear(),
            Self::BadRequest { .. }
            | Self::Impossible { .. }
            | Self::ConfirmRequired { .. }
            | Self::PossibleLock { .. }
            | Self::NotReleasable { .. }
            | Self::LeaseNotRevoked { .. }
            | Self::CancelFailed { .. }
            | Self::SignInRequired { .. }
            | Self::Forbidden { .. }
            | Self::OutsideKeys { .. }
            | Self::UnknownGroup { .. }
            | Self::AuditUnavailable
            | Self::StorageUnavailable { .. }
            | Self::Stopping
            | Self::TooManyRequests { .. }
            | Self::NoResponse { .. }
            | Self::Internal { .. } => {}
        }
        self
    }

    /// What the caller can do to resolve the error.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } | Self::Impossible { .. } => {
                "Correct the request; nothing was changed."
            }
            Self::ConfirmRequired { .. } => "Send the lock's name as `confirm`.",
            Self::PossibleLock { .. } => {
                "If it is a lock, set its format with `format_override` in the configuration; nothing was changed."
            }
            Self::NotReleasable { .. } | Self::Forbidden { .. } => "Nothing was changed.",
            Self::SignInRequired { .. } => {
                "Sign in at /sign-in, or send an API token as `Authorization: Bearer …`; nothing was changed."
            }
            Self::OutsideKeys { patterns, .. } if patterns.is_empty() => {
                "Choose another name; nothing was changed."
            }
            Self::OutsideKeys {
                setting: KeySetting::Roots,
                ..
            } => {
                "Choose another name, or add its path to `roots` of the group; nothing was changed."
            }
            Self::OutsideKeys {
                setting: KeySetting::Prefixes,
                ..
            } => {
                "Choose another name, or add its prefix to `prefixes` of the group; nothing was changed."
            }
            Self::OutsideKeys { .. } => {
                "Choose a name that matches, or add a pattern to `keys` of the group; nothing was changed."
            }
            Self::UnknownGroup { .. } => "GET /api/v1/groups lists the configured groups.",
            Self::NotObserved { .. } => {
                "Reading the nodes does not prove that the lock is free. Acquire it to be sure."
            }
            Self::Unreachable { .. } => "Restore the nodes, then retry.",
            Self::Held { .. } => "Retry after `retry_after_ms`.",
            Self::NoQuorum { .. } => {
                "Restore the nodes, then retry. The acquire was rolled back on the reachable nodes. A restarted node takes part again at the time in its result, or after an operator clears it."
            }
            Self::PartlyReleased { .. } => {
                "Restore the nodes. The console completes the release on them in the background. Until no node shows the lock, treat it as held."
            }
            Self::NotHeld { .. } => "The lock expired or was released. Stop relying on it.",
            Self::HoldEnded { .. } => {
                "The lock was released, lost or expired. Stop relying on it. Send a new Idempotency-Key to acquire it again."
            }
            Self::NotOwner { .. } => "Stop relying on the lock. Another owner holds it.",
            Self::OwnerChanged { .. } | Self::HoldChanged { .. } => {
                "Check the current state of the lock before you retry."
            }
            Self::LeaseNotRevoked {
                cause: LeaseRefusal::KeysChanged,
            } => "Check the keys of the lease again before you retry.",
            Self::LeaseNotRevoked { .. } => {
                "Release only the key of the lock, without revoking the lease."
            }
            Self::CancelFailed {
                cause: CancelFailure::NoConnection,
            } => "Release the lock without `cancel_statement`.",
            Self::CancelFailed { .. } => {
                "Release the lock without `cancel_statement`, which ends the connection of the owner."
            }
            Self::WrongType { .. } => "Choose another name, or inspect the value of the key.",
            Self::AuditUnavailable => {
                "Make the file of `[storage]` writable, free disk space, or restore its PostgreSQL. Nothing was changed."
            }
            Self::StorageUnavailable { .. } => {
                "Restore the database of `[storage]`, then retry; nothing was changed."
            }
            Self::Stopping => "Retry after the console has restarted; nothing was acquired.",
            Self::TooManyRequests { .. } => "Retry after `retry_after_ms`; nothing was changed.",
            Self::NoResponse { .. } => "Check that the console runs and that you can reach it.",
            Self::Internal { .. } => "Check the log of the console.",
        }
    }
}

/// The message of [`OperationError::OutsideKeys`].
fn outside_keys(key: &LockKey, patterns: &[String], setting: KeySetting) -> String {
    let name = key.text();
    if patterns.is_empty() {
        return format!("the name {name:?} is reserved for Lockkeeper's own keys");
    }
    let all = patterns.join(", ");
    match setting {
        KeySetting::Keys => {
            format!("the name {name:?} matches none of the patterns in `keys` of the group: {all}")
        }
        KeySetting::Roots => {
            format!("the name {name:?} is not below one of the `roots` of the group: {all}")
        }
        KeySetting::Prefixes => {
            format!("the name {name:?} begins with none of the `prefixes` of the group: {all}")
        }
    }
}
