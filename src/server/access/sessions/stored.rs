//! Sessions in storage.

use async_trait::async_trait;
use sqlx::Row as _;
use tower_sessions_core::SessionStore;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::{Error, Result};

use super::{MAX_OF_ONE, at_millis, millis, person_of};
use crate::server::storage::{Storage, StorageError};

/// Sessions that outlive this process, and are those of every console with the same storage.
#[derive(Clone)]
pub struct SqlStore(pub Storage);

impl std::fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SqlStore({})", self.0.url())
    }
}

impl SqlStore {
    /// Ends every session of a person.
    pub async fn delete_all_of(&self, person: &str) -> Result<()> {
        let delete = "DELETE FROM session WHERE person = $1";
        self.run(delete, vec![person.to_owned()]).await
    }

    async fn run(&self, statement: &'static str, values: Vec<String>) -> Result<()> {
        let written = self.0.write(move |db| {
            let values = values.clone();
            Box::pin(async move {
                let mut query = sqlx::query(statement);
                for value in values {
                    query = query.bind(value);
                }
                query.execute(db).await?;
                Ok(())
            })
        });
        written.await.map_err(unusable)
    }
}

#[async_trait]
impl SessionStore for SqlStore {
    /// Of a person with too many, the ones that end first make room.
    async fn create(&self, record: &mut Record) -> Result<()> {
        let row = Row::of(record)?;
        let written = self.0.write(move |db| {
            let row = row.clone();
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO session (id, person, data, expires_at) VALUES ($1, $2, $3, $4)",
                )
                .bind(row.id.clone())
                .bind(row.person.clone())
                .bind(row.data)
                .bind(row.expires_at)
                .execute(&mut *db)
                .await?;
                let most = i64::try_from(MAX_OF_ONE).unwrap_or(i64::MAX);
                sqlx::query(
                    "DELETE FROM session WHERE person = $1 AND id <> $2 AND id NOT IN \
                     (SELECT id FROM session WHERE person = $1 ORDER BY expires_at DESC LIMIT $3)",
                )
                .bind(row.person)
                .bind(row.id)
                .bind(most)
                .execute(db)
                .await?;
                Ok(())
            })
        });
        written.await.map_err(unusable)
    }

    /// A session that was ended meanwhile stays ended.
    async fn save(&self, record: &Record) -> Result<()> {
        let row = Row::of(record)?;
        let written = self.0.write(move |db| {
            let row = row.clone();
            Box::pin(async move {
                sqlx::query("UPDATE session SET data = $2, expires_at = $3 WHERE id = $1")
                    .bind(row.id)
                    .bind(row.data)
                    .bind(row.expires_at)
                    .execute(db)
                    .await?;
                Ok(())
            })
        });
        written.await.map_err(unusable)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let mut db = self.0.read().await.map_err(unusable)?;
        let select = sqlx::query("SELECT data, expires_at FROM session WHERE id = $1");
        let found = select.bind(id.to_string()).fetch_optional(&mut *db).await;
        let found = found.map_err(|why| unusable(StorageError::of(&why)))?;
        let Some(row) = found else { return Ok(None) };
        let decode = |why: sqlx::Error| Error::Decode(why.to_string());
        let data: String = row.try_get("data").map_err(decode)?;
        let expires_at: i64 = row.try_get("expires_at").map_err(decode)?;
        Ok(Some(Record {
            id: *id,
            data: serde_json::from_str(&data).map_err(|why| Error::Decode(why.to_string()))?,
            expiry_date: at_millis(expires_at),
        }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let delete = "DELETE FROM session WHERE id = $1";
        self.run(delete, vec![id.to_string()]).await
    }
}

/// A record as it is stored.
#[derive(Clone)]
struct Row {
    id: String,
    person: String,
    data: String,
    expires_at: i64,
}

impl Row {
    fn of(record: &Record) -> Result<Self> {
        Ok(Self {
            id: record.id.to_string(),
            person: person_of(record).unwrap_or_default().to_owned(),
            data: serde_json::to_string(&record.data)
                .map_err(|why| Error::Encode(why.to_string()))?,
            expires_at: millis(record.expiry_date),
        })
    }
}

fn unusable(why: StorageError) -> Error {
    Error::Backend(why.to_string())
}
