//! The audit log: every operation with its principal, lock, reason and outcome. An entry is written
//! before the operation and completed after it; if it cannot be written, the operation is rejected.
//!
//! Extends and releases by the owner are carried out nevertheless, and recorded later.
//!
//! Entries are database rows, each with the hash of the previous one (`chain`, `entry`). Several
//! processes may write to one database. All queued entries are written in one transaction
//! (`journal`). Entries survive a kill of the process. A crash of the machine loses at most the
//! last two seconds, and never the start of a forced release.

pub mod chain;
mod chain_check;
mod check_schedule;
mod entry;
mod entry_body;
mod head_reports;
mod histogram;
mod import;
mod instances;
mod journal;
mod orphans;
mod rejections;
mod request;
mod retention;
mod search;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

pub use import::{ImportError, import};
pub use request::{AuditActor, AuditOutcome, AuditRequest};
pub use search::AuditSearch;
pub use verify::{ChainFinding, VerifyReport, verify, verify_files};

use super::clock::Clock;
use super::config::AuditConfig;
use super::storage::Storage;
use crate::domain::{AuditDetail, OperationError, OperationKind, Timestamp};
use journal::Journal;

/// How often counted rejections are checked for windows that are over.
const REJECTION_FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The audit log, or a no-op if it is disabled. Cheap to clone.
#[derive(Clone)]
pub struct AuditLog(Option<Arc<JournalHandle>>);

/// Ends the writer task when the last clone is dropped.
struct JournalHandle(Arc<Journal>);

impl Drop for JournalHandle {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// An operation in progress. If it is dropped without [`Self::end`], its outcome is recorded as
/// unknown.
pub struct OpenOperation<'a> {
    begin_record: Option<BeginRecord>,
    request: AuditRequest<'a>,
    began_at: Timestamp,
}

/// How the start of an operation was recorded.
enum BeginRecord {
    /// It was written, under this operation id.
    Written(Arc<Journal>, String),
    /// It was not written; the whole operation is recorded when the log is writable again.
    Deferred(Arc<Journal>),
}

impl AuditLog {
    /// Creates the log from the configuration. The database is opened at the first write.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn new(config: &AuditConfig, storage: Storage, clock: Clock) -> Self {
        let journal = || Journal::start(storage, clock, config.allow_unaudited);
        Self(config.enabled.then(|| Arc::new(JournalHandle(journal()))))
    }

    /// A disabled log.
    pub fn disabled() -> Self {
        Self(None)
    }

    fn journal(&self) -> Option<&Arc<Journal>> {
        self.0.as_ref().map(|handle| &handle.0)
    }

    /// Waits until all entries are written, with a timeout. Call it before the process ends.
    pub async fn flush(&self) {
        if let Some(journal) = self.journal() {
            journal.flush_counted_rejections(true);
            journal.flush().await;
        }
    }

    /// Records counted rejections when their window is over. Never returns.
    pub async fn flush_counted_rejections(&self) {
        let Some(journal) = self.journal() else {
            return;
        };
        loop {
            sleep(REJECTION_FLUSH_INTERVAL).await;
            journal.flush_counted_rejections(false);
        }
    }

    /// At startup: logs a warning if the log is not readable or disabled, and starts a verification
    /// of the chain.
    pub async fn check_storage(&self) {
        let Some(journal) = self.journal() else {
            return tracing::warn!("audit log disabled");
        };
        tracing::info!(storage = %journal.storage.url(), "audit log enabled");
        match journal.storage.read().await {
            Ok(_) => {
                // The audit page shows the result; errors are also logged.
                let _check = self.chain_check().await;
            }
            Err(error) => tracing::warn!(
                "audit log not writable: {error}. Operations will be rejected; reading works. Give the console write access, or set \
                 another `url` in [storage]"
            ),
        }
    }

    /// Records the start of an operation, or rejects it. The start of a forced release is on disk
    /// when this returns.
    ///
    /// # Errors
    /// `AuditUnavailable`: the operation must not be carried out.
    pub async fn begin<'a>(
        &self,
        request: AuditRequest<'a>,
    ) -> Result<OpenOperation<'a>, OperationError> {
        let Some(journal) = self.journal() else {
            return Ok(OpenOperation::unaudited(request));
        };
        let (id, began_at) = (journal.next_id(), journal.clock.now());
        let is_forced = request.action == OperationKind::ForceRelease;
        let begin_record = match journal.begin(&id, &request, began_at, is_forced).await {
            Ok(()) => BeginRecord::Written(Arc::clone(journal), id),
            Err(error) if journal.allow_unaudited && !is_forced => {
                tracing::debug!(
                    action = request.action.slug(),
                    "operation not recorded in the audit log (allow_unaudited): {error}"
                );
                return Ok(OpenOperation::unaudited(request));
            }
            // The whole operation is recorded later.
            Err(error) if request.is_allowed_unaudited() => {
                tracing::debug!(
                    action = request.action.slug(),
                    "operation will be recorded later: {error}"
                );
                BeginRecord::Deferred(Arc::clone(journal))
            }
            Err(error) => {
                // The error contains paths and addresses, so clients only get a reference to the
                // log.
                tracing::warn!(
                    action = request.action.slug(),
                    request.id = request.by.request_id,
                    "operation rejected: it cannot be recorded in the audit log: {error}"
                );
                return Err(OperationError::AuditUnavailable);
            }
        };
        Ok(OpenOperation {
            begin_record: Some(begin_record),
            request,
            began_at,
        })
    }

    /// Records an operation that was rejected before any node was queried, or counts it if there
    /// are many. Never fails.
    pub fn record_rejection(&self, request: &AuditRequest<'_>, error: &OperationError) {
        if let Some(journal) = self.journal() {
            journal.record_rejection(request, error);
        }
    }

    /// Records an event without a duration, such as a sign-in.
    pub fn record(&self, request: &AuditRequest<'_>, outcome: &AuditOutcome) {
        if let Some(journal) = self.journal() {
            journal.record(request, journal.clock.now(), outcome);
        }
    }
}

/// Flushes all logs of the process, before a command exits.
pub async fn flush_all() {
    Journal::flush_all().await;
}

impl BeginRecord {
    fn end(&self, request: &AuditRequest<'_>, began_at: Timestamp, outcome: &AuditOutcome) {
        match self {
            Self::Written(journal, id) => journal.end(id, request, began_at, outcome),
            Self::Deferred(journal) => journal.record(request, began_at, outcome),
        }
    }
}

impl<'a> OpenOperation<'a> {
    fn unaudited(request: AuditRequest<'a>) -> Self {
        Self {
            begin_record: None,
            request,
            began_at: Timestamp::from_millis(0),
        }
    }

    /// Records the outcome.
    pub fn end(mut self, outcome: &AuditOutcome) {
        if let Some(record) = self.begin_record.take() {
            record.end(&self.request, self.began_at, outcome);
        }
    }
}

impl Drop for OpenOperation<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.begin_record.take() {
            let outcome = AuditOutcome::unknown(AuditDetail::OutcomeUnknown, Vec::new());
            record.end(&self.request, self.began_at, &outcome);
        }
    }
}
