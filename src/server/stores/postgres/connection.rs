//! Connections to the server. Each statement has a timeout here and one on the server, so that
//! neither side waits for the other.

use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgQueryResult, PgRow};
use sqlx::query::{Query, QueryAs};
use sqlx::{AssertSqlSafe, ConnectOptions as _, FromRow, PgConnection, Postgres};
use tokio::time::timeout;
use tracing::log::LevelFilter;

use super::error::PostgresError;
use crate::domain::NodeState;
use crate::domain::reason::Reason;
use crate::server::config::{GroupConfig, PostgresUrl};
use crate::server::stores::CallError;

/// The name under which the console's connections are listed in `pg_stat_activity`.
const APPLICATION_NAME: &str = "lockkeeper";

/// Opens connections to one server.
pub struct Connector {
    options: Result<PgConnectOptions, Reason>,
    connect_timeout: Duration,
    call_timeout: Duration,
}

/// An open connection.
pub struct Connection {
    inner: PgConnection,
    call_timeout: Duration,
}

impl Connector {
    /// Reads the URL. An error in it is reported by every attempt to connect.
    pub fn new(url: &PostgresUrl, config: &GroupConfig) -> Self {
        let options: Result<PgConnectOptions, sqlx::Error> = url.expose().parse();
        let options = options.map(|options| {
            options
                .application_name(APPLICATION_NAME)
                // Parameters of statements may be names of owners.
                .log_statements(LevelFilter::Off)
                .log_slow_statements(LevelFilter::Off, Duration::MAX)
        });
        Self {
            options: options.map_err(|error| PostgresError::connecting(&error).into_reason()),
            connect_timeout: config.connect_timeout,
            call_timeout: config.command_timeout,
        }
    }

    /// The timeout of a statement.
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// Opens a connection on which statements can write. `lock_timeout` bounds how long a statement
    /// waits for a lock, `statement_timeout` how long it runs on the server.
    pub async fn connect(
        &self,
        statement_timeout: Duration,
        lock_timeout: Duration,
    ) -> Result<Connection, PostgresError> {
        let milliseconds = |duration: Duration| duration.as_millis().max(1).to_string();
        let settings = [
            ("statement_timeout", milliseconds(statement_timeout)),
            ("lock_timeout", milliseconds(lock_timeout)),
        ];
        self.connect_with(settings).await
    }

    /// Opens a connection on which no statement can write.
    pub async fn connect_read_only(&self) -> Result<Connection, PostgresError> {
        let milliseconds = self.call_timeout.as_millis().max(1);
        let settings = [
            ("statement_timeout", milliseconds.to_string()),
            // A lock table that is being altered must not delay the other tables for long.
            ("lock_timeout", (milliseconds / 4).max(1).to_string()),
            ("default_transaction_read_only", "on".to_owned()),
        ];
        self.connect_with(settings).await
    }

    async fn connect_with<const N: usize>(
        &self,
        settings: [(&str, String); N],
    ) -> Result<Connection, PostgresError> {
        let options = self.options.clone().map_err(|reason| {
            let mut error = PostgresError::unusable(NodeState::Refused, reason.clone());
            error.call = CallError::NotSent { reason };
            error
        })?;
        let connecting = options.options(settings);
        match timeout(self.connect_timeout, connecting.connect()).await {
            Ok(Ok(inner)) => Ok(Connection {
                inner,
                call_timeout: self.call_timeout,
            }),
            Ok(Err(error)) => Err(PostgresError::connecting(&error)),
            Err(_) => Err(PostgresError {
                state: NodeState::Down,
                call: CallError::NotSent {
                    reason: Reason::ConnectionTimedOut,
                },
                code: None,
            }),
        }
    }
}

impl Connection {
    /// Runs a query and returns all its rows.
    pub async fn fetch<T>(&mut self, query: TypedQuery<T>) -> Result<Vec<T>, PostgresError>
    where
        T: Send + Unpin + for<'row> FromRow<'row, PgRow>,
    {
        within(self.call_timeout, query.fetch_all(&mut self.inner)).await
    }

    /// Whether the server still replies on this connection.
    pub async fn check_is_open(&mut self) -> bool {
        self.execute(statement("SELECT 1".to_owned())).await.is_ok()
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub async fn execute(&mut self, statement: Statement) -> Result<u64, PostgresError> {
        let executing = statement.execute(&mut self.inner);
        let result: PgQueryResult = within(self.call_timeout, executing).await?;
        Ok(result.rows_affected())
    }

    /// Runs a statement that may wait for a lock for `wait` and then has the usual timeout.
    pub async fn execute_within(
        &mut self,
        wait: Duration,
        statement: Statement,
    ) -> Result<(), PostgresError> {
        let executing = statement.execute(&mut self.inner);
        within(wait + self.call_timeout, executing).await.map(drop)
    }
}

/// A query with rows of type `T`.
pub type TypedQuery<T> = QueryAs<'static, Postgres, T, PgArguments>;
/// A statement without rows.
pub type Statement = Query<'static, Postgres, PgArguments>;

/// A query with rows of type `T`. `sql` consists of constants and quoted identifiers.
pub fn query<T>(sql: String) -> TypedQuery<T>
where
    T: for<'row> FromRow<'row, PgRow>,
{
    sqlx::query_as(AssertSqlSafe(sql))
}

/// A statement without rows. `sql` consists of constants and quoted identifiers.
pub fn statement(sql: String) -> Statement {
    sqlx::query(AssertSqlSafe(sql))
}

/// The server ends a statement after `limit`. The console waits a little longer, so that the
/// server's reply, after which the connection can still be used, is what it usually receives.
async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, PostgresError> {
    match timeout(limit + limit / 4, call).await {
        Ok(result) => result.map_err(|error| PostgresError::calling(&error, limit)),
        Err(_) => Err(PostgresError::timeout(limit)),
    }
}
