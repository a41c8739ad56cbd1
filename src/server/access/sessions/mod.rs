//! Sessions of signed-in users.
//!
//! Sessions are stored in the database, so they survive a restart and are shared by all instances
//! on that database. While the database is unavailable, cached sessions remain valid for reading;
//! sessions that were ended here stay ended, and are deleted once the database is back. An instance
//! with its own SQLite database keeps sessions in memory if it cannot write them, so that users can
//! still sign in when the disk is full.
//!
//! This module uses the store trait and record type of `tower-sessions`, but not its layer: the
//! cookie's name depends on HTTPS, and the layer turns a failure to save into an empty 500
//! response.

mod credential_version;
mod memory_store;
mod sql_store;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use time::OffsetDateTime;
use tower_sessions_core::SessionStore as _;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::Error;

pub use self::credential_version::CredentialVersion;
use self::memory_store::MemorySessionStore;
use self::sql_store::SqlSessionStore;
use super::secret::{SecretDigest, generate_secret};
use crate::domain::{OperationError, Timestamp};
use crate::server::config::access::SessionsConfig;
use crate::server::storage::{Storage, StorageError};

/// The maximum number of sessions per user.
const MAX_SESSIONS_PER_USER: usize = 50;
/// The maximum number of deletions that are queued while the database is unavailable.
const MAX_PENDING_DELETIONS: usize = 10_000;
/// If the clock was set back by more than this, the age of sessions is unknown and they expire.
const MAX_CLOCK_STEP: Duration = Duration::from_mins(1);
/// The last use is written at most this many times per idle timeout, to limit database writes.
const WRITES_PER_IDLE_TIMEOUT: u32 = 60;

/// Identifies a session. It does not contain the secret of the cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey {
    id: Id,
    credential_version: CredentialVersion,
}

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

impl SessionKey {
    /// The version of the credential that was used to sign in.
    pub fn credential_version(&self) -> CredentialVersion {
        self.credential_version
    }
}

/// A valid session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSession {
    pub key: SessionKey,
    /// The user.
    pub user: String,
    /// Whether the database confirmed it just now. False if it came from the cache.
    pub is_verified: bool,
}

/// All sessions.
pub struct Sessions {
    config: SessionsConfig,
    storage: Storage,
    store: SqlSessionStore,
    /// Sessions as last read from the database.
    cache: MemorySessionStore,
    /// Sessions that could not be written to a database that no other instance uses.
    fallback: MemorySessionStore,
    /// Ended sessions that could not be deleted yet.
    pending_deletions: Mutex<Vec<PendingDeletion>>,
    /// Whether the last lookup failed, so that the failure is logged once.
    is_storage_down: AtomicBool,
}

/// A session, or all sessions of a user, to delete.
#[derive(Clone, PartialEq, Eq)]
enum PendingDeletion {
    Session(Id),
    AllOfUser(String),
}

impl Sessions {
    pub fn new(config: SessionsConfig, storage: Storage) -> Self {
        Self {
            config,
            store: SqlSessionStore(storage.clone()),
            storage,
            cache: MemorySessionStore::default(),
            fallback: MemorySessionStore::default(),
            pending_deletions: Mutex::default(),
            is_storage_down: AtomicBool::default(),
        }
    }

    /// The maximum age of a session.
    pub fn max_age(&self) -> Duration {
        self.config.max_age
    }

    /// Creates a session with a lifetime of `max` or `max_session_age`, whichever is shorter.
    /// Returns the secret for the cookie, which is not stored.
    pub async fn create(
        &self,
        user: &str,
        credential_version: CredentialVersion,
        max: Duration,
        now: Timestamp,
    ) -> Result<String, OperationError> {
        let secret = generate_secret();
        let expires_at = now.plus(max.min(self.config.max_age));
        let data = [
            ("person", json!(user)),
            ("stamp", json!(credential_version.to_string())),
            ("ends", json!(expires_at.millis())),
        ];
        let mut record = Record {
            id: session_id(&secret),
            data: data.map(|(name, value)| (name.to_owned(), value)).into(),
            expiry_date: from_millis(now.plus(self.config.idle_timeout).min(expires_at).millis()),
        };
        let written = match self.flush_pending_deletions().await {
            Ok(()) => self.store.create(&mut record).await,
            Err(error) => Err(error),
        };
        match written {
            // Cached immediately: the database may become unavailable before the first request.
            Ok(()) => drop(self.cache.save(&record).await),
            // In memory, other instances would not know the session, and users would be signed out
            // at random.
            Err(error) if self.storage.is_shared() => {
                self.record_storage_state(Some(&error));
                return Err(StorageError::operation_error());
            }
            Err(error) => {
                tracing::warn!(
                    "session not written to the database; it is kept in memory: {error}"
                );
                drop(self.fallback.create(&mut record).await);
            }
        }
        Ok(secret)
    }

    /// Loads the session of a cookie, if it is valid, and records its use.
    pub async fn load(
        &self,
        secret: &str,
        now: Timestamp,
    ) -> Result<Option<LoadedSession>, OperationError> {
        let (found, is_verified) = self.look_up(&session_id(secret)).await?;
        let Some(record) = found.filter(|record| !self.is_expired(record, now)) else {
            return Ok(None);
        };
        let Some((user, credential_version, expires_at)) = decode(&record) else {
            return Ok(None);
        };
        let key = SessionKey {
            id: record.id,
            credential_version,
        };
        if is_verified {
            self.record_use(record, expires_at, now).await;
        }
        Ok(Some(LoadedSession {
            key,
            user,
            is_verified,
        }))
    }

    /// Whether a session is still valid. Does not count as use. False if this cannot be determined.
    pub async fn check_valid(&self, key: &SessionKey, now: Timestamp) -> bool {
        let found = self.look_up(&key.id).await;
        found.is_ok_and(|(found, _)| found.is_some_and(|record| !self.is_expired(&record, now)))
    }

    pub async fn end(&self, key: &SessionKey) {
        self.delete([PendingDeletion::Session(key.id)]).await;
    }

    /// Ends the session of a cookie without loading it, for when the database is unavailable.
    pub async fn end_by_secret(&self, secret: &str) {
        self.delete([PendingDeletion::Session(session_id(secret))])
            .await;
    }

    /// Ends all sessions of a user.
    pub async fn end_all_of_user(&self, user: &str) {
        self.delete([PendingDeletion::AllOfUser(user.to_owned())])
            .await;
    }

    /// Looks up a session. The flag is false if it came from the cache.
    async fn look_up(&self, id: &Id) -> Result<(Option<Record>, bool), OperationError> {
        // First, because the database does not have these sessions.
        if let Ok(Some(record)) = self.fallback.load(id).await {
            return Ok((Some(record), true));
        }
        let lookup = match self.flush_pending_deletions().await {
            Ok(()) => self.store.load(id).await,
            Err(error) => Err(error),
        };
        self.record_storage_state(lookup.as_ref().err());
        match lookup {
            Ok(Some(record)) => {
                drop(self.cache.save(&record).await);
                Ok((Some(record), true))
            }
            Ok(None) => {
                drop(self.cache.delete(id).await);
                Ok((None, true))
            }
            // A cached session is good enough for reading. Without one, the request cannot be
            // authenticated.
            Err(_) => match self.cache.load(id).await {
                Ok(Some(record)) => Ok((Some(record), false)),
                _ => Err(StorageError::operation_error()),
            },
        }
    }

    fn record_storage_state(&self, error: Option<&Error>) {
        let was_down = self
            .is_storage_down
            .swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_down => {
                let url = self.storage.url();
                tracing::error!(
                    "cannot read sessions from {url}; cached sessions are read-only: {error}"
                );
            }
            None if was_down => tracing::info!("sessions can be read again"),
            Some(_) | None => {}
        }
    }

    async fn record_use(&self, mut record: Record, expires_at: Timestamp, now: Timestamp) {
        let expiry = from_millis(now.plus(self.config.idle_timeout).min(expires_at).millis());
        // Limits database writes: not every request updates the row.
        if expiry - record.expiry_date < self.config.idle_timeout / WRITES_PER_IDLE_TIMEOUT {
            return;
        }
        record.expiry_date = expiry;
        drop(self.cache.save(&record).await);
        // The database has no row that an update could change.
        let is_unstored = matches!(self.fallback.load(&record.id).await, Ok(Some(_)));
        let is_written = !is_unstored && self.store.save(&record).await.is_ok();
        if !is_written && !self.storage.is_shared() {
            drop(self.fallback.save(&record).await);
        }
    }

    fn is_expired(&self, record: &Record, now: Timestamp) -> bool {
        let remaining = record.expiry_date - from_millis(now.millis());
        // A remaining time above the idle timeout is only possible if the clock was set back.
        remaining <= Duration::ZERO || remaining > self.config.idle_timeout + MAX_CLOCK_STEP
    }

    async fn delete(&self, deletions: impl IntoIterator<Item = PendingDeletion>) {
        for deletion in deletions {
            match &deletion {
                PendingDeletion::Session(id) => {
                    drop(self.cache.delete(id).await);
                    drop(self.fallback.delete(id).await);
                }
                PendingDeletion::AllOfUser(user) => {
                    self.cache.delete_all_of_user(user);
                    self.fallback.delete_all_of_user(user);
                }
            }
            let mut pending = self.pending_deletions.lock();
            // Bounds the memory. Beyond the limit, a session that could not be deleted stays valid
            // until it expires.
            if pending.len() < MAX_PENDING_DELETIONS && !pending.contains(&deletion) {
                pending.push(deletion);
            }
        }
        // A failed deletion is retried before the next lookup, so an ended session is never loaded.
        drop(self.flush_pending_deletions().await);
    }

    async fn flush_pending_deletions(&self) -> Result<(), Error> {
        loop {
            let Some(next) = self.pending_deletions.lock().first().cloned() else {
                return Ok(());
            };
            match &next {
                PendingDeletion::Session(id) => self.store.delete(id).await?,
                PendingDeletion::AllOfUser(user) => self.store.delete_all_of_user(user).await?,
            }
            // Removed only after success, so a failure keeps it queued.
            self.pending_deletions.lock().retain(|other| *other != next);
        }
    }
}

/// The id of a session in the stores: a digest, so no store contains the cookie's secret.
fn session_id(secret: &str) -> Id {
    let digest = SecretDigest::of_secret(secret);
    let first = digest.as_bytes().first_chunk().copied();
    Id(i128::from_be_bytes(first.unwrap_or_default()))
}

fn user_of(record: &Record) -> Option<&str> {
    record.data.get("person")?.as_str()
}

/// Decodes the user, the credential version and the latest expiry of a record.
fn decode(record: &Record) -> Option<(String, CredentialVersion, Timestamp)> {
    let credential_version = CredentialVersion::parse(record.data.get("stamp")?.as_str()?)?;
    let expires_at = record.data.get("ends")?.as_i64()?;
    let user = user_of(record)?.to_owned();
    Some((user, credential_version, Timestamp::from_millis(expires_at)))
}

fn from_millis(millis: i64) -> OffsetDateTime {
    let nanos = i128::from(millis) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn to_millis(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
