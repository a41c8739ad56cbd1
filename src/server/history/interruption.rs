//! Ends what was open when the recording stopped, and decides which console records.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::batch_writer::{DELETE_OPEN_HOLDS, INSERT_HOLDS, LEASE};
use super::codes::{Code as _, span_of, spans};
use super::lock_rows::read_lock;
use super::open_hold::OpenHold;
use super::pending::HoldKey;
use super::resumption::InterruptedHold;
use super::rows::Rows;
use crate::domain::{GapCause, HoldEndReason, Timestamp};
use crate::server::storage::{Storage, StorageError, statements};

/// Open holds per transaction.
const MAX_ROWS: i64 = 2_000;
/// Open holds that can continue after a gap. Others start again.
const MAX_INTERRUPTED: usize = 150_000;
/// A shorter stretch is the time between two batches.
const MIN_GAP_MS: i64 = 3_000;

/// The result of an attempt to become the console that records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Another console records.
    Standby,
    /// This console records from now on. Everything up to the time was recorded before; `None` if
    /// nothing was.
    Writer {
        /// The last mark.
        recorded_until: Option<Timestamp>,
    },
}

/// Tries to become the console that records. With `is_forced`, a console whose lease has not ended
/// is replaced: on SQLite, another process that uses the same file was this console before its
/// restart.
pub(super) async fn claim(
    storage: &Storage,
    writer: &Arc<str>,
    now: Timestamp,
    is_forced: bool,
) -> Result<Claim, StorageError> {
    let writer = Arc::clone(writer);
    let run = statements(move |db: &mut AnyConnection| {
        let writer = writer.to_string();
        Box::pin(async move {
            let lease_until = now.plus(LEASE).millis();
            let insert = "INSERT INTO history_mark (id, writer, lease_until, recorded_since, recorded_until) VALUES (1, $1, $2, $3, $3) \
                          ON CONFLICT (id) DO NOTHING";
            let insert = sqlx::query(insert).bind(writer.clone()).bind(lease_until);
            let inserted = insert.bind(now.millis()).execute(&mut *db).await?;
            if inserted.rows_affected() > 0 {
                let recorded_until = None;
                return Ok(Claim::Writer { recorded_until });
            }
            let ended_before = if is_forced { i64::MAX } else { now.millis() };
            let update = "UPDATE history_mark SET writer = $1, lease_until = $2 \
                          WHERE id = 1 AND (writer = $1 OR lease_until < $3) RETURNING recorded_until";
            let update = sqlx::query(update).bind(writer).bind(lease_until);
            let row = update.bind(ended_before).fetch_optional(&mut *db).await?;
            Ok(match row {
                Some(row) => Claim::Writer {
                    recorded_until: Some(Timestamp::from_millis(row.try_get(0)?)),
                },
                None => Claim::Standby,
            })
        })
    });
    storage.write(run).await
}

/// Gives up the right to record, so that another console continues at once.
pub(super) async fn resign(storage: &Storage, writer: &Arc<str>) -> Result<(), StorageError> {
    let writer = writer.to_string();
    let run = statements(move |db: &mut AnyConnection| {
        let writer = writer.clone();
        Box::pin(async move {
            let update = "UPDATE history_mark SET lease_until = 0 WHERE id = 1 AND writer = $1";
            sqlx::query(update).bind(writer).execute(db).await.map(drop)
        })
    });
    storage.write(run).await
}

/// Ends all open holds, flags and outages at `from`, and records that nothing is known from then
/// until `to`. Returns the holds.
pub(super) async fn interrupt(
    storage: &Storage,
    from: Timestamp,
    to: Timestamp,
    cause: GapCause,
) -> Result<HashMap<HoldKey, InterruptedHold>, StorageError> {
    let mut interrupted = HashMap::new();
    loop {
        let run = statements(move |db: &mut AnyConnection| {
            Box::pin(async move { end_some_holds(db, from.millis()).await })
        });
        let ended = storage.write(run).await?;
        if ended.is_empty() {
            break;
        }
        let free = MAX_INTERRUPTED.saturating_sub(interrupted.len());
        interrupted.extend(ended.into_iter().take(free));
    }
    let run = statements(move |db: &mut AnyConnection| {
        Box::pin(async move {
            for table in ["history_flag", "history_outage"] {
                end_open(db, table, "", from).await?;
            }
            if to.millis_since(from) < MIN_GAP_MS {
                return Ok(());
            }
            let gap = "INSERT INTO history_gap (started_at, ended_at, cause) VALUES ($1, $2, $3)";
            let gap = sqlx::query(gap).bind(from.millis()).bind(to.millis());
            gap.bind(cause.code()).execute(db).await.map(drop)
        })
    });
    storage.write(run).await?;
    Ok(interrupted)
}

/// Moves open holds to the ended ones.
async fn end_some_holds(
    db: &mut AnyConnection,
    at: i64,
) -> Result<Vec<(HoldKey, InterruptedHold)>, sqlx::Error> {
    let select = format!(
        "SELECT o.lock_id, o.owner, o.group_id, o.label, {}, l.lock_key, l.format, g.name FROM history_open_hold o \
         JOIN history_lock l ON l.id = o.lock_id JOIN history_group g ON g.id = o.group_id LIMIT $1",
        OpenHold::COLUMNS
    );
    let select = sqlx::query(AssertSqlSafe(select)).bind(MAX_ROWS);
    let (mut holds, mut values, mut keys) = (HashMap::new(), Vec::new(), Vec::new());
    for row in select.fetch_all(&mut *db).await? {
        let group: String = row.try_get("name")?;
        let (id, _) = read_lock(&row, &group)?;
        let (owner, open): (i64, _) = (row.try_get("owner")?, OpenHold::from_row(&row)?);
        let (lock_id, group_id): (i64, i64) = (row.try_get("lock_id")?, row.try_get("group_id")?);
        let ended_at = at.max(open.started_at);
        values.push([
            lock_id.into(),
            group_id.into(),
            span_of(ended_at - open.started_at).into(),
            owner.into(),
            row.try_get::<Option<String>, _>("label")?.into(),
            open.started_at.into(),
            open.start_source.into(),
            open.uncertainty_ms.into(),
            ended_at.into(),
            HoldEndReason::Unknown.code().into(),
            open.renewals.into(),
            open.min_margin_ms.into(),
            open.attempts.into(),
        ]);
        keys.push([lock_id.into(), owner.into()]);
        holds.insert((lock_id, owner), (HoldKey { id, owner }, open));
    }
    let inserts = Rows(values);
    let inserted = inserts
        .fetch(db, INSERT_HOLDS, " RETURNING id, lock_id, owner")
        .await?;
    Rows(keys).execute(db, DELETE_OPEN_HOLDS, ")").await?;
    let mut ended = Vec::with_capacity(inserted.len());
    for row in inserted {
        let lock_and_owner = (row.try_get("lock_id")?, row.try_get("owner")?);
        if let Some((key, open)) = holds.remove(&lock_and_owner) {
            let row_id = row.try_get("id")?;
            ended.push((key, InterruptedHold { open, row_id }));
        }
    }
    Ok(ended)
}

/// Ends everything that is open in a group which is no longer configured.
pub(super) async fn end_group(
    db: &mut AnyConnection,
    group_id: i64,
    at: Timestamp,
) -> Result<(), sqlx::Error> {
    // The class of the duration is computed by its limits, the longest first.
    let limits: Vec<(i64, i64)> = spans(at.millis()).collect();
    for (span, earliest) in limits {
        let insert = "INSERT INTO history_hold (lock_id, group_id, span, owner, label, started_at, start_source, \
            uncertainty_ms, ended_at, end_reason, renewals, min_margin_ms, attempts) \
            SELECT lock_id, group_id, $1, owner, label, started_at, start_source, uncertainty_ms, \
            CASE WHEN started_at > $2 THEN started_at ELSE $2 END, $3, renewals, min_margin_ms, attempts \
            FROM history_open_hold WHERE group_id = $4 AND started_at >= $5";
        let insert = sqlx::query(insert)
            .bind(span)
            .bind(at.millis())
            .bind(HoldEndReason::Unknown.code())
            .bind(group_id)
            .bind(earliest);
        insert.execute(&mut *db).await?;
        let delete = "DELETE FROM history_open_hold WHERE group_id = $1 AND started_at >= $2";
        let delete = sqlx::query(delete).bind(group_id).bind(earliest);
        delete.execute(&mut *db).await?;
    }
    let of_group = format!(" AND group_id = {group_id}");
    for table in ["history_flag", "history_outage"] {
        end_open(db, table, &of_group, at).await?;
    }
    Ok(())
}

async fn end_open(
    db: &mut AnyConnection,
    table: &str,
    condition: &str,
    at: Timestamp,
) -> Result<(), sqlx::Error> {
    let update = format!(
        "UPDATE {table} SET ended_at = CASE WHEN started_at > $1 THEN started_at ELSE $1 END \
         WHERE ended_at IS NULL{condition}"
    );
    let update = sqlx::query(AssertSqlSafe(update)).bind(at.millis());
    update.execute(db).await.map(drop)
}
