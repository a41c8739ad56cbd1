//! Deletes the oldest history, in small chunks: what is older than `history_retention`, and the
//! oldest holds beyond `history_max_size`. SQLite reuses the space of deleted rows; the file does
//! not shrink.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};
use tokio::time::Instant;

use crate::domain::Timestamp;
use crate::server::config::StorageConfig;
use crate::server::storage::{Storage, StorageError, statements};

/// How often old rows are searched.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// Rows per transaction. At 1,000 holds per second, one transaction per second keeps up.
const MAX_ROWS: i64 = 2_000;
/// The size of a hold with its index entries: 107 bytes as measured in the module `history`, and a
/// share of the names of locks and of pages that are not full.
pub(super) const BYTES_PER_HOLD: u64 = 150;
/// The same of a flag, whose rows may use an eighth of the size limit.
const BYTES_PER_FLAG: u64 = 120;

/// Deletes old rows, a chunk at a time.
pub(super) struct Retention {
    retention: Option<Duration>,
    max_size: u64,
    next_at: Instant,
    /// The last lock that was checked for rows that use it.
    last_lock: i64,
}

impl Retention {
    /// Retention as configured.
    pub fn new(config: &StorageConfig) -> Self {
        Self {
            retention: config.history_retention,
            max_size: config.history_max_size,
            next_at: Instant::now(),
            last_lock: 0,
        }
    }

    /// Deletes a chunk, if it is time. Returns whether rows of locks were deleted.
    pub async fn delete_some(
        &mut self,
        storage: &Storage,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        if Instant::now() < self.next_at {
            return Ok(false);
        }
        let retention_ms = self
            .retention
            .and_then(|age| i64::try_from(age.as_millis()).ok());
        let before = retention_ms.map_or(i64::MIN, |ms| now.millis() - ms);
        let rows = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let max_holds = rows(self.max_size / BYTES_PER_HOLD);
        let max_flags = rows(self.max_size / 8 / BYTES_PER_FLAG);
        let last_lock = self.last_lock;
        let run = statements(move |db: &mut AnyConnection| {
            Box::pin(async move {
                let holds = delete_holds(db, before, max_holds).await?;
                let others = delete_others(db, before, max_flags).await?;
                let locks = delete_unused_locks(db, last_lock).await?;
                Ok((holds.max(others), locks))
            })
        });
        let (deleted, (deleted_locks, last_lock)) = storage.write(run).await?;
        self.last_lock = last_lock;
        if deleted < MAX_ROWS {
            self.next_at = Instant::now() + CHECK_INTERVAL;
        }
        Ok(deleted_locks > 0)
    }
}

/// Deletes the oldest holds. Their numbers are in the order in which they ended.
async fn delete_holds(
    db: &mut AnyConnection,
    before: i64,
    max_holds: i64,
) -> Result<i64, sqlx::Error> {
    let bounds = "SELECT MIN(id), MAX(id) FROM history_hold";
    let bounds = sqlx::query(bounds).fetch_one(&mut *db).await?;
    let (Some(first), Some(last)): (Option<i64>, Option<i64>) =
        (bounds.try_get(0)?, bounds.try_get(1)?)
    else {
        return Ok(0);
    };
    let first_kept = last.saturating_sub(max_holds);
    let up_to = "SELECT MAX(id) FROM (SELECT id, ended_at FROM history_hold ORDER BY id LIMIT $1) AS oldest \
                 WHERE ended_at < $2 OR id <= $3";
    let up_to = sqlx::query(up_to).bind(MAX_ROWS).bind(before);
    let up_to = up_to.bind(first_kept).fetch_one(&mut *db).await?;
    let Some(up_to): Option<i64> = up_to.try_get(0)? else {
        return Ok(0);
    };
    // Some of the time before the latest of these ends is missing from then on.
    let mark = "UPDATE history_mark SET recorded_since = ended.at FROM \
                (SELECT MAX(ended_at) AS at FROM history_hold WHERE id >= $1 AND id <= $2) AS ended WHERE recorded_since < ended.at";
    let mark = sqlx::query(mark).bind(first).bind(up_to);
    mark.execute(&mut *db).await?;
    let delete = "DELETE FROM history_hold WHERE id >= $1 AND id <= $2";
    let delete = sqlx::query(delete).bind(first).bind(up_to).execute(db);
    Ok(count(delete.await?.rows_affected()))
}

async fn delete_others(
    db: &mut AnyConnection,
    before: i64,
    max_flags: i64,
) -> Result<i64, sqlx::Error> {
    let flags = "DELETE FROM history_flag WHERE id IN (SELECT id FROM history_flag WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";
    let flags = sqlx::query(flags).bind(before).bind(MAX_ROWS);
    let deleted = flags.execute(&mut *db).await?.rows_affected();
    let excess = "DELETE FROM history_flag WHERE id IN (SELECT id FROM history_flag WHERE ended_at IS NOT NULL \
                  AND id <= (SELECT MAX(id) FROM history_flag) - $1 ORDER BY ended_at LIMIT $2)";
    let excess = sqlx::query(excess).bind(max_flags).bind(MAX_ROWS);
    let deleted = deleted + excess.execute(&mut *db).await?.rows_affected();
    for delete in [
        "DELETE FROM history_outage WHERE ended_at < $1",
        "DELETE FROM history_gap WHERE ended_at < $1",
        "DELETE FROM history_counter WHERE at < $1",
    ] {
        sqlx::query(delete).bind(before).execute(&mut *db).await?;
    }
    Ok(count(deleted))
}

/// Deletes locks that no other row contains, among the next [`MAX_ROWS`] after `last`. Returns how
/// many, and the last lock that was checked.
async fn delete_unused_locks(db: &mut AnyConnection, last: i64) -> Result<(i64, i64), sqlx::Error> {
    let next = "SELECT MAX(id) FROM (SELECT id FROM history_lock WHERE id > $1 ORDER BY id LIMIT $2) AS next";
    let next = sqlx::query(next).bind(last).bind(MAX_ROWS);
    let Some(next): Option<i64> = next.fetch_one(&mut *db).await?.try_get(0)? else {
        // Begins again with the first lock.
        return Ok((0, 0));
    };
    let delete = "DELETE FROM history_lock WHERE id > $1 AND id <= $2 \
        AND NOT EXISTS (SELECT 1 FROM history_hold AS h WHERE h.lock_id = history_lock.id) \
        AND NOT EXISTS (SELECT 1 FROM history_open_hold AS o WHERE o.lock_id = history_lock.id) \
        AND NOT EXISTS (SELECT 1 FROM history_flag AS f WHERE f.lock_id = history_lock.id)";
    let delete = sqlx::query(delete).bind(last).bind(next).execute(db);
    Ok((count(delete.await?.rows_affected()), next))
}

fn count(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
