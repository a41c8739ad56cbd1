//! Why a call to etcd failed, and whether it may have had an effect.

use super::wire::ErrorReply;
use crate::domain::reason::{DeniedAccess, Reason};
use crate::server::stores::CallError;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// The connection was not established, so the request was not sent.
    #[error("{0}")]
    NotConnected(Reason),
    /// The request was sent, and no complete reply arrived.
    #[error("{0}")]
    NoReply(Reason),
    /// The member knows no leader. It did not execute the request.
    #[error("etcd has no leader")]
    NoLeader,
    /// The server could not complete the request in time. It may still execute it.
    #[error("{0}")]
    Unavailable(String),
    /// User name or password are wrong or missing.
    #[error("{0}")]
    Unauthenticated(Reason),
    /// The server has no users, so it needs no token.
    #[error("authentication is not enabled")]
    AuthenticationDisabled,
    /// The token is not valid any more, or the users were changed. A new token helps.
    #[error("the authentication token is not valid any more")]
    TokenExpired,
    /// The user lacks a permission.
    #[error("{0}")]
    PermissionDenied(String),
    /// The lease does not exist.
    #[error("the lease does not exist")]
    LeaseNotFound,
    /// The revision was compacted.
    #[error("the revision was compacted")]
    Compacted,
    /// The reply is longer than the limit, in bytes.
    #[error("the reply is longer than {0} bytes")]
    TooLong(usize),
    /// The reply cannot be understood.
    #[error("the reply is not one of etcd's JSON gateway: {0}")]
    InvalidReply(String),
    /// The server rejected the request.
    #[error("{0}")]
    Rejected(String),
}

impl EtcdError {
    /// Converts an error of the gateway. The gRPC codes alone are ambiguous: a wrong password and a
    /// malformed request have the same.
    pub fn from_reply(reply: &ErrorReply) -> Self {
        let code = if reply.code == 0 {
            reply.grpc_code
        } else {
            reply.code
        };
        Self::from_message(code, &reply.message)
    }

    /// Converts the reason with which a watch was cancelled: `rpc error: code = … desc = …`.
    pub fn from_cancel_reason(reason: &str) -> Self {
        let message = reason
            .split_once("desc = ")
            .map_or(reason, |(_, message)| message);
        let code = if reason.contains("PermissionDenied") {
            codes::PERMISSION_DENIED
        } else {
            0
        };
        Self::from_message(code, message)
    }

    fn from_message(code: i64, message: &str) -> Self {
        let words = message.strip_prefix("etcdserver: ").unwrap_or(message);
        match words {
            "no leader" => Self::NoLeader,
            "invalid auth token" | "revision of auth store is old" => Self::TokenExpired,
            "user name is empty" => Self::Unauthenticated(Reason::AuthenticationRequired),
            "authentication failed, invalid user ID or password" => {
                Self::Unauthenticated(Reason::WrongCredentials)
            }
            "authentication is not enabled" => Self::AuthenticationDisabled,
            "requested lease not found" => Self::LeaseNotFound,
            _ if words.ends_with("required revision has been compacted") => Self::Compacted,
            _ => match code {
                codes::PERMISSION_DENIED => Self::PermissionDenied(message.to_owned()),
                codes::UNAUTHENTICATED => Self::TokenExpired,
                codes::UNAVAILABLE
                | codes::DEADLINE_EXCEEDED
                | codes::UNKNOWN
                | codes::CANCELLED
                | codes::INTERNAL => Self::Unavailable(message.to_owned()),
                _ => Self::Rejected(message.to_owned()),
            },
        }
    }

    /// Whether another member may succeed although this one failed.
    pub fn concerns_member(&self) -> bool {
        match self {
            Self::NotConnected(_)
            | Self::NoReply(_)
            | Self::NoLeader
            | Self::Unavailable(_)
            | Self::InvalidReply(_) => true,
            Self::Unauthenticated(_)
            | Self::AuthenticationDisabled
            | Self::TokenExpired
            | Self::PermissionDenied(_)
            | Self::LeaseNotFound
            | Self::Compacted
            | Self::TooLong(_)
            | Self::Rejected(_) => false,
        }
    }

    /// Whether the request certainly had no effect.
    pub fn is_without_effect(&self) -> bool {
        match self {
            Self::NotConnected(_)
            | Self::NoLeader
            | Self::Unauthenticated(_)
            | Self::AuthenticationDisabled
            | Self::TokenExpired
            | Self::PermissionDenied(_)
            | Self::LeaseNotFound
            | Self::Compacted
            | Self::Rejected(_) => true,
            Self::NoReply(_) | Self::Unavailable(_) | Self::TooLong(_) | Self::InvalidReply(_) => {
                false
            }
        }
    }

    /// The reason, as pages and API report it.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotConnected(reason) | Self::NoReply(reason) | Self::Unauthenticated(reason) => {
                reason.clone()
            }
            Self::PermissionDenied(text) => Reason::PermissionDenied {
                text: text.clone(),
                denied: DeniedAccess::Key,
                command: None,
            },
            other => Reason::text(other.to_string()),
        }
    }

    /// The error as all stores report it.
    pub fn to_call_error(&self) -> CallError {
        let reason = self.reason();
        match self {
            Self::NotConnected(_) => CallError::NotSent { reason },
            _ if self.is_without_effect() => CallError::Rejected { reason },
            _ => CallError::NoReply { reason },
        }
    }
}

/// gRPC status codes.
mod codes {
    pub(super) const CANCELLED: i64 = 1;
    pub(super) const UNKNOWN: i64 = 2;
    pub(super) const DEADLINE_EXCEEDED: i64 = 4;
    pub(super) const PERMISSION_DENIED: i64 = 7;
    pub(super) const INTERNAL: i64 = 13;
    pub(super) const UNAVAILABLE: i64 = 14;
    pub(super) const UNAUTHENTICATED: i64 = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: i64, message: &str) -> EtcdError {
        EtcdError::from_reply(&ErrorReply {
            code,
            grpc_code: 0,
            message: message.to_owned(),
        })
    }

    /// The codes and messages are those of etcd 3.4.23.
    #[test]
    fn errors_of_a_real_server_are_distinguished() {
        assert_eq!(reply(14, "etcdserver: no leader"), EtcdError::NoLeader);
        assert_eq!(
            reply(14, "etcdserver: request timed out"),
            EtcdError::Unavailable("etcdserver: request timed out".to_owned())
        );
        assert_eq!(
            reply(5, "etcdserver: requested lease not found"),
            EtcdError::LeaseNotFound
        );
        assert_eq!(
            reply(16, "etcdserver: invalid auth token"),
            EtcdError::TokenExpired
        );
        assert_eq!(
            reply(3, "etcdserver: user name is empty"),
            EtcdError::Unauthenticated(Reason::AuthenticationRequired)
        );
        assert_eq!(
            reply(11, "etcdserver: mvcc: required revision has been compacted"),
            EtcdError::Compacted
        );
        let denied = "rpc error: code = PermissionDenied desc = etcdserver: permission denied";
        assert_eq!(
            EtcdError::from_cancel_reason(denied),
            EtcdError::PermissionDenied("etcdserver: permission denied".to_owned())
        );
    }

    #[test]
    fn only_a_request_that_was_not_executed_is_without_effect() {
        assert!(EtcdError::NoLeader.is_without_effect());
        assert!(!reply(14, "etcdserver: request timed out").is_without_effect());
        let refused = EtcdError::NotConnected(Reason::ConnectionRefused);
        assert!(matches!(refused.to_call_error(), CallError::NotSent { .. }));
        let silent = EtcdError::NoReply(Reason::NoReply { timeout_ms: 500 });
        assert!(matches!(silent.to_call_error(), CallError::NoReply { .. }));
    }
}
