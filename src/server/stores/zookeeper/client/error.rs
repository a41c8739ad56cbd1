//! Errors of the client and error codes of the server.

use std::time::Duration;

use thiserror::Error;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No server could be used, so the request was not sent.
    #[error("{0}")]
    NotConnected(ConnectError),
    /// The connection was lost after the request was sent. It may have been executed.
    #[error("the connection was closed")]
    ConnectionLost,
    /// No reply arrived in time. The request may have been executed, or may still be.
    #[error("no reply within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The server rejected the request. Nothing was changed.
    #[error("{0}")]
    Server(ErrorCode),
    /// The reply is longer than the client accepts.
    #[error("the reply has {bytes} bytes; at most {max_bytes} are read")]
    ReplyTooLong {
        /// The length of the reply.
        bytes: usize,
        /// The longest reply that is read.
        max_bytes: usize,
    },
    /// The reply does not have the expected form.
    #[error("the reply is not valid in the ZooKeeper protocol")]
    InvalidReply,
    /// The session has ended; its ephemeral nodes are deleted.
    #[error("the session has expired")]
    SessionExpired,
    /// The session was closed by this process.
    #[error("the session was closed")]
    Closed,
}

/// Why a connection to a server failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// No connection was attempted yet.
    #[error("not checked yet")]
    NotChecked,
    /// The operating system's error.
    #[error("{text}")]
    Io {
        /// The kind, which decides the words.
        kind: std::io::ErrorKind,
        /// The text without addresses and credentials.
        text: String,
    },
    /// The certificate or the key cannot be used, or the server's certificate was rejected.
    #[error("TLS: {0}")]
    Tls(String),
    /// A credential file cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// The connection was not established in time.
    #[error("connection timed out")]
    Timeout,
    /// The server closed the connection instead of replying. A server without a quorum does so.
    #[error("the server closed the connection; it may have no quorum")]
    NoQuorum,
    /// The server does not reply in the ZooKeeper protocol.
    #[error("the reply is not valid in the ZooKeeper protocol")]
    InvalidReply,
    /// The server rejected the user name or the password.
    #[error("rejected the user name or password")]
    AuthenticationFailed,
}

impl From<std::io::Error> for ConnectError {
    fn from(error: std::io::Error) -> Self {
        Self::Io {
            kind: error.kind(),
            text: error.to_string(),
        }
    }
}

/// An error code in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ErrorCode {
    /// The node does not exist.
    #[error("the node does not exist")]
    NoNode,
    /// The user may not do this.
    #[error("permission denied (NoAuth)")]
    NoAuth,
    /// The version of the node differs from the expected one.
    #[error("the node has changed (BadVersion)")]
    BadVersion,
    /// The node exists already.
    #[error("the node exists")]
    NodeExists,
    /// The node has children.
    #[error("the node has children (NotEmpty)")]
    NotEmpty,
    /// The session has expired.
    #[error("the session has expired")]
    SessionExpired,
    /// The server does not implement the request.
    #[error("the server does not implement this request")]
    Unimplemented,
    /// Another operation of the same `multi` failed.
    #[error("another operation of the transaction failed")]
    TransactionFailed,
    /// The user name or the password is wrong.
    #[error("authentication failed")]
    AuthFailed,
    /// Any other code.
    #[error("error {0}")]
    Other(i32),
}

impl ErrorCode {
    /// `None` for success.
    pub(super) fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => return None,
            -2 => Self::TransactionFailed,
            -6 => Self::Unimplemented,
            -101 => Self::NoNode,
            -102 => Self::NoAuth,
            -103 => Self::BadVersion,
            -110 => Self::NodeExists,
            -111 => Self::NotEmpty,
            -112 => Self::SessionExpired,
            -115 => Self::AuthFailed,
            other => Self::Other(other),
        })
    }
}
