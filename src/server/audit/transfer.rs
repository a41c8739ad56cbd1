//! Audits of earlier versions: files of lines with the same chain.

use std::path::PathBuf;

use sqlx::{AnyConnection, Row as _};

use super::chain;
use super::entry::{self, Row};
use super::verify::{Verified, verify_files};
use crate::server::storage::{Storage, StorageError, statements};

/// How many entries are imported in one transaction.
const AT_ONCE: usize = 1_000;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// The storage cannot take it.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// There are imported entries, or the chain in the files is not whole.
    #[error("{0}")]
    Refused(String),
}

/// Imports files, the oldest first, if their chain is whole. Where nothing was written yet, the chain goes on from them; otherwise they are
/// put before what is there, with numbers below 1.
///
/// # Errors
/// Then nothing or only the first entries were imported; the storage cannot tell a part of a file from another one, so that a second
/// import is refused.
pub async fn import(storage: &Storage, files: Vec<PathBuf>) -> Result<Verified, ImportError> {
    let checked = files.clone();
    let check = tokio::task::spawn_blocking(move || verify_files(&checked, &mut |_| {}));
    let verified = check.await.map_err(std::io::Error::other)??;
    if !verified.is_whole() || verified.torn > 0 && verified.last.is_none() {
        return Err(ImportError::Refused(
            "the files are not as they were written; nothing was imported".to_owned(),
        ));
    }
    let (Some(_), Some(last)) = (verified.first, verified.last) else {
        return Ok(verified);
    };
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    let shift = shift(storage, last).await?;
    let (lines, mut waiting) = tokio::sync::mpsc::channel::<String>(AT_ONCE);
    let reading = tokio::task::spawn_blocking(move || {
        verify_files(&files, &mut |line| {
            drop(lines.blocking_send(line.to_owned()))
        })
    });
    let mut some = Vec::new();
    while waiting.recv_many(&mut some, AT_ONCE).await > 0 {
        let rows: std::sync::Arc<[Row]> =
            some.drain(..).filter_map(|line| row(line, shift)).collect();
        let run = statements(move |db: &mut AnyConnection| {
            let rows = std::sync::Arc::clone(&rows);
            Box::pin(async move { entry::insert(db, &rows).await })
        });
        storage.write_synced(run).await?;
    }
    reading.await.map_err(std::io::Error::other)??;
    Ok(verified)
}

/// By how much numbers are lowered.
async fn shift(storage: &Storage, last: i64) -> Result<i64, ImportError> {
    let mut db = storage.read().await?;
    let found = sqlx::query("SELECT MIN(number) FROM audit_entry");
    let found = found
        .fetch_one(&mut *db)
        .await
        .map_err(StorageError::from)?;
    match found
        .try_get::<Option<i64>, _>(0)
        .map_err(StorageError::from)?
    {
        None => Ok(0),
        Some(1) => Ok(last),
        Some(_) => Err(ImportError::Refused(
            "there are imported entries already, or older ones were removed; nothing was imported"
                .to_owned(),
        )),
    }
}

fn row(line: String, shift: i64) -> Option<Row> {
    let (is_end, id) = chain::front(line.as_bytes())?;
    let number = i64::try_from(chain::number(line.as_bytes())?).ok()?;
    Some(Row {
        number: number - shift,
        state: if is_end { 2 } else { 1 },
        id: id.to_owned(),
        line,
    })
}
