//! Old entries are removed: those older than the configuration says, and the oldest ones where all take too much room. The log says
//! which, and what is left verifies.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};
use tokio::time::sleep;

use super::Audit;
use super::journal::Journal;
use crate::server::config::StorageConfig;
use crate::server::storage::{StorageError, statements};

/// How often it is looked whether there is anything to remove.
const PAUSE: Duration = Duration::from_secs(60);
/// How many are removed in one transaction: others write in between.
const AT_ONCE: i64 = 5_000;
/// What a row takes beside its line.
const ROW: i64 = 300;

impl Audit {
    /// Removes old entries, for ever.
    pub async fn remove_old(&self, config: &StorageConfig) {
        let Some(journal) = self.journal() else {
            return;
        };
        loop {
            match remove(journal, config).await {
                Ok((0, _)) => {}
                Ok((removed, last)) => tracing::info!(
                    removed,
                    up_to = last,
                    "old audit entries were removed, as `retention` and `max_size` of [storage] say"
                ),
                Err(why) => tracing::debug!("old audit entries were not removed: {why}"),
            }
            sleep(PAUSE).await;
        }
    }
}

/// How many were removed, and the number of the last of them.
async fn remove(journal: &Journal, config: &StorageConfig) -> Result<(i64, i64), StorageError> {
    let (mut removed, mut last) = (0, 0);
    loop {
        let now = journal.clock.now().millis();
        let kept = config.retention.map(|kept| i64::try_from(kept.as_millis()));
        let before = kept.map_or(i64::MIN, |kept| now - kept.unwrap_or(now));
        let too_many = too_many(journal, config.max_size).await?;
        let run = statements(move |db: &mut AnyConnection| {
            Box::pin(async move { remove_some(db, before, too_many).await })
        });
        let (some, up_to) = journal.storage.write(run).await?;
        if some > 0 {
            (removed, last) = (removed + some, up_to);
        }
        if some < AT_ONCE {
            return Ok((removed, last));
        }
    }
}

/// How many entries are more than have room. Lengths are those of the latest: reading all would take as long as verifying.
async fn too_many(journal: &Journal, max_size: u64) -> Result<i64, StorageError> {
    let mut db = journal.storage.read().await?;
    let all = "SELECT COALESCE(MAX(number) - MIN(number) + 1, 0) FROM audit_entry";
    let count: i64 = sqlx::query(all).fetch_one(&mut *db).await?.try_get(0)?;
    let latest = "SELECT CAST(COALESCE(SUM(LENGTH(line)), 0) AS BIGINT), COUNT(*) FROM \
                  (SELECT line FROM audit_entry ORDER BY number DESC LIMIT 1000) AS latest";
    let row = sqlx::query(latest).fetch_one(&mut *db).await?;
    let (bytes, lines): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let each = bytes / lines.max(1) + ROW;
    let max = i64::try_from(max_size).unwrap_or(i64::MAX);
    Ok((count - max / each).max(0))
}

/// Removes at most [`AT_ONCE`] of the oldest; never the last one, from which the chain goes on.
async fn remove_some(
    db: &mut AnyConnection,
    before: i64,
    too_many: i64,
) -> Result<(i64, i64), sqlx::Error> {
    let oldest = "SELECT MAX(number) FROM (SELECT number, began_at, ROW_NUMBER() OVER (ORDER BY number) AS place \
                  FROM (SELECT number, began_at FROM audit_entry ORDER BY number LIMIT $1) AS first) AS oldest \
                  WHERE began_at < $2 OR place <= $3";
    let found = sqlx::query(oldest)
        .bind(AT_ONCE)
        .bind(before)
        .bind(too_many);
    let Some(up_to): Option<i64> = found.fetch_one(&mut *db).await?.try_get(0)? else {
        return Ok((0, 0));
    };
    let removed = "DELETE FROM audit_entry WHERE number <= $1 AND number < (SELECT MAX(number) FROM audit_entry)";
    let removed = sqlx::query(removed).bind(up_to).execute(db).await?;
    Ok((i64::try_from(removed.rows_affected()).unwrap_or(0), up_to))
}
