//! Searches the audit log, latest operation first, with a time limit. Each statement covers a
//! limited range of sequence numbers, so that no search keeps the database busy for long.

use std::time::{Duration, Instant};

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Row as _};

use super::AuditLog;
use super::entry::{StoredRow, replace_nul};
use crate::domain::operation_error::{DenialReason, RequestError, StorageFailure};
use crate::domain::role::VisibleGroups;
use crate::domain::{AuditEntry, AuditFilter, AuditPage, OperationError, OperationResult};
use crate::server::storage::StorageError;

/// The time limit of a search.
pub(super) const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
/// The range of sequence numbers per statement, and the maximum number of rows that it returns.
pub(super) const SEQ_WINDOW: i64 = 20_000;
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
        self.can_see(entry.group.as_deref()) && self.filter.matches(entry)
    }

    /// Whether the principal may see entries of this group. Sign-ins and other entries without a
    /// group are visible only with access to all groups.
    pub(super) fn can_see(&self, group: Option<&str>) -> bool {
        match group {
            Some(group) => self.visible_groups.contains(group),
            None => self.visible_groups == VisibleGroups::All,
        }
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
        let (entries, next_cursor, is_truncated) = searching.await.map_err(to_operation_error)?;
        Ok(AuditPage {
            entries,
            next_cursor: next_cursor.map(|number| number.to_string()),
            truncated: is_truncated,
            read_at: journal.clock.now(),
        })
    }
}

/// The error for a client. The cause contains paths and addresses, so it is only logged.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the argument of `map_err` is a value"
)]
pub(super) fn to_operation_error(error: StorageError) -> OperationError {
    tracing::warn!("cannot read the audit log: {error}");
    OperationError::StorageUnavailable {
        cause: StorageFailure::UnreadableAuditLog,
    }
}

/// The first and the last sequence number; `None` if there are no entries.
pub(super) async fn read_bounds(db: &mut AnyConnection) -> Result<Option<(i64, i64)>, sqlx::Error> {
    let bounds = sqlx::query("SELECT MIN(seq), MAX(seq) FROM audit_entry");
    let bounds = bounds.fetch_one(db).await?;
    let (first, last): (Option<i64>, Option<i64>) = (bounds.try_get(0)?, bounds.try_get(1)?);
    Ok(first.zip(last))
}

pub(super) async fn run_search(
    db: &mut AnyConnection,
    search: &AuditSearch,
    mut before: i64,
) -> Result<(Vec<AuditEntry>, Option<i64>, bool), sqlx::Error> {
    let stop_at = Instant::now() + SEARCH_TIMEOUT;
    let Some((first, last)) = read_bounds(db).await? else {
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
pub(super) enum BindValue {
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
    let (condition, values) = where_clause(filter, from, before);
    let statement = format!(
        "SELECT {} FROM audit_entry {condition} ORDER BY seq DESC LIMIT {MAX_ROWS}",
        StoredRow::COLUMNS
    );
    bind(sqlx::query(AssertSqlSafe(statement)), values)
        .fetch_all(db)
        .await?
        .iter()
        .map(StoredRow::from_row)
        .collect()
}

/// The conditions for the entries with sequence numbers from `from` to before `before`, and their
/// parameters. The text of the filter is not among them: it has no column.
pub(super) fn where_clause(
    filter: &AuditFilter,
    from: i64,
    before: i64,
) -> (String, Vec<BindValue>) {
    // State 0 is a start whose end was written; the end repeats its fields.
    let mut clause = "WHERE seq >= $1 AND seq < $2 AND state > 0".to_owned();
    let mut values = vec![BindValue::Number(from), BindValue::Number(before)];
    let mut add_condition = |condition: &str, value: BindValue| {
        values.push(value);
        clause.push_str(&format!(" AND {condition} ${}", values.len()));
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
    (clause, values)
}

/// Binds the parameters of a statement.
pub(super) fn bind(
    query: Query<'_, Any, AnyArguments>,
    values: Vec<BindValue>,
) -> Query<'_, Any, AnyArguments> {
    values.into_iter().fold(query, |query, value| match value {
        BindValue::Text(text) => query.bind(text),
        BindValue::Bytes(bytes) => query.bind(bytes),
        BindValue::Number(number) => query.bind(number),
    })
}
