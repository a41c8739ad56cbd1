//! Writes one batch of records in one transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sqlx::AnyConnection;

use super::codes::{Code as _, owner_code, span_of};
use super::lock_rows::LockRows;
use super::open_hold::{OpenHold, to_i64};
use super::pending::{Batch, EndedHold};
use super::rows::{Rows, Value};
use crate::domain::{Format, HoldEndReason, LockId, NodeState};
use crate::server::index::HistoryRecord;
use crate::server::storage::{Storage, StorageError, statements};

/// Another console may record after the writer has not written for this time.
pub(super) const LEASE: Duration = Duration::from_secs(10);

pub(super) const INSERT_HOLDS: &str = "INSERT INTO history_hold (lock_id, group_id, span, owner, label, started_at, start_source, \
    uncertainty_ms, ended_at, end_reason, renewals, min_margin_ms, attempts)";
const UPSERT_OPEN_HOLDS: &str = "INSERT INTO history_open_hold (lock_id, owner, group_id, label, started_at, start_source, \
    uncertainty_ms, expires_at, renewals, min_margin_ms, attempts)";
const UPDATE_OPEN_HOLDS: &str = " ON CONFLICT (lock_id, owner) DO UPDATE SET label = excluded.label, \
    started_at = excluded.started_at, start_source = excluded.start_source, uncertainty_ms = excluded.uncertainty_ms, \
    expires_at = excluded.expires_at, renewals = excluded.renewals, min_margin_ms = excluded.min_margin_ms, \
    attempts = excluded.attempts";
pub(super) const DELETE_OPEN_HOLDS: &str =
    "DELETE FROM history_open_hold WHERE (lock_id, owner) IN (";
const DELETE_HOLDS: &str = "DELETE FROM history_hold WHERE id IN (";
/// Extends the mark of the writer. Changes nothing if another console records.
const EXTEND_MARK: &str = "UPDATE history_mark SET lease_until = $1, recorded_until = COALESCE($2, recorded_until) \
    WHERE id = 1 AND writer = $3";
const RAISE_FLAG: &str = "INSERT INTO history_flag (lock_id, group_id, flag, started_at) SELECT $1, $2, $3, $4 \
    WHERE NOT EXISTS (SELECT 1 FROM history_flag WHERE lock_id = $1 AND flag = $3 AND ended_at IS NULL)";
const END_FLAG: &str =
    "UPDATE history_flag SET ended_at = $3 WHERE lock_id = $1 AND flag = $2 AND ended_at IS NULL";
const START_OUTAGE: &str =
    "INSERT INTO history_outage (group_id, node, state, started_at) VALUES ($1, $2, $3, $4)";
const END_OUTAGE: &str = "UPDATE history_outage SET ended_at = $3 WHERE group_id = $1 AND node = $2 AND ended_at IS NULL";
const FORCE_HOLD: &str =
    "UPDATE history_hold SET end_reason = $1 WHERE lock_id = $2 AND owner = $3 AND ended_at = $4";

/// The result of writing a batch.
pub(super) enum Outcome {
    /// The batch was written. Contains the rows of its groups and locks.
    Written(LockRows),
    /// Another console records. Nothing was written.
    NotWriter,
}

/// Writes a batch as `writer`.
pub(super) async fn write_batch(
    storage: &Storage,
    writer: &Arc<str>,
    batch: &Arc<Batch>,
    known: &LockRows,
) -> Result<Outcome, StorageError> {
    let (known, unknown) = known.subset(lock_ids(batch));
    let (writer, batch) = (Arc::clone(writer), Arc::clone(batch));
    let run = statements(move |db: &mut AnyConnection| {
        let (writer, batch) = (Arc::clone(&writer), Arc::clone(&batch));
        let (known, unknown) = (known.clone(), unknown.clone());
        Box::pin(async move { write(db, &writer, &batch, known, unknown).await })
    });
    storage.write(run).await
}

/// The locks of a batch with their formats, as far as they are known.
fn lock_ids(batch: &Batch) -> impl Iterator<Item = (&LockId, Option<Format>)> {
    let open = batch.open.iter().map(|record| &record.hold);
    let ended = batch.ended.iter().map(|ended| &ended.hold);
    let holds = open.chain(ended).map(|hold| (&hold.id, Some(hold.format)));
    let others = batch.others.iter().filter_map(|record| match record {
        HistoryRecord::Flag { id, .. } | HistoryRecord::HoldForced { id, .. } => Some((id, None)),
        _ => None,
    });
    holds.chain(others)
}

/// Extends the right to write until the time of the batch plus [`LEASE`]. A complete batch also
/// extends the time until when everything is recorded. Returns whether this console has the right.
async fn extend_mark(
    db: &mut AnyConnection,
    writer: &str,
    batch: &Batch,
) -> Result<bool, sqlx::Error> {
    let recorded_until = batch.is_complete.then(|| batch.at.millis());
    let extended = sqlx::query(EXTEND_MARK)
        .bind(batch.at.plus(LEASE).millis())
        .bind(recorded_until)
        .bind(writer.to_owned())
        .execute(db);
    Ok(extended.await?.rows_affected() > 0)
}

async fn write(
    db: &mut AnyConnection,
    writer: &str,
    batch: &Batch,
    mut rows: LockRows,
    unknown: HashMap<LockId, Format>,
) -> Result<Outcome, sqlx::Error> {
    if !extend_mark(db, writer, batch).await? {
        return Ok(Outcome::NotWriter);
    }
    rows.insert_locks(db, unknown).await?;
    let resumed = batch.resumed_rows.iter().map(|row_id| [(*row_id).into()]);
    Rows(resumed.collect())
        .execute(db, DELETE_HOLDS, ")")
        .await?;
    let ended = batch.ended.iter();
    let values = ended.filter_map(|ended| ended_hold_values(ended, &rows));
    let inserts = Rows(values.collect());
    inserts.execute(db, INSERT_HOLDS, "").await?;
    let closed = batch.ended.iter().filter(|ended| ended.was_open);
    let keys = closed.filter_map(|ended| {
        let row = rows.lock(&ended.hold.id)?;
        let owner = owner_code(&ended.hold.hold.fingerprint);
        Some([row.lock_id.into(), owner.into()])
    });
    Rows(keys.collect())
        .execute(db, DELETE_OPEN_HOLDS, ")")
        .await?;
    let open = batch.open.iter().filter_map(|record| {
        let (row, hold) = (rows.lock(&record.hold.id)?, OpenHold::from_record(record));
        Some([
            row.lock_id.into(),
            owner_code(&record.hold.hold.fingerprint).into(),
            row.group_id.into(),
            record.hold.hold.label.clone().into(),
            hold.started_at.into(),
            hold.start_source.into(),
            hold.uncertainty_ms.into(),
            hold.expires_at.into(),
            hold.renewals.into(),
            hold.min_margin_ms.into(),
            hold.attempts.into(),
        ])
    });
    let open = Rows(open.collect());
    open.execute(db, UPSERT_OPEN_HOLDS, UPDATE_OPEN_HOLDS)
        .await?;
    for record in &batch.others {
        write_other(db, record, &mut rows).await?;
    }
    Ok(Outcome::Written(rows))
}

fn ended_hold_values(ended: &EndedHold, rows: &LockRows) -> Option<[Value; 13]> {
    let (recorded, hold) = (&ended.hold, &ended.hold.hold);
    let row = rows.lock(&recorded.id)?;
    let started_at = hold.started_at.millis();
    let ended_at = hold.ended_at?.millis();
    Some([
        row.lock_id.into(),
        row.group_id.into(),
        span_of(ended_at - started_at).into(),
        owner_code(&hold.fingerprint).into(),
        hold.label.clone().into(),
        started_at.into(),
        hold.started_at_source.code().into(),
        hold.started_at_uncertainty_ms.map(to_i64).into(),
        ended_at.into(),
        hold.end_reason
            .unwrap_or(HoldEndReason::Unknown)
            .code()
            .into(),
        i64::from(hold.renewal_count).into(),
        recorded.min_margin_ms.map(to_i64).into(),
        recorded.attempts.map(to_i64).into(),
    ])
}

/// Writes a record that is no hold. There are few of them.
async fn write_other(
    db: &mut AnyConnection,
    record: &HistoryRecord,
    rows: &mut LockRows,
) -> Result<(), sqlx::Error> {
    match record {
        HistoryRecord::Flag {
            id,
            flag,
            is_raised,
            at,
        } => {
            let Some(row) = rows.lock(id) else {
                return Ok(());
            };
            let (flag, at) = (flag.code(), at.millis());
            let change = match is_raised {
                true => sqlx::query(RAISE_FLAG)
                    .bind(row.lock_id)
                    .bind(row.group_id)
                    .bind(flag)
                    .bind(at),
                false => sqlx::query(END_FLAG).bind(row.lock_id).bind(flag).bind(at),
            };
            change.execute(db).await?;
        }
        HistoryRecord::Node {
            group,
            node,
            state,
            at,
        } => {
            rows.insert_groups(db, std::iter::once(group.clone()))
                .await?;
            let group_id = rows.group(group).unwrap_or_default();
            let end = sqlx::query(END_OUTAGE).bind(group_id).bind(node.clone());
            end.bind(at.millis()).execute(&mut *db).await?;
            if *state != NodeState::Up {
                let start = sqlx::query(START_OUTAGE).bind(group_id).bind(node.clone());
                let start = start.bind(state.code()).bind(at.millis());
                start.execute(db).await?;
            }
        }
        HistoryRecord::HoldForced {
            id,
            owner,
            ended_at,
        } => {
            if let Some(row) = rows.lock(id) {
                let forced = sqlx::query(FORCE_HOLD)
                    .bind(HoldEndReason::Forced.code())
                    .bind(row.lock_id)
                    .bind(owner_code(owner))
                    .bind(ended_at.millis());
                forced.execute(db).await?;
            }
        }
        HistoryRecord::GroupRemoved { group, at } => {
            if let Some(group_id) = rows.group(group) {
                super::interruption::end_group(db, group_id, *at).await?;
            }
        }
        HistoryRecord::HoldStarted(_)
        | HistoryRecord::HoldRenewed(_)
        | HistoryRecord::HoldEnded(_) => {}
    }
    Ok(())
}
