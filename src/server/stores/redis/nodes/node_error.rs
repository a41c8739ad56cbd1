//! Errors of a node as data. Arguments that a server repeats in its error replies are removed: they
//! can contain passwords and tokens.

use std::error::Error;
use std::io::ErrorKind as Io;
use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::domain::NodeState;
use crate::domain::reason::{DeniedAccess, Reason};
pub use crate::server::stores::CallError;

/// Why a node cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// The state that this error puts the node into; never [`NodeState::Up`].
    pub state: NodeState,
    /// Why the node cannot be used.
    pub reason: Reason,
}

impl NodeError {
    /// The node is unreachable or does not reply as expected.
    pub fn down(reason: Reason) -> Self {
        Self {
            state: NodeState::Down,
            reason,
        }
    }

    fn refused(reason: Reason) -> Self {
        Self {
            state: NodeState::Refused,
            reason,
        }
    }

    /// No reply arrived within `timeout`.
    pub fn timeout(timeout: Duration) -> Self {
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self::down(Reason::NoReply { timeout_ms })
    }

    /// The peer does not speak the Redis protocol.
    pub fn not_redis() -> Self {
        Self::down(Reason::InvalidReply)
    }

    /// The server is a cluster node, but its group is not configured as a cluster.
    pub fn unexpected_cluster_node() -> Self {
        Self::refused(Reason::UnexpectedClusterNode)
    }

    /// The server is not a cluster node, but its group is configured as a cluster.
    pub fn not_a_cluster_node() -> Self {
        Self::refused(Reason::NotAClusterNode)
    }

    /// Why no cluster node returned the state of a key.
    pub fn from_slot_error(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(
                ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::TryAgain,
            ) => Self::down(Reason::SlotMigrating),
            _ => Self::from_redis(error),
        }
    }

    /// Converts an error of the connection or of the server as a whole.
    pub fn from_redis(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(kind) => Self::from_server_error(kind, error),
            ErrorKind::Extension => Self::from_error_code(error),
            ErrorKind::AuthenticationFailed => Self::wrong_credentials(),
            ErrorKind::Io => Self::down(io_error_reason(error)),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::not_redis(),
            ErrorKind::RESP3NotSupported => Self::down(Reason::Resp3Unsupported),
            // redis-rs reports rustls errors as this kind. They describe certificates, never
            // credentials.
            ErrorKind::Client => Self::down(Reason::Tls {
                text: error.to_string(),
            }),
            kind => Self::down(Reason::text(format!("{kind:?}"))),
        }
    }

    fn from_server_error(kind: ServerErrorKind, error: &RedisError) -> Self {
        match kind {
            ServerErrorKind::BusyLoading => Self {
                state: NodeState::Loading,
                reason: Reason::Loading,
            },
            ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::TryAgain => {
                Self::unexpected_cluster_node()
            }
            ServerErrorKind::ClusterDown => {
                let text = error.detail().unwrap_or_default().to_owned();
                Self::down(Reason::SlotNotServed { text })
            }
            ServerErrorKind::CrossSlot => Self::down(Reason::CrossSlot),
            ServerErrorKind::NoPerm => Self::permission_denied(error),
            ServerErrorKind::MasterDown => Self::down(Reason::ReplicaLinkDown),
            ServerErrorKind::ReadOnly => Self::down(Reason::Replica),
            _ if is_auth_error(error) => Self::wrong_credentials(),
            // redis-rs does not classify a denied SELECT as NOPERM.
            _ if error.detail().and_then(denied_command).is_some() => {
                Self::permission_denied(error)
            }
            // A denial inside a script does not change the state of the node.
            _ if error.detail().and_then(script_acl_failure).is_some() => {
                Self::down(permission_denial(error))
            }
            _ => Self::down(Reason::text(redacted_text(error))),
        }
    }

    fn from_error_code(error: &RedisError) -> Self {
        match error.code() {
            Some("NOAUTH") => Self::refused(Reason::AuthenticationRequired),
            Some("WRONGPASS") => Self::wrong_credentials(),
            // Protected mode: it rejects the connection, not a command or a key.
            Some("DENIED") => Self::refused(Reason::text(redacted_text(error))),
            _ => Self::down(Reason::text(redacted_text(error))),
        }
    }

    fn wrong_credentials() -> Self {
        Self::refused(Reason::WrongCredentials)
    }

    fn permission_denied(error: &RedisError) -> Self {
        Self::refused(permission_denial(error))
    }
}

/// A permission error and what it is about. The error code does not tell what was denied, so the
/// server's text is parsed.
fn permission_denial(error: &RedisError) -> Reason {
    let text = redacted_text(error);
    let command = denied_command(&text).map(str::to_owned);
    // The wording differs between Redis versions; all of them contain both words.
    let is_about_key = text.contains("access") && text.contains(" key");
    let denied = if command.is_some() || text.ends_with("this command or subcommand") {
        DeniedAccess::Command
    } else if is_about_key {
        DeniedAccess::Key
    } else {
        DeniedAccess::Other
    };
    Reason::PermissionDenied {
        text,
        denied,
        command,
    }
}

/// Whether this is an error reply to `AUTH` other than `WRONGPASS`: with no password set, and
/// before Redis 6.
fn is_auth_error(error: &RedisError) -> bool {
    error.detail().is_some_and(|text| {
        text.starts_with("invalid password")
            || text.starts_with("AUTH <password>")
            || text.starts_with("Client sent AUTH")
    })
}

/// The error of protected mode is half a page long; the first part suffices.
const MAX_ERROR_CHARS: usize = 200;

/// The server's error text, cut off where it repeats the command's arguments.
fn redacted_text(error: &RedisError) -> String {
    // "ERR unknown command 'EVALSHA', with args beginning with: 'f6…' '1' 'lock' 'the token'"
    let detail: String = error
        .detail()
        .unwrap_or_default()
        .chars()
        .take(MAX_ERROR_CHARS)
        .collect();
    let safe = detail
        .split(", with args beginning with")
        .next()
        .unwrap_or_default();
    if let Some(safe) = script_acl_failure(safe) {
        return format!("NOPERM {safe}");
    }
    match (error.code(), safe.is_empty()) {
        (Some("ERR") | None, false) => safe.to_owned(),
        (Some(code), false) => format!("{code} {safe}"),
        (Some(code), true) => code.to_owned(),
        (None, true) => error.category().to_owned(),
    }
}

/// The denied command, if the server names it.
fn denied_command(words: &str) -> Option<&str> {
    words.split("run the '").nth(1)?.split('\'').next()
}

/// The permission error of a command inside a script. Redis 7.0 and later word it differently and
/// append the script's number.
fn script_acl_failure(detail: &str) -> Option<&str> {
    let about = detail.strip_prefix("ACL failure in script: ").or_else(|| {
        let is_it = detail.starts_with("The user executing the script can't ");
        is_it.then_some(detail)
    })?;
    about.split(" script: ").next()
}

fn io_error_reason(error: &RedisError) -> Reason {
    // redis-rs wraps I/O errors in an Arc, which `downcast_ref` must name.
    type Shared = Arc<dyn Error + Send + Sync>;
    let shared = error
        .source()
        .and_then(|source| source.downcast_ref::<Shared>());
    let source = shared.and_then(|shared| shared.downcast_ref::<std::io::Error>());
    source.map_or(Reason::ConnectionClosed, io_reason)
}

/// Why the operating system or TLS could not connect, read or write.
pub fn io_reason(error: &std::io::Error) -> Reason {
    match error.kind() {
        Io::ConnectionRefused => Reason::ConnectionRefused,
        Io::ConnectionReset
        | Io::BrokenPipe
        | Io::UnexpectedEof
        | Io::ConnectionAborted
        | Io::NotConnected => Reason::ConnectionClosed,
        Io::NotFound => Reason::SocketNotFound,
        Io::TimedOut => Reason::ConnectionTimedOut,
        Io::HostUnreachable | Io::NetworkUnreachable => Reason::NetworkUnreachable,
        Io::InvalidData => Reason::Tls {
            text: error.to_string(),
        },
        _ => match error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Reason>())
        {
            Some(reason) => reason.clone(),
            // Mostly DNS failures. The operating system's text contains no credentials.
            None => Reason::text(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(line: &[u8]) -> RedisError {
        redis::parse_redis_value(line)
            .unwrap()
            .extract_error()
            .unwrap_err()
    }

    #[test]
    fn arguments_in_error_replies_are_redacted() {
        for line in [
            &b"-ERR unknown command 'EVALSHA', with args beginning with: 'f6' '1' 'lock' 'hush' \r\n"[..],
            &b"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `me`, `hush`, \r\n"[..],
        ] {
            let error = NodeError::from_redis(&parse_error(line));
            let Reason::Text { text } = error.reason else {
                panic!("{error:?}");
            };
            assert!(text.starts_with("unknown command"), "{text}");
            assert!(!text.contains("hush"), "{text}");
        }
    }

    #[test]
    fn missing_and_wrong_passwords_put_the_node_into_the_refused_state_with_advice() {
        for (line, expected) in [
            (
                &b"-NOAUTH Authentication required.\r\n"[..],
                Reason::AuthenticationRequired,
            ),
            (
                &b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"[..],
                Reason::WrongCredentials,
            ),
            (&b"-ERR invalid password\r\n"[..], Reason::WrongCredentials),
        ] {
            let error = NodeError::from_redis(&parse_error(line));
            assert_eq!((error.state, error.reason), (NodeState::Refused, expected));
        }
    }

    #[test]
    fn acl_errors_read_the_same_inside_and_outside_scripts() {
        for (line, expected, about) in [
            (
                &b"-NOPERM No permissions to access a key\r\n"[..],
                "NOPERM No permissions to access a key",
                DeniedAccess::Key,
            ),
            (
                b"-ERR ACL failure in script: No permissions to access a key script: on @user_script:1.\r\n",
                "NOPERM No permissions to access a key",
                DeniedAccess::Key,
            ),
            (
                b"-NOPERM this user has no permissions to access one of the keys used as arguments\r\n",
                "NOPERM this user has no permissions to access one of the keys used as arguments",
                DeniedAccess::Key,
            ),
            (
                b"-ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 2cc47, on @user_script:1.\r\n",
                "NOPERM The user executing the script can't access at least one of the keys mentioned in the command arguments",
                DeniedAccess::Key,
            ),
            (
                b"-ERR The user executing the script can't run this command or subcommand script: 2cc47, on @user_script:1.\r\n",
                "NOPERM The user executing the script can't run this command or subcommand",
                DeniedAccess::Command,
            ),
        ] {
            let reason = Reason::PermissionDenied {
                text: expected.to_owned(),
                denied: about,
                command: None,
            };
            assert_eq!(NodeError::from_redis(&parse_error(line)).reason, reason);
        }
    }

    #[test]
    fn a_denied_connection_command_is_reported_with_the_acl_rule_that_permits_it() {
        let line = b"-NOPERM User viewer has no permissions to run the 'select' command\r\n";
        let error = NodeError::from_redis(&parse_error(line));
        assert_eq!(error.state, NodeState::Refused);
        let Reason::PermissionDenied {
            denied: DeniedAccess::Command,
            command,
            ..
        } = &error.reason
        else {
            panic!("{error:?}");
        };
        assert_eq!(command.as_deref(), Some("select"));
    }

    #[test]
    fn loading_and_cluster_nodes_are_not_reported_as_down() {
        let loading = NodeError::from_redis(&parse_error(
            b"-LOADING Redis is loading the dataset in memory\r\n",
        ));
        assert_eq!(loading.state, NodeState::Loading);
        assert_eq!(
            NodeError::from_redis(&parse_error(b"-MOVED 866 10.0.0.7:6379\r\n")),
            NodeError::unexpected_cluster_node()
        );
    }
}
