//! Why an operation cannot use the console's storage.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which use of the storage failed. The error itself contains paths and addresses, so only the log
/// has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StorageFailure {
    #[error("storage unavailable; see the server log")]
    Unavailable,
    #[error("the audit log cannot be read; see the server log")]
    UnreadableAuditLog,
    #[error(
        "your session cannot be verified because the console's database is unavailable. Until it is back, you have read-only access"
    )]
    UnverifiedSession,
}
