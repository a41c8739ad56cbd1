//! Connection options common to both databases.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::any::AnyConnectOptions;
use tracing::log::LevelFilter;

use super::StorageError;

/// Parses a URL and disables the logging of statements, whose parameters may be confidential.
pub(super) fn connect_options(url: &str) -> Result<AnyConnectOptions, StorageError> {
    let options: AnyConnectOptions = url.parse()?;
    Ok(options
        .log_statements(LevelFilter::Off)
        .log_slow_statements(LevelFilter::Off, Duration::MAX))
}
