//! The `[storage]` table: the database for persistent data, and its retention.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// The file in the state directory.
const DEFAULT_FILE_NAME: &str = "lockkeeper.db";
/// The smallest `max_size`: one minute of peak load must fit.
const MIN_SIZE: u64 = 16 << 20;

/// The database for the history, the audit log, sessions and idempotency records.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorageConfig {
    /// An SQLite file (`sqlite:///path`), or a PostgreSQL database (`postgres://…`) that several
    /// consoles can share.
    pub url: StorageUrl,
    /// How long audit entries are kept. `None` (`"forever"`): until `max_size` is reached.
    #[serde(deserialize_with = "deserialize_retention")]
    pub retention: Option<Duration>,
    /// The size limit of audit entries in bytes, in the file like `"2GB"`; the oldest are removed
    /// first.
    #[serde(deserialize_with = "deserialize_size")]
    pub max_size: u64,
    /// How long the history of locks and nodes is kept. `None` (`"forever"`): until
    /// `history_max_size` is reached.
    #[serde(deserialize_with = "deserialize_retention")]
    pub history_retention: Option<Duration>,
    /// The size limit of the history in bytes; the oldest holds are removed first.
    #[serde(deserialize_with = "deserialize_size")]
    pub history_max_size: u64,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            url: StorageUrl::default(),
            retention: Some(Duration::from_hours(30 * 24)),
            max_size: 2_000_000_000,
            history_retention: Some(Duration::from_hours(30 * 24)),
            history_max_size: 2_000_000_000,
        }
    }
}

impl StorageConfig {
    /// Stores everything in this SQLite file.
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        Self {
            url: StorageUrl::Sqlite(Some(path.into())),
            ..Self::default()
        }
    }

    /// Stores everything in this PostgreSQL database.
    pub fn postgres(url: impl Into<String>) -> Self {
        Self {
            url: StorageUrl::Postgres(url.into()),
            ..Self::default()
        }
    }
}

/// The URL of a database. `Display` and `Debug` omit user and password.
#[derive(Clone, PartialEq, Eq)]
pub enum StorageUrl {
    /// An SQLite file; `None` is `lockkeeper.db` in the state directory.
    Sqlite(Option<PathBuf>),
    /// A PostgreSQL URL.
    Postgres(String),
}

impl Default for StorageUrl {
    fn default() -> Self {
        Self::Sqlite(None)
    }
}

impl StorageUrl {
    /// The path of the SQLite file; `None` for PostgreSQL.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(path) => {
                let default = || super::state_directory::state_directory().join(DEFAULT_FILE_NAME);
                Some(path.clone().unwrap_or_else(default))
            }
            Self::Postgres(_) => None,
        }
    }
}

impl fmt::Display for StorageUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(_) => write!(to, "{}", self.path().unwrap_or_default().display()),
            Self::Postgres(url) => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let rest = rest.split('?').next().unwrap_or_default();
                let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
                write!(to, "postgres://{rest}")
            }
        }
    }
}

impl fmt::Debug for StorageUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{self}")
    }
}

impl<'de> Deserialize<'de> for StorageUrl {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text));
        }
        let path = text.strip_prefix("sqlite:");
        let path = path.map(|path| path.strip_prefix("//").unwrap_or(path));
        match path {
            Some(path) if path.is_empty() || path.ends_with('/') => Err(D::Error::custom(
                "the SQLite URL has no file name; write \"sqlite:///var/lib/lockkeeper/lockkeeper.db\"",
            )),
            Some(path) if path.contains('?') => Err(D::Error::custom(
                "parameters after `?` are not supported for SQLite; remove them",
            )),
            Some(path) => Ok(Self::Sqlite(Some(PathBuf::from(path)))),
            None => Err(D::Error::custom(
                "not a database URL; write \"sqlite:///var/lib/lockkeeper/lockkeeper.db\" or \"postgres://user@host/database\"",
            )),
        }
    }
}

fn deserialize_retention<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    if text == "forever" {
        return Ok(None);
    }
    match humantime::parse_duration(&text) {
        Ok(duration) if duration >= Duration::from_hours(1) => Ok(Some(duration)),
        Ok(_) => Err(D::Error::custom("must be at least 1h")),
        Err(_) => Err(D::Error::custom(
            "invalid duration; write \"30d\", \"1y\" or \"forever\"",
        )),
    }
}

fn deserialize_size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => 0,
    };
    let bytes = digits.parse::<u64>().ok();
    match bytes.and_then(|bytes| bytes.checked_mul(unit)) {
        Some(bytes) if bytes >= MIN_SIZE => Ok(bytes),
        _ => Err(D::Error::custom(
            "must be a size of at least 17MB; write \"500MB\" or \"2GB\"",
        )),
    }
}
