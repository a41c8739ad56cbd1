//! The statements that read and release rows of lock tables.
//!
//! Schema and table are quoted identifiers, everything else in a statement is a constant. Values
//! are compared as text and times as microseconds since the Unix epoch, in the same way when they
//! are read and when a row is released, so that the comparison is exact whatever types the columns
//! have.

use super::{FoundTable, MAX_ROWS, TableLayout};
use crate::server::stores::postgres::backend::{BACKEND_COLUMNS, BACKENDS};

/// Rows with longer names are not read.
const MAX_NAME_CHARS: usize = 512;
/// Only the start of the name of an owner is read and compared.
const MAX_OWNER_CHARS: usize = 512;

impl FoundTable {
    /// The present in the time zone of a column: `timestamp` columns are written in UTC.
    fn now_for(&self, column: &str) -> &'static str {
        let kind = self.column_type(column).unwrap_or_default();
        if kind.ends_with("with time zone") {
            "clock_timestamp()"
        } else {
            "(clock_timestamp() AT TIME ZONE 'utc')"
        }
    }

    fn has_expiry_column(&self) -> bool {
        self.column_type("expired_after").is_some()
    }

    /// The query for the rows that are held locks, with the columns of [`super::RowColumns`].
    ///
    /// # Panics
    /// For Quartz, which has [`Self::select_row_locks`].
    pub fn select(&self) -> String {
        let (id, second_id, owner, since, until, version, condition) = match self.layout {
            TableLayout::ShedLock => (
                "name::text",
                "NULL::text",
                owner_text("locked_by"),
                microseconds("locked_at"),
                microseconds("lock_until"),
                "NULL::text",
                format!("lock_until > {}", self.now_for("lock_until")),
            ),
            TableLayout::Liquibase => (
                "id::text",
                "NULL::text",
                owner_text("lockedby"),
                microseconds("lockgranted"),
                "NULL::int8".to_owned(),
                "NULL::text",
                "locked".to_owned(),
            ),
            TableLayout::SpringJdbc if self.has_expiry_column() => (
                "region::text",
                "lock_key::text",
                owner_text("client_id"),
                "NULL::int8".to_owned(),
                microseconds("expired_after"),
                "NULL::text",
                format!("expired_after > {}", self.now_for("expired_after")),
            ),
            TableLayout::SpringJdbc => (
                "region::text",
                "lock_key::text",
                owner_text("client_id"),
                microseconds("created_date"),
                "NULL::int8".to_owned(),
                "NULL::text",
                "true".to_owned(),
            ),
            TableLayout::Knex => (
                "\"index\"::text",
                "NULL::text",
                "NULL::text".to_owned(),
                "NULL::int8".to_owned(),
                "NULL::int8".to_owned(),
                // The transaction that wrote the row.
                "xmin::text",
                "is_locked = 1".to_owned(),
            ),
            TableLayout::DbScheduler => (
                "task_name::text",
                "task_instance::text",
                owner_text("picked_by"),
                "NULL::int8".to_owned(),
                "NULL::int8".to_owned(),
                // Heartbeats do not change it.
                "version::text",
                "picked".to_owned(),
            ),
            TableLayout::SolidQueue => (
                "\"key\"::text",
                "NULL::text",
                "NULL::text".to_owned(),
                "NULL::int8".to_owned(),
                microseconds("expires_at"),
                // The transaction that took the last permit.
                "xmin::text",
                // Also after the time: the permit is only taken back when a dispatcher deletes the row.
                "value = 0".to_owned(),
            ),
            TableLayout::Quartz => unreachable!("rows of Quartz are never changed"),
        };
        format!(
            "SELECT {id}, {second_id}, {owner}, {since}, {until}, {version} FROM {table} \
             WHERE {condition} AND length({id}) <= {MAX_NAME_CHARS} \
             AND coalesce(length({second_id}), 0) <= {MAX_NAME_CHARS} LIMIT {limit}",
            table = self.quoted(),
            limit = MAX_ROWS + 1,
        )
    }

    /// The query for the clients that hold rows or wait for them, with the columns of
    /// [`super::RowLockColumns`].
    ///
    /// PostgreSQL does not list row locks. The number of the transaction that locked a row is in
    /// its system column `xmax`, and each running transaction holds a lock on its own number. A
    /// waiter has a lock on the position of the row, or waits for it. `waitstart` is the time at which
    /// the entry `q` of `pg_locks` began to wait.
    pub fn select_row_locks(&self, waitstart: &str) -> String {
        format!(
            "WITH locks AS MATERIALIZED (SELECT * FROM pg_locks), {BACKENDS}, \
             places AS (SELECT sched_name::text AS id, lock_name::text AS second_id, xmax AS locker, \
                (ctid::text::point)[0]::int4 AS page, (ctid::text::point)[1]::int2 AS tuple \
                FROM {table} LIMIT {limit}), \
             holders AS (SELECT p.id, p.second_id, p.page, p.tuple, l.pid FROM places p \
                JOIN locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = p.locker \
                WHERE EXISTS (SELECT FROM locks r WHERE r.pid = l.pid AND r.granted \
                    AND r.locktype = 'relation' AND r.relation = {oid}::oid)) \
             SELECT h.id, h.second_id, true, NULL::int8, h.pid, {BACKEND_COLUMNS} \
                FROM holders h LEFT JOIN backends b ON b.pid = h.pid \
             UNION ALL \
             SELECT h.id, h.second_id, false, \
                (SELECT min({waitstart}) FROM locks q \
                    WHERE q.pid = w.pid AND NOT q.granted), \
                w.pid, {BACKEND_COLUMNS} \
                FROM holders h JOIN locks w ON w.locktype = 'tuple' AND w.relation = {oid}::oid \
                    AND w.page = h.page AND w.tuple = h.tuple AND w.pid <> h.pid \
                LEFT JOIN backends b ON b.pid = w.pid \
             LIMIT {limit}",
            table = self.quoted(),
            limit = MAX_ROWS + 1,
            oid = self.oid,
        )
    }

    /// The condition that a client holds a row, for the statement that ends its connection. `$3`
    /// and `$4` are the parts of the row's key, `a.pid` is the client.
    pub fn holds_row_condition(&self) -> String {
        format!(
            "EXISTS (SELECT FROM {table} p JOIN pg_locks l ON l.locktype = 'transactionid' \
                AND l.granted AND l.transactionid = p.xmax \
                WHERE l.pid = a.pid AND p.sched_name::text = $3 AND p.lock_name::text = $4)",
            table = self.quoted(),
        )
    }

    /// The statement that releases a row if it is still the hold that was read. Its arguments are
    /// `$1` and `$2` the parts of the key, `$3` the owner, `$4` since when, and `$5` the version.
    ///
    /// Each is a single statement: if another transaction changes the row meanwhile, PostgreSQL
    /// evaluates the condition again with the new row.
    ///
    /// # Panics
    /// For Quartz, whose rows are released by ending the connection.
    pub fn release(&self) -> String {
        let table = self.quoted();
        let same_owner = |column: &str| format!("{} IS NOT DISTINCT FROM $3", owner_text(column));
        let same_time = |column: &str| format!("{} IS NOT DISTINCT FROM $4", microseconds(column));
        // Arguments that a layout does not need, so that all have the same types.
        let unused = "$2::text IS NOT DISTINCT FROM $2 AND $3::text IS NOT DISTINCT FROM $3 \
            AND $4::int8 IS NOT DISTINCT FROM $4 AND $5::text IS NOT DISTINCT FROM $5";
        let (change, condition) = match self.layout {
            // The row stays: the library remembers that it exists and does not insert it again.
            TableLayout::ShedLock => (
                format!(
                    "UPDATE {table} SET lock_until = {now}",
                    now = self.now_for("lock_until")
                ),
                format!(
                    "name::text = $1 AND {} AND {} AND lock_until > {now}",
                    same_owner("locked_by"),
                    same_time("locked_at"),
                    now = self.now_for("lock_until"),
                ),
            ),
            TableLayout::Liquibase => (
                format!("UPDATE {table} SET locked = false, lockgranted = NULL, lockedby = NULL"),
                format!(
                    "id::text = $1 AND locked AND {} AND {}",
                    same_owner("lockedby"),
                    same_time("lockgranted"),
                ),
            ),
            TableLayout::SpringJdbc => {
                let time = if self.has_expiry_column() {
                    "true".to_owned()
                } else {
                    same_time("created_date")
                };
                (
                    format!("DELETE FROM {table}"),
                    format!(
                        "region::text = $1 AND lock_key::text = $2 AND {} AND {time}",
                        same_owner("client_id"),
                    ),
                )
            }
            TableLayout::Knex => (
                format!("UPDATE {table} SET is_locked = 0"),
                "\"index\"::text = $1 AND is_locked = 1 AND xmin::text = $5".to_owned(),
            ),
            TableLayout::DbScheduler => (
                format!(
                    "UPDATE {table} SET picked = false, picked_by = NULL, version = version + 1"
                ),
                format!(
                    "task_name::text = $1 AND task_instance::text = $2 AND picked AND {} \
                     AND version::text = $5",
                    same_owner("picked_by"),
                ),
            ),
            // What the library does at the end of a job.
            TableLayout::SolidQueue => (
                format!("UPDATE {table} SET value = value + 1"),
                "\"key\"::text = $1 AND value = 0 AND xmin::text = $5".to_owned(),
            ),
            TableLayout::Quartz => unreachable!("rows of Quartz are never changed"),
        };
        format!("{change} WHERE {condition} AND {unused}")
    }
}

/// The owner in a column.
fn owner_text(column: &str) -> String {
    format!("left({column}::text, {MAX_OWNER_CHARS})")
}

/// A time as microseconds since the Unix epoch; null for `infinity`. A `timestamp` counts as UTC.
fn microseconds(column: &str) -> String {
    format!("CASE WHEN isfinite({column}) THEN (extract(epoch FROM {column}) * 1000000)::int8 END")
}
