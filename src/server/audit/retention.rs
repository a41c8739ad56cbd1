//! Deletes old entries: those older than `retention`, and the oldest ones if the log exceeds
//! `max_size`. Deletions are logged, and the remaining chain still verifies.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};
use tokio::time::sleep;

use super::AuditLog;
use super::journal::Journal;
use crate::server::config::StorageConfig;
use crate::server::storage::{StorageError, statements};

/// How often the log is checked for old entries.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// The maximum number of rows per transaction, so that other writers are not blocked for long.
const MAX_ROWS_PER_DELETE: i64 = 5_000;
/// The estimated size of a row besides its line, in bytes.
const ROW_OVERHEAD_BYTES: i64 = 300;

impl AuditLog {
    /// Deletes old entries periodically. Never returns.
    pub async fn run_retention(&self, config: &StorageConfig) {
        let Some(journal) = self.journal() else {
            return;
        };
        loop {
            match delete_old_entries(journal, config).await {
                Ok((0, _)) => {}
                Ok((removed, last)) => tracing::info!(
                    removed,
                    up_to = last,
                    "old audit entries deleted, as configured by `retention` and `max_size` in [storage]"
                ),
                Err(error) => tracing::debug!("cannot delete old audit entries: {error}"),
            }
            sleep(CHECK_INTERVAL).await;
        }
    }
}

/// Deletes all old entries. Returns how many, and the sequence number of the last one.
async fn delete_old_entries(
    journal: &Journal,
    config: &StorageConfig,
) -> Result<(i64, i64), StorageError> {
    let (mut removed, mut last) = (0, 0);
    loop {
        // Computed per batch: other writers add entries between batches.
        let now = journal.clock.now().millis();
        let retention_ms = config
            .retention
            .map(|retention| i64::try_from(retention.as_millis()));
        let before = retention_ms.map_or(i64::MIN, |ms| now - ms.unwrap_or(now));
        let excess = count_excess(journal, config.max_size).await?;
        let run = statements(move |db: &mut AnyConnection| {
            Box::pin(async move { delete_batch(db, before, excess).await })
        });
        let (deleted, up_to) = journal.storage.write(run).await?;
        if deleted > 0 {
            (removed, last) = (removed + deleted, up_to);
        }
        if deleted < MAX_ROWS_PER_DELETE {
            return Ok((removed, last));
        }
    }
}

/// The number of entries beyond `max_size`. Estimated from the size of the latest 1,000 lines:
/// reading all would take as long as a verification.
async fn count_excess(journal: &Journal, max_size: u64) -> Result<i64, StorageError> {
    let mut db = journal.storage.read().await?;
    let all = "SELECT COALESCE(MAX(seq) - MIN(seq) + 1, 0) FROM audit_entry";
    let count: i64 = sqlx::query(all).fetch_one(&mut *db).await?.try_get(0)?;
    let latest = "SELECT CAST(COALESCE(SUM(LENGTH(line)), 0) AS BIGINT), COUNT(*) FROM \
                  (SELECT line FROM audit_entry ORDER BY seq DESC LIMIT 1000) AS latest";
    let row = sqlx::query(latest).fetch_one(&mut *db).await?;
    let (bytes, lines): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let bytes_per_entry = bytes / lines.max(1) + ROW_OVERHEAD_BYTES;
    let max = i64::try_from(max_size).unwrap_or(i64::MAX);
    Ok((count - max / bytes_per_entry).max(0))
}

/// Deletes at most [`MAX_ROWS_PER_DELETE`] of the oldest entries. The last entry is never deleted,
/// because the chain continues from it.
async fn delete_batch(
    db: &mut AnyConnection,
    before: i64,
    excess: i64,
) -> Result<(i64, i64), sqlx::Error> {
    // A prefix of the chain is deleted, never single entries, so the rest still verifies.
    let oldest = "SELECT MAX(seq) FROM (SELECT seq, started_at, ROW_NUMBER() OVER (ORDER BY seq) AS place \
                  FROM (SELECT seq, started_at FROM audit_entry ORDER BY seq LIMIT $1) AS first) AS oldest \
                  WHERE started_at < $2 OR place <= $3";
    let found = sqlx::query(oldest)
        .bind(MAX_ROWS_PER_DELETE)
        .bind(before)
        .bind(excess);
    let Some(up_to): Option<i64> = found.fetch_one(&mut *db).await?.try_get(0)? else {
        return Ok((0, 0));
    };
    let removed =
        "DELETE FROM audit_entry WHERE seq <= $1 AND seq < (SELECT MAX(seq) FROM audit_entry)";
    let removed = sqlx::query(removed).bind(up_to).execute(db).await?;
    Ok((i64::try_from(removed.rows_affected()).unwrap_or(0), up_to))
}
