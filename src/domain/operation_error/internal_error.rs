//! Unexpected failures of the console.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::code_tag::json_with_code;

/// An unexpected failure of the console. `text` is the error of a library, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum InternalError {
    #[error("the console is shutting down")]
    ShuttingDown,
    #[error("the operation was aborted: {text}")]
    OperationAborted { text: String },
    #[error("the query task failed: {text}")]
    QueryFailed { text: String },
    #[error("password verification failed: {text}")]
    PasswordVerification { text: String },
    #[error("the user has no password hash")]
    NoPasswordHash,
    #[error("the pending sign-in cannot be encrypted")]
    SignInNotEncrypted,
    #[error("the stored response for this key cannot be read")]
    UnreadableStoredResponse,
    #[error("server function called outside of a request")]
    OutsideRequest,
    /// An error of a server function's transport.
    #[error("{text}")]
    ServerFunction { text: String },
}

json_with_code!(InternalError);
