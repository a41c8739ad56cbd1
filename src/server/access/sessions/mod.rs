//! Sessions of people who signed in.
//!
//! They are in storage, so they outlive the console, and several consoles on one database have the same. Where storage cannot be
//! asked, sessions that were seen here lately go on for reading, and what was ended here stays ended and is deleted as soon as it
//! can be. A console that has its storage alone (SQLite) keeps in memory what it cannot write there: a full disk keeps nobody out.
//!
//! Of `tower-sessions` this has the trait of its stores and its record, not its layer: the name of the cookie depends on how the
//! browser came, and a response whose session could not be saved would become an empty 500.

mod memory;
mod stamp;
mod stored;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use time::OffsetDateTime;
use tower_sessions_core::SessionStore as _;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::Error;

use self::memory::MemoryStore;
pub use self::stamp::Stamp;
use self::stored::SqlStore;
use super::secret::{SecretDigest, mint};
use crate::domain::{Fault, Timestamp};
use crate::server::config::access::SessionsConfig;
use crate::server::storage::{Storage, StorageError};

/// So many sessions of one person.
const MAX_OF_ONE: usize = 50;
/// So many ends are kept until they can be written.
const MAX_ENDED: usize = 10_000;
/// A clock that goes back further than this makes the age of sessions unknown: they end.
const LARGEST_STEP: Duration = Duration::from_mins(1);
/// A use is written down when the last one that was is older than this part of what a session may be idle.
const USES_PER_IDLE: u32 = 60;

/// A session, for everybody but the browser that has it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey {
    id: Id,
    stamp: Stamp,
}

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

impl SessionKey {
    /// What let somebody in when it began.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }
}

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Which.
    pub key: SessionKey,
    /// Whose it is.
    pub user: String,
    /// It was just looked up, and not only known from before.
    pub is_confirmed: bool,
}

/// Everybody who is signed in.
pub struct Sessions {
    config: SessionsConfig,
    storage: Storage,
    stored: SqlStore,
    /// Sessions as storage had them when they were last looked up.
    seen: MemoryStore,
    /// Sessions that could not be written to a storage that this console has alone.
    unstored: MemoryStore,
    /// What was ended and could not be deleted yet.
    ended: Mutex<Vec<Ended>>,
    /// Storage could not be asked the last time; said once in the log.
    is_away: AtomicBool,
}

/// What ends.
#[derive(Clone, PartialEq, Eq)]
enum Ended {
    One(Id),
    AllOf(String),
}

impl Sessions {
    /// Those in this storage.
    pub fn new(config: SessionsConfig, storage: Storage) -> Self {
        Self {
            config,
            stored: SqlStore(storage.clone()),
            storage,
            seen: MemoryStore::default(),
            unstored: MemoryStore::default(),
            ended: Mutex::default(),
            is_away: AtomicBool::default(),
        }
    }

    /// How long a session lasts at most.
    pub fn longest(&self) -> Duration {
        self.config.longest
    }

    /// Begins one that ends after `max`, or earlier as all do, and says what the browser is to have for it: nobody else ever
    /// hears that.
    pub async fn create(
        &self,
        user: &str,
        stamp: Stamp,
        max: Duration,
        now: Timestamp,
    ) -> Result<String, Fault> {
        let secret = mint();
        let ends = now.plus(max.min(self.config.longest));
        let data = [
            ("person", json!(user)),
            ("stamp", json!(stamp.to_string())),
            ("ends", json!(ends.millis())),
        ];
        let mut record = Record {
            id: id_of(&secret),
            data: data.map(|(name, value)| (name.to_owned(), value)).into(),
            expiry_date: at_millis(now.plus(self.config.idle).min(ends).millis()),
        };
        let written = match self.delete_ended().await {
            Ok(()) => self.stored.create(&mut record).await,
            Err(why) => Err(why),
        };
        match written {
            Ok(()) => drop(self.seen.save(&record).await),
            Err(why) if self.storage.is_shared() => {
                self.note_away(Some(&why));
                return Err(StorageError::fault());
            }
            Err(why) => {
                tracing::warn!("a session is kept in memory only: {why}");
                drop(self.unstored.create(&mut record).await);
            }
        }
        Ok(secret)
    }

    /// The session that somebody's browser has, if it goes on. It is in use then.
    pub async fn load(&self, secret: &str, now: Timestamp) -> Result<Option<Loaded>, Fault> {
        let (found, is_confirmed) = self.find(&id_of(secret)).await?;
        let Some(record) = found.filter(|record| !self.is_over(record, now)) else {
            return Ok(None);
        };
        let Some((user, stamp, ends)) = read(&record) else {
            return Ok(None);
        };
        let key = SessionKey {
            id: record.id,
            stamp,
        };
        if is_confirmed {
            self.note_use(record, ends, now).await;
        }
        Ok(Some(Loaded {
            key,
            user,
            is_confirmed,
        }))
    }

    /// Whether a session goes on, as far as that can be told. Asking does not count as use.
    pub async fn goes_on(&self, key: &SessionKey, now: Timestamp) -> bool {
        let found = self.find(&key.id).await;
        found.is_ok_and(|(found, _)| found.is_some_and(|record| !self.is_over(&record, now)))
    }

    /// Ends a session.
    pub async fn end(&self, key: &SessionKey) {
        self.end_all([Ended::One(key.id)]).await;
    }

    /// Ends the session that somebody's browser has where nobody can tell whose it is.
    pub async fn end_unseen(&self, secret: &str) {
        self.end_all([Ended::One(id_of(secret))]).await;
    }

    /// Ends every session of a person.
    pub async fn end_all_of(&self, user: &str) {
        self.end_all([Ended::AllOf(user.to_owned())]).await;
    }

    /// The session, and whether it was looked up just now.
    async fn find(&self, id: &Id) -> Result<(Option<Record>, bool), Fault> {
        if let Ok(Some(record)) = self.unstored.load(id).await {
            return Ok((Some(record), true));
        }
        let looked_up = match self.delete_ended().await {
            Ok(()) => self.stored.load(id).await,
            Err(why) => Err(why),
        };
        self.note_away(looked_up.as_ref().err());
        match looked_up {
            Ok(Some(record)) => {
                drop(self.seen.save(&record).await);
                Ok((Some(record), true))
            }
            Ok(None) => {
                drop(self.seen.delete(id).await);
                Ok((None, true))
            }
            // Who is known from before may look; of others nothing can be said.
            Err(_) => match self.seen.load(id).await {
                Ok(Some(record)) => Ok((Some(record), false)),
                _ => Err(StorageError::fault()),
            },
        }
    }

    fn note_away(&self, why: Option<&Error>) {
        let was_away = self.is_away.swap(why.is_some(), Ordering::Relaxed);
        match why {
            Some(why) if !was_away => {
                let url = self.storage.url();
                tracing::error!("sessions cannot be looked up in {url}: {why}");
            }
            None if was_away => tracing::info!("sessions can be looked up again"),
            Some(_) | None => {}
        }
    }

    async fn note_use(&self, mut record: Record, ends: Timestamp, now: Timestamp) {
        let expiry = at_millis(now.plus(self.config.idle).min(ends).millis());
        if expiry - record.expiry_date < self.config.idle / USES_PER_IDLE {
            return;
        }
        record.expiry_date = expiry;
        drop(self.seen.save(&record).await);
        let is_unstored = matches!(self.unstored.load(&record.id).await, Ok(Some(_)));
        let is_written = !is_unstored && self.stored.save(&record).await.is_ok();
        if !is_written && !self.storage.is_shared() {
            drop(self.unstored.save(&record).await);
        }
    }

    fn is_over(&self, record: &Record, now: Timestamp) -> bool {
        let left = record.expiry_date - at_millis(now.millis());
        left <= Duration::ZERO || left > self.config.idle + LARGEST_STEP
    }

    async fn end_all(&self, those: impl IntoIterator<Item = Ended>) {
        for one in those {
            match &one {
                Ended::One(id) => {
                    drop(self.seen.delete(id).await);
                    drop(self.unstored.delete(id).await);
                }
                Ended::AllOf(person) => {
                    self.seen.delete_all_of(person);
                    self.unstored.delete_all_of(person);
                }
            }
            let mut ended = self.ended.lock();
            if ended.len() < MAX_ENDED && !ended.contains(&one) {
                ended.push(one);
            }
        }
        // What cannot be deleted now is before anything else is looked up.
        drop(self.delete_ended().await);
    }

    async fn delete_ended(&self) -> Result<(), Error> {
        loop {
            let Some(first) = self.ended.lock().first().cloned() else {
                return Ok(());
            };
            match &first {
                Ended::One(id) => self.stored.delete(id).await?,
                Ended::AllOf(person) => self.stored.delete_all_of(person).await?,
            }
            self.ended.lock().retain(|other| *other != first);
        }
    }
}

/// What storage knows a session by: no store ever sees what the browser has.
fn id_of(secret: &str) -> Id {
    let digest = SecretDigest::of(secret);
    let first = digest.bytes().first_chunk().copied();
    Id(i128::from_be_bytes(first.unwrap_or_default()))
}

fn person_of(record: &Record) -> Option<&str> {
    record.data.get("person")?.as_str()
}

/// Whose session it is, what let them in, and when it ends in any case.
fn read(record: &Record) -> Option<(String, Stamp, Timestamp)> {
    let stamp = Stamp::read(record.data.get("stamp")?.as_str()?)?;
    let ends = record.data.get("ends")?.as_i64()?;
    let person = person_of(record)?.to_owned();
    Some((person, stamp, Timestamp::from_millis(ends)))
}

fn at_millis(millis: i64) -> OffsetDateTime {
    let nanos = i128::from(millis) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn millis(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
