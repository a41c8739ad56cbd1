//! The one task that writes. Whatever waits is committed in one transaction: a write that comes while another is committed costs no
//! transaction of its own.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::{AnyConnection, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::StorageError;
use super::connections::Connections;

/// How many writes share a transaction.
const MAX_BATCH: usize = 256;
/// After so long a server counts as gone.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Statements that are to be committed.
pub struct Job {
    pub work: Box<dyn Statements>,
    /// It must survive a crash of the machine when it is done.
    pub is_synced: bool,
}

/// Statements, and who waits for them.
pub trait Statements: Send {
    /// Runs them; again, if the transaction has to be tried again.
    fn run<'db>(
        &'db mut self,
        db: &'db mut AnyConnection,
    ) -> BoxFuture<'db, Result<(), sqlx::Error>>;

    /// Tells who waits what came of them.
    fn end(self: Box<Self>, came_to: Result<(), StorageError>);
}

/// A closure, its last result, and who waits for it.
pub struct Work<T, F> {
    run: F,
    result: Option<T>,
    tell: oneshot::Sender<Result<T, StorageError>>,
}

impl<T, F> Work<T, F> {
    /// Not run yet.
    pub fn new(run: F, tell: oneshot::Sender<Result<T, StorageError>>) -> Self {
        Self {
            run,
            result: None,
            tell,
        }
    }
}

impl<T, F> Statements for Work<T, F>
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

    fn end(self: Box<Self>, came_to: Result<(), StorageError>) {
        let result = self
            .result
            .ok_or_else(|| StorageError::Unavailable("the statements were not run".to_owned()));
        // Who hung up need not be told.
        let _gone = self.tell.send(came_to.and(result));
    }
}

/// Writes until nobody can ask for it any more.
pub async fn write(connections: Arc<Connections>, mut waiting: mpsc::Receiver<Job>) {
    let mut writer = Writer {
        connections,
        db: None,
    };
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
        writer.write_all(std::mem::take(&mut batch)).await;
    }
    if let Some(db) = writer.db {
        writer.connections.close().await;
        // The last one to close an SQLite file tidies up beside it; where that fails, the next one does.
        let _closed = db.close().await;
    }
}

struct Writer {
    connections: Arc<Connections>,
    db: Option<AnyConnection>,
}

impl Writer {
    async fn write_all(&mut self, mut jobs: Vec<Job>) {
        let came_to = self.commit(&mut jobs).await;
        let is_someones_own = |why: &StorageError| {
            matches!(why, StorageError::Rejected(_) | StorageError::Duplicate(_))
        };
        match came_to {
            // One of them was rejected: the others are not to suffer for it.
            Err(why) if jobs.len() > 1 && is_someones_own(&why) => {
                for job in jobs {
                    let mut alone = vec![job];
                    let came_to = self.commit(&mut alone).await;
                    end(alone, &came_to);
                }
            }
            came_to => end(jobs, &came_to),
        }
    }

    async fn commit(&mut self, jobs: &mut [Job]) -> Result<(), StorageError> {
        let db = match &mut self.db {
            Some(db) => db,
            none => none.insert(self.connections.open().await?),
        };
        let is_sqlite = !self.connections.is_postgres();
        let committed = match timeout(TIMEOUT, transaction(db, jobs, is_sqlite)).await {
            Ok(committed) => committed.map_err(|why| StorageError::of(&why)),
            Err(_) => Err(StorageError::Unavailable(format!(
                "no answer within {TIMEOUT:?}"
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

/// Runs all of them in one transaction. A transaction that is dropped is rolled back.
async fn transaction(
    db: &mut AnyConnection,
    jobs: &mut [Job],
    is_sqlite: bool,
) -> Result<(), sqlx::Error> {
    let is_synced = is_sqlite && jobs.iter().any(|job| job.is_synced);
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
            job.work.run(&mut transaction).await?;
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

fn end(jobs: Vec<Job>, came_to: &Result<(), StorageError>) {
    for job in jobs {
        job.work.end(came_to.clone());
    }
}
