//! The queries with which the database is observed.

use std::time::Duration;

use super::backend::{BACKEND_COLUMNS, BACKENDS, Backend};
use super::connection::{Connection, query};
use super::error::PostgresError;
use super::snapshot::AdvisoryRow;
use super::tables::{
    FoundTable, LockRow, MAX_ROWS, RowColumns, RowLockColumns, TableLayout, quote,
};
use crate::domain::{Format, MissingPermission, NodeLag, Standby};
use crate::server::config::{AdvisoryKey, LockTable};

/// The most advisory locks, held or waited for, that are read.
pub const MAX_ADVISORY_ROWS: usize = 20_000;
/// The most lock tables of a database that are read.
const MAX_TABLES: usize = 32;
/// The most schemas in which libraries may have migration tables.
const MAX_SCHEMAS: usize = 100;
/// The most transactions that are reported.
const MAX_LONG_TRANSACTIONS: usize = 5;
/// The most standbys that are reported.
const MAX_STANDBYS: usize = 32;
/// The first version that stores since when a lock is waited for.
const WAITSTART_VERSION: i32 = 140_000;

/// What the server reports about itself.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// The version, like `15.18`.
    pub version: String,
    /// The version as a number, like 150018.
    pub version_number: i32,
    /// The name of the database.
    pub database: String,
    /// The schemas of applications.
    pub schemas: Vec<String>,
    /// Details of other users' connections are readable.
    pub can_read_stats: bool,
    /// Other users' connections can be ended.
    pub can_signal: bool,
    /// The console's user.
    pub user: String,
}

/// The advisory locks of the database, and what is read with them in one query.
#[derive(Clone, Debug)]
pub struct AdvisoryLocks {
    /// The server replicates another one.
    pub is_replica: bool,
    /// What the server's clock showed, in microseconds since the Unix epoch.
    pub server_time_us: i64,
    /// The locks, held or waited for.
    pub rows: Vec<AdvisoryRow>,
    /// There are more than [`MAX_ADVISORY_ROWS`].
    pub is_incomplete: bool,
}

type AdvisoryColumns = (
    bool,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i16>,
    Option<bool>,
    Option<bool>,
    Option<i64>,
    Option<i32>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
);

/// Reads what the server reports about itself.
pub async fn fetch_server_info(connection: &mut Connection) -> Result<ServerInfo, PostgresError> {
    type Columns = (String, i32, String, Vec<String>, bool, bool, String);
    let sql = format!(
        "SELECT current_setting('server_version'), \
            current_setting('server_version_num')::int4, current_database()::text, \
            ARRAY(SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_' \
                AND nspname <> 'information_schema' ORDER BY 1 LIMIT {MAX_SCHEMAS}), \
            pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), \
            pg_has_role(current_user, 'pg_signal_backend', 'USAGE'), current_user::text"
    );
    let rows: Vec<Columns> = connection.fetch(query(sql)).await?;
    let (version, version_number, database, schemas, can_read_stats, can_signal, user) =
        rows.into_iter().next().ok_or_else(PostgresError::no_row)?;
    // Distributions append their own version in parentheses.
    let version = version.split(' ').next().unwrap_or_default().to_owned();
    Ok(ServerInfo {
        version,
        version_number,
        database,
        schemas,
        can_read_stats,
        can_signal,
        user,
    })
}

/// Reads the advisory locks of the database. It calls `pg_blocking_pids` for no waiter: that function
/// blocks the server's whole lock table while it runs, and the holders of a lock are known.
pub async fn fetch_advisory_locks(
    connection: &mut Connection,
    version_number: i32,
) -> Result<AdvisoryLocks, PostgresError> {
    let waitstart = waitstart("l", version_number);
    let sql = format!(
        "WITH {BACKENDS}, held AS MATERIALIZED (SELECT * FROM pg_locks WHERE locktype = 'advisory' \
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
            LIMIT {limit}) \
         SELECT pg_is_in_recovery(), (extract(epoch FROM statement_timestamp()) * 1000000)::int8, \
            l.classid::int8, l.objid::int8, l.objsubid, l.mode = 'ShareLock', l.granted, \
            {waitstart}, l.pid, CASE WHEN l.pid IS NULL THEN l.virtualtransaction END, \
            {BACKEND_COLUMNS} \
         FROM (SELECT 1) AS one LEFT JOIN held l ON true LEFT JOIN backends b ON b.pid = l.pid",
        limit = MAX_ADVISORY_ROWS + 1,
    );
    let rows: Vec<AdvisoryColumns> = connection.fetch(query(sql)).await?;
    let first = rows.first().ok_or_else(PostgresError::no_row)?;
    let (is_replica, server_time_us) = (first.0, first.1);
    let mut rows: Vec<AdvisoryRow> = rows.into_iter().filter_map(to_advisory_row).collect();
    let is_incomplete = rows.len() > MAX_ADVISORY_ROWS;
    rows.truncate(MAX_ADVISORY_ROWS);
    Ok(AdvisoryLocks {
        is_replica,
        server_time_us,
        rows,
        is_incomplete,
    })
}

/// Reads the oldest transactions of clients that hold advisory locks of the database and began longer
/// than `min_age` ago, the oldest first. The console's user must be able to read the connections.
pub async fn fetch_long_transactions(
    connection: &mut Connection,
    min_age: Duration,
) -> Result<Vec<(Backend, i64, i64)>, PostgresError> {
    type Columns = (
        i32,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<i64>,
        i64,
        i64,
    );
    let sql = format!(
        "SELECT a.pid, a.application_name, host(a.client_addr), a.state, \
            (extract(epoch FROM a.backend_start) * 1000000)::int8, \
            (extract(epoch FROM a.xact_start) * 1000000)::int8, count(*)::int8 \
         FROM pg_locks l JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid \
         WHERE l.locktype = 'advisory' AND l.granted \
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
            AND a.xact_start < statement_timestamp() - make_interval(secs => $1) \
         GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 6 LIMIT {MAX_LONG_TRANSACTIONS}"
    );
    let rows: Vec<Columns> = connection
        .fetch(query(sql).bind(min_age.as_secs_f64()))
        .await?;
    let transaction = |(pid, application, address, state, started_us, since_us, locks): Columns| {
        let backend = Backend {
            pid,
            started_us,
            application,
            address,
            state,
        };
        (backend, since_us, locks)
    };
    Ok(rows.into_iter().map(transaction).collect())
}

/// Reads the standbys that are connected to the server. The console's user must be able to read the
/// connections.
pub async fn fetch_standbys(connection: &mut Connection) -> Result<Vec<Standby>, PostgresError> {
    type Columns = (
        Option<String>,
        Option<String>,
        Option<String>,
        Option<i64>,
        Option<i64>,
    );
    // A standby can have standbys of its own, but does not know the current end of the log.
    let sql = format!(
        "SELECT application_name, host(client_addr), state, \
            CASE WHEN pg_is_in_recovery() THEN NULL \
                ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::int8 END, \
            (extract(epoch FROM replay_lag) * 1000)::int8 \
         FROM pg_stat_replication WHERE state <> 'backup' ORDER BY 1, pid LIMIT {MAX_STANDBYS}"
    );
    let rows: Vec<Columns> = connection.fetch(query(sql)).await?;
    let standby = |(name, address, state, bytes, delay_ms): Columns| Standby {
        name: name.unwrap_or_default(),
        address,
        state: state.unwrap_or_default(),
        // The position of the standby can be newer than the end of the log that was read.
        lag: bytes.map(|bytes| NodeLag::of_wal_bytes(u64::try_from(bytes).unwrap_or(0))),
        replay_delay_ms: delay_ms.and_then(|ms| u64::try_from(ms).ok()),
    };
    Ok(rows.into_iter().map(standby).collect())
}

/// Since when an entry of `pg_locks` waits, in microseconds since the Unix epoch.
fn waitstart(alias: &str, version_number: i32) -> String {
    if version_number >= WAITSTART_VERSION {
        format!("(extract(epoch FROM {alias}.waitstart) * 1000000)::int8")
    } else {
        "NULL::int8".to_owned()
    }
}

/// `None` for the row that is returned if there are no locks.
fn to_advisory_row(columns: AdvisoryColumns) -> Option<AdvisoryRow> {
    let (_, _, classid, objid, objsubid, is_shared, is_granted, waiting_since_us, pid, ..) =
        columns;
    let (.., virtual_transaction, application, address, state, started_us) = columns;
    Some(AdvisoryRow {
        key: AdvisoryKey::from_lock_tag(classid?, objid?, objsubid?)?,
        is_shared: is_shared?,
        is_granted: is_granted?,
        waiting_since_us,
        backend: pid.map(|pid| Backend {
            pid,
            started_us,
            application,
            address,
            state,
        }),
        virtual_transaction: virtual_transaction.unwrap_or_default(),
    })
}

/// Finds the lock tables: those with the default names in any schema, and the configured ones.
pub async fn find_tables(
    connection: &mut Connection,
    configured: &[LockTable],
) -> Result<Vec<FoundTable>, PostgresError> {
    type Columns = (
        String,
        String,
        i64,
        bool,
        bool,
        bool,
        Vec<String>,
        Vec<String>,
    );
    let default_names = TableLayout::ALL.map(TableLayout::default_name);
    let names = default_names.into_iter().map(str::to_owned);
    let configured_names = configured.iter().map(|table| split_name(&table.table).1);
    let names: Vec<String> = names.chain(configured_names.map(str::to_owned)).collect();
    // The names are looked up in an index of the catalogue, so a database with many tables does not
    // make this slow.
    let sql = format!(
        "SELECT n.nspname::text, c.relname::text, c.oid::int8, \
            has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), \
            has_table_privilege(c.oid, 'UPDATE'), has_table_privilege(c.oid, 'DELETE'), \
            array_agg(a.attname::text), array_agg(format_type(a.atttypid, a.atttypmod)) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.relname = ANY($1) AND c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_' \
         GROUP BY n.nspname, c.relname, c.oid, n.oid ORDER BY 1, 2 LIMIT {MAX_TABLES}"
    );
    let rows: Vec<Columns> = connection.fetch(query(sql).bind(names)).await?;
    let to_table = |columns: Columns| {
        let (schema, name, oid, can_select, can_update, can_delete, names, types) = columns;
        Some(FoundTable {
            layout: layout_of(&schema, &name, configured)?,
            schema,
            name,
            oid,
            columns: names.into_iter().zip(types).collect(),
            can_select,
            can_update,
            can_delete,
        })
    };
    let tables = rows.into_iter().filter_map(to_table);
    Ok(tables.filter(FoundTable::matches_layout).collect())
}

/// The layout of a table: the configured one, or that of the library that uses this name.
fn layout_of(schema: &str, name: &str, configured: &[LockTable]) -> Option<TableLayout> {
    let is_configured = |table: &&LockTable| {
        let (table_schema, table_name) = split_name(&table.table);
        table_name == name && table_schema.is_none_or(|table_schema| table_schema == schema)
    };
    let by_name = || {
        let mut layouts = TableLayout::ALL.into_iter();
        layouts.find(|layout| layout.default_name() == name)
    };
    match configured.iter().find(is_configured) {
        Some(table) => TableLayout::of_format(table.format),
        None => by_name(),
    }
}

/// Splits a configured name into schema and table.
fn split_name(table: &str) -> (Option<&str>, &str) {
    match table.split_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, table),
    }
}

/// The configured tables that were not found, or do not have the columns of their format.
pub fn missing_tables(configured: &[LockTable], found: &[FoundTable]) -> Vec<String> {
    let is_missing = |table: &&LockTable| {
        let (schema, name) = split_name(&table.table);
        let is_this = |found: &FoundTable| {
            found.name == name && schema.is_none_or(|schema| found.schema == schema)
        };
        !found.iter().any(is_this)
    };
    let missing = configured.iter().filter(is_missing);
    missing.map(|table| table.table.clone()).collect()
}

/// Reads the rows of a table that are held locks. The flag is set if there are more than
/// [`MAX_ROWS`].
pub async fn fetch_rows(
    connection: &mut Connection,
    table: &FoundTable,
) -> Result<(Vec<LockRow>, bool), PostgresError> {
    let rows: Vec<RowColumns> = connection.fetch(query(table.select())).await?;
    let is_incomplete = rows.len() > MAX_ROWS;
    let rows = rows.into_iter().take(MAX_ROWS).map(LockRow::new);
    Ok((rows.collect(), is_incomplete))
}

/// Reads the clients that hold rows of a table, or wait for them. The flag is set if there are more
/// than [`MAX_ROWS`].
pub async fn fetch_row_locks(
    connection: &mut Connection,
    table: &FoundTable,
    version_number: i32,
) -> Result<(Vec<RowLockColumns>, bool), PostgresError> {
    let mut rows: Vec<RowLockColumns> = connection
        .fetch(query(
            table.select_row_locks(&waitstart("q", version_number)),
        ))
        .await?;
    let is_incomplete = rows.len() > MAX_ROWS;
    rows.truncate(MAX_ROWS);
    Ok((rows, is_incomplete))
}

/// The permissions that the console's user lacks.
pub fn missing_permissions(info: &ServerInfo, tables: &[FoundTable]) -> Vec<MissingPermission> {
    let user = quote(&info.user);
    let missing = |permission: String, impact: &str| MissingPermission {
        acl: format!("GRANT {permission} TO {user}"),
        permission,
        impact: impact.to_owned(),
    };
    let mut all = Vec::new();
    if !info.can_read_stats {
        all.push(missing(
            "pg_read_all_stats".to_owned(),
            "addresses and start times of connections; without them advisory locks cannot be released",
        ));
    }
    if !info.can_signal {
        all.push(missing(
            "pg_signal_backend".to_owned(),
            "force-release of advisory locks and of Quartz locks",
        ));
    }
    for table in tables {
        if !table.can_select {
            let permission = table.read_permission();
            all.push(missing(permission, "the locks of this table"));
        }
        if let Some(permission) = table.missing_release_permission() {
            all.push(missing(
                permission,
                "force-release of the locks of this table",
            ));
        }
    }
    all
}

/// Whether waiters for locks of this format are known.
pub fn has_queue(format: Format) -> bool {
    matches!(format, Format::AdvisoryLock | Format::QuartzJdbc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_table_comes_before_the_default_names() {
        let configured = [
            LockTable {
                table: "jobs.locks".to_owned(),
                format: Format::ShedLock,
            },
            LockTable {
                table: "shedlock".to_owned(),
                format: Format::Knex,
            },
        ];
        for (schema, name, layout) in [
            ("jobs", "locks", Some(TableLayout::ShedLock)),
            ("other", "locks", None),
            ("any", "shedlock", Some(TableLayout::Knex)),
            ("any", "qrtz_locks", Some(TableLayout::Quartz)),
        ] {
            assert_eq!(
                layout_of(schema, name, &configured),
                layout,
                "{schema}.{name}"
            );
        }
        assert_eq!(missing_tables(&configured, &[]), ["jobs.locks", "shedlock"]);
    }
}
