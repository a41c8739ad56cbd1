//! Why an operation is forbidden.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::OperationError;
use crate::domain::PermissionDenied;
use crate::domain::code_tag::json_with_code;
use crate::domain::reason::Reason;

/// Why an operation is forbidden to an authenticated caller, or to every caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum DenialReason {
    /// The caller lacks a permission, or the group is read-only.
    #[error("{denied}")]
    Permission { denied: PermissionDenied },
    /// Protection against DNS rebinding.
    #[error(
        "authentication is disabled, so the console accepts only requests to an IP address, to localhost, or to a name in `allowed_hosts`"
    )]
    UnknownHost,
    #[error(
        "authentication is disabled, and the header `{header}` shows that the request came through a reverse proxy. Configure users or \
         tokens ([[user]], [[token]]) before you put a proxy in front of the console"
    )]
    UnauthenticatedProxy { header: String },
    #[error(
        "cross-site request rejected: it was sent by a page of another site. Open the console's own page and try again"
    )]
    CrossSite,
    #[error("the audit log is disabled in the configuration")]
    AuditDisabled,
    #[error("the token was already revealed; it is shown only once")]
    TokenRevealed,
    #[error(
        "the node rejected the sample: {cause} (the user needs +monitor, and +client|tracking to detect failed acquires)"
    )]
    SampleRejected { cause: Reason },
}

json_with_code!(DenialReason);

impl From<PermissionDenied> for OperationError {
    fn from(denied: PermissionDenied) -> Self {
        Self::Forbidden {
            cause: DenialReason::Permission { denied },
        }
    }
}
