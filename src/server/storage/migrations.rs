//! The schema, step by step. A step is a file in `migrations/sqlite` and one in `migrations/postgres` with the same number, and a line
//! here. One that was shipped is never changed: its checksum is in the database.

use futures::future::BoxFuture;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, SqlSafeStr as _};

macro_rules! steps {
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
        ]
    };
}

/// Takes the steps that were not taken yet. Other programs wait meanwhile: PostgreSQL locks the schema, and the folder of an SQLite
/// file is locked while it is opened.
pub fn run(db: &mut AnyConnection, is_postgres: bool) -> BoxFuture<'_, Result<(), MigrateError>> {
    let steps = match is_postgres {
        true => steps!("postgres"),
        false => steps!("sqlite"),
    };
    let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(steps.map(migration).to_vec());
    // `run` takes any kind of connection, whose lifetimes rustc cannot prove here.
    Box::pin(async move { migrator.run_direct(None, db, false).await })
}
