//! Errors of the storage.

use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::migrate::MigrateError;

use crate::domain::OperationError;
use crate::domain::operation_error::StorageFailure;

/// Why a read or write failed. The messages contain paths and addresses: for the log, not for
/// clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The database cannot be opened or reached, or the connection broke: whether the last write
    /// was committed is unknown.
    #[error("the storage is unavailable: {0}")]
    Unavailable(String),
    /// Another process has the database locked, or too many operations are waiting.
    #[error("the storage is busy: {0}")]
    Busy(String),
    /// The disk is full.
    #[error("the storage is full: {0}")]
    Full(String),
    /// The database is read-only.
    #[error("the storage is read-only: {0}")]
    ReadOnly(String),
    /// The file is damaged. It is renamed and replaced when it is opened next.
    #[error("the storage is damaged: {0}")]
    Damaged(String),
    /// A row with the same unique key exists already.
    #[error("the row already exists: {0}")]
    Duplicate(String),
    /// The database rejected a statement.
    #[error("the storage rejected a statement: {0}")]
    Rejected(String),
}

impl StorageError {
    /// Classifies an error of sqlx.
    pub fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => Self::from_database(&**error),
            sqlx::Error::Migrate(error) => Self::from_migration(error),
            sqlx::Error::PoolTimedOut => Self::Busy("all connections are in use".to_owned()),
            sqlx::Error::RowNotFound
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::TypeNotFound { .. } => Self::Rejected(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }

    fn from_migration(error: &MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                Self::of(error)
            }
            error => Self::Unavailable(error.to_string()),
        }
    }

    fn from_database(error: &dyn DatabaseError) -> Self {
        let (text, code) = (error.to_string(), error.code().unwrap_or_default());
        if error.kind() == ErrorKind::UniqueViolation {
            return Self::Duplicate(text);
        }
        // SQLite has numeric codes whose lowest byte is the primary code
        // (<https://www.sqlite.org/rescode.html>). PostgreSQL has five letters or digits.
        match code.parse::<u32>().ok().filter(|_| code.len() < 5) {
            Some(code) => match code & 0xff {
                5 | 6 => Self::Busy(text),
                8 => Self::ReadOnly(text),
                // A file that cannot grow is reported as a write error: `SQLITE_IOERR_WRITE` or
                // `SQLITE_IOERR_FSYNC`.
                13 => Self::Full(text),
                10 if [778, 1034].contains(&code) => Self::Full(text),
                11 | 26 => Self::Damaged(text),
                10 | 14 => Self::Unavailable(text),
                _ => Self::Rejected(text),
            },
            None => match &*code {
                "53100" => Self::Full(text),
                "25006" => Self::ReadOnly(text),
                "55P03" | "40001" | "40P01" => Self::Busy(text),
                code if ["08", "28", "53", "57", "3D"]
                    .iter()
                    .any(|class| code.starts_with(class)) =>
                {
                    Self::Unavailable(text)
                }
                _ => Self::Rejected(text),
            },
        }
    }

    /// Whether the connection must be closed. SQLite opens a file on a read-only disk read-only,
    /// and that connection stays read-only when the disk becomes writable.
    pub(super) fn breaks_connection(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Damaged(_) | Self::ReadOnly(_)
        )
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        Self::of(&error)
    }
}

impl From<StorageError> for OperationError {
    /// The location and the message of the error are in the log only: not every caller may read
    /// them.
    fn from(_: StorageError) -> Self {
        StorageError::operation_error()
    }
}

impl StorageError {
    /// The error that clients receive for any storage error.
    pub fn operation_error() -> OperationError {
        OperationError::StorageUnavailable {
            cause: StorageFailure::Unavailable,
        }
    }

    /// Adds the path to errors that do not contain it.
    pub(super) fn with_path(self, path: &std::path::Path) -> Self {
        match self {
            Self::Unavailable(error) => Self::Unavailable(format!("{}: {error}", path.display())),
            other => other,
        }
    }
}
