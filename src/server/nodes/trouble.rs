//! Why a node cannot be used, in words an operator can act on. Nothing a server says is repeated with its arguments in it:
//! error texts of Redis may carry passwords and tokens.

use std::error::Error;
use std::io::ErrorKind as Io;
use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::domain::NodeState;

/// Why a node cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What state that puts the node into; never [`NodeState::Up`].
    pub state: NodeState,
    /// Why, in words.
    pub reason: String,
}

/// Why a call to a node came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Missed {
    /// The node was known to be unusable: nothing was sent.
    NotAsked {
        /// Why, in words.
        reason: String,
    },
    /// It was sent and no answer came: it may have been executed, or may still be.
    Unanswered {
        /// Why, in words.
        reason: String,
    },
    /// The node answered with an error: nothing was done.
    Refused {
        /// Why, in words.
        reason: String,
    },
}

impl Missed {
    /// Why, in words.
    pub fn reason(&self) -> &str {
        match self {
            Self::NotAsked { reason } | Self::Unanswered { reason } | Self::Refused { reason } => {
                reason
            }
        }
    }
}

impl Trouble {
    /// The node cannot be reached or does not answer as it should.
    pub fn down(reason: impl Into<String>) -> Self {
        Self {
            state: NodeState::Down,
            reason: reason.into(),
        }
    }

    /// Nothing came within `limit`.
    pub fn no_answer(limit: Duration) -> Self {
        Self::down(format!("no answer within {} ms", limit.as_millis()))
    }

    /// What answers is not Redis.
    pub fn not_redis() -> Self {
        Self::down("answered with something that is not Redis")
    }

    /// A node of a Redis Cluster, in a group that is not taken for one.
    pub fn cluster_node() -> Self {
        Self {
            state: NodeState::Refused,
            reason: "is a cluster node: give its group kind = \"cluster\", so that each lock is looked for on the node that has it"
                .to_owned(),
        }
    }

    /// Another server, in a group that is taken for a cluster.
    pub fn no_cluster_node() -> Self {
        Self {
            state: NodeState::Refused,
            reason: "is no node of a cluster, though its group has kind = \"cluster\"".to_owned(),
        }
    }

    /// Why nobody in a cluster told of a key.
    pub fn of_slot(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(
                ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::TryAgain,
            ) => Self::down("its slot is on its way from one node to another"),
            _ => Self::of(error),
        }
    }

    /// What an error of the connection or of the whole server means.
    pub fn of(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(kind) => Self::of_server(kind, error),
            ErrorKind::Extension => Self::of_code(error),
            ErrorKind::AuthenticationFailed => Self::wrong_password(),
            ErrorKind::Io => Self::down(of_io(error)),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::not_redis(),
            ErrorKind::RESP3NotSupported => Self::down("speaks too old a protocol"),
            // rustls errors arrive as this kind; they speak about certificates, never about credentials.
            ErrorKind::Client => Self::down(format!("TLS: {error}")),
            kind => Self::down(format!("{kind:?}")),
        }
    }

    fn of_server(kind: ServerErrorKind, error: &RedisError) -> Self {
        match kind {
            ServerErrorKind::BusyLoading => Self {
                state: NodeState::Loading,
                reason: "is loading its data set".to_owned(),
            },
            ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::TryAgain => {
                Self::cluster_node()
            }
            ServerErrorKind::ClusterDown => {
                let words = error.detail().unwrap_or_default();
                Self::down(format!("the cluster does not serve its slot: {words}"))
            }
            ServerErrorKind::CrossSlot => {
                Self::down("its keys lie in different slots of the cluster")
            }
            ServerErrorKind::NoPerm => Self::refused(error),
            ServerErrorKind::MasterDown => Self::down("is a replica that has lost its primary"),
            ServerErrorKind::ReadOnly => Self::down("is a replica: it takes no writes"),
            _ if is_about_credentials(error) => Self::wrong_password(),
            // The redis crate calls it another error where it is about the database.
            _ if error.detail().and_then(forbidden_command).is_some() => Self::refused(error),
            _ => Self::down(words(error)),
        }
    }

    fn of_code(error: &RedisError) -> Self {
        match error.code() {
            Some("NOAUTH") => Self {
                state: NodeState::Refused,
                reason: "asks for a password: put user and password into the node's URL".to_owned(),
            },
            Some("WRONGPASS") => Self::wrong_password(),
            Some("DENIED") => Self::refused(error),
            _ => Self::down(words(error)),
        }
    }

    fn wrong_password() -> Self {
        Self {
            state: NodeState::Refused,
            reason: "refused user and password: correct them in the node's URL".to_owned(),
        }
    }

    fn refused(error: &RedisError) -> Self {
        let words = words(error);
        let reason = match forbidden_command(&words) {
            Some(command) => format!("{words}; permit it with ACL SETUSER … +{command}"),
            None => words,
        };
        Self {
            state: NodeState::Refused,
            reason,
        }
    }
}

/// What a server says in answer to `AUTH` besides `WRONGPASS`: without a password set, and before Redis 6.
fn is_about_credentials(error: &RedisError) -> bool {
    error.detail().is_some_and(|text| {
        text.starts_with("invalid password")
            || text.starts_with("AUTH <password>")
            || text.starts_with("Client sent AUTH")
    })
}

/// How the words begin with which a server says that this user may not do something.
pub const FORBIDDEN: &str = "NOPERM";

/// More of a server's words than this helps nobody: protected mode explains itself on half a page.
const MOST_WORDS: usize = 200;

/// A server's error in its own words, up to where it repeats what it was sent.
fn words(error: &RedisError) -> String {
    // "ERR unknown command 'EVALSHA', with args beginning with: 'f6…' '1' 'lock' 'the token'"
    let detail: String = error
        .detail()
        .unwrap_or_default()
        .chars()
        .take(MOST_WORDS)
        .collect();
    let safe = detail
        .split(", with args beginning with")
        .next()
        .unwrap_or_default();
    if let Some(safe) = forbidden_in_a_script(safe) {
        return format!("{FORBIDDEN} {safe}");
    }
    match (error.code(), safe.is_empty()) {
        (Some("ERR") | None, false) => safe.to_owned(),
        (Some(code), false) => format!("{code} {safe}"),
        (Some(code), true) => code.to_owned(),
        (None, true) => error.category().to_owned(),
    }
}

/// The command that this user may not run, where the server names it.
fn forbidden_command(words: &str) -> Option<&str> {
    words.split("run the '").nth(1)?.split('\'').next()
}

/// What this user may not do, said about a command in a script: Redis 7.0 and later ones have words of their own for it,
/// and put the number of the script behind them.
fn forbidden_in_a_script(detail: &str) -> Option<&str> {
    let about = detail.strip_prefix("ACL failure in script: ").or_else(|| {
        let is_it = detail.starts_with("The user executing the script can't ");
        is_it.then_some(detail)
    })?;
    about.split(" script: ").next()
}

fn of_io(error: &RedisError) -> String {
    type Shared = Arc<dyn Error + Send + Sync>;
    let shared = error
        .source()
        .and_then(|source| source.downcast_ref::<Shared>());
    let source = shared.and_then(|shared| shared.downcast_ref::<std::io::Error>());
    match source.map(std::io::Error::kind) {
        Some(Io::ConnectionRefused) => "connection refused".to_owned(),
        Some(
            Io::ConnectionReset
            | Io::BrokenPipe
            | Io::UnexpectedEof
            | Io::ConnectionAborted
            | Io::NotConnected,
        )
        | None => "the connection was closed".to_owned(),
        Some(Io::NotFound) => "there is no such socket".to_owned(),
        Some(Io::TimedOut) => "no answer".to_owned(),
        Some(Io::HostUnreachable | Io::NetworkUnreachable) => {
            "there is no way to its network".to_owned()
        }
        Some(Io::InvalidData) => format!(
            "TLS: {}",
            source.map_or_else(String::new, ToString::to_string)
        ),
        // Above all names that do not resolve. The system's own words: no credentials in them.
        Some(_) => source.map_or_else(String::new, |source| source.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_says(line: &[u8]) -> RedisError {
        redis::parse_redis_value(line)
            .unwrap()
            .extract_error()
            .unwrap_err()
    }

    #[test]
    fn what_a_server_repeats_of_the_command_is_never_told() {
        for line in [
            &b"-ERR unknown command 'EVALSHA', with args beginning with: 'f6' '1' 'lock' 'hush' \r\n"[..],
            &b"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `me`, `hush`, \r\n"[..],
        ] {
            let trouble = Trouble::of(&server_says(line));
            assert!(trouble.reason.starts_with("unknown command"), "{}", trouble.reason);
            assert!(!trouble.reason.contains("hush"), "{}", trouble.reason);
        }
    }

    #[test]
    fn a_password_asked_for_and_a_wrong_one_are_refusals_with_advice() {
        for line in [
            &b"-NOAUTH Authentication required.\r\n"[..],
            &b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"[..],
            &b"-ERR invalid password\r\n"[..],
        ] {
            let trouble = Trouble::of(&server_says(line));
            assert_eq!(trouble.state, NodeState::Refused);
            assert!(trouble.reason.contains("node's URL"), "{}", trouble.reason);
        }
    }

    #[test]
    fn what_is_forbidden_is_told_alike_inside_and_outside_of_scripts() {
        for (line, told) in [
            (
                &b"-NOPERM No permissions to access a key\r\n"[..],
                "NOPERM No permissions to access a key",
            ),
            (
                b"-ERR ACL failure in script: No permissions to access a key script: on @user_script:1.\r\n",
                "NOPERM No permissions to access a key",
            ),
            (
                b"-ERR The user executing the script can't run this command or subcommand script: 2cc47, on @user_script:1.\r\n",
                "NOPERM The user executing the script can't run this command or subcommand",
            ),
        ] {
            assert_eq!(Trouble::of(&server_says(line)).reason, told);
        }
    }

    #[test]
    fn a_command_that_is_needed_to_connect_is_told_with_the_rule_that_permits_it() {
        let line = b"-NOPERM User viewer has no permissions to run the 'select' command\r\n";
        let trouble = Trouble::of(&server_says(line));
        assert_eq!(trouble.state, NodeState::Refused);
        let rule = "permit it with ACL SETUSER … +select";
        assert!(trouble.reason.ends_with(rule), "{}", trouble.reason);
    }

    #[test]
    fn loading_and_cluster_nodes_are_told_apart_from_dead_ones() {
        let loading = Trouble::of(&server_says(
            b"-LOADING Redis is loading the dataset in memory\r\n",
        ));
        assert_eq!(loading.state, NodeState::Loading);
        assert_eq!(
            Trouble::of(&server_says(b"-MOVED 866 10.0.0.7:6379\r\n")),
            Trouble::cluster_node()
        );
    }
}
