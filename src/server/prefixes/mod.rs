//! Stores the prefixes under which locks were found, so that they are followed after a restart.
//!
//! Prefixes are loaded once per group and written in batches. If the database is unavailable, the
//! console continues with what it finds and retries.

mod store;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::operations::Operations;
use super::storage::StorageError;
use crate::server::stores::Group;
pub use store::PrefixStore;

/// How often changes are written.
const SYNC_INTERVAL: Duration = Duration::from_secs(3);
/// How often the prefixes of existing locks are recorded as seen.
const EXISTING_INTERVAL: Duration = Duration::from_mins(1);

/// Loads and writes the prefixes of all groups until `stop` is cancelled.
pub async fn sync_prefixes(
    store: PrefixStore,
    operations: Arc<Operations>,
    stop: CancellationToken,
) {
    let mut sync = PrefixSync {
        store,
        operations,
        next_existing_at: Instant::now() + EXISTING_INTERVAL,
        has_failed: false,
    };
    loop {
        // Read before the sync, so that there is a last sync after `stop`.
        let is_over = stop.is_cancelled();
        let synced = sync.sync_once().await;
        sync.log_failure(synced.err());
        if is_over {
            return;
        }
        let _over = stop.run_until_cancelled(sleep(SYNC_INTERVAL)).await;
    }
}

struct PrefixSync {
    store: PrefixStore,
    operations: Arc<Operations>,
    next_existing_at: Instant,
    has_failed: bool,
}

impl PrefixSync {
    async fn sync_once(&mut self) -> Result<(), StorageError> {
        self.record_existing().await;
        for group in self.operations.running_groups().iter() {
            self.sync_group(group).await?;
        }
        Ok(())
    }

    /// Records the prefixes of existing locks as seen, from time to time: a lock can be held for
    /// longer than a prefix without locks is kept.
    async fn record_existing(&mut self) {
        if Instant::now() < self.next_existing_at {
            return;
        }
        self.next_existing_at = Instant::now() + EXISTING_INTERVAL;
        let groups = self.operations.running_groups();
        let recording = self.operations.index().query(move |index, now| {
            for group in groups.iter() {
                let locks = index.locks_of(&group.config.name);
                let keys = locks.map(|lock| &lock.id.key);
                group.prefixes().record_existing(keys, now);
            }
        });
        // Fails only during shutdown.
        let _stopping = recording.await;
    }

    async fn sync_group(&self, group: &Group) -> Result<(), StorageError> {
        let (name, prefixes) = (&group.config.name, group.prefixes());
        if !prefixes.is_loaded() {
            prefixes.add_stored(self.store.load(name).await?);
            self.operations.index().remove_excluded(name).await;
        } else if self.store.is_shared() {
            let before = prefixes.excluded();
            prefixes.adopt_settings(self.store.load_settings(name).await?);
            if prefixes.excluded() != before {
                self.operations.index().remove_excluded(name).await;
            }
        }
        let changes = prefixes.take_changes();
        let written = self.store.write(name, &changes).await;
        if written.is_err() {
            prefixes.return_changes(changes);
        }
        written
    }

    /// Logs the first of several failures, and when they end.
    fn log_failure(&mut self, error: Option<StorageError>) {
        match (&error, self.has_failed) {
            (Some(error), false) => tracing::warn!(
                "the learned prefixes cannot be read or written: {error}. Check `[storage]`; until then they are lost when the console restarts"
            ),
            (None, true) => tracing::info!("the learned prefixes are stored again"),
            (Some(_), true) | (None, false) => {}
        }
        self.has_failed = error.is_some();
    }
}
