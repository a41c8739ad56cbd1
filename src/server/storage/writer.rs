//! The writer task. All waiting writes are committed in one transaction, so a write that arrives
//! during a commit does not need a transaction of its own.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::{AnyConnection, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::StorageError;
use super::connections::Connections;

/// Writes per transaction.
const MAX_BATCH: usize = 256;
/// After this time, the server is treated as unreachable.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A queued write.
pub struct WriteJob {
    pub statements: Box<dyn Statements>,
    pub kind: JobKind,
}

/// What a write requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A single statement, which is atomic by itself.
    SingleStatement,
    /// Several statements, in a transaction.
    Transaction,
    /// The same, synced to disk before the write returns.
    SyncedTransaction,
}

/// Statements and the channel to their caller.
pub trait Statements: Send {
    /// Runs the statements. Called again if the transaction is retried.
    fn run<'db>(
        &'db mut self,
        db: &'db mut AnyConnection,
    ) -> BoxFuture<'db, Result<(), sqlx::Error>>;

    /// Sends the outcome to the caller.
    fn finish(self: Box<Self>, outcome: Result<(), StorageError>);
}

/// A closure, its last result, and the channel to its caller.
pub struct WriteRequest<T, F> {
    run: F,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StorageError>>,
}

impl<T, F> WriteRequest<T, F> {
    /// Creates a request that has not run.
    pub fn new(run: F, reply: oneshot::Sender<Result<T, StorageError>>) -> Self {
        Self {
            run,
            result: None,
            reply,
        }
    }
}

impl<T, F> Statements for WriteRequest<T, F>
where
    T: Send,
    F: for<'db> FnMut(&'db mut AnyConnection) -> BoxFuture<'db, Result<T, sqlx::Error>> + Send,
{
    fn run<'db>(
        &'db mut self,
        db: &'db mut AnyConnection,
    ) -> BoxFuture<'db, Result<(), sqlx::Error>> {
        Box::pin(async move {
            self.result = Some((self.run)(db).await?);
            Ok(())
        })
    }

    fn finish(self: Box<Self>, outcome: Result<(), StorageError>) {
        let result = self.result.ok_or_else(|| {
            StorageError::Unavailable("the statements were not executed".to_owned())
        });
        // The caller may have been cancelled.
        let _gone = self.reply.send(outcome.and(result));
    }
}

/// Writes until all senders are dropped.
pub async fn run_writer(connections: Arc<Connections>, mut queue: mpsc::Receiver<WriteJob>) {
    let mut writer = StorageWriter {
        connections,
        db: None,
    };
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
        writer.write_all(std::mem::take(&mut batch)).await;
    }
    if let Some(db) = writer.db {
        writer.connections.close().await;
        // The last connection to close an SQLite file checkpoints and removes the WAL. If that
        // fails, the next process does it.
        let _closed = db.close().await;
    }
}

struct StorageWriter {
    connections: Arc<Connections>,
    db: Option<AnyConnection>,
}

impl StorageWriter {
    async fn write_all(&mut self, mut jobs: Vec<WriteJob>) {
        let outcome = self.commit(&mut jobs).await;
        let is_caused_by_one_job = |error: &StorageError| {
            matches!(
                error,
                StorageError::Rejected(_) | StorageError::Duplicate(_)
            )
        };
        match outcome {
            // One job was rejected. Each job is retried alone, so that it does not fail the others.
            Err(error) if jobs.len() > 1 && is_caused_by_one_job(&error) => {
                for job in jobs {
                    let mut alone = vec![job];
                    let outcome = self.commit(&mut alone).await;
                    finish(alone, &outcome);
                }
            }
            outcome => finish(jobs, &outcome),
        }
    }

    async fn commit(&mut self, jobs: &mut [WriteJob]) -> Result<(), StorageError> {
        let db = match &mut self.db {
            Some(db) => db,
            none => none.insert(self.connections.open().await?),
        };
        let is_sqlite = !self.connections.is_postgres();
        let committed = match timeout(COMMIT_TIMEOUT, transaction(db, jobs, is_sqlite)).await {
            Ok(committed) => committed.map_err(|error| StorageError::of(&error)),
            Err(_) => Err(StorageError::Unavailable(format!(
                "no reply within {COMMIT_TIMEOUT:?}"
            ))),
        };
        if committed
            .as_ref()
            .is_err_and(StorageError::breaks_connection)
        {
            self.db = None;
            self.connections.close().await;
        }
        committed
    }
}

/// Runs all jobs in one transaction, or a single statement without one. A dropped transaction is
/// rolled back.
async fn transaction(
    db: &mut AnyConnection,
    jobs: &mut [WriteJob],
    is_sqlite: bool,
) -> Result<(), sqlx::Error> {
    if let [job] = jobs
        && job.kind == JobKind::SingleStatement
    {
        return job.statements.run(db).await;
    }
    let is_synced = is_sqlite
        && jobs
            .iter()
            .any(|job| job.kind == JobKind::SyncedTransaction);
    if is_synced {
        sqlx::query("PRAGMA synchronous = FULL")
            .execute(&mut *db)
            .await?;
    }
    let begin = if is_sqlite {
        "BEGIN IMMEDIATE"
    } else {
        "BEGIN"
    };
    let committed = async {
        let mut transaction = db.begin_with(begin).await?;
        for job in jobs {
            job.statements.run(&mut transaction).await?;
        }
        transaction.commit().await
    }
    .await;
    if is_synced {
        sqlx::query("PRAGMA synchronous = NORMAL")
            .execute(&mut *db)
            .await?;
    }
    committed
}

fn finish(jobs: Vec<WriteJob>, outcome: &Result<(), StorageError>) {
    for job in jobs {
        job.statements.finish(outcome.clone());
    }
}
