//! Bringing what was written to disk: soon for most, before the act for what cannot be taken back. On a thread of its own.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::log::{Log, Unsynced};
use super::volumes::Volumes;

/// What was written is on disk after so long: a machine that crashes forgets no more.
const SOON: Duration = Duration::from_millis(100);

/// Somebody who waits until all that was written is on disk.
type Waiter = oneshot::Sender<Result<(), String>>;

/// The log, and the thread that brings what is written to it to disk: started when there is something to do.
pub struct Shelf {
    log: Mutex<Log>,
    /// Where its files are.
    pub volumes: Volumes,
    /// How many full files are kept.
    keep: u32,
    thread: Mutex<Option<Sender<Option<Waiter>>>>,
    is_due: AtomicBool,
}

impl Shelf {
    /// For this log, whose files are there.
    pub fn new(log: Log, volumes: Volumes, keep: u32) -> Arc<Self> {
        Arc::new(Self {
            log: Mutex::new(log),
            volumes,
            keep,
            thread: Mutex::new(None),
            is_due: AtomicBool::new(false),
        })
    }

    /// How many bytes all files take at most: those that are full, and the one that is written.
    pub fn largest_total(&self) -> u64 {
        self.log().largest() * (u64::from(self.keep) + 1)
    }

    /// The log.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        // What a panic left half done, the file itself tells: it is looked at before each line.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was written: it is to be on disk soon.
    pub fn soon(self: &Arc<Self>) {
        if !self.is_due.swap(true, Ordering::AcqRel) && !self.ask(None) {
            self.is_due.store(false, Ordering::Release);
        }
    }

    /// Waits until all that was written is on disk.
    pub async fn now(self: &Arc<Self>) -> Result<(), String> {
        let (waiter, done) = oneshot::channel();
        let gone = || "the thread that writes to disk is gone".to_owned();
        if !self.ask(Some(waiter)) {
            return Err(gone());
        }
        done.await.unwrap_or_else(|_| Err(gone()))
    }

    fn ask(self: &Arc<Self>, waiter: Option<Waiter>) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (asks, asked) = channel();
            let shelf = Arc::downgrade(self);
            let started = thread::Builder::new()
                .name("audit".to_owned())
                .spawn(move || sync_when_asked(&asked, &shelf));
            *thread = started.is_ok().then_some(asks);
        }
        thread
            .as_ref()
            .is_some_and(|asks| asks.send(waiter).is_ok())
    }

    fn sync(&self) -> Result<(), String> {
        let (unsynced, settled) = {
            let mut log = self.log();
            let settled = log.settle();
            log.let_go();
            (log.unsynced(), settled)
        };
        if let Err(why) = settled {
            tracing::debug!("the end of an act is still to be written to the audit: {why:?}");
        }
        let synced = to_disk(&unsynced, &self.volumes).map_err(|why| {
            let path = self.volumes.current().display();
            format!("{path}: it does not reach the disk: {why}")
        });
        if let Err(why) = &synced {
            tracing::error!("audit: {why}");
        }
        self.log().synced(synced.clone());
        if unsynced.is_another {
            throw_away_old_ones(&self.volumes, self.keep);
        }
        synced
    }
}

/// Ends when nobody can ask any more.
fn sync_when_asked(asked: &Receiver<Option<Waiter>>, shelf: &Weak<Shelf>) {
    while let Ok(first) = asked.recv() {
        let mut waiters: Vec<Waiter> = first.into_iter().collect();
        let end = Instant::now() + SOON;
        while waiters.is_empty() {
            match asked.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(more) => waiters.extend(more),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        waiters.extend(asked.try_iter().flatten());
        let Some(shelf) = shelf.upgrade() else { return };
        shelf.is_due.store(false, Ordering::Release);
        let synced = shelf.sync();
        for waiter in waiters {
            // Whoever asked may have hung up.
            let _gone = waiter.send(synced.clone());
        }
        if synced.is_err() || !shelf.log().is_settled() {
            // Once more, soon.
            shelf.soon();
        }
    }
}

fn to_disk(unsynced: &Unsynced, volumes: &Volumes) -> io::Result<()> {
    for file in &unsynced.files {
        file.sync_data()?;
    }
    if unsynced.is_another {
        volumes.folder()?.sync()?;
    }
    Ok(())
}

fn throw_away_old_ones(volumes: &Volumes, keep: u32) {
    let all = volumes.all_full();
    let (all, folder) = match all.and_then(|all| Ok((all, volumes.folder()?))) {
        Ok(found) => found,
        Err(why) => return tracing::warn!("the full files of the audit cannot be listed: {why}"),
    };
    let too_many = all.len().saturating_sub(keep as usize);
    for name in &all[..too_many] {
        let path = volumes.path_of(name);
        match folder.remove(name) {
            Ok(()) => {
                tracing::info!(file = %path.display(), "the oldest file of the audit was removed")
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => {
                tracing::warn!(file = %path.display(), "an old file of the audit cannot be removed: {why}")
            }
        }
    }
}
