//! Programs that write to the audit show that they live: each has a row, and a number in it that rises.

use std::time::Duration;

use sqlx::AnyConnection;

use crate::server::storage::{Storage, StorageError, statements};

/// How often a program shows that it lives.
pub const BEAT: Duration = Duration::from_secs(2);

/// Shows that this program lives.
pub async fn beat(db: &mut AnyConnection, instance: &str) -> Result<(), sqlx::Error> {
    let beat = "INSERT INTO instance (id, beat) VALUES ($1, 1) \
                ON CONFLICT (id) DO UPDATE SET beat = instance.beat + 1";
    sqlx::query(beat).bind(instance).execute(db).await.map(drop)
}

/// A program ended and has left nothing open, or nothing of it is open any more.
pub async fn forget(storage: &Storage, instance: String) -> Result<(), StorageError> {
    let run = statements(move |db: &mut AnyConnection| {
        let instance = instance.clone();
        Box::pin(async move {
            let forgotten = sqlx::query("DELETE FROM instance WHERE id = $1");
            forgotten.bind(instance).execute(db).await.map(drop)
        })
    });
    storage.write(run).await
}
