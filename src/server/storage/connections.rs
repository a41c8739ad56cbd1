//! Opens the connections to the database: one for writing, a small pool for reading.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AnyPool, ConnectOptions as _, Executor as _};
use tokio::time::timeout;

use super::options::connect_options;
use super::{StorageError, migrations, sqlite};
use crate::server::config::StorageUrl;

/// Connections in the read pool.
const MAX_READERS: u32 = 4;
/// How long a read waits for a pooled connection, and a connection attempt for the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// After a failure to open the database, further attempts within this time fail with the same
/// error.
const REOPEN_INTERVAL: Duration = Duration::from_millis(250);

/// The connections to one database.
pub struct Connections {
    /// The location.
    pub url: StorageUrl,
    checks_on_open: bool,
    readers: Mutex<Option<AnyPool>>,
    last_failure: Mutex<Option<(Instant, StorageError)>>,
}

impl Connections {
    /// Creates the connections without opening any.
    pub fn new(url: StorageUrl, checks_on_open: bool) -> Self {
        Self {
            url,
            checks_on_open,
            readers: Mutex::default(),
            last_failure: Mutex::default(),
        }
    }

    /// Whether the database is PostgreSQL.
    pub fn is_postgres(&self) -> bool {
        matches!(self.url, StorageUrl::Postgres(_))
    }

    /// The read pool, while the database is open.
    pub fn readers(&self) -> Option<AnyPool> {
        self.readers.lock().clone()
    }

    /// Opens the database, migrates its schema and returns the connection for writing.
    pub async fn open(&self) -> Result<AnyConnection, StorageError> {
        if let Some((at, error)) = &*self.last_failure.lock()
            && at.elapsed() < REOPEN_INTERVAL
        {
            return Err(error.clone());
        }
        install_default_drivers();
        let opened = match &self.url {
            StorageUrl::Sqlite(_) => {
                let path = self.url.path().unwrap_or_default();
                sqlite::open(&path, self.checks_on_open).await
            }
            StorageUrl::Postgres(url) => open_postgres(url).await,
        };
        let (db, options) = opened.inspect_err(|error| {
            *self.last_failure.lock() = Some((Instant::now(), error.clone()));
        })?;
        *self.last_failure.lock() = None;
        *self.readers.lock() = Some(self.pool(options));
        Ok(db)
    }

    fn pool(&self, options: AnyConnectOptions) -> AnyPool {
        let is_postgres = self.is_postgres();
        AnyPoolOptions::new()
            .max_connections(MAX_READERS)
            .acquire_timeout(CONNECT_TIMEOUT)
            .after_connect(move |db, _| {
                Box::pin(async move {
                    if !is_postgres {
                        db.execute(sqlite::READER_PRAGMAS).await?;
                    }
                    Ok(())
                })
            })
            .connect_lazy_with(options)
    }

    /// Closes the read pool. The next write opens everything again.
    pub async fn close(&self) {
        let readers = self.readers.lock().take();
        if let Some(readers) = readers {
            // Closing waits for running reads, which may take long.
            tokio::spawn(async move { readers.close().await });
        }
    }
}

async fn open_postgres(url: &str) -> Result<(AnyConnection, AnyConnectOptions), StorageError> {
    let options = connect_options(url)?;
    let opening = async {
        let mut db = options.connect().await?;
        migrations::run(&mut db, true).await?;
        Ok::<_, sqlx::Error>(db)
    };
    match timeout(CONNECT_TIMEOUT, opening).await {
        Ok(opened) => Ok((opened?, options)),
        Err(_) => Err(StorageError::Unavailable(format!(
            "no connection within {CONNECT_TIMEOUT:?}"
        ))),
    }
}
