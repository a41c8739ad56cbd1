//! Why PostgreSQL cannot be used, or rejected a statement.

use std::time::Duration;

use sqlx::error::DatabaseError;

use crate::domain::NodeState;
use crate::domain::reason::{DeniedAccess, Reason};
use crate::server::stores::CallError;
use crate::server::stores::redis::nodes::node_error::io_reason;

/// A failed connection attempt or statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresError {
    /// The state that this error shows the server to be in.
    pub state: NodeState,
    /// Why, and whether the statement may have had an effect.
    pub call: CallError,
    /// The server's error code (SQLSTATE), if it replied.
    pub code: Option<String>,
}

impl PostgresError {
    /// No connection was established, so no statement was sent.
    pub fn connecting(error: &sqlx::Error) -> Self {
        let (state, reason, code) = classify(error);
        Self {
            state,
            call: CallError::NotSent { reason },
            code,
        }
    }

    /// A statement failed.
    pub fn calling(error: &sqlx::Error, timeout: Duration) -> Self {
        let (state, reason, code) = classify(error);
        let is_reply = code.as_deref().is_some_and(|code| !ends_connection(code));
        let call = match code.as_deref() {
            // `statement_timeout` and a cancelled statement: it was rolled back.
            Some("57014") => CallError::Rejected {
                reason: no_reply(timeout),
            },
            _ if is_reply => CallError::Rejected { reason },
            _ => CallError::NoReply { reason },
        };
        Self { state, call, code }
    }

    /// No reply arrived in time.
    pub fn timeout(timeout: Duration) -> Self {
        Self {
            state: NodeState::Down,
            call: CallError::NoReply {
                reason: no_reply(timeout),
            },
            code: None,
        }
    }

    /// A query that always has a row returned none.
    pub fn no_row() -> Self {
        Self::unusable(NodeState::Down, Reason::text("the server returned no row"))
    }

    /// The server cannot be used, for a reason that it did not report itself.
    pub fn unusable(state: NodeState, reason: Reason) -> Self {
        Self {
            state,
            call: CallError::Rejected { reason },
            code: None,
        }
    }

    /// The reason alone.
    pub fn into_reason(self) -> Reason {
        self.call.reason().clone()
    }

    /// Whether the connection may still be used.
    pub fn keeps_connection(&self) -> bool {
        matches!(self.call, CallError::Rejected { .. })
    }

    /// Whether the statement waited longer than `lock_timeout` for a lock.
    pub fn is_lock_timeout(&self) -> bool {
        self.code.as_deref() == Some("55P03")
    }

    /// Whether a table or column that the statement names does not exist (any more).
    pub fn is_undefined(&self) -> bool {
        matches!(self.code.as_deref(), Some("42P01" | "42703" | "3F000"))
    }
}

/// The reason of a timeout.
pub fn no_reply(timeout: Duration) -> Reason {
    let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    Reason::NoReply { timeout_ms }
}

fn classify(error: &sqlx::Error) -> (NodeState, Reason, Option<String>) {
    match error {
        sqlx::Error::Database(error) => {
            let (state, reason) = classify_reply(&**error);
            (state, reason, error.code().map(|code| code.into_owned()))
        }
        sqlx::Error::Io(error) => (NodeState::Down, io_reason(error), None),
        sqlx::Error::Tls(error) => {
            let text = error.to_string();
            (NodeState::Down, Reason::Tls { text }, None)
        }
        sqlx::Error::Configuration(error) => {
            (NodeState::Refused, Reason::text(error.to_string()), None)
        }
        // The driver's texts contain no credentials and no rows.
        error => (NodeState::Down, Reason::text(error.to_string()), None),
    }
}

/// The codes are listed in appendix A of the manual of PostgreSQL.
fn classify_reply(error: &dyn DatabaseError) -> (NodeState, Reason) {
    let text = || Reason::text(error.message());
    match error.code().as_deref() {
        Some("28P01" | "28000") => (NodeState::Refused, wrong_credentials(error)),
        Some("42501") => {
            let reason = Reason::PermissionDenied {
                text: error.message().to_owned(),
                denied: DeniedAccess::Other,
                command: None,
            };
            (NodeState::Refused, reason)
        }
        // The database does not exist.
        Some("3D000") => (NodeState::Refused, text()),
        // The server is starting up or in recovery, and does not accept connections yet.
        Some("57P03") => (NodeState::Loading, text()),
        Some("57P01" | "57P02") => (NodeState::Down, Reason::ConnectionClosed),
        Some(_) | None => (NodeState::Down, text()),
    }
}

/// `28000` also means that `pg_hba.conf` has no entry for this client, which its text explains.
fn wrong_credentials(error: &dyn DatabaseError) -> Reason {
    match error.code().as_deref() {
        Some("28P01") => Reason::WrongCredentials,
        Some(_) | None => Reason::text(error.message()),
    }
}

/// Whether the server closes the connection after an error with this code: operator intervention
/// (except for a cancelled statement) and connection exceptions.
fn ends_connection(code: &str) -> bool {
    code.starts_with("57P") || code.starts_with("08")
}
