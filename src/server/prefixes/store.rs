//! The table `lock_prefix`.

use futures::future::BoxFuture;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row as _};

use crate::domain::{Format, LockKey, LockPrefix, PrefixSource, PrefixState, Timestamp};
use crate::server::storage::{Storage, StorageError};
use crate::server::stores::lock_prefixes::{MAX_PREFIXES, PrefixChanges};

/// Rows per write. Other writes, such as those of the audit log, are executed in between.
const ROWS_PER_WRITE: usize = 100;

/// Decisions first, then the prefixes whose locks were seen last.
const SELECT: &str = "SELECT prefix, state, name, source, locks, others, formats, first_seen_at, last_seen_at, changed_by, changed_at \
    FROM lock_prefix WHERE group_name = $1 \
    ORDER BY CASE WHEN state = 'learned' AND name IS NULL THEN 1 ELSE 0 END, COALESCE(last_seen_at, 0) DESC LIMIT $2";
const SELECT_SETTINGS: &str = "SELECT prefix, state, name, source, locks, others, formats, first_seen_at, last_seen_at, changed_by, changed_at \
    FROM lock_prefix WHERE group_name = $1 AND changed_at IS NOT NULL LIMIT $2";
/// Does not change the decision in an existing row: another console may have written it.
const UPSERT_COUNTS: &str = "INSERT INTO lock_prefix \
    (group_name, prefix, state, name, source, locks, others, formats, first_seen_at, last_seen_at, changed_by, changed_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
    ON CONFLICT (group_name, prefix) DO UPDATE SET source = excluded.source, locks = excluded.locks, others = excluded.others, \
    formats = excluded.formats, first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at";
const UPSERT_SETTINGS: &str = "INSERT INTO lock_prefix \
    (group_name, prefix, state, name, source, locks, others, formats, first_seen_at, last_seen_at, changed_by, changed_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
    ON CONFLICT (group_name, prefix) DO UPDATE SET state = excluded.state, name = excluded.name, \
    changed_by = excluded.changed_by, changed_at = excluded.changed_at";
const DELETE: &str = "DELETE FROM lock_prefix WHERE group_name = $1 AND prefix = $2 AND state = 'learned' AND name IS NULL";

/// The stored prefixes of all groups.
#[derive(Clone)]
pub struct PrefixStore(Storage);

impl PrefixStore {
    /// Prefixes in this database.
    pub fn new(storage: Storage) -> Self {
        Self(storage)
    }

    /// Whether other consoles may write the same rows.
    pub fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    /// The prefixes of a group, at most [`MAX_PREFIXES`].
    pub async fn load(&self, group: &str) -> Result<Vec<LockPrefix>, StorageError> {
        self.select(SELECT, group).await
    }

    /// The prefixes of a group on which an admin decided.
    pub async fn load_settings(&self, group: &str) -> Result<Vec<LockPrefix>, StorageError> {
        self.select(SELECT_SETTINGS, group).await
    }

    async fn select(
        &self,
        statement: &'static str,
        group: &str,
    ) -> Result<Vec<LockPrefix>, StorageError> {
        let mut db = self.0.read().await?;
        let max = i64::try_from(MAX_PREFIXES).unwrap_or(i64::MAX);
        let rows = sqlx::query(statement).bind(group.to_owned()).bind(max);
        let rows = rows.fetch_all(&mut *db).await?;
        let records = rows
            .iter()
            .map(read_row)
            .collect::<Result<_, sqlx::Error>>();
        Ok(records?)
    }

    /// Writes what was found. The decisions of existing rows are not changed.
    pub async fn write(&self, group: &str, changes: &PrefixChanges) -> Result<(), StorageError> {
        for records in changes.changed.chunks(ROWS_PER_WRITE) {
            self.upsert(UPSERT_COUNTS, group, records.to_vec()).await?;
        }
        for prefixes in changes.evicted.chunks(ROWS_PER_WRITE) {
            let (group, prefixes) = (group.to_owned(), prefixes.to_vec());
            let written = self
                .0
                .write(move |db| delete_rows(db, group.clone(), prefixes.clone()));
            written.await?;
        }
        Ok(())
    }

    /// Writes the decision of an admin.
    pub async fn write_settings(
        &self,
        group: &str,
        change: &LockPrefix,
    ) -> Result<(), StorageError> {
        self.upsert(UPSERT_SETTINGS, group, vec![change.clone()])
            .await
    }

    async fn upsert(
        &self,
        statement: &'static str,
        group: &str,
        records: Vec<LockPrefix>,
    ) -> Result<(), StorageError> {
        let group = group.to_owned();
        let written = self
            .0
            .write(move |db| upsert_rows(db, statement, group.clone(), records.clone()));
        written.await
    }
}

fn upsert_rows<'db>(
    db: &'db mut AnyConnection,
    statement: &'static str,
    group: String,
    records: Vec<LockPrefix>,
) -> BoxFuture<'db, Result<(), sqlx::Error>> {
    Box::pin(async move {
        for record in records {
            let formats: Vec<&str> = record.formats.iter().map(|format| format.slug()).collect();
            sqlx::query(statement)
                .bind(group.clone())
                .bind(record.prefix.as_bytes().to_vec())
                .bind(record.state.slug())
                .bind(record.name)
                .bind(record.source.slug())
                .bind(i64::from(record.locks))
                .bind(i64::from(record.others))
                .bind(formats.join(","))
                .bind(record.first_seen_at.map(Timestamp::millis))
                .bind(record.last_seen_at.map(Timestamp::millis))
                .bind(record.changed_by)
                .bind(record.changed_at.map(Timestamp::millis))
                .execute(&mut *db)
                .await?;
        }
        Ok(())
    })
}

fn delete_rows(
    db: &mut AnyConnection,
    group: String,
    prefixes: Vec<LockKey>,
) -> BoxFuture<'_, Result<(), sqlx::Error>> {
    Box::pin(async move {
        for prefix in prefixes {
            let delete = sqlx::query(DELETE).bind(group.clone());
            let delete = delete.bind(prefix.as_bytes().to_vec());
            delete.execute(&mut *db).await?;
        }
        Ok(())
    })
}

/// Reads a row. Unknown words, which a newer console may have written, are read as the defaults.
fn read_row(row: &AnyRow) -> Result<LockPrefix, sqlx::Error> {
    let text = |column: &str| row.try_get::<String, _>(column);
    let time = |column: &str| {
        let millis = row.try_get::<Option<i64>, _>(column)?;
        Ok::<_, sqlx::Error>(millis.map(Timestamp::from_millis))
    };
    let count = |column: &str| {
        let count = row.try_get::<i64, _>(column)?;
        Ok::<_, sqlx::Error>(u32::try_from(count).unwrap_or_default())
    };
    let (formats, source) = (text("formats")?, text("source")?);
    let formats = formats.split(',');
    Ok(LockPrefix {
        state: text("state")?.parse::<PrefixState>().unwrap_or_default(),
        name: row.try_get("name")?,
        locks: count("locks")?,
        others: count("others")?,
        formats: formats
            .filter_map(|slug| slug.parse::<Format>().ok())
            .collect(),
        first_seen_at: time("first_seen_at")?,
        last_seen_at: time("last_seen_at")?,
        changed_by: row.try_get("changed_by")?,
        changed_at: time("changed_at")?,
        ..LockPrefix::new(
            LockKey::new(row.try_get::<Vec<u8>, _>("prefix")?),
            source.parse().unwrap_or(PrefixSource::Scan),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::StorageConfig;

    fn record(prefix: &[u8]) -> LockPrefix {
        LockPrefix {
            locks: 3,
            others: 7,
            formats: vec![Format::Plain, Format::Redsync],
            first_seen_at: Some(Timestamp::from_millis(1)),
            last_seen_at: Some(Timestamp::from_millis(2)),
            ..LockPrefix::new(LockKey::new(prefix), PrefixSource::Feed)
        }
    }

    fn decision(prefix: &[u8], state: PrefixState) -> LockPrefix {
        LockPrefix {
            state,
            name: Some("Zahlungen 支付".to_owned()),
            changed_by: Some("ada".to_owned()),
            changed_at: Some(Timestamp::from_millis(3)),
            ..LockPrefix::new(LockKey::new(prefix), PrefixSource::Admin)
        }
    }

    fn changed(records: &[LockPrefix]) -> PrefixChanges {
        PrefixChanges {
            changed: records.to_vec(),
            evicted: Vec::new(),
        }
    }

    #[tokio::test]
    async fn prefixes_of_any_bytes_are_stored_by_group_and_decisions_separately() {
        let folder = tempfile::tempdir().unwrap();
        let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
        let store = PrefixStore::new(Storage::new(&config, true));
        let found = [
            record(b"a\0\n\xff:"),
            record(&[b'x'; LockPrefix::MAX_BYTES]),
        ];
        store.write("orders", &changed(&found)).await.unwrap();
        store.write("other", &changed(&found[..1])).await.unwrap();
        assert_eq!(store.load("orders").await.unwrap(), found);
        assert_eq!(store.load("other").await.unwrap().len(), 1);

        let decided = decision(b"a\0\n\xff:", PrefixState::Excluded);
        store.write_settings("orders", &decided).await.unwrap();
        // A console that does not know the decision yet writes its counts.
        store.write("orders", &changed(&found)).await.unwrap();
        let loaded = store.load_settings("orders").await.unwrap();
        let expected = LockPrefix {
            state: decided.state,
            name: decided.name.clone(),
            changed_by: decided.changed_by.clone(),
            changed_at: decided.changed_at,
            ..found[0].clone()
        };
        assert_eq!(loaded, [expected]);

        let evicted = found.iter().map(|record| record.prefix.clone()).collect();
        let changes = PrefixChanges {
            changed: Vec::new(),
            evicted,
        };
        store.write("orders", &changes).await.unwrap();
        let left = store.load("orders").await.unwrap();
        assert_eq!(left, loaded, "a decision is not evicted");
    }

    #[tokio::test]
    async fn an_unavailable_database_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let config = StorageConfig::sqlite(file.join("lockkeeper.db"));
        let store = PrefixStore::new(Storage::new(&config, true));
        assert!(store.load("orders").await.is_err());
        assert!(
            store
                .write("orders", &changed(&[record(b"a")]))
                .await
                .is_err()
        );
    }
}
