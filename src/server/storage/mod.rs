//! SQL storage: an SQLite file by default, PostgreSQL where several consoles share it. Statements are written once, for both.
//!
//! `sqlx::Any` and no enum of two pools: arguments, rows and transactions have one type, so that a statement is one call; `$1`
//! means the same to both databases, and what differs between them (how a connection is opened, one lock) is here. Any knows
//! integers, texts and bytes, which is all that is stored: times are integer milliseconds.
//!
//! Everything is written by one task, in the order in which it is handed over, and what waits is committed together (`writer`).
//! Reading has a few connections of its own. Nothing is opened before it is needed; what cannot be opened, or breaks, is opened
//! again when it is next needed.

mod connections;
mod error;
mod expired;
mod folder;
mod migrations;
mod options;
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

use super::config::{StorageConfig, StorageUrl};
use connections::Connections;
use writer::{Job, Work};

/// How long reading waits for storage to be opened and for a connection.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How many writes wait at most; who comes then is refused.
const MAX_WAITING: usize = 10_000;

/// Has the compiler know what kind of closure this is, where it is not handed to [`Storage::write`] as it is written.
pub fn statements<T, F>(run: F) -> F
where
    F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>,
{
    run
}

/// A database. Cheap to clone. It is closed when the last clone is dropped.
#[derive(Clone)]
pub struct Storage {
    connections: Arc<Connections>,
    writes: mpsc::Sender<Job>,
}

impl Storage {
    /// Opens nothing yet. With `is_checked`, an SQLite file is checked whole before it is used; that takes a second for each GB.
    ///
    /// # Panics
    /// Outside of a tokio runtime: the task that writes runs on it.
    pub fn new(config: &StorageConfig, is_checked: bool) -> Self {
        let connections = Arc::new(Connections::new(config.url.clone(), is_checked));
        let (writes, waiting) = mpsc::channel(MAX_WAITING);
        tokio::spawn(writer::write(Arc::clone(&connections), waiting));
        Self {
            connections,
            writes,
        }
    }

    /// Where it is, without a password.
    pub fn url(&self) -> &StorageUrl {
        &self.connections.url
    }

    /// Whether it is a server that several consoles share.
    pub fn is_shared(&self) -> bool {
        matches!(self.connections.url, StorageUrl::Postgres(_))
    }

    /// Runs statements in a transaction, which others' statements may share; done once it is committed. They may be run more than
    /// once, where the first transaction failed because of others' statements.
    ///
    /// A result that means "do not change anything" is no error: let the closure change nothing and return it. An error of the
    /// closure rolls back what it did.
    ///
    /// # Errors
    /// [`StorageError`]: then nothing was written, except after `Unavailable`, which may also mean that nobody knows.
    pub async fn write<T, F>(&self, run: F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        self.hand_over(run, false).await
    }

    /// The same; when this returns, it survives a crash of the machine, and so does everything that was written before.
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
        self.hand_over(run, true).await
    }

    async fn hand_over<T, F>(&self, run: F, is_synced: bool) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>>
            + Send
            + 'static,
    {
        let (tell, told) = oneshot::channel();
        let job = Job {
            work: Box::new(Work::new(run, tell)),
            is_synced,
        };
        self.writes
            .try_send(job)
            .map_err(|_| StorageError::Busy("too many writes wait".to_owned()))?;
        told.await
            .unwrap_or_else(|_| Err(StorageError::Unavailable("the console stops".to_owned())))
    }

    /// A connection to read with. On SQLite it cannot write.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`] or another reason why it cannot be opened.
    pub async fn read(&self) -> Result<PoolConnection<Any>, StorageError> {
        let late = || StorageError::Unavailable("it does not answer in time".to_owned());
        let pool = match self.connections.readers() {
            Some(pool) => pool,
            None => {
                let opened = self.write(|_| Box::pin(async { Ok(()) }));
                timeout(READ_TIMEOUT, opened).await.map_err(|_| late())??;
                self.connections.readers().ok_or_else(late)?
            }
        };
        match pool.acquire().await {
            Ok(db) => Ok(db),
            Err(why) => {
                // The writer notices a server that is gone, and who comes next is told at once.
                let _noticed = self.write(|_| Box::pin(async { Ok(()) })).await;
                Err(StorageError::of(&why))
            }
        }
    }

    /// Tells whether the database is whole: what is wrong with an SQLite file, nothing where it is as it should be. PostgreSQL
    /// checks itself.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub async fn check_integrity(&self) -> Result<Option<String>, StorageError> {
        let mut db = self.read().await?;
        if self.is_shared() {
            return Ok(None);
        }
        sqlite::flaw(&mut db, "PRAGMA integrity_check(1)")
            .await
            .map_err(|why| StorageError::of(&why))
    }
}
