//! What the lock service knows about the client that holds a lock. Read on request, because it is not
//! part of the lock.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the client that holds a lock, according to its lock service or to this console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HolderState {
    /// The lock was acquired through this console.
    ConsoleHold {
        /// Whether the console renews the lease automatically.
        auto_renew: bool,
    },
    /// The database connection that holds the lock (PostgreSQL).
    Backend {
        /// What the connection does.
        activity: BackendActivity,
        /// How long it has been in this state, in milliseconds; null if the console may not read it.
        in_state_ms: Option<u64>,
        /// Some of the other locks that it holds, which end with it.
        #[serde(default)]
        other_locks: Vec<String>,
        /// Their number.
        #[serde(default)]
        other_lock_count: u32,
    },
    /// A prepared transaction holds the lock. It has no connection (PostgreSQL).
    PreparedTransaction,
}

/// What a database connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackendActivity {
    /// It runs a statement.
    Active,
    /// It waits for the next statement, outside of a transaction.
    Idle,
    /// It waits for the next statement in an open transaction.
    IdleInTransaction,
    /// The console may not read the state.
    Hidden,
}

impl BackendActivity {
    /// Converts the state in `pg_stat_activity`.
    pub fn from_state(state: Option<&str>) -> Self {
        match state {
            Some("active" | "fastpath function call") => Self::Active,
            Some("idle") => Self::Idle,
            Some("idle in transaction" | "idle in transaction (aborted)") => {
                Self::IdleInTransaction
            }
            Some(_) | None => Self::Hidden,
        }
    }

    /// The activity in English.
    pub fn english(self) -> &'static str {
        match self {
            Self::Active => "running a statement",
            Self::Idle => "idle",
            Self::IdleInTransaction => "idle in transaction",
            Self::Hidden => "open",
        }
    }
}
