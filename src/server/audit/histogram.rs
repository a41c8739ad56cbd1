//! Counts the entries of the audit log over time, with the same time limit as a search.

use std::time::Instant;

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::AuditLog;
use super::search::{
    AuditSearch, SEARCH_TIMEOUT, SEQ_WINDOW, bind, read_bounds, run_search, to_operation_error,
    where_clause,
};
use crate::domain::operation_error::DenialReason;
use crate::domain::role::VisibleGroups;
use crate::domain::{AuditFilter, AuditHistogram, OperationError, OperationResult, Timestamp};

/// The maximum number of entries that a text search counts: each one is decoded.
const MAX_DECODED_ENTRIES: usize = 5_000;
/// If the newest entries of the remaining ones, this many, started long before the range, the
/// others did too. A single entry is not enough: the end of an operation of a killed process is
/// written late.
const NEWEST_ENTRIES: i64 = 200;
/// An operation does not last longer than this, in milliseconds.
const LONGEST_OPERATION_MS: i64 = 60 * 60_000;

impl AuditLog {
    /// Counts the entries that match the filter. The range without an end ends now, and the one
    /// without a start starts with the first entry.
    ///
    /// # Errors
    /// A disabled audit log, or a database that cannot be read.
    pub async fn histogram(
        &self,
        filter: AuditFilter,
        visible_groups: VisibleGroups,
    ) -> Result<AuditHistogram, OperationError> {
        let Some(journal) = self.journal() else {
            return Err(OperationError::Forbidden {
                cause: DenialReason::AuditDisabled,
            });
        };
        journal.catch_up().await;
        let now = journal.clock.now();
        let search = AuditSearch {
            filter,
            visible_groups,
            limit: MAX_DECODED_ENTRIES,
            cursor: None,
        };
        let counting = async {
            let mut db = journal.storage.read().await?;
            Ok(count_entries(&mut db, &search, now).await?)
        };
        counting.await.map_err(to_operation_error)
    }
}

async fn count_entries(
    db: &mut AnyConnection,
    search: &AuditSearch,
    now: Timestamp,
) -> Result<AuditHistogram, sqlx::Error> {
    let filter = &search.filter;
    let until = filter.until.unwrap_or(now);
    let Some((first, last)) = read_bounds(db).await? else {
        return Ok(AuditHistogram::empty(filter.from.unwrap_or(until), until));
    };
    let from = match filter.from {
        Some(from) => from,
        None => started_at(db, first).await?,
    };
    let mut histogram = AuditHistogram::empty(from.min(until), until);
    if filter.text.is_some() {
        let (entries, cursor, is_truncated) = run_search(db, search, i64::MAX).await?;
        for entry in entries {
            let bar = histogram.bar_at(entry.started_at);
            histogram.add(bar, entry.result, 1);
        }
        histogram.is_partial = is_truncated || cursor.is_some();
        return Ok(histogram);
    }
    let stop_at = Instant::now() + SEARCH_TIMEOUT;
    let mut before = last.saturating_add(1);
    while before > first {
        if Instant::now() > stop_at {
            histogram.is_partial = true;
            break;
        }
        if filter.from.is_some() && newest_start(db, before).await? < earliest_start(from) {
            break;
        }
        // Lock names are indexed, so the whole range is counted at once.
        let lowest = match filter.key {
            Some(_) => first,
            None => before.saturating_sub(SEQ_WINDOW).max(first),
        };
        count_window(db, search, (lowest, before), &mut histogram).await?;
        before = lowest;
    }
    Ok(histogram)
}

fn earliest_start(from: Timestamp) -> i64 {
    from.millis().saturating_sub(LONGEST_OPERATION_MS)
}

/// Adds the entries with sequence numbers from the first to before the second.
async fn count_window(
    db: &mut AnyConnection,
    search: &AuditSearch,
    (from, before): (i64, i64),
    histogram: &mut AuditHistogram,
) -> Result<(), sqlx::Error> {
    let (condition, values) = where_clause(&search.filter, from, before);
    // The numbers are integers, and identical expressions with parameters would not be the same to
    // PostgreSQL.
    let statement = format!(
        "SELECT (started_at - {}) / {} AS bar, group_name, state, result, COUNT(*) FROM audit_entry \
         {condition} GROUP BY 1, 2, 3, 4",
        histogram.from.millis(),
        histogram.step_ms
    );
    let query = bind(sqlx::query(AssertSqlSafe(statement)), values);
    for row in query.fetch_all(db).await? {
        let group: Option<String> = row.try_get(1)?;
        if !search.can_see(group.as_deref()) {
            continue;
        }
        let (bar, state, count): (i64, i64, i64) =
            (row.try_get(0)?, row.try_get(2)?, row.try_get(4)?);
        let result: Option<String> = row.try_get(3)?;
        let result = match state {
            1 => OperationResult::InProgress,
            // Entries of other versions may have other results.
            _ => result
                .and_then(|slug| slug.parse().ok())
                .unwrap_or_default(),
        };
        histogram.add(bar, result, u32::try_from(count).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// The latest start among the newest entries below a sequence number.
async fn newest_start(db: &mut AnyConnection, before: i64) -> Result<i64, sqlx::Error> {
    let statement = format!(
        "SELECT MAX(started_at) FROM (SELECT started_at FROM audit_entry WHERE seq < $1 \
         ORDER BY seq DESC LIMIT {NEWEST_ENTRIES}) AS newest"
    );
    let query = sqlx::query(AssertSqlSafe(statement)).bind(before);
    let newest: Option<i64> = query.fetch_one(db).await?.try_get(0)?;
    Ok(newest.unwrap_or(i64::MIN))
}

async fn started_at(db: &mut AnyConnection, seq: i64) -> Result<Timestamp, sqlx::Error> {
    let query = sqlx::query("SELECT started_at FROM audit_entry WHERE seq = $1").bind(seq);
    Ok(Timestamp::from_millis(
        query.fetch_one(db).await?.try_get(0)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::audit_histogram::AuditBar;
    use crate::domain::{LockKey, OperationKind};
    use crate::server::audit::entry::{self, NewRow, SearchColumns};
    use crate::server::config::StorageConfig;
    use crate::server::storage::Storage;

    /// An entry that started at `second`.
    fn row(seq: i64, second: i64, group: Option<&str>, result: Option<OperationResult>) -> NewRow {
        NewRow {
            seq,
            state: if result.is_some() { 2 } else { 1 },
            id: seq.to_string(),
            line: "{}".to_owned(),
            columns: SearchColumns {
                action: OperationKind::Acquire.slug().into(),
                group_name: group.map(str::to_owned),
                lock_key: group.map(|_| b"lock:a".to_vec()),
                actor: "alice".to_owned(),
                address: None,
                started_at: second * 1_000,
                result: result.map(|result| result.slug().into()),
            },
        }
    }

    fn search(filter: AuditFilter, visible_groups: VisibleGroups) -> AuditSearch {
        AuditSearch {
            filter,
            visible_groups,
            limit: MAX_DECODED_ENTRIES,
            cursor: None,
        }
    }

    #[tokio::test]
    async fn visible_entries_are_counted_by_time_and_result() {
        let directory = tempfile::tempdir().unwrap();
        let config = StorageConfig::sqlite(directory.path().join("lockkeeper.db"));
        let storage = Storage::new(&config, true);
        let written = storage.write(|db| {
            let rows = [
                row(1, 100, Some("orders"), Some(OperationResult::Done)),
                row(2, 100, Some("orders"), Some(OperationResult::Done)),
                row(3, 100, None, Some(OperationResult::Refused)),
                row(4, 130, Some("jobs"), Some(OperationResult::Failed)),
                row(5, 130, Some("jobs"), None),
            ];
            Box::pin(async move { entry::insert(db, &rows).await })
        });
        written.await.unwrap();
        let mut db = storage.read().await.unwrap();
        let now = Timestamp::from_millis(159_000);
        let all = search(AuditFilter::default(), VisibleGroups::All);
        let histogram = count_entries(&mut db, &all, now).await.unwrap();
        let bar = |done, refused, other| AuditBar {
            done,
            refused,
            other,
        };
        assert_eq!((histogram.step_ms, histogram.total()), (1_000, 5));
        assert_eq!(histogram.from, Timestamp::from_millis(100_000));
        assert_eq!(histogram.bars[0], bar(2, 1, 0));
        assert_eq!(histogram.bars[30], bar(0, 0, 2));
        assert!(!histogram.is_partial);

        let only_jobs = VisibleGroups::only("jobs");
        let jobs = search(AuditFilter::default(), only_jobs);
        let histogram = count_entries(&mut db, &jobs, now).await.unwrap();
        assert_eq!(histogram.total(), 2);

        let filter = AuditFilter {
            key: Some(LockKey::from("lock:a")),
            from: Some(Timestamp::from_millis(110_000)),
            result: Some(OperationResult::InProgress),
            ..AuditFilter::default()
        };
        let running = search(filter, VisibleGroups::All);
        let histogram = count_entries(&mut db, &running, now).await.unwrap();
        assert_eq!(histogram.bar_at(Timestamp::from_millis(130_000)), 20);
        assert_eq!(histogram.bars[20], bar(0, 0, 1));
        assert_eq!(histogram.total(), 1);
    }
}
