//! Entries as rows: what is searched for stands in columns of its own, and is always what the line says.

use std::collections::HashSet;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::chain::{self, Head};
use crate::domain::{ActEnd, Audited};

/// How many rows one statement has, at most: each number is a statement of its own that connections remember.
const ROWS: usize = 50;
/// What writers of one chain on PostgreSQL wait for; on SQLite they wait for the transaction.
const CHAIN_LOCK: i64 = 0x6c6f_636b_6368;

/// An entry that is to be written.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What beginning and end of an operation have in common.
    pub id: String,
    /// A JSON object: the line without what the chain adds.
    pub body: Vec<u8>,
    /// What kind it is.
    pub kind: EntryKind,
}

/// What an entry says of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// It begins.
    Begin,
    /// It has ended.
    End,
    /// It has ended for all that can be told: written only if nobody wrote its end.
    Orphan,
}

/// The columns for searching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    operation: String,
    group_name: Option<String>,
    lock_key: Option<Vec<u8>>,
    principal: String,
    address: Option<String>,
    began_at: i64,
    outcome: Option<String>,
}

/// A row that is to be inserted.
pub struct Row {
    /// Its place in the table.
    pub number: i64,
    /// 1 for a beginning, 2 for an end.
    pub state: i64,
    /// What beginning and end of an operation have in common.
    pub id: String,
    /// The line, as it is in the chain.
    pub line: String,
}

/// A row that was read.
pub struct Found {
    /// Its place in the table.
    pub number: i64,
    /// 0 for a beginning whose end was written, 1 for another one, 2 for an end.
    pub state: i64,
    /// The line, as it is in the chain.
    pub line: String,
    /// The columns beside it.
    pub columns: Columns,
}

impl Columns {
    /// What the columns of this operation are.
    pub fn of(act: &Audited) -> Self {
        Self {
            operation: act.act.slug().to_owned(),
            group_name: act.group.as_deref().map(storable),
            lock_key: act.key.as_ref().map(|key| key.as_bytes().to_vec()),
            principal: storable(&act.who),
            address: act.address.as_deref().map(storable),
            began_at: act.began_at.millis(),
            outcome: (act.end != ActEnd::InProgress).then(|| act.end.slug().to_owned()),
        }
    }
}

/// PostgreSQL has no zero bytes in texts.
pub fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl Found {
    /// The columns that [`Found::read`] needs.
    pub const COLUMNS: &str = "number, state, line, operation, group_name, lock_key, principal, address, began_at, outcome";

    /// Reads a row.
    pub fn read(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.try_get(0)?,
            state: row.try_get(1)?,
            line: row.try_get(2)?,
            columns: Columns {
                operation: row.try_get(3)?,
                group_name: row.try_get(4)?,
                lock_key: row.try_get(5)?,
                principal: row.try_get(6)?,
                address: row.try_get(7)?,
                began_at: row.try_get(8)?,
                outcome: row.try_get(9)?,
            },
        })
    }

    /// The operation that the line tells; nothing where somebody changed it so that it tells none.
    pub fn act(&self) -> Option<Audited> {
        serde_json::from_str(&self.line).ok()
    }
}

/// Keeps other writers of the chain out until the transaction ends.
pub async fn lock_chain(db: &mut AnyConnection) -> Result<(), sqlx::Error> {
    if db.backend_name() == "PostgreSQL" {
        let locked = sqlx::query("SELECT 1 FROM pg_advisory_xact_lock($1)");
        locked.bind(CHAIN_LOCK).execute(db).await?;
    }
    Ok(())
}

/// Where the chain stands.
pub async fn head(db: &mut AnyConnection) -> Result<Head, sqlx::Error> {
    let last = "SELECT number, line FROM audit_entry WHERE number > 0 ORDER BY number DESC LIMIT 1";
    let Some(row) = sqlx::query(last).fetch_optional(db).await? else {
        return Ok(Head::START);
    };
    let (number, line): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    let link = chain::parts(line.as_bytes()).and_then(Head::at);
    Ok(Head {
        number: u64::try_from(number).unwrap_or_default(),
        // Of a line that somebody destroyed there is none, which verifying finds.
        hash: link.map_or(Head::START.hash, |head| head.hash),
    })
}

/// Adds entries to the end of the chain; where it stands then.
pub async fn append(db: &mut AnyConnection, entries: &[Entry]) -> Result<Head, sqlx::Error> {
    lock_chain(db).await?;
    let mut at = head(db).await?;
    let is_orphan = |entry: &&Entry| entry.kind == EntryKind::Orphan;
    let orphans = entries.iter().filter(is_orphan).map(|entry| &*entry.id);
    let open = open_among(db, &orphans.collect::<Vec<_>>()).await?;
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        if entry.kind == EntryKind::Orphan && !open.contains(&entry.id) {
            continue;
        }
        let mut line = Vec::with_capacity(entry.body.len() + 256);
        at = chain::write(&at, &entry.body, &mut line);
        line.pop();
        rows.push(Row {
            number: i64::try_from(at.number).unwrap_or(i64::MAX),
            state: if entry.kind == EntryKind::Begin { 1 } else { 2 },
            id: entry.id.clone(),
            line: String::from_utf8_lossy(&line).into_owned(),
        });
    }
    insert(db, &rows).await?;
    Ok(at)
}

/// Inserts rows, and notes which beginnings have an end now.
pub async fn insert(db: &mut AnyConnection, rows: &[Row]) -> Result<(), sqlx::Error> {
    for rows in rows.chunks(ROWS) {
        let mut statement =
            "INSERT INTO audit_entry (number, id, state, operation, group_name, lock_key, \
                             principal, address, began_at, outcome, line) VALUES "
                .to_owned();
        let tuples: Vec<String> = (0..rows.len())
            .map(|row| placeholders(row * 11, 11))
            .collect();
        statement.push_str(&tuples.join(", "));
        let mut query = sqlx::query(AssertSqlSafe(statement));
        for row in rows {
            let act: Audited = serde_json::from_str(&row.line)
                .map_err(|why| sqlx::Error::Encode(Box::new(why)))?;
            let columns = Columns::of(&act);
            query = query.bind(row.number).bind(row.id.clone()).bind(row.state);
            query = query.bind(columns.operation).bind(columns.group_name);
            query = query.bind(columns.lock_key).bind(columns.principal);
            query = query.bind(columns.address).bind(columns.began_at);
            query = query.bind(columns.outcome).bind(row.line.clone());
        }
        query.execute(&mut *db).await?;
    }
    let ends = rows.iter().filter(|row| row.state == 2);
    let ends: Vec<&str> = ends.map(|row| &*row.id).collect();
    for ids in ends.chunks(ROWS) {
        let list = placeholders(0, ids.len());
        let statement =
            format!("UPDATE audit_entry SET state = 0 WHERE state = 1 AND id IN {list}");
        let mut query = sqlx::query(AssertSqlSafe(statement));
        for id in ids {
            query = query.bind(*id);
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

/// Which of these operations have no end.
async fn open_among(db: &mut AnyConnection, ids: &[&str]) -> Result<HashSet<String>, sqlx::Error> {
    let mut open = HashSet::new();
    for ids in ids.chunks(ROWS) {
        let list = placeholders(0, ids.len());
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

/// `($8, $9, $10)` after seven others.
fn placeholders(before: usize, count: usize) -> String {
    let each: Vec<String> = (1..=count).map(|n| format!("${}", before + n)).collect();
    format!("({})", each.join(", "))
}
