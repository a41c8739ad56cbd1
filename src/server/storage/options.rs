//! What is the same for every connection, whichever the database is.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::any::AnyConnectOptions;
use tracing::log::LevelFilter;

use super::StorageError;

/// Options that log no statement.
pub(super) fn quiet(url: &str) -> Result<AnyConnectOptions, StorageError> {
    let options: AnyConnectOptions = url.parse()?;
    Ok(options
        .log_statements(LevelFilter::Off)
        .log_slow_statements(LevelFilter::Off, Duration::MAX))
}
