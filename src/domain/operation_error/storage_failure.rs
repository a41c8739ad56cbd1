//! Why an operation cannot use the console's storage.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::code_tag::json_with_code;

/// Which use of the storage failed. The error itself contains paths and addresses, so only the log
/// has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
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

json_with_code!(StorageFailure);
