//! Imports audit logs of earlier versions: files of lines with the same chain.

use std::path::PathBuf;

use sqlx::{AnyConnection, Row as _};

use super::chain;
use super::entry::{self, NewRow, SearchColumns};
use super::verify::{VerifyReport, verify_files};
use crate::server::storage::{Storage, StorageError, statements};

/// The number of entries per transaction.
const BATCH_SIZE: usize = 1_000;

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// The database cannot be written.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// There are imported entries already, or the chain in the files is broken.
    #[error("{0}")]
    Rejected(String),
}

/// Imports files, oldest first, if their chain is intact. If the log is empty, its chain continues
/// from them; otherwise they are stored before the existing entries, with sequence numbers below 1.
///
/// # Errors
/// Nothing or only the first entries were imported then. A second import is rejected, because the
/// remaining part cannot be determined.
pub async fn import(storage: &Storage, files: Vec<PathBuf>) -> Result<VerifyReport, ImportError> {
    let checked = files.clone();
    let check = tokio::task::spawn_blocking(move || verify_files(&checked, &mut |_| {}));
    // Verified completely before the first row is inserted, so that a broken file imports nothing.
    let report = check.await.map_err(std::io::Error::other)??;
    if !report.is_intact() || report.incomplete > 0 && report.last_seq.is_none() {
        return Err(ImportError::Rejected(
            "the files were modified: their hash chain is broken. Nothing was imported".to_owned(),
        ));
    }
    let (Some(_), Some(last)) = (report.first_seq, report.last_seq) else {
        return Ok(report);
    };
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    let shift = sequence_shift(storage, last).await?;
    // Bounds the number of lines in memory while the database is slower than the disk.
    let (line_tx, mut line_rx) = tokio::sync::mpsc::channel::<String>(BATCH_SIZE);
    let reading = tokio::task::spawn_blocking(move || {
        verify_files(&files, &mut |line| {
            drop(line_tx.blocking_send(line.to_owned()))
        })
    });
    let mut batch = Vec::new();
    while line_rx.recv_many(&mut batch, BATCH_SIZE).await > 0 {
        let rows: std::sync::Arc<[NewRow]> = batch
            .drain(..)
            .filter_map(|line| to_row(line, shift).transpose())
            .collect::<Result<_, StorageError>>()?;
        let run = statements(move |db: &mut AnyConnection| {
            let rows = std::sync::Arc::clone(&rows);
            Box::pin(async move { entry::insert(db, &rows).await })
        });
        storage.write_synced(run).await?;
    }
    reading.await.map_err(std::io::Error::other)??;
    Ok(report)
}

/// By how much sequence numbers are lowered.
async fn sequence_shift(storage: &Storage, last: i64) -> Result<i64, ImportError> {
    let mut db = storage.read().await?;
    let found = sqlx::query("SELECT MIN(seq) FROM audit_entry");
    let found = found
        .fetch_one(&mut *db)
        .await
        .map_err(StorageError::from)?;
    match found
        .try_get::<Option<i64>, _>(0)
        .map_err(StorageError::from)?
    {
        // The log is empty: sequence numbers are kept.
        None => Ok(0),
        // The log has its own chain from 1: imported entries go below it.
        Some(1) => Ok(last),
        Some(_) => Err(ImportError::Rejected(
            "the log already contains imported entries, or old entries were deleted. Nothing was imported"
                .to_owned(),
        )),
    }
}

/// The row of a line; `None` if it is not an entry.
fn to_row(line: String, shift: i64) -> Result<Option<NewRow>, StorageError> {
    let number = chain::parse_seq(line.as_bytes()).and_then(|seq| i64::try_from(seq).ok());
    let (Some((is_end, id)), Some(seq)) = (chain::parse_kind_and_id(line.as_bytes()), number)
    else {
        return Ok(None);
    };
    let entry = serde_json::from_str(&line)
        .map_err(|error| StorageError::from(sqlx::Error::Encode(Box::new(error))))?;
    Ok(Some(NewRow {
        seq: seq - shift,
        state: if is_end { 2 } else { 1 },
        id: id.to_owned(),
        columns: SearchColumns::from_entry(&entry),
        line,
    }))
}
