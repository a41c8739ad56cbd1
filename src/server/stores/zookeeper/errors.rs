//! Converts errors of the client into those that all stores share.

use std::io::ErrorKind;

use super::client::{ClientError, ConnectError, ErrorCode};
use super::rounds::ReadError;
use crate::domain::NodeState;
use crate::domain::reason::{DeniedAccess, Reason};
use crate::server::stores::CallError;

/// Why a server cannot be used.
pub fn connect_reason(error: &ConnectError) -> Reason {
    match error {
        ConnectError::NotChecked => Reason::NotChecked,
        ConnectError::Io { kind, text } => match kind {
            ErrorKind::ConnectionRefused => Reason::ConnectionRefused,
            ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected => Reason::ConnectionClosed,
            ErrorKind::TimedOut => Reason::ConnectionTimedOut,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                Reason::NetworkUnreachable
            }
            _ => Reason::text(text),
        },
        ConnectError::Tls(text) => Reason::Tls { text: text.clone() },
        ConnectError::Credentials(text) => Reason::UnusableCredentials { text: text.clone() },
        ConnectError::Timeout => Reason::ConnectionTimedOut,
        ConnectError::NoQuorum
        | ConnectError::InvalidReply
        | ConnectError::AuthenticationFailed => Reason::text(error.to_string()),
    }
}

/// The state of a server that cannot be used.
pub fn connect_state(error: &ConnectError) -> NodeState {
    match error {
        ConnectError::AuthenticationFailed | ConnectError::Credentials(_) => NodeState::Refused,
        ConnectError::NotChecked
        | ConnectError::Io { .. }
        | ConnectError::Tls(_)
        | ConnectError::Timeout
        | ConnectError::NoQuorum
        | ConnectError::InvalidReply => NodeState::Down,
    }
}

/// Why a request failed, and whether it may have had an effect.
pub fn call_error(error: &ClientError) -> CallError {
    match error {
        ClientError::NotConnected(error) => CallError::NotSent {
            reason: connect_reason(error),
        },
        ClientError::Closed => CallError::NotSent {
            reason: Reason::ShuttingDown,
        },
        ClientError::ConnectionLost => CallError::NoReply {
            reason: Reason::ConnectionClosed,
        },
        ClientError::Timeout(timeout) => CallError::NoReply {
            reason: Reason::NoReply {
                timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            },
        },
        ClientError::InvalidReply => CallError::NoReply {
            reason: Reason::text(error.to_string()),
        },
        ClientError::Server(code) => CallError::Rejected {
            reason: code_reason(*code),
        },
        ClientError::ReplyTooLong { .. } | ClientError::SessionExpired => CallError::Rejected {
            reason: Reason::text(error.to_string()),
        },
    }
}

/// Why a node could not be read.
pub fn read_error(error: &ReadError) -> CallError {
    match error {
        ReadError::Server(code) => CallError::Rejected {
            reason: code_reason(*code),
        },
        ReadError::TooLong(error) => call_error(error),
    }
}

fn code_reason(code: ErrorCode) -> Reason {
    let text = code.to_string();
    match code {
        ErrorCode::NoAuth => Reason::PermissionDenied {
            text,
            denied: DeniedAccess::Key,
            command: None,
        },
        _ => Reason::Text { text },
    }
}
