//! The storage on SQLite and PostgreSQL: concurrent writers, damaged files, and a server that
//! restarts.

use std::os::unix::fs::PermissionsExt as _;

use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::{Storage, StorageError};
use sqlx::{AnyConnection, Row as _};

use crate::support::postgres::Postgres;
use crate::support::wait_until;

/// Increments the heartbeat of an instance and returns the new value.
async fn increment_heartbeat(storage: &Storage, id: &'static str) -> Result<i64, StorageError> {
    storage
        .write(move |db: &mut AnyConnection| {
            Box::pin(async move {
                let upsert = "INSERT INTO instance (id, heartbeat) VALUES ($1, 1) \
                              ON CONFLICT (id) DO UPDATE SET heartbeat = instance.heartbeat + 1 RETURNING heartbeat";
                sqlx::query(upsert).bind(id).fetch_one(db).await?.try_get(0)
            })
        })
        .await
}

async fn read_heartbeat(storage: &Storage, id: &str) -> Result<i64, StorageError> {
    let mut db = storage.read().await?;
    let query = sqlx::query("SELECT heartbeat FROM instance WHERE id = $1");
    Ok(query.bind(id).fetch_one(&mut *db).await?.try_get(0)?)
}

async fn assert_concurrent_writes_succeed(config: &StorageConfig) {
    let (first, second) = (Storage::new(config, true), Storage::new(config, true));
    let increments = (0..100).flat_map(|_| {
        [
            increment_heartbeat(&first, "a"),
            increment_heartbeat(&second, "a"),
        ]
    });
    for result in futures::future::join_all(increments).await {
        result.unwrap();
    }
    assert_eq!(read_heartbeat(&first, "a").await.unwrap(), 200);
    // A write that fails does not affect a concurrent one.
    let duplicate = first.write(|db: &mut AnyConnection| {
        Box::pin(async move {
            sqlx::query("INSERT INTO instance (id, heartbeat) VALUES ('a', 1)")
                .execute(db)
                .await
                .map(drop)
        })
    });
    let (duplicate, valid) = tokio::join!(duplicate, increment_heartbeat(&first, "b"));
    assert!(
        matches!(duplicate, Err(StorageError::Duplicate(_))),
        "{duplicate:?}"
    );
    assert_eq!(valid, Ok(1));
}

#[tokio::test]
async fn concurrent_writes_on_sqlite_succeed_and_failures_are_isolated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/lockkeeper.db");
    assert_concurrent_writes_succeed(&StorageConfig::sqlite(&path)).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().unwrap()) & 0o777, 0o700);
}

#[tokio::test]
async fn concurrent_writes_on_postgresql_succeed_and_a_restarted_server_is_used_again() {
    let mut server = Postgres::start().await;
    let config = StorageConfig::postgres(server.url());
    assert_concurrent_writes_succeed(&config).await;
    let storage = Storage::new(&config, true);
    assert_eq!(increment_heartbeat(&storage, "b").await, Ok(2));
    server.kill().await;
    let gone = increment_heartbeat(&storage, "b").await;
    assert!(
        matches!(gone, Err(StorageError::Unavailable(_))),
        "{gone:?}"
    );
    server.restart().await;
    wait_until("the storage writes and reads again", async || {
        increment_heartbeat(&storage, "c").await.is_ok()
            && read_heartbeat(&storage, "b").await == Ok(2)
    })
    .await;
}

#[tokio::test]
async fn a_damaged_file_is_renamed_and_a_new_one_is_created() {
    let with_header = [b"SQLite format 3\0".as_slice(), &[7; 100_000]].concat();
    for damaged in [vec![7; 100_000], with_header] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lockkeeper.db");
        std::fs::write(&path, &damaged).unwrap();
        let storage = Storage::new(&StorageConfig::sqlite(&path), true);
        assert_eq!(increment_heartbeat(&storage, "a").await, Ok(1));
        assert_eq!(storage.check_integrity().await, Ok(None));
        let entries = std::fs::read_dir(directory.path()).unwrap().flatten();
        let mut set_aside = entries.filter(|entry| {
            entry.file_name().to_string_lossy().contains(".damaged-")
                && std::fs::read(entry.path()).unwrap() == damaged
        });
        assert!(set_aside.next().is_some(), "the damaged content is kept");
    }
}

#[tokio::test]
async fn read_connections_are_read_only_and_an_error_on_opening_has_its_cause() {
    let directory = tempfile::tempdir().unwrap();
    let config = StorageConfig::sqlite(directory.path().join("lockkeeper.db"));
    let storage = Storage::new(&config, true);
    let began = std::time::Instant::now();
    let mut db = storage.read().await.unwrap();
    println!("opened in {:?}", began.elapsed());
    let deleted = sqlx::query("DELETE FROM instance").execute(&mut *db).await;
    assert!(deleted.is_err());

    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let storage = Storage::new(&StorageConfig::sqlite(file.join("lockkeeper.db")), true);
    let error = increment_heartbeat(&storage, "a").await.unwrap_err();
    assert!(error.to_string().contains("Not a directory"), "{error}");
}
