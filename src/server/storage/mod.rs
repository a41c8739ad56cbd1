//! SQL storage: an SQLite file by default, PostgreSQL if several consoles share it. Statements are
//! written once for both.
//!
//! `sqlx::Any` is used instead of an enum of two pools: arguments, rows and transactions have one
//! type, so that a statement is a single call. `$1` has the same meaning in both databases; they differ
//! in opening a connection, the placeholders of several rows, one lock and one query with JSON.
//! `Any` supports integers, text and bytes, which is all that is stored: times are integer
//! milliseconds.
//!
//! All writes are executed by one task in the order of submission, and waiting writes are committed
//! together (`writer`). Reads use a small pool. Connections are opened on first use and reopened
//! after an error.

mod connections;
mod error;
mod expired;
mod folder;
mod migrations;
mod options;
mod row_placeholders;
mod sqlite;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub use error::StorageError;
pub use expired::delete_expired;
pub use row_placeholders::row_placeholders;

use super::config::{StorageConfig, StorageUrl};
use connections::Connections;
use writer::{JobKind, WriteJob, WriteRequest};

/// How long a read waits for the database to be opened and for a connection.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// Queued writes. Further writes are rejected.
const MAX_QUEUED_WRITES: usize = 10_000;

/// Helps type inference for a closure that is not passed to [`Storage::write`] directly.
pub fn statements<T, F>(run: F) -> F
where
    F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>,
{
    run
}

/// A database. Cheap to clone. Closed when the last clone is dropped.
#[derive(Clone)]
pub struct Storage {
    connections: Arc<Connections>,
    writes: mpsc::Sender<WriteJob>,
}

impl Storage {
    /// Creates the storage without opening it. With `is_checked`, an SQLite file is checked
    /// completely before use, which takes about a second per GB.
    ///
    /// # Panics
    /// Outside of a tokio runtime, which is needed for the writer task.
    pub fn new(config: &StorageConfig, is_checked: bool) -> Self {
        let connections = Arc::new(Connections::new(config.url.clone(), is_checked));
        let (writes, queue) = mpsc::channel(MAX_QUEUED_WRITES);
        tokio::spawn(writer::run_writer(Arc::clone(&connections), queue));
        Self {
            connections,
            writes,
        }
    }

    /// The location, without the password.
    pub fn url(&self) -> &StorageUrl {
        &self.connections.url
    }

    /// Whether the database is a server that several consoles share.
    pub fn is_shared(&self) -> bool {
        matches!(self.connections.url, StorageUrl::Postgres(_))
    }

    /// Runs statements in a transaction that may contain statements of other callers; returns after
    /// the commit. The closure may run more than once, if the first transaction failed because of
    /// other statements.
    ///
    /// A result that means "change nothing" is not an error: let the closure change nothing and
    /// return it. An error of the closure rolls back its transaction.
    ///
    /// # Errors
    /// [`StorageError`]: nothing was written. After `Unavailable`, the outcome may be unknown.
    pub async fn write<T, F>(&self, run: F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        self.submit(run, JobKind::Transaction).await
    }

    /// The same for a closure that runs a single statement. If no other write waits, it runs
    /// without a transaction of its own, which takes two statements less.
    ///
    /// # Errors
    /// As [`Storage::write`].
    pub async fn write_statement<T, F>(&self, run: F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        self.submit(run, JobKind::SingleStatement).await
    }

    /// The same, but this write and all earlier ones survive a crash of the machine when this
    /// returns.
    ///
    /// # Errors
    /// As [`Storage::write`].
    pub async fn write_synced<T, F>(&self, run: F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        self.submit(run, JobKind::SyncedTransaction).await
    }

    async fn submit<T, F>(&self, run: F, kind: JobKind) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job = WriteJob {
            statements: Box::new(WriteRequest::new(run, reply)),
            kind,
        };
        self.writes.try_send(job).map_err(|_| {
            StorageError::Busy(format!("{MAX_QUEUED_WRITES} writes are already waiting"))
        })?;
        result.await.unwrap_or_else(|_| {
            Err(StorageError::Unavailable(
                "the console is shutting down".to_owned(),
            ))
        })
    }

    /// A connection for reading. On SQLite, it cannot write.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`], or another reason why the database cannot be opened.
    pub async fn read(&self) -> Result<PoolConnection<Any>, StorageError> {
        let timeout_error =
            || StorageError::Unavailable(format!("no reply within {READ_TIMEOUT:?}"));
        let pool = match self.connections.readers() {
            Some(pool) => pool,
            None => {
                let opened = self.write(|_| Box::pin(async { Ok(()) }));
                timeout(READ_TIMEOUT, opened)
                    .await
                    .map_err(|_| timeout_error())??;
                self.connections.readers().ok_or_else(timeout_error)?
            }
        };
        match pool.acquire().await {
            Ok(db) => Ok(db),
            Err(error) => {
                // The write lets the writer detect a lost server, so that the next read fails fast
                // or gets a new pool.
                let _reopened = self.write(|_| Box::pin(async { Ok(()) })).await;
                Err(StorageError::of(&error))
            }
        }
    }

    /// Checks the integrity of an SQLite file and returns the first problem found. PostgreSQL
    /// checks itself.
    ///
    /// # Errors
    /// The database cannot be opened or read.
    pub async fn check_integrity(&self) -> Result<Option<String>, StorageError> {
        let mut db = self.read().await?;
        if self.is_shared() {
            return Ok(None);
        }
        sqlite::find_damage(&mut db, "PRAGMA integrity_check(1)")
            .await
            .map_err(|error| StorageError::of(&error))
    }
}
