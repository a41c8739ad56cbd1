//! Writes a history that another source reports for a time in the past, into an empty database.

use std::sync::Arc;

use sqlx::AnyConnection;

use super::batch_writer::{Outcome, write_batch};
use super::counters;
use super::interruption::{Claim, claim, interrupt, resign};
use super::lock_rows::LockRows;
use super::pending::Pending;
use crate::domain::{CounterSample, RecordingGap, Timestamp};
use crate::server::index::HistoryRecord;
use crate::server::storage::{Storage, StorageError, statements};

/// Records per transaction.
const MAX_BATCH_ROWS: usize = 1_000;

/// A history that ended before this process started.
#[derive(Clone, Debug, PartialEq)]
pub struct PastHistory {
    /// When the recording began.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
    /// The records with the times at which they were observed, the earliest first.
    pub records: Vec<(Timestamp, HistoryRecord)>,
    /// When nothing was recorded, the earliest first.
    pub gaps: Vec<RecordingGap>,
    /// What was counted per group.
    pub counters: Vec<CounterSample>,
}

/// Writes a history, as the recorder would have written it. Returns false and writes nothing if the
/// database has a history already.
///
/// # Errors
/// The database cannot be written. Earlier batches may have been written.
pub async fn write_past(storage: &Storage, past: PastHistory) -> Result<bool, StorageError> {
    let writer: Arc<str> = format!("{:016x}", rand::random::<u64>()).into();
    let first = Claim::Writer {
        recorded_until: None,
    };
    if claim(storage, &writer, past.from, false).await? != first {
        return Ok(false);
    }
    let (mut rows, mut pending) = (LockRows::default(), Pending::default());
    let mut gaps = past.gaps.into_iter().peekable();
    for (at, record) in past.records {
        while let Some(gap) = gaps.next_if(|gap| gap.from <= at) {
            write_pending(storage, &writer, &mut pending, &mut rows, gap.from).await?;
            let to = gap.to.unwrap_or(past.to);
            interrupt(storage, gap.from, to, gap.cause).await?;
        }
        pending.add(record);
        if pending.len() >= MAX_BATCH_ROWS {
            write_pending(storage, &writer, &mut pending, &mut rows, at).await?;
        }
    }
    write_pending(storage, &writer, &mut pending, &mut rows, past.to).await?;
    for gap in gaps {
        interrupt(storage, gap.from, gap.to.unwrap_or(past.to), gap.cause).await?;
    }
    let (samples, known) = (Arc::<[CounterSample]>::from(past.counters), rows);
    let run = statements(move |db: &mut AnyConnection| {
        let (samples, known) = (Arc::clone(&samples), known.clone());
        Box::pin(async move { counters::write_samples(db, &samples, known).await })
    });
    storage.write(run).await?;
    resign(storage, &writer).await?;
    Ok(true)
}

async fn write_pending(
    storage: &Storage,
    writer: &Arc<str>,
    pending: &mut Pending,
    rows: &mut LockRows,
    at: Timestamp,
) -> Result<(), StorageError> {
    loop {
        let batch = Arc::new(pending.take_batch(at));
        match write_batch(storage, writer, &batch, rows).await? {
            Outcome::Written(written) => rows.add(written),
            Outcome::NotWriter => {
                return Err(StorageError::Busy(
                    "another console has begun to record the history".to_owned(),
                ));
            }
        }
        if batch.is_complete {
            return Ok(());
        }
    }
}
