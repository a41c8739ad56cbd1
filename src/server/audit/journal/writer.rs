//! The task that writes what waits: everything that waits in one transaction, and tries again what could not be written.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::timeout;

use super::{Journal, Waiting};
use crate::server::audit::chain::Head;
use crate::server::audit::entry::{self, Entry, EntryKind};
use crate::server::audit::instances;
use crate::server::storage::{StorageError, statements};

/// How many entries are written at once.
const MAX_BATCH: usize = 500;
/// How soon what could not be written is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The task that writes.
pub(super) struct Writer {
    journal: Arc<Journal>,
    /// Entries that may be there, though nobody said so, and where the chain stands if they are.
    unsure: Option<(Head, Vec<Waiting>)>,
    beat_at: Option<Instant>,
}

impl Writer {
    pub(super) fn new(journal: Arc<Journal>) -> Self {
        Self {
            journal,
            unsure: None,
            beat_at: None,
        }
    }

    pub(super) async fn run(mut self) {
        let mut pause = instances::BEAT;
        loop {
            let _rung_or_not = timeout(pause, self.journal.rung.notified()).await;
            let is_closed = self.journal.is_closed.load(Ordering::Acquire);
            let written = self.write_all().await;
            self.journal.queue().is_writing = false;
            self.journal.note(&written);
            if is_closed && (written.is_err() || self.journal.len() == 0) {
                if written.is_ok() && self.beat_at.is_some() {
                    self.journal.leave().await;
                }
                return;
            }
            pause = match written {
                Ok(()) => instances::BEAT,
                Err(_) => RETRY_PAUSE,
            };
        }
    }

    async fn write_all(&mut self) -> Result<(), StorageError> {
        loop {
            self.look_up_what_is_unsure().await?;
            let batch = self.take();
            let is_due = |at: Instant| at.elapsed() >= instances::BEAT;
            // Who has begun nothing need not be known to live.
            let begins = batch
                .iter()
                .any(|waiting| waiting.entry.kind == EntryKind::Begin);
            let has_beat = self.beat_at.map_or(begins, is_due);
            if batch.is_empty() && !has_beat {
                return Ok(());
            }
            self.write(batch, has_beat).await?;
        }
    }

    /// The next entries; those whose operation nobody waits for any more are not written.
    fn take(&self) -> Vec<Waiting> {
        let mut queue = self.journal.queue();
        let mut batch = Vec::new();
        while batch.len() < MAX_BATCH
            && let Some(waiting) = queue.waiting.pop_front()
        {
            if waiting
                .waits
                .as_ref()
                .is_none_or(|waits| !waits.is_closed())
            {
                batch.push(waiting);
            }
        }
        queue.is_writing = !batch.is_empty();
        batch
    }

    async fn write(&mut self, batch: Vec<Waiting>, has_beat: bool) -> Result<(), StorageError> {
        let journal = &self.journal;
        let last = batch.last().map_or(0, |waiting| waiting.place);
        let entries: Arc<[Entry]> = batch.iter().map(|waiting| waiting.entry.clone()).collect();
        let is_synced = has_beat || batch.iter().any(|waiting| waiting.is_synced);
        let (instance, tried) = (journal.instance.clone(), Arc::new(Mutex::new(None)));
        let trying = Arc::clone(&tried);
        let run = statements(move |db: &mut sqlx::AnyConnection| {
            let (entries, instance, trying) =
                (Arc::clone(&entries), instance.clone(), Arc::clone(&trying));
            Box::pin(async move {
                if has_beat {
                    instances::beat(db, &instance).await?;
                }
                let head = match entries.is_empty() {
                    true => entry::head(db).await?,
                    false => entry::append(db, &entries).await?,
                };
                *trying.lock() = Some(head.clone());
                Ok::<Head, sqlx::Error>(head)
            })
        });
        let written = match is_synced {
            true => journal.storage.write_synced(run).await,
            false => journal.storage.write(run).await,
        };
        match written {
            Ok(head) => {
                *journal.head.lock() = Some(head);
                journal.note(&Ok(()));
                journal
                    .written
                    .send_modify(|written| *written = last.max(*written));
                if has_beat {
                    self.beat_at = Some(Instant::now());
                }
                for waits in batch.into_iter().filter_map(|waiting| waiting.waits) {
                    // Nobody who waits any longer has done anything.
                    let _gone = waits.send(Ok(()));
                }
                Ok(())
            }
            Err(why) => {
                let left = refuse(batch, &why);
                match tried.lock().take() {
                    Some(head) if matches!(why, StorageError::Unavailable(_)) => {
                        self.unsure = Some((head, left));
                    }
                    _ => self.give_back(left),
                }
                Err(why)
            }
        }
    }

    /// Whether entries whose commit was not confirmed are there.
    async fn look_up_what_is_unsure(&mut self) -> Result<(), StorageError> {
        let Some((head, _)) = &self.unsure else {
            return Ok(());
        };
        let number = i64::try_from(head.number).unwrap_or(i64::MAX);
        let mut db = self.journal.storage.read().await?;
        let found = sqlx::query("SELECT line FROM audit_entry WHERE number = $1");
        let found = found.bind(number).fetch_optional(&mut *db).await?;
        let line: Option<String> = found.map(|row| sqlx::Row::try_get(&row, 0)).transpose()?;
        let is_there = line.is_some_and(|line| line.contains(head.digits()));
        if let Some((_, left)) = self.unsure.take()
            && !is_there
        {
            self.give_back(left);
        }
        Ok(())
    }

    fn give_back(&self, left: Vec<Waiting>) {
        let mut queue = self.journal.queue();
        for waiting in left.into_iter().rev() {
            queue.waiting.push_front(waiting);
        }
    }
}

/// Tells those who wait that it cannot be written; the others still must be.
fn refuse(batch: Vec<Waiting>, why: &StorageError) -> Vec<Waiting> {
    let mut left = Vec::new();
    for mut waiting in batch {
        match waiting.waits.take() {
            Some(waits) => drop(waits.send(Err(why.clone()))),
            None => left.push(waiting),
        }
    }
    left
}
