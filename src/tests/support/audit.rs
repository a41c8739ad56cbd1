//! Reads and changes the audit log in the storage of a running console, as another process would.

use std::path::Path;

use lockkeeper::server::audit::{VerifyReport, verify};
use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::Storage;
use serde_json::Value;
use sqlx::Row as _;

use super::wait_for;

/// All audit entries in this SQLite file, oldest first. Empty if the file does not exist or cannot
/// be opened yet.
pub async fn entries(file: &Path) -> Vec<Value> {
    if !file.exists() {
        return Vec::new();
    }
    let storage = Storage::new(&StorageConfig::sqlite(file), false);
    let Ok(mut db) = storage.read().await else {
        return Vec::new();
    };
    let rows = sqlx::query("SELECT line FROM audit_entry ORDER BY seq")
        .fetch_all(&mut *db)
        .await
        .unwrap();
    let line = |row: &sqlx::any::AnyRow| row.try_get::<String, _>(0).unwrap();
    let parse = |row| serde_json::from_str(&line(row)).unwrap();
    rows.iter().map(parse).collect()
}

/// Waits for at least `count` entries: the end of an operation is written after its response is
/// sent.
pub async fn wait_for_entries(file: &Path, count: usize) -> Vec<Value> {
    wait_for("the audit entries", async || {
        let entries = entries(file).await;
        (entries.len() >= count).then_some(entries)
    })
    .await
}

/// Verifies the hash chain in this storage, once it can be read: opening it takes seconds on a busy
/// machine.
pub async fn verify_chain(config: &StorageConfig) -> VerifyReport {
    wait_for("the storage to be readable", async || {
        verify(&Storage::new(config, false), None).await.ok()
    })
    .await
}

/// Runs a statement on the file without the console, as an attacker with write access could.
pub async fn tamper(file: &Path, statement: &'static str) {
    let storage = Storage::new(&StorageConfig::sqlite(file), false);
    storage
        .write(move |db: &mut sqlx::AnyConnection| {
            Box::pin(async move { sqlx::query(statement).execute(db).await.map(drop) })
        })
        .await
        .unwrap();
}
