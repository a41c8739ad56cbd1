//! Stores the views of the lock list that all users share.

use futures::future::BoxFuture;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row as _};

use super::storage::{Storage, StorageError};
use crate::domain::{TeamView, Timestamp};

/// Consoles that save their last view at the same time can exceed [`TeamView::MAX_VIEWS`], so more
/// are read.
const MAX_ROWS: i64 = 2 * TeamView::MAX_VIEWS as i64;

const SELECT: &str = "SELECT name, path, saved_by, saved_at FROM team_view LIMIT $1";
const SELECT_PATH: &str = "SELECT path FROM team_view WHERE name = $1";
const COUNT: &str = "SELECT COUNT(*) FROM team_view";
const UPSERT: &str = "INSERT INTO team_view (name, path, saved_by, saved_at) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (name) DO UPDATE SET path = excluded.path, saved_by = excluded.saved_by, saved_at = excluded.saved_at";
const DELETE: &str = "DELETE FROM team_view WHERE name = $1";

/// The table `team_view`.
#[derive(Clone)]
pub struct TeamViewStore(Storage);

/// There are [`TeamView::MAX_VIEWS`] views already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamViewsFull;

impl TeamViewStore {
    /// Views in this database.
    pub fn new(storage: Storage) -> Self {
        Self(storage)
    }

    /// All views, sorted by name.
    pub async fn list(&self) -> Result<Vec<TeamView>, StorageError> {
        let mut db = self.0.read().await?;
        let rows = sqlx::query(SELECT).bind(MAX_ROWS);
        let rows = rows.fetch_all(&mut *db).await?;
        let views = rows
            .iter()
            .map(read_row)
            .collect::<Result<Vec<TeamView>, sqlx::Error>>();
        let mut views = views?;
        // The databases do not sort text in the same order.
        views.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(views)
    }

    /// Inserts a view, or replaces the one of the same name. Returns the previous path.
    pub async fn save(
        &self,
        view: TeamView,
    ) -> Result<Result<Option<String>, TeamViewsFull>, StorageError> {
        let saved = self.0.write(move |db| upsert(db, view.clone()));
        saved.await
    }

    /// Deletes a view. Returns its path, or `None` if there was none of this name.
    pub async fn delete(&self, name: &str) -> Result<Option<String>, StorageError> {
        let name = name.to_owned();
        let deleted = self.0.write(move |db| delete(db, name.clone()));
        deleted.await
    }
}

fn upsert(
    db: &mut AnyConnection,
    view: TeamView,
) -> BoxFuture<'_, Result<Result<Option<String>, TeamViewsFull>, sqlx::Error>> {
    Box::pin(async move {
        let before = select_path(db, &view.name).await?;
        if before.is_none() {
            let count = sqlx::query(COUNT).fetch_one(&mut *db).await?;
            let count = count.try_get::<i64, _>(0)?;
            if usize::try_from(count).is_ok_and(|count| count >= TeamView::MAX_VIEWS) {
                return Ok(Err(TeamViewsFull));
            }
        }
        sqlx::query(UPSERT)
            .bind(view.name)
            .bind(view.path)
            .bind(view.saved_by)
            .bind(view.saved_at.millis())
            .execute(&mut *db)
            .await?;
        Ok(Ok(before))
    })
}

fn delete(
    db: &mut AnyConnection,
    name: String,
) -> BoxFuture<'_, Result<Option<String>, sqlx::Error>> {
    Box::pin(async move {
        let before = select_path(db, &name).await?;
        sqlx::query(DELETE).bind(name).execute(&mut *db).await?;
        Ok(before)
    })
}

async fn select_path(db: &mut AnyConnection, name: &str) -> Result<Option<String>, sqlx::Error> {
    let row = sqlx::query(SELECT_PATH).bind(name.to_owned());
    let row = row.fetch_optional(&mut *db).await?;
    row.map(|row| row.try_get("path")).transpose()
}

fn read_row(row: &AnyRow) -> Result<TeamView, sqlx::Error> {
    Ok(TeamView {
        name: row.try_get("name")?,
        path: row.try_get("path")?,
        saved_by: row.try_get("saved_by")?,
        saved_at: Timestamp::from_millis(row.try_get("saved_at")?),
    })
}
