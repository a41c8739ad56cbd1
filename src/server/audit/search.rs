//! Searching the audit, the latest operation first, for so long as there is time. One statement looks at so many numbers and no more, so
//! that no search keeps the storage busy for long.

use std::time::{Duration, Instant};

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::Audit;
use super::entry::{Found, storable};
use crate::domain::role::Sight;
use crate::domain::{ActEnd, AuditFilter, AuditPage, Audited, Fault};
use crate::server::storage::StorageError;

/// How long one search goes on.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many numbers one statement looks at, and how many rows it returns at most.
const WINDOW: i64 = 20_000;
const MAX_ROWS: i64 = 2_000;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// Which operations.
    pub filter: AuditFilter,
    /// The groups that may be seen.
    pub sight: Sight,
    /// How many at most.
    pub limit: usize,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

impl Search {
    /// The number that a page goes back from.
    fn before(&self) -> Result<i64, Fault> {
        let Some(text) = &self.cursor else {
            return Ok(i64::MAX);
        };
        text.parse().map_err(|_| Fault::BadRequest {
            detail: "`cursor` is not one that was handed out here".into(),
        })
    }

    fn passes(&self, act: &Audited) -> bool {
        let is_seen = match &act.group {
            Some(group) => self.sight.shows(group),
            None => self.sight == Sight::Everything,
        };
        is_seen && self.filter.matches(act)
    }
}

impl Audit {
    /// Searches.
    ///
    /// # Errors
    /// A cursor that is none, an audit that is off, or storage that cannot be read.
    pub async fn search(&self, search: Search) -> Result<AuditPage, Fault> {
        let before = search.before()?;
        let Some(journal) = self.journal() else {
            return Err(Fault::Forbidden {
                why: "nothing is written down: the audit is off in the configuration".to_owned(),
            });
        };
        journal.catch_up().await;
        let looking = async {
            let mut db = journal.storage.read().await?;
            Ok::<_, StorageError>(look(&mut db, &search, before).await?)
        };
        let (acts, next_cursor, is_cut) = looking.await.map_err(|why| {
            // Paths and addresses are for the log.
            tracing::warn!("the audit cannot be read: {why}");
            Fault::StorageUnavailable {
                detail: "the audit cannot be read; the server's log says why".to_owned(),
            }
        })?;
        Ok(AuditPage {
            acts,
            next_cursor: next_cursor.map(|number| number.to_string()),
            is_cut,
            read_at: journal.clock.now(),
        })
    }
}

async fn look(
    db: &mut AnyConnection,
    search: &Search,
    mut before: i64,
) -> Result<(Vec<Audited>, Option<i64>, bool), sqlx::Error> {
    let stop_at = Instant::now() + TIMEOUT;
    let bounds = sqlx::query("SELECT MIN(number), MAX(number) FROM audit_entry");
    let bounds = bounds.fetch_one(&mut *db).await?;
    let (Some(first), Some(last)): (Option<i64>, Option<i64>) =
        (bounds.try_get(0)?, bounds.try_get(1)?)
    else {
        return Ok((Vec::new(), None, false));
    };
    before = before.min(last.saturating_add(1));
    let mut acts = Vec::new();
    while before > first {
        if Instant::now() > stop_at {
            return Ok((acts, Some(before), true));
        }
        // The names of locks have an index of their own.
        let from = match search.filter.key {
            Some(_) => first,
            None => before.saturating_sub(WINDOW).max(first),
        };
        let rows = rows(db, &search.filter, from, before).await?;
        let is_whole = i64::try_from(rows.len()).unwrap_or(MAX_ROWS) < MAX_ROWS;
        let lowest = rows.last().map(|row| row.number);
        for row in rows {
            let act = row.act().filter(|act| search.passes(act));
            if let Some(act) = act {
                acts.push(act);
                if acts.len() >= search.limit {
                    return Ok((acts, Some(row.number), false));
                }
            }
        }
        before = match lowest {
            Some(lowest) if !is_whole => lowest,
            _ => from,
        };
    }
    Ok((acts, None, false))
}

/// A value of a condition.
enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
}

async fn rows(
    db: &mut AnyConnection,
    filter: &AuditFilter,
    from: i64,
    before: i64,
) -> Result<Vec<Found>, sqlx::Error> {
    let mut statement = format!(
        "SELECT {} FROM audit_entry WHERE number >= $1 AND number < $2 AND state > 0",
        Found::COLUMNS
    );
    let mut values = vec![Value::Number(from), Value::Number(before)];
    let mut wants = |condition: &str, value: Value| {
        values.push(value);
        statement.push_str(&format!(" AND {condition} ${}", values.len()));
    };
    let text = |text: &str| Value::Text(storable(text));
    if let Some(group) = &filter.group {
        wants("group_name =", text(group));
    }
    if let Some(key) = &filter.key {
        wants("lock_key =", Value::Bytes(key.as_bytes().to_vec()));
    }
    if let Some(act) = filter.act {
        wants("operation =", text(act.slug()));
    }
    if let Some(who) = &filter.who {
        wants("principal =", text(who));
    }
    match filter.end {
        Some(ActEnd::InProgress) => wants("state =", Value::Number(1)),
        Some(end) => wants("outcome =", text(end.slug())),
        None => {}
    }
    if let Some(from) = filter.from {
        wants("began_at >=", Value::Number(from.millis()));
    }
    if let Some(until) = filter.until {
        wants("began_at <", Value::Number(until.millis()));
    }
    statement.push_str(&format!(" ORDER BY number DESC LIMIT {MAX_ROWS}"));
    let mut query = sqlx::query(AssertSqlSafe(statement));
    for value in values {
        query = match value {
            Value::Text(text) => query.bind(text),
            Value::Bytes(bytes) => query.bind(bytes),
            Value::Number(number) => query.bind(number),
        };
    }
    query.fetch_all(db).await?.iter().map(Found::read).collect()
}
