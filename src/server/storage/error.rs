//! Why storage could not do what was asked.

use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::migrate::MigrateError;

use crate::domain::Fault;

/// Why nothing was read or written. The texts have paths and addresses in them: for the log, not for clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// It cannot be opened or reached, or the connection broke: whether the last write was committed is not known.
    #[error("the storage is unavailable: {0}")]
    Unavailable(String),
    /// Another program keeps it locked, or too much waits.
    #[error("the storage is busy: {0}")]
    Busy(String),
    /// There is no room.
    #[error("the storage is full: {0}")]
    Full(String),
    /// It cannot be written to.
    #[error("the storage is read-only: {0}")]
    ReadOnly(String),
    /// The file is broken. It is set aside when it is opened next.
    #[error("the storage is damaged: {0}")]
    Damaged(String),
    /// A row that is to be there once is there already.
    #[error("there is such a row already: {0}")]
    Duplicate(String),
    /// The database rejected a statement.
    #[error("the storage rejected a statement: {0}")]
    Rejected(String),
}

impl StorageError {
    /// What an error of the library means.
    pub fn of(why: &sqlx::Error) -> Self {
        match why {
            sqlx::Error::Database(told) => Self::told(&**told),
            sqlx::Error::Migrate(why) => Self::of_migration(why),
            sqlx::Error::PoolTimedOut => Self::Busy("every connection is in use".to_owned()),
            sqlx::Error::RowNotFound
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::TypeNotFound { .. } => Self::Rejected(why.to_string()),
            _ => Self::Unavailable(why.to_string()),
        }
    }

    fn of_migration(why: &MigrateError) -> Self {
        match why {
            MigrateError::Execute(why) | MigrateError::ExecuteMigration(why, _) => Self::of(why),
            why => Self::Unavailable(why.to_string()),
        }
    }

    fn told(why: &dyn DatabaseError) -> Self {
        let (text, code) = (why.to_string(), why.code().unwrap_or_default());
        if why.kind() == ErrorKind::UniqueViolation {
            return Self::Duplicate(text);
        }
        // SQLite has numbers of which the lowest byte is the kind; PostgreSQL five letters or digits.
        match code.parse::<u32>().ok().filter(|_| code.len() < 5) {
            Some(code) => match code & 0xff {
                5 | 6 => Self::Busy(text),
                8 => Self::ReadOnly(text),
                // A file that may not grow is an error of writing.
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

    /// Whether the connection is of no more use. SQLite opens a file on a read-only disk for reading alone, and such a
    /// connection stays so when the disk can be written again.
    pub(super) fn breaks_connection(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Damaged(_) | Self::ReadOnly(_)
        )
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(why: sqlx::Error) -> Self {
        Self::of(&why)
    }
}

impl From<StorageError> for Fault {
    /// Where it is and what it said stands in the log: that is not for everybody who calls.
    fn from(_: StorageError) -> Self {
        StorageError::fault()
    }
}

impl StorageError {
    /// What a client is told of any of them.
    pub fn fault() -> Fault {
        Fault::StorageUnavailable {
            detail: "the console's storage cannot be used; the server's log says why".to_owned(),
        }
    }

    /// With the file that it is about, where that is not said.
    pub(super) fn about(self, path: &std::path::Path) -> Self {
        match self {
            Self::Unavailable(why) => Self::Unavailable(format!("{}: {why}", path.display())),
            other => other,
        }
    }
}
