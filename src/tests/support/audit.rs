//! What stands in the audit of a console, read from its storage by another program.

use std::path::Path;

use lockkeeper::server::audit::{Verified, verify};
use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::Storage;
use serde_json::Value;
use sqlx::Row as _;

use super::eventually;

/// Every entry in this file, the oldest first; none where there is no file yet.
pub async fn entries(file: &Path) -> Vec<Value> {
    if !file.exists() {
        return Vec::new();
    }
    let storage = Storage::new(&StorageConfig::file(file), false);
    let Ok(mut db) = storage.read().await else {
        return Vec::new();
    };
    let rows = sqlx::query("SELECT line FROM audit_entry ORDER BY number")
        .fetch_all(&mut *db)
        .await
        .unwrap();
    let line = |row: &sqlx::any::AnyRow| row.try_get::<String, _>(0).unwrap();
    let read = |row| serde_json::from_str(&line(row)).unwrap();
    rows.iter().map(read).collect()
}

/// The same, once there are so many: what is over is written a moment later.
pub async fn entries_of(file: &Path, count: usize) -> Vec<Value> {
    eventually("every entry is there", async || {
        let entries = entries(file).await;
        (entries.len() >= count).then_some(entries)
    })
    .await
}

/// What verifying the audit in this file comes to.
pub async fn verified(config: &StorageConfig) -> Verified {
    verify(&Storage::new(config, false), None).await.unwrap()
}

/// Changes a file behind the console's back.
pub async fn tamper(file: &Path, statement: &'static str) {
    let storage = Storage::new(&StorageConfig::file(file), false);
    storage
        .write(move |db: &mut sqlx::AnyConnection| {
            Box::pin(async move { sqlx::query(statement).execute(db).await.map(drop) })
        })
        .await
        .unwrap();
}
