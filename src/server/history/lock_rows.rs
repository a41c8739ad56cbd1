//! The rows of groups and locks: names are stored once, other tables contain their numbers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sqlx::{AnyConnection, Row as _};

use super::rows::{Rows, Value};
use crate::domain::{Format, LockId, LockKey};

/// Locks whose numbers are kept in memory, at about 120 bytes each.
const MAX_CACHED_LOCKS: usize = 150_000;

/// The numbers of a lock and of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockRow {
    pub lock_id: i64,
    pub group_id: i64,
    pub format: Format,
}

/// The known numbers of groups and locks.
#[derive(Clone, Default)]
pub(super) struct LockRows {
    groups: HashMap<String, i64>,
    locks: HashMap<LockId, LockRow>,
}

impl LockRows {
    /// The number of a group.
    pub fn group(&self, name: &str) -> Option<i64> {
        self.groups.get(name).copied()
    }

    /// The row of a lock.
    pub fn lock(&self, id: &LockId) -> Option<LockRow> {
        self.locks.get(id).copied()
    }

    /// The known rows of these groups and locks.
    pub fn subset<'a>(
        &self,
        locks: impl Iterator<Item = (&'a LockId, Option<Format>)>,
    ) -> (Self, HashMap<LockId, Format>) {
        let mut known = self.clone_groups();
        let mut unknown = HashMap::new();
        for (id, format) in locks {
            match self.locks.get(id) {
                Some(row) if format.is_none_or(|format| format == row.format) => {
                    known.locks.insert(id.clone(), *row);
                }
                Some(row) => {
                    unknown.insert(id.clone(), format.unwrap_or(row.format));
                }
                None => {
                    let format = format.or_else(|| unknown.get(id).copied());
                    unknown.insert(id.clone(), format.unwrap_or(Format::Plain));
                }
            }
        }
        (known, unknown)
    }

    /// The known rows of groups, without the locks.
    pub fn clone_groups(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            locks: HashMap::new(),
        }
    }

    /// Adds rows that were written.
    pub fn add(&mut self, other: Self) {
        if self.locks.len() + other.locks.len() > MAX_CACHED_LOCKS {
            self.locks = HashMap::new();
        }
        self.groups.extend(other.groups);
        self.locks.extend(other.locks);
    }

    /// Forgets all locks, whose rows may have been deleted.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Inserts the rows of groups that are not known.
    pub async fn insert_groups(
        &mut self,
        db: &mut AnyConnection,
        names: impl Iterator<Item = String>,
    ) -> Result<(), sqlx::Error> {
        for name in names {
            if let Entry::Vacant(group) = self.groups.entry(name) {
                let insert = "INSERT INTO history_group (name) VALUES ($1) \
                              ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id";
                let row = sqlx::query(insert).bind(group.key().clone());
                let row = row.fetch_one(&mut *db).await?;
                group.insert(row.try_get(0)?);
            }
        }
        Ok(())
    }

    /// Inserts the rows of locks that are not known or have another format.
    pub async fn insert_locks(
        &mut self,
        db: &mut AnyConnection,
        locks: HashMap<LockId, Format>,
    ) -> Result<(), sqlx::Error> {
        let names = locks.keys().map(|id| id.group.clone());
        self.insert_groups(db, names).await?;
        let mut inserted = HashMap::new();
        let mut rows = Vec::with_capacity(locks.len());
        for (id, format) in locks {
            let group_id = self.groups.get(&id.group).copied().unwrap_or_default();
            let bytes = id.key.as_bytes().to_vec();
            rows.push([
                group_id.into(),
                Value::Bytes(bytes.clone()),
                format.slug().into(),
            ]);
            inserted.insert((group_id, bytes), (id, format));
        }
        let fetched = Rows(rows).fetch(
            db,
            "INSERT INTO history_lock (group_id, lock_key, format)",
            " ON CONFLICT (group_id, lock_key) DO UPDATE SET format = excluded.format \
             RETURNING id, group_id, lock_key",
        );
        for row in fetched.await? {
            let group_id = row.try_get("group_id")?;
            let bytes: Vec<u8> = row.try_get("lock_key")?;
            if let Some((id, format)) = inserted.remove(&(group_id, bytes)) {
                let row = LockRow {
                    lock_id: row.try_get("id")?,
                    group_id,
                    format,
                };
                self.locks.insert(id, row);
            }
        }
        Ok(())
    }
}

/// The name of a lock and its format, from columns of `history_lock`.
pub(super) fn read_lock(
    row: &sqlx::any::AnyRow,
    group: &str,
) -> Result<(LockId, Format), sqlx::Error> {
    let id = LockId {
        group: group.to_owned(),
        key: LockKey::new(row.try_get::<Vec<u8>, _>("lock_key")?),
    };
    // A newer console may have written a format that this one does not know.
    let format = row.try_get::<String, _>("format")?;
    Ok((id, format.parse().unwrap_or(Format::Plain)))
}
