//! Searches the audit log, latest operation first, with a time limit. Each statement covers a
//! limited range of sequence numbers, so that no search keeps the database busy for long.

use std::time::{Duration, Instant};

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::AuditLog;
use super::entry::{StoredRow, replace_nul};
use crate::domain::operation_error::{DenialReason, RequestError, StorageFailure};
use crate::domain::role::VisibleGroups;
use crate::domain::{AuditEntry, AuditFilter, AuditPage, OperationError, OperationResult};
use crate::server::storage::StorageError;

/// The time limit of a search.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
/// The range of sequence numbers per statement, and the maximum number of rows that it returns.
const SEQ_WINDOW: i64 = 20_000;
const MAX_ROWS: i64 = 2_000;

/// A search request.
#[derive(Clone, Debug)]
pub struct AuditSearch {
    /// The filter.
    pub filter: AuditFilter,
    /// The groups that the principal may see.
    pub visible_groups: VisibleGroups,
    /// The maximum number of entries.
    pub limit: usize,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
}

impl AuditSearch {
    /// The sequence number below which this page starts.
    fn start_before(&self) -> Result<i64, OperationError> {
        let Some(text) = &self.cursor else {
            return Ok(i64::MAX);
        };
        text.parse().map_err(|_| OperationError::BadRequest {
            cause: RequestError::InvalidCursor,
        })
    }

    fn matches(&self, entry: &AuditEntry) -> bool {
        // Sign-ins and other entries without a group are visible only with access to all groups.
        let is_visible = match &entry.group {
            Some(group) => self.visible_groups.contains(group),
            None => self.visible_groups == VisibleGroups::All,
        };
        is_visible && self.filter.matches(entry)
    }
}

impl AuditLog {
    /// Runs a search.
    ///
    /// # Errors
    /// An invalid cursor, a disabled audit log, or a database that cannot be read.
    pub async fn search(&self, search: AuditSearch) -> Result<AuditPage, OperationError> {
        let before = search.start_before()?;
        let Some(journal) = self.journal() else {
            return Err(OperationError::Forbidden {
                cause: DenialReason::AuditDisabled,
            });
        };
        journal.catch_up().await;
        let searching = async {
            let mut db = journal.storage.read().await?;
            Ok::<_, StorageError>(run_search(&mut db, &search, before).await?)
        };
        let (entries, next_cursor, is_truncated) = searching.await.map_err(|error| {
            // The error contains paths and addresses, which are not for clients.
            tracing::warn!("cannot read the audit log: {error}");
            OperationError::StorageUnavailable {
                cause: StorageFailure::UnreadableAuditLog,
            }
        })?;
        Ok(AuditPage {
            entries,
            next_cursor: next_cursor.map(|number| number.to_string()),
            truncated: is_truncated,
            read_at: journal.clock.now(),
        })
    }
}

async fn run_search(
    db: &mut AnyConnection,
    search: &AuditSearch,
    mut before: i64,
) -> Result<(Vec<AuditEntry>, Option<i64>, bool), sqlx::Error> {
    let stop_at = Instant::now() + SEARCH_TIMEOUT;
    let bounds = sqlx::query("SELECT MIN(seq), MAX(seq) FROM audit_entry");
    let bounds = bounds.fetch_one(&mut *db).await?;
    let (Some(first), Some(last)): (Option<i64>, Option<i64>) =
        (bounds.try_get(0)?, bounds.try_get(1)?)
    else {
        return Ok((Vec::new(), None, false));
    };
    // Avoids empty windows above the newest entry.
    before = before.min(last.saturating_add(1));
    let mut entries = Vec::new();
    while before > first {
        if Instant::now() > stop_at {
            // The client continues with this cursor.
            return Ok((entries, Some(before), true));
        }
        // Lock names are indexed, so the whole range is searched at once.
        let from = match search.filter.key {
            Some(_) => first,
            None => before.saturating_sub(SEQ_WINDOW).max(first),
        };
        let rows = fetch_rows(db, &search.filter, from, before).await?;
        let is_complete = i64::try_from(rows.len()).unwrap_or(MAX_ROWS) < MAX_ROWS;
        let lowest = rows.last().map(|row| row.seq);
        for row in rows {
            // Conditions without a column, such as the text search, are checked here.
            let entry = row.decode().filter(|entry| search.matches(entry));
            if let Some(entry) = entry {
                entries.push(entry);
                if entries.len() >= search.limit {
                    return Ok((entries, Some(row.seq), false));
                }
            }
        }
        before = match lowest {
            Some(lowest) if !is_complete => lowest,
            _ => from,
        };
    }
    Ok((entries, None, false))
}

/// A parameter of a condition.
enum BindValue {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
}

async fn fetch_rows(
    db: &mut AnyConnection,
    filter: &AuditFilter,
    from: i64,
    before: i64,
) -> Result<Vec<StoredRow>, sqlx::Error> {
    let mut statement = format!(
        // State 0 is a start whose end was written; the end repeats its fields.
        "SELECT {} FROM audit_entry WHERE seq >= $1 AND seq < $2 AND state > 0",
        StoredRow::COLUMNS
    );
    let mut values = vec![BindValue::Number(from), BindValue::Number(before)];
    let mut add_condition = |condition: &str, value: BindValue| {
        values.push(value);
        statement.push_str(&format!(" AND {condition} ${}", values.len()));
    };
    let text = |text: &str| BindValue::Text(replace_nul(text));
    if let Some(group) = &filter.group {
        add_condition("group_name =", text(group));
    }
    if let Some(key) = &filter.key {
        add_condition("lock_key =", BindValue::Bytes(key.as_bytes().to_vec()));
    }
    if let Some(action) = filter.action {
        add_condition("action =", text(action.slug()));
    }
    if let Some(actor) = &filter.actor {
        add_condition("actor =", text(actor));
    }
    match filter.result {
        Some(OperationResult::InProgress) => add_condition("state =", BindValue::Number(1)),
        Some(result) => add_condition("result =", text(result.slug())),
        None => {}
    }
    if let Some(from) = filter.from {
        add_condition("started_at >=", BindValue::Number(from.millis()));
    }
    if let Some(until) = filter.until {
        add_condition("started_at <", BindValue::Number(until.millis()));
    }
    statement.push_str(&format!(" ORDER BY seq DESC LIMIT {MAX_ROWS}"));
    let mut query = sqlx::query(AssertSqlSafe(statement));
    for value in values {
        query = match value {
            BindValue::Text(text) => query.bind(text),
            BindValue::Bytes(bytes) => query.bind(bytes),
            BindValue::Number(number) => query.bind(number),
        };
    }
    query
        .fetch_all(db)
        .await?
        .iter()
        .map(StoredRow::from_row)
        .collect()
}
