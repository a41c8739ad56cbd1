//! Entries as database rows. Search columns duplicate fields of the line; verification checks that
//! they match.

use std::borrow::Cow;
use std::collections::HashSet;

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Row as _};

use super::chain::{self, ChainHead};
use crate::domain::{AuditEntry, OperationResult};
use crate::server::storage::row_placeholders;

/// The maximum number of rows per statement. Each number of rows is a separate prepared statement
/// that connections cache. With 32 instead of 16, and parameters without names, a pair of acquire
/// and release by one of 64 clients takes a tenth less CPU time.
pub const MAX_ROWS_PER_STATEMENT: usize = 32;
/// The same for statements with one parameter per row.
const MAX_IDS_PER_STATEMENT: usize = 50;
/// The columns of a row, in the order in which they are bound.
const COLUMNS: &str =
    "seq, id, state, action, group_name, lock_key, actor, address, started_at, result, line";
const COLUMN_COUNT: usize = 11;
/// The PostgreSQL advisory lock that serializes writers of the chain. On SQLite the write
/// transaction does.
const CHAIN_ADVISORY_LOCK: i64 = 0x6c6f_636b_6368;

/// An entry to write.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The id that the start and end entries of an operation share.
    pub id: String,
    pub body: EntryBody,
    pub kind: EntryKind,
}

/// The content of an entry.
#[derive(Clone, Debug)]
pub struct EntryBody {
    /// A JSON object: the line without the chain fields.
    pub json: Vec<u8>,
    /// The search columns, with the same values.
    pub columns: SearchColumns,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The start of an operation.
    Begin,
    /// The end of an operation.
    End,
    /// The end of an operation of a killed process. Written only if the operation has no end yet.
    Orphan,
}

/// The search columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchColumns {
    pub action: Cow<'static, str>,
    pub group_name: Option<String>,
    pub lock_key: Option<Vec<u8>>,
    pub actor: String,
    pub address: Option<String>,
    pub started_at: i64,
    pub result: Option<Cow<'static, str>>,
}

/// A row to insert.
pub struct NewRow {
    /// The sequence number, which is the primary key.
    pub seq: i64,
    /// 1 for a start, 2 for an end.
    pub state: i64,
    /// The id that the start and end entries of an operation share.
    pub id: String,
    /// The line of the chain.
    pub line: String,
    /// The search columns of this line.
    pub columns: SearchColumns,
}

/// A row read from the table.
pub struct StoredRow {
    /// The sequence number, which is the primary key.
    pub seq: i64,
    /// 0 for a start with an end, 1 for a start without an end, 2 for an end.
    pub state: i64,
    /// The line of the chain.
    pub line: String,
    /// The search columns.
    pub columns: SearchColumns,
}

impl SearchColumns {
    /// The search columns of an entry.
    pub fn from_entry(entry: &AuditEntry) -> Self {
        Self {
            action: entry.action.slug().into(),
            group_name: entry.group.as_deref().map(replace_nul),
            lock_key: entry.key.as_ref().map(|key| key.as_bytes().to_vec()),
            actor: replace_nul(&entry.actor),
            address: entry.address.as_deref().map(replace_nul),
            started_at: entry.started_at.millis(),
            result: (entry.result != OperationResult::InProgress)
                .then(|| entry.result.slug().into()),
        }
    }
}

/// Replaces NUL characters, which PostgreSQL does not allow in text.
pub fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl StoredRow {
    /// The columns that [`StoredRow::from_row`] expects.
    pub const COLUMNS: &str =
        "seq, state, line, action, group_name, lock_key, actor, address, started_at, result";

    pub fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            seq: row.try_get(0)?,
            state: row.try_get(1)?,
            line: row.try_get(2)?,
            columns: SearchColumns {
                action: row.try_get::<String, _>(3)?.into(),
                group_name: row.try_get(4)?,
                lock_key: row.try_get(5)?,
                actor: row.try_get(6)?,
                address: row.try_get(7)?,
                started_at: row.try_get(8)?,
                result: row.try_get::<Option<String>, _>(9)?.map(Cow::Owned),
            },
        })
    }

    /// Decodes the entry. `None` if the line was modified and is not a valid entry.
    pub fn decode(&self) -> Option<AuditEntry> {
        serde_json::from_str(&self.line).ok()
    }
}

/// Excludes other writers of the chain until the transaction ends.
pub async fn lock_chain(db: &mut AnyConnection) -> Result<(), sqlx::Error> {
    if db.backend_name() == "PostgreSQL" {
        let locked = sqlx::query("SELECT 1 FROM pg_advisory_xact_lock($1)");
        locked.bind(CHAIN_ADVISORY_LOCK).execute(db).await?;
    }
    Ok(())
}

/// Reads the head of the chain.
pub async fn read_head(db: &mut AnyConnection) -> Result<ChainHead, sqlx::Error> {
    let last = "SELECT seq, line FROM audit_entry WHERE seq > 0 ORDER BY seq DESC LIMIT 1";
    let Some(row) = sqlx::query(last).fetch_optional(db).await? else {
        return Ok(ChainHead::START);
    };
    let (seq, line): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    let link = chain::parse_link(line.as_bytes()).and_then(ChainHead::after);
    Ok(ChainHead {
        seq: u64::try_from(seq).unwrap_or_default(),
        // A damaged line has no hash; verification reports it.
        hash: link.map_or(ChainHead::START.hash, |head| head.hash),
    })
}

/// Appends entries to the chain and returns the new head.
pub async fn append(
    db: &mut AnyConnection,
    entries: &[NewEntry],
) -> Result<ChainHead, sqlx::Error> {
    // Before the head is read: two writers must not continue the same line.
    lock_chain(db).await?;
    let mut head = read_head(db).await?;
    let is_orphan = |entry: &&NewEntry| entry.kind == EntryKind::Orphan;
    let orphans = entries.iter().filter(is_orphan).map(|entry| &*entry.id);
    // The end of an orphan may have been written by another instance in the meantime. The chain
    // lock makes this check reliable.
    let open = find_open(db, &orphans.collect::<Vec<_>>()).await?;
    let is_written =
        |entry: &&NewEntry| entry.kind != EntryKind::Orphan || open.contains(&entry.id);
    let rows = chain_rows(&mut head, entries.iter().filter(is_written));
    insert(db, &rows).await?;
    Ok(head)
}

/// Appends at most [`MAX_ROWS_PER_STATEMENT`] entries in a single statement and returns the new
/// head. Appends nothing and returns `None` if `head` is not the last entry, because another
/// process has written since.
///
/// Only for SQLite, where a statement is atomic and excludes other writers. Not for orphans.
pub async fn append_after(
    db: &mut AnyConnection,
    head: &ChainHead,
    entries: &[NewEntry],
) -> Result<Option<ChainHead>, sqlx::Error> {
    let (mut new_head, before) = (head.clone(), i64::try_from(head.seq).unwrap_or(i64::MAX));
    let rows = chain_rows(&mut new_head, entries.iter());
    let statement = format!(
        "INSERT INTO audit_entry ({COLUMNS}) SELECT * FROM (VALUES {}) \
         WHERE (SELECT MAX(seq) FROM audit_entry) = ?",
        row_placeholders(db, rows.len(), COLUMN_COUNT)
    );
    let query = rows
        .iter()
        .fold(sqlx::query(AssertSqlSafe(statement)), bind_row);
    let inserted = query.bind(before).execute(db).await?;
    Ok((inserted.rows_affected() > 0).then_some(new_head))
}

/// Continues the chain with these entries.
fn chain_rows<'a>(
    head: &mut ChainHead,
    entries: impl Iterator<Item = &'a NewEntry>,
) -> Vec<NewRow> {
    let to_row = |entry: &NewEntry| {
        let mut line = Vec::with_capacity(entry.body.json.len() + 256);
        *head = chain::append_line(head, &entry.body.json, &mut line);
        // The line feed only separates lines in files.
        line.pop();
        NewRow {
            seq: i64::try_from(head.seq).unwrap_or(i64::MAX),
            state: if entry.kind == EntryKind::Begin { 1 } else { 2 },
            id: entry.id.clone(),
            line: String::from_utf8_lossy(&line).into_owned(),
            columns: entry.body.columns.clone(),
        }
    };
    entries.map(to_row).collect()
}

/// Inserts rows. A trigger changes the state of the starts whose end is among them to 0, which
/// excludes them from searches: the end repeats the whole request.
pub async fn insert(db: &mut AnyConnection, rows: &[NewRow]) -> Result<(), sqlx::Error> {
    for rows in rows.chunks(MAX_ROWS_PER_STATEMENT) {
        let values = row_placeholders(db, rows.len(), COLUMN_COUNT);
        let statement = format!("INSERT INTO audit_entry ({COLUMNS}) VALUES {values}");
        let query = rows
            .iter()
            .fold(sqlx::query(AssertSqlSafe(statement)), bind_row);
        query.execute(&mut *db).await?;
    }
    Ok(())
}

fn bind_row<'q>(
    query: Query<'q, Any, AnyArguments>,
    row: &'q NewRow,
) -> Query<'q, Any, AnyArguments> {
    let columns = &row.columns;
    query
        .bind(row.seq)
        .bind(&*row.id)
        .bind(row.state)
        .bind(&*columns.action)
        .bind(columns.group_name.as_deref())
        .bind(columns.lock_key.as_deref())
        .bind(&*columns.actor)
        .bind(columns.address.as_deref())
        .bind(columns.started_at)
        .bind(columns.result.as_deref())
        .bind(&*row.line)
}

/// The operations among these that have no end.
async fn find_open(db: &mut AnyConnection, ids: &[&str]) -> Result<HashSet<String>, sqlx::Error> {
    let mut open = HashSet::new();
    for ids in ids.chunks(MAX_IDS_PER_STATEMENT) {
        let list = row_placeholders(db, 1, ids.len());
        let statement = format!("SELECT id FROM audit_entry WHERE state = 1 AND id IN {list}");
        let mut query = sqlx::query(AssertSqlSafe(statement));
        for id in ids {
            query = query.bind(*id);
        }
        for row in query.fetch_all(&mut *db).await? {
            open.insert(row.try_get(0)?);
        }
    }
    Ok(open)
}
