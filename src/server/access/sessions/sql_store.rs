//! Session store in the database.

use async_trait::async_trait;
use sqlx::Row as _;
use tower_sessions_core::SessionStore;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::{Error, Result};

use super::{MAX_SESSIONS_PER_USER, from_millis, to_millis, user_of};
use crate::server::storage::{Storage, StorageError};

/// Sessions that survive a restart and are shared by all instances on the same database.
#[derive(Clone)]
pub struct SqlSessionStore(pub Storage);

impl std::fmt::Debug for SqlSessionStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SqlStore({})", self.0.url())
    }
}

impl SqlSessionStore {
    /// Deletes all sessions of a user.
    pub async fn delete_all_of_user(&self, user: &str) -> Result<()> {
        let delete = "DELETE FROM session WHERE username = $1";
        self.execute(delete, vec![user.to_owned()]).await
    }

    async fn execute(&self, statement: &'static str, values: Vec<String>) -> Result<()> {
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
        written.await.map_err(backend_error)
    }
}

#[async_trait]
impl SessionStore for SqlSessionStore {
    /// If the user has too many sessions, deletes the ones that expire first.
    async fn create(&self, record: &mut Record) -> Result<()> {
        let row = SessionRow::from_record(record)?;
        let written = self.0.write(move |db| {
            let row = row.clone();
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO session (id, username, data, expires_at) VALUES ($1, $2, $3, $4)",
                )
                .bind(row.id.clone())
                .bind(row.user.clone())
                .bind(row.data)
                .bind(row.expires_at)
                .execute(&mut *db)
                .await?;
                let max = i64::try_from(MAX_SESSIONS_PER_USER).unwrap_or(i64::MAX);
                sqlx::query(
                    "DELETE FROM session WHERE username = $1 AND id <> $2 AND id NOT IN \
                     (SELECT id FROM session WHERE username = $1 ORDER BY expires_at DESC LIMIT $3)",
                )
                .bind(row.user)
                .bind(row.id)
                .bind(max)
                .execute(db)
                .await?;
                Ok(())
            })
        });
        written.await.map_err(backend_error)
    }

    /// Updates only: a session that was deleted in the meantime stays deleted.
    async fn save(&self, record: &Record) -> Result<()> {
        let row = SessionRow::from_record(record)?;
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
        written.await.map_err(backend_error)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let mut db = self.0.read().await.map_err(backend_error)?;
        let select = sqlx::query("SELECT data, expires_at FROM session WHERE id = $1");
        let found = select.bind(id.to_string()).fetch_optional(&mut *db).await;
        let found = found.map_err(|error| backend_error(StorageError::of(&error)))?;
        let Some(row) = found else { return Ok(None) };
        let decode = |error: sqlx::Error| Error::Decode(error.to_string());
        let data: String = row.try_get("data").map_err(decode)?;
        let expires_at: i64 = row.try_get("expires_at").map_err(decode)?;
        Ok(Some(Record {
            id: *id,
            data: serde_json::from_str(&data).map_err(|error| Error::Decode(error.to_string()))?,
            expiry_date: from_millis(expires_at),
        }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let delete = "DELETE FROM session WHERE id = $1";
        self.execute(delete, vec![id.to_string()]).await
    }
}

/// A record in the form of the table.
#[derive(Clone)]
struct SessionRow {
    id: String,
    user: String,
    data: String,
    expires_at: i64,
}

impl SessionRow {
    fn from_record(record: &Record) -> Result<Self> {
        Ok(Self {
            id: record.id.to_string(),
            user: user_of(record).unwrap_or_default().to_owned(),
            data: serde_json::to_string(&record.data)
                .map_err(|error| Error::Encode(error.to_string()))?,
            expires_at: to_millis(record.expiry_date),
        })
    }
}

fn backend_error(error: StorageError) -> Error {
    Error::Backend(error.to_string())
}
