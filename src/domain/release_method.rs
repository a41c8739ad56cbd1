//! How a lock is released by force.

use serde::{Deserialize, Serialize};

use super::Fingerprint;
use super::code_tag::json_with_code;

/// What a force-release does to the lock and its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseMethod {
    /// Releases the lock as its library expects. A lock of a database connection ends with the
    /// connection.
    #[default]
    Lock,
    /// Revokes the lease of the lock (etcd), if its keys are those with this fingerprint
    /// ([`LeaseKeys::fingerprint`](super::LeaseKeys::fingerprint)).
    RevokeLease(Fingerprint),
    /// Cancels the statement that the connection of the owner runs (PostgreSQL). This aborts its
    /// transaction, and with it the locks of the transaction; the connection stays open.
    CancelStatement,
}

/// Why cancelling the statement of an owner did not release its lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum CancelFailure {
    /// The lock does not belong to a database connection. Nothing was changed.
    #[error("the lock does not belong to a database connection; nothing was changed")]
    NoConnection,
    /// The connection runs no statement. Nothing was changed.
    #[error("the connection of the owner runs no statement; nothing was changed")]
    NoStatement,
    /// The statement has ended, and the connection holds the lock: it belongs to the session, or to
    /// the transaction before a savepoint, or the client acquired it again.
    #[error("the statement has ended, but its connection still holds the lock")]
    LockKept,
}

json_with_code!(CancelFailure);
