//! Heartbeats of the processes that write to the audit log: each has a row with a counter.

use std::time::Duration;

use sqlx::AnyConnection;

use crate::server::storage::{Storage, StorageError, statements};

/// How often a process increments its counter.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

/// Increments the counter of this process.
pub async fn write_heartbeat(db: &mut AnyConnection, instance: &str) -> Result<(), sqlx::Error> {
    let upsert = "INSERT INTO instance (id, heartbeat) VALUES ($1, 1) \
                  ON CONFLICT (id) DO UPDATE SET heartbeat = instance.heartbeat + 1";
    sqlx::query(upsert)
        .bind(instance)
        .execute(db)
        .await
        .map(drop)
}

/// Deletes the row of a process that has no open operations.
pub async fn delete_instance(storage: &Storage, instance: String) -> Result<(), StorageError> {
    let run = statements(move |db: &mut AnyConnection| {
        let instance = instance.clone();
        Box::pin(async move {
            let delete = sqlx::query("DELETE FROM instance WHERE id = $1");
            delete.bind(instance).execute(db).await.map(drop)
        })
    });
    storage.write(run).await
}
