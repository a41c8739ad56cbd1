//! The schema migrations. Each one is a file in `migrations/sqlite` and one in
//! `migrations/postgres` with the same number, and an entry here. A released migration is never
//! changed: its checksum is stored in the database.

use futures::future::BoxFuture;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, SqlSafeStr as _};

macro_rules! migrations {
    ($folder:literal) => {
        [
            (
                1,
                "audit",
                include_str!(concat!("migrations/", $folder, "/0001_audit.sql")),
            ),
            (
                2,
                "access",
                include_str!(concat!("migrations/", $folder, "/0002_access.sql")),
            ),
            (
                3,
                "lock_prefix",
                include_str!(concat!("migrations/", $folder, "/0003_lock_prefix.sql")),
            ),
            (
                4,
                "audit_end",
                include_str!(concat!("migrations/", $folder, "/0004_audit_end.sql")),
            ),
            (
                5,
                "history",
                include_str!(concat!("migrations/", $folder, "/0005_history.sql")),
            ),
            (
                6,
                "team_view",
                include_str!(concat!("migrations/", $folder, "/0006_team_view.sql")),
            ),
        ]
    };
}

/// Applies the pending migrations. Other processes wait meanwhile: PostgreSQL locks the schema, and
/// the folder of an SQLite file is locked while the file is opened.
pub fn run(db: &mut AnyConnection, is_postgres: bool) -> BoxFuture<'_, Result<(), MigrateError>> {
    let migrations = match is_postgres {
        true => migrations!("postgres"),
        false => migrations!("sqlite"),
    };
    let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(migrations.map(migration).to_vec());
    // `Migrator::run` is generic over the connection, and rustc cannot prove the lifetimes here.
    Box::pin(async move { migrator.run_direct(None, db, false).await })
}
