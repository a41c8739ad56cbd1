//! The storage by itself, on both databases: one writer, several programs, damaged files, servers that go away.

use std::os::unix::fs::PermissionsExt as _;

use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::{Storage, StorageError};
use sqlx::{AnyConnection, Row as _};

use crate::support::eventually_is;
use crate::support::postgres::Postgres;

/// Adds to a row that every test may have.
async fn raise(storage: &Storage, id: &'static str) -> Result<i64, StorageError> {
    storage
        .write(move |db: &mut AnyConnection| {
            Box::pin(async move {
                let raised = "INSERT INTO instance (id, beat) VALUES ($1, 1) \
                              ON CONFLICT (id) DO UPDATE SET beat = instance.beat + 1 RETURNING beat";
                sqlx::query(raised).bind(id).fetch_one(db).await?.try_get(0)
            })
        })
        .await
}

async fn beat(storage: &Storage, id: &str) -> Result<i64, StorageError> {
    let mut db = storage.read().await?;
    let found = sqlx::query("SELECT beat FROM instance WHERE id = $1");
    Ok(found.bind(id).fetch_one(&mut *db).await?.try_get(0)?)
}

async fn many_raise_one_row(config: &StorageConfig) {
    let (one, other) = (Storage::new(config, true), Storage::new(config, true));
    let raised = (0..100).flat_map(|_| [raise(&one, "a"), raise(&other, "a")]);
    for raised in futures::future::join_all(raised).await {
        raised.unwrap();
    }
    assert_eq!(beat(&one, "a").await.unwrap(), 200);
    // What one asks wrongly is that one's alone.
    let wrong = one.write(|db: &mut AnyConnection| {
        Box::pin(async move {
            sqlx::query("INSERT INTO instance (id, beat) VALUES ('a', 1)")
                .execute(db)
                .await
                .map(drop)
        })
    });
    let (wrong, right) = tokio::join!(wrong, raise(&one, "b"));
    assert!(
        matches!(wrong, Err(StorageError::Duplicate(_))),
        "{wrong:?}"
    );
    assert_eq!(right, Ok(1));
}

#[tokio::test]
async fn on_sqlite_several_write_at_once_and_nobody_suffers_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/lockkeeper.db");
    many_raise_one_row(&StorageConfig::file(&path)).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().unwrap()) & 0o777, 0o700);
}

#[tokio::test]
async fn on_postgresql_it_is_the_same_and_a_server_that_comes_back_is_used_again() {
    let mut server = Postgres::start().await;
    let config = StorageConfig::postgres(server.url());
    many_raise_one_row(&config).await;
    let storage = Storage::new(&config, true);
    assert_eq!(raise(&storage, "b").await, Ok(2));
    server.kill().await;
    let gone = raise(&storage, "b").await;
    assert!(
        matches!(gone, Err(StorageError::Unavailable(_))),
        "{gone:?}"
    );
    server.restart().await;
    eventually_is("it is used again", async || {
        raise(&storage, "c").await.is_ok() && beat(&storage, "b").await == Ok(2)
    })
    .await;
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_under_another_name_and_a_new_one_begun() {
    let headed = [b"SQLite format 3\0".as_slice(), &[7; 100_000]].concat();
    for damaged in [vec![7; 100_000], headed] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lockkeeper.db");
        std::fs::write(&path, &damaged).unwrap();
        let storage = Storage::new(&StorageConfig::file(&path), true);
        assert_eq!(raise(&storage, "a").await, Ok(1));
        assert_eq!(storage.check_integrity().await, Ok(None));
        let kept = std::fs::read_dir(folder.path()).unwrap().flatten();
        let mut kept = kept.filter(|entry| {
            entry.file_name().to_string_lossy().contains(".damaged-")
                && std::fs::read(entry.path()).unwrap() == damaged
        });
        assert!(kept.next().is_some(), "what was in it is kept");
    }
}

#[tokio::test]
async fn reading_changes_nothing_and_what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let config = StorageConfig::file(folder.path().join("lockkeeper.db"));
    let storage = Storage::new(&config, true);
    let began = std::time::Instant::now();
    let mut db = storage.read().await.unwrap();
    println!("opened in {:?}", began.elapsed());
    let deleted = sqlx::query("DELETE FROM instance").execute(&mut *db).await;
    assert!(deleted.is_err());

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let storage = Storage::new(&StorageConfig::file(file.join("lockkeeper.db")), true);
    let why = raise(&storage, "a").await.unwrap_err();
    assert!(why.to_string().contains("Not a directory"), "{why}");
}
