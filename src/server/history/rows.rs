//! Statements for several rows: far fewer messages to the connection than one statement per row.

use futures::future::BoxFuture;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe};

use crate::server::storage::row_placeholders;

/// Rows per statement. Each number of rows is a separate prepared statement that connections cache.
const MAX_ROWS: usize = 10;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(i64),
    OptionalNumber(Option<i64>),
    Text(String),
    OptionalText(Option<String>),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::OptionalNumber(number)
    }
}

impl From<Option<String>> for Value {
    /// PostgreSQL rejects NUL characters.
    fn from(text: Option<String>) -> Self {
        Self::OptionalText(text.map(|text| text.replace('\0', "\u{fffd}")))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.replace('\0', "\u{fffd}"))
    }
}

/// Rows of `WIDTH` values.
pub(super) struct Rows<const WIDTH: usize>(pub Vec<[Value; WIDTH]>);

impl<const WIDTH: usize> Rows<WIDTH> {
    /// Executes `before VALUES (…), (…) after` for all rows.
    pub(super) fn execute<'db>(
        self,
        db: &'db mut AnyConnection,
        before: &'static str,
        after: &'static str,
    ) -> BoxFuture<'db, Result<(), sqlx::Error>> {
        Box::pin(async move {
            for rows in self.0.chunks(MAX_ROWS) {
                let statement = format!(
                    "{before} VALUES {}{after}",
                    row_placeholders(db, rows.len(), WIDTH)
                );
                let query = sqlx::query(AssertSqlSafe(statement));
                bind(query, rows.concat()).execute(&mut *db).await?;
            }
            Ok(())
        })
    }

    /// The same for a statement that returns rows.
    pub(super) fn fetch<'db>(
        self,
        db: &'db mut AnyConnection,
        before: &'static str,
        after: &'static str,
    ) -> BoxFuture<'db, Result<Vec<AnyRow>, sqlx::Error>> {
        Box::pin(async move {
            let mut fetched = Vec::new();
            for rows in self.0.chunks(MAX_ROWS) {
                let statement = format!(
                    "{before} VALUES {}{after}",
                    row_placeholders(db, rows.len(), WIDTH)
                );
                let query = sqlx::query(AssertSqlSafe(statement));
                fetched.extend(bind(query, rows.concat()).fetch_all(&mut *db).await?);
            }
            Ok(fetched)
        })
    }
}

/// Binds values in order.
pub(super) fn bind<'q>(
    query: Query<'q, Any, AnyArguments>,
    values: Vec<Value>,
) -> Query<'q, Any, AnyArguments> {
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::OptionalNumber(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
        Value::OptionalText(text) => query.bind(text),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}
