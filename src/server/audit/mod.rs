//! Who did what to which lock, why, and how it ended: written before the operation, completed after it. No audit, no operation.
//!
//! Owners extend and release their own locks all the same, and that is written when there is room.
//!
//! Entries are rows of the storage, each with the hash of the one before (`chain`, `entry`); several programs may write to one storage.
//! Whatever waits is written in one transaction (`journal`). What a killed program had written is there; what a crashed machine had
//! written is there but for the last two seconds, and all of what takes a lock from somebody else is.

mod asked;
pub mod chain;
mod chain_check;
mod checking;
mod entry;
mod heads;
mod instances;
mod journal;
mod killed;
mod line;
mod refusals;
mod retention;
mod search;
mod transfer;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

pub use asked::{Asked, By, End};
pub use search::Search;
pub use transfer::{ImportError, import};
pub use verify::{Finding, Verified, verify, verify_files};

use super::clock::Clock;
use super::config::AuditConfig;
use super::storage::Storage;
use crate::domain::{ActKind, Fault, Timestamp};
use journal::Journal;

/// How often it is looked whether counted refusals are to be written.
const BETWEEN_COUNTS: Duration = Duration::from_secs(1);

/// Where operations are written down; nothing where the audit is off. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Option<Arc<Handle>>);

/// Ends the task that writes when the last clone is dropped.
struct Handle(Arc<Journal>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close_down();
    }
}

/// An operation that was begun. Dropped without an end, it says that nobody saw how it ended.
pub struct OpenAct<'a> {
    written: Option<Written>,
    asked: Asked<'a>,
    began_at: Timestamp,
}

/// Where the beginning of an operation was written.
enum Written {
    Begun(Arc<Journal>, String),
    /// Nowhere: the whole of it is written once there is room.
    Later(Arc<Journal>),
}

impl Audit {
    /// As the configuration says. Nothing is opened before there is something to write.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(config: &AuditConfig, storage: Storage, clock: Clock) -> Self {
        let journal = || Journal::start(storage, clock, config.is_lenient);
        Self(config.on.then(|| Arc::new(Handle(journal()))))
    }

    /// Nothing is written down.
    pub fn off() -> Self {
        Self(None)
    }

    fn journal(&self) -> Option<&Arc<Journal>> {
        self.0.as_ref().map(|handle| &handle.0)
    }

    /// Before the program ends: waits a moment for what is still to be written.
    pub async fn settle(&self) {
        if let Some(journal) = self.journal() {
            journal.write_counted(true);
            journal.settle().await;
        }
    }

    /// Writes how many refusals there were that were only counted, whenever a minute of them is over; for ever.
    pub async fn write_what_is_counted(&self) {
        let Some(journal) = self.journal() else {
            return;
        };
        loop {
            sleep(BETWEEN_COUNTS).await;
            journal.write_counted(false);
        }
    }

    /// When the console starts: says in the log what will keep operations from being written down, and checks the chain.
    pub async fn check_storage(&self) {
        let Some(journal) = self.journal() else {
            return tracing::warn!("the audit is off: nobody will know who did what");
        };
        tracing::info!(storage = %journal.storage.url(), "operations are written to the audit");
        match journal.storage.read().await {
            Ok(_) => {
                // It is shown on the page of the audit, and logged where it finds something.
                let _shown_later = self.chain_check().await;
            }
            Err(why) => tracing::warn!(
                "operations will be refused, for the audit cannot be written: {why}. Let the user of the console write there, or \
                 name another `url` in [storage]; watching works without it"
            ),
        }
    }

    /// Before an operation: writes that it begins, or refuses it. What is done to somebody else's lock is on disk when this
    /// returns.
    ///
    /// # Errors
    /// [`Fault::AuditUnavailable`]: nothing may be done.
    pub async fn begin<'a>(&self, asked: Asked<'a>) -> Result<OpenAct<'a>, Fault> {
        let Some(journal) = self.journal() else {
            return Ok(OpenAct::unwritten(asked));
        };
        let (id, began_at) = (journal.next_id(), journal.clock.now());
        let is_forced = asked.act == ActKind::ForceRelease;
        let written = match journal.begin(&id, &asked, began_at, is_forced).await {
            Ok(()) => Written::Begun(Arc::clone(journal), id),
            Err(why) if journal.is_lenient && !is_forced => {
                tracing::debug!(act = asked.act.slug(), "not in the audit: {why}");
                return Ok(OpenAct::unwritten(asked));
            }
            // It is written when there is room.
            Err(why) if asked.is_done_unwritten() => {
                tracing::debug!(act = asked.act.slug(), "in the audit later: {why}");
                Written::Later(Arc::clone(journal))
            }
            Err(why) => {
                // It has paths and addresses in it, which are not for everybody who may act.
                tracing::warn!(
                    act = asked.act.slug(),
                    request.id = asked.by.request,
                    "refused, for it cannot be written to the audit: {why}"
                );
                let detail = "the server's log says why".to_owned();
                return Err(Fault::AuditUnavailable { detail });
            }
        };
        Ok(OpenAct {
            written: Some(written),
            asked,
            began_at,
        })
    }

    /// Writes that an operation was refused before anything was asked of a node, or counts it where there are many. It is refused
    /// also where that cannot be written.
    pub fn refused(&self, asked: &Asked<'_>, fault: &Fault) {
        if let Some(journal) = self.journal() {
            journal.refused(asked, fault);
        }
    }

    /// Writes something that was over as soon as it began.
    pub fn tell(&self, asked: &Asked<'_>, end: &End) {
        if let Some(journal) = self.journal() {
            journal.tell(asked, journal.clock.now(), end);
        }
    }
}

/// Before a command ends: waits a moment until what it did is written.
pub async fn settle_all() {
    Journal::settle_all().await;
}

impl Written {
    fn end(&self, asked: &Asked<'_>, began_at: Timestamp, end: &End) {
        match self {
            Self::Begun(journal, id) => journal.end(id, asked, began_at, end),
            Self::Later(journal) => journal.tell(asked, began_at, end),
        }
    }
}

impl<'a> OpenAct<'a> {
    fn unwritten(asked: Asked<'a>) -> Self {
        Self {
            written: None,
            asked,
            began_at: Timestamp::from_millis(0),
        }
    }

    /// Writes how it ended.
    pub fn end(mut self, end: &End) {
        if let Some(written) = self.written.take() {
            written.end(&self.asked, self.began_at, end);
        }
    }
}

impl Drop for OpenAct<'_> {
    fn drop(&mut self) {
        if let Some(written) = self.written.take() {
            let why = "nobody waited for its end: the client hung up, or the console was stopped";
            let end = End::unknown(why.to_owned(), Vec::new());
            written.end(&self.asked, self.began_at, &end);
        }
    }
}
