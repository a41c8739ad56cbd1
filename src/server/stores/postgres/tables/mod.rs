//! The lock tables of libraries: their layouts and rows. Their statements are in [`statements`].

mod statements;

use crate::domain::{Format, Lease, Timestamp};
use crate::server::stores::OwnerBytes;

/// The most rows that are read of one table.
pub const MAX_ROWS: usize = 10_000;

/// The layout of a lock table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableLayout {
    /// `shedlock(name, lock_until, locked_at, locked_by)`.
    ShedLock,
    /// `databasechangeloglock(id, locked, lockgranted, lockedby)`.
    Liquibase,
    /// `int_lock(lock_key, region, client_id, created_date)`; `expired_after` instead of
    /// `created_date` since Spring Integration 7.
    SpringJdbc,
    /// `knex_migrations_lock(index, is_locked)`.
    Knex,
    /// `scheduled_tasks(task_name, task_instance, picked, picked_by, version, …)`.
    DbScheduler,
    /// `solid_queue_semaphores(key, value, expires_at)`.
    SolidQueue,
    /// `qrtz_locks(sched_name, lock_name)`, whose rows are locked and never changed.
    Quartz,
}

/// A lock table that was found in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTable {
    /// The layout.
    pub layout: TableLayout,
    /// The schema.
    pub schema: String,
    /// The name.
    pub name: String,
    /// The number of the table in `pg_locks`.
    pub oid: i64,
    /// The columns with their types, as `format_type` writes them.
    pub columns: Vec<(String, String)>,
    /// The console may read it.
    pub can_select: bool,
    /// The console may update it.
    pub can_update: bool,
    /// The console may delete its rows.
    pub can_delete: bool,
}

/// A row that is a held lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The first part of the row's key.
    pub id: String,
    /// The second part, if the table has one.
    pub second_id: Option<String>,
    /// The owner that the row names.
    pub owner: Option<String>,
    /// When the owner acquired it, in microseconds since the Unix epoch.
    pub since_us: Option<i64>,
    /// When it expires, in microseconds since the Unix epoch; `None` if it does not, or if the
    /// layout has no such time.
    pub until_us: Option<i64>,
    /// What changes with every hold, if the owner does not.
    pub version: Option<String>,
}

/// The rows that [`FoundTable::select`] returns.
pub type RowColumns = (
    String,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<i64>,
    Option<String>,
);

/// The rows that [`FoundTable::select_row_locks`] returns: the two parts of the row's key, whether
/// the client holds the row, since when it waits, its process id, and its other columns.
pub type RowLockColumns = (
    String,
    String,
    bool,
    Option<i64>,
    i32,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
);

impl TableLayout {
    /// All layouts.
    pub const ALL: [Self; 7] = [
        Self::ShedLock,
        Self::Liquibase,
        Self::SpringJdbc,
        Self::Knex,
        Self::DbScheduler,
        Self::SolidQueue,
        Self::Quartz,
    ];

    /// The layout of a format, if it is one of a table.
    pub fn of_format(format: Format) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|layout| layout.format() == format)
    }

    /// The format of the locks.
    pub fn format(self) -> Format {
        match self {
            Self::ShedLock => Format::ShedLock,
            Self::Liquibase => Format::Liquibase,
            Self::SpringJdbc => Format::SpringJdbc,
            Self::Knex => Format::Knex,
            Self::DbScheduler => Format::DbScheduler,
            Self::SolidQueue => Format::SolidQueue,
            Self::Quartz => Format::QuartzJdbc,
        }
    }

    /// The name that the library uses unless it is configured otherwise.
    pub fn default_name(self) -> &'static str {
        match self {
            Self::ShedLock => "shedlock",
            Self::Liquibase => "databasechangeloglock",
            Self::SpringJdbc => "int_lock",
            Self::Knex => "knex_migrations_lock",
            Self::DbScheduler => "scheduled_tasks",
            Self::SolidQueue => "solid_queue_semaphores",
            Self::Quartz => "qrtz_locks",
        }
    }

    /// The columns without which a table does not have this layout.
    fn required_columns(self) -> &'static [&'static str] {
        match self {
            Self::ShedLock => &["name", "lock_until", "locked_at", "locked_by"],
            Self::Liquibase => &["id", "locked", "lockgranted", "lockedby"],
            Self::SpringJdbc => &["lock_key", "region", "client_id"],
            Self::Knex => &["index", "is_locked"],
            Self::DbScheduler => &[
                "task_name",
                "task_instance",
                "picked",
                "picked_by",
                "version",
            ],
            Self::SolidQueue => &["key", "value", "expires_at"],
            Self::Quartz => &["sched_name", "lock_name"],
        }
    }
}

impl FoundTable {
    /// Whether the table has the columns of its layout, with usable types.
    pub fn matches_layout(&self) -> bool {
        let mut required = self.layout.required_columns().iter();
        let has_columns = required.all(|column| self.column_type(column).is_some());
        let has_type = |column: &str, expected: &str| {
            self.column_type(column)
                .is_some_and(|found| found.starts_with(expected))
        };
        has_columns
            && match self.layout {
                TableLayout::ShedLock => {
                    has_type("lock_until", "timestamp") && has_type("locked_at", "timestamp")
                }
                TableLayout::Liquibase => {
                    has_type("locked", "boolean") && has_type("lockgranted", "timestamp")
                }
                TableLayout::SpringJdbc => {
                    has_type("expired_after", "timestamp") || has_type("created_date", "timestamp")
                }
                TableLayout::Knex => has_type("is_locked", "integer"),
                TableLayout::DbScheduler => has_type("picked", "boolean"),
                TableLayout::SolidQueue => {
                    has_type("value", "integer") && has_type("expires_at", "timestamp")
                }
                TableLayout::Quartz => true,
            }
    }

    fn column_type(&self, column: &str) -> Option<&str> {
        let found = self.columns.iter().find(|(name, _)| name == column);
        found.map(|(_, kind)| kind.as_str())
    }

    /// The quoted name with its schema.
    fn quoted(&self) -> String {
        format!("{}.{}", quote(&self.schema), quote(&self.name))
    }

    /// The start of the names of its locks.
    pub fn key_prefix(&self) -> String {
        format!("{}.{}:", self.schema, self.name)
    }

    /// The name of the lock in a row.
    pub fn lock_name(&self, id: &str, second_id: Option<&str>) -> String {
        let prefix = self.key_prefix();
        match second_id {
            None => format!("{prefix}{id}"),
            // A slash in the first part must not make two rows look like one.
            Some(second) => {
                let first = id.replace('%', "%25").replace('/', "%2F");
                format!("{prefix}{first}/{second}")
            }
        }
    }

    /// The permission that a release needs and the console lacks, as the object of `GRANT`.
    pub fn missing_release_permission(&self) -> Option<String> {
        let (permission, is_granted) = match self.layout {
            TableLayout::ShedLock
            | TableLayout::Liquibase
            | TableLayout::Knex
            | TableLayout::DbScheduler
            | TableLayout::SolidQueue => ("UPDATE", self.can_update),
            TableLayout::SpringJdbc => ("DELETE", self.can_delete),
            TableLayout::Quartz => return None,
        };
        (!is_granted).then(|| format!("{permission} ON {}", self.quoted()))
    }

    /// The permission to read the table, as the object of `GRANT`.
    pub fn read_permission(&self) -> String {
        format!("SELECT ON {}", self.quoted())
    }
}

impl LockRow {
    /// Joins the columns of a row.
    pub fn new((id, second_id, owner, since_us, until_us, version): RowColumns) -> Self {
        Self {
            id,
            second_id,
            owner,
            since_us,
            until_us,
            version,
        }
    }

    /// What tells this hold from every other one of the row.
    pub fn owner_bytes(&self, layout: TableLayout) -> OwnerBytes {
        let since = match layout {
            // A registry writes the time of its last renewal.
            TableLayout::SpringJdbc => None,
            TableLayout::ShedLock
            | TableLayout::Liquibase
            | TableLayout::Knex
            | TableLayout::DbScheduler
            | TableLayout::SolidQueue
            | TableLayout::Quartz => self.since_us,
        };
        let parts = [
            self.owner.clone(),
            since.map(|us| us.to_string()),
            self.version.clone(),
        ];
        let parts = parts.map(Option::unwrap_or_default);
        OwnerBytes::new(parts.join("\0"))
    }

    /// The lease. `now` is the time of the reading, and `skew_ms` by how much the server's clock is
    /// ahead of the console's.
    pub fn lease(&self, layout: TableLayout, now: Timestamp, skew_ms: i64) -> Lease {
        match (layout, self.until_us) {
            (
                TableLayout::ShedLock | TableLayout::SpringJdbc | TableLayout::SolidQueue,
                Some(until),
            ) => Lease::until(to_console_time(until, skew_ms), now),
            // The next client takes the lock over when its own limit has passed, which the table
            // does not contain: the age of the row, or of the last heartbeat.
            (TableLayout::SpringJdbc | TableLayout::DbScheduler, None)
            | (TableLayout::DbScheduler | TableLayout::Quartz, Some(_))
            | (TableLayout::Quartz, None) => Lease::Session,
            (
                TableLayout::ShedLock
                | TableLayout::Liquibase
                | TableLayout::Knex
                | TableLayout::SolidQueue,
                None,
            )
            | (TableLayout::Liquibase | TableLayout::Knex, Some(_)) => Lease::Never,
        }
    }

    /// When the owner acquired the lock according to the row, by the server's clock.
    pub fn claimed_at(&self, layout: TableLayout) -> Option<Timestamp> {
        match layout {
            TableLayout::ShedLock | TableLayout::Liquibase => self
                .since_us
                .map(|us| Timestamp::from_millis(us.div_euclid(1_000))),
            TableLayout::SpringJdbc
            | TableLayout::Knex
            | TableLayout::DbScheduler
            | TableLayout::SolidQueue
            | TableLayout::Quartz => None,
        }
    }
}

/// Converts a time of the server to the console's clock.
pub fn to_console_time(us: i64, skew_ms: i64) -> Timestamp {
    Timestamp::from_millis(us.div_euclid(1_000).saturating_sub(skew_ms))
}

/// Quotes an identifier.
pub fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
