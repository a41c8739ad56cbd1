//! How connections to the database are opened: one to write with, a few to read with.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AnyPool, ConnectOptions as _, Executor as _};
use tokio::time::timeout;

use super::options::quiet;
use super::{StorageError, migrations, sqlite};
use crate::server::config::StorageUrl;

/// How many connections read at the same time.
const MAX_READERS: u32 = 4;
/// How long a reader waits for one of them, and a connection for its server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// After it could not be opened, so long nobody tries again: whoever asks meanwhile is told at once.
const PAUSE: Duration = Duration::from_millis(250);

/// The connections to one database.
pub struct Connections {
    /// Where it is.
    pub url: StorageUrl,
    is_checked: bool,
    readers: Mutex<Option<AnyPool>>,
    failed: Mutex<Option<(Instant, StorageError)>>,
}

impl Connections {
    /// None is open yet.
    pub fn new(url: StorageUrl, is_checked: bool) -> Self {
        Self {
            url,
            is_checked,
            readers: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// Whether it is a server that several consoles share.
    pub fn is_postgres(&self) -> bool {
        matches!(self.url, StorageUrl::Postgres(_))
    }

    /// The connections for reading, while the database is open.
    pub fn readers(&self) -> Option<AnyPool> {
        self.readers.lock().clone()
    }

    /// Opens the database, brings its schema up to date and answers the connection to write with.
    pub async fn open(&self) -> Result<AnyConnection, StorageError> {
        if let Some((at, why)) = &*self.failed.lock()
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        install_default_drivers();
        let opened = match &self.url {
            StorageUrl::Sqlite(_) => {
                let path = self.url.path().unwrap_or_default();
                sqlite::open(&path, self.is_checked).await
            }
            StorageUrl::Postgres(url) => postgres(url).await,
        };
        let (db, options) = opened.inspect_err(|why| {
            *self.failed.lock() = Some((Instant::now(), why.clone()));
        })?;
        *self.failed.lock() = None;
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
                        db.execute(sqlite::FOR_READING).await?;
                    }
                    Ok(())
                })
            })
            .connect_lazy_with(options)
    }

    /// Closes what reads; the next write opens everything again.
    pub async fn close(&self) {
        let readers = self.readers.lock().take();
        if let Some(readers) = readers {
            // Whoever reads ends that first, and may take long.
            tokio::spawn(async move { readers.close().await });
        }
    }
}

async fn postgres(url: &str) -> Result<(AnyConnection, AnyConnectOptions), StorageError> {
    let options = quiet(url)?;
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
