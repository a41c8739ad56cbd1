//! The queue of entries to write, and the task that writes all queued entries together.
//!
//! An operation waits until its start is written. Ends stay in the queue until they can be written,
//! preferably together with the start of the next operation. The queue is bounded: ends by the
//! number of operations in progress, all other entries by a fixed number.

mod writer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::chain::ChainHead;
use super::check_schedule::CheckSchedule;
use super::entry::{self, EntryBody, EntryKind, NewEntry};
use super::instances::delete_instance;
use super::rejections::RejectionLimiter;
use super::{AuditOutcome, AuditRequest, entry_body};
use crate::domain::{OperationError, Timestamp};
use crate::server::clock::Clock;
use crate::server::storage::{Storage, StorageError};
use writer::JournalWriter;

/// How long an operation waits for its start to be written.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a process waits at its end for queued entries to be written, while writes succeed. Many
/// jobs that share one database on a slow disk wait for each other.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum queue length for entries that no operation waits for, besides ends.
const MAX_QUEUED: usize = 10_000;
/// The maximum size of queued entries about rejections, whose number clients control.
const MAX_QUEUED_REJECTION_BYTES: usize = 256 * 1024;
/// At most one in this many entries may be a rejection, plus a fixed allowance, so that retention
/// by size does not remove entries of real operations in favor of rejections.
const ENTRIES_PER_REJECTION: u64 = 8;
const REJECTION_ALLOWANCE: u64 = 10_000;
/// How long a search waits for queued entries to be written.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(200);

/// All journals of this process, so that a command can flush them before it exits.
static OPEN_JOURNALS: Mutex<Vec<Weak<Journal>>> = Mutex::new(Vec::new());

/// The audit log of this process.
pub struct Journal {
    pub storage: Storage,
    pub clock: Clock,
    /// `allow_unaudited`: operations are carried out although they cannot be recorded.
    pub allow_unaudited: bool,
    /// The random id of this process, which prefixes the ids of its operations.
    pub instance: String,
    pub check_schedule: CheckSchedule,
    last_operation: AtomicU64,
    queue: Mutex<EntryQueue>,
    rejection_limiter: RejectionLimiter,
    head: Mutex<Option<ChainHead>>,
    wake: Notify,
    /// Notified when a caller waits for entries to be written.
    wake_at_once: Notify,
    /// The number of queued entries so far, and (`written`) the position of the last written one.
    pushed: AtomicU64,
    written: watch::Sender<u64>,
    is_failing: AtomicBool,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct EntryQueue {
    entries: VecDeque<QueuedEntry>,
    is_writing: bool,
    rejections: u64,
    others: u64,
}

struct QueuedEntry {
    /// The position in the order of queuing.
    position: u64,
    entry: NewEntry,
    /// Notified when the entry is written. Without it, the entry is written when possible.
    on_written: Option<oneshot::Sender<Result<(), StorageError>>>,
    is_rejection: bool,
    requires_sync: bool,
}

impl QueuedEntry {
    fn new(id: &str, body: EntryBody, kind: EntryKind) -> Self {
        Self {
            position: 0,
            entry: NewEntry {
                id: id.to_owned(),
                body,
                kind,
            },
            on_written: None,
            is_rejection: false,
            requires_sync: false,
        }
    }
}

impl Journal {
    /// Starts the writer task.
    pub fn start(storage: Storage, clock: Clock, allow_unaudited: bool) -> Arc<Self> {
        let journal = Arc::new(Self {
            storage,
            clock,
            allow_unaudited,
            // 48 bits are enough to be unique among the processes that share a database.
            instance: format!("{:012x}", rand::random::<u64>() >> 16),
            check_schedule: CheckSchedule::default(),
            last_operation: AtomicU64::new(0),
            queue: Mutex::default(),
            rejection_limiter: RejectionLimiter::default(),
            head: Mutex::default(),
            wake: Notify::new(),
            wake_at_once: Notify::new(),
            pushed: AtomicU64::new(0),
            written: watch::Sender::new(0),
            is_failing: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(JournalWriter::new(Arc::clone(&journal)).run());
        let mut all = OPEN_JOURNALS.lock();
        // Tests start many journals in one process.
        all.retain(|journal| journal.strong_count() > 0);
        all.push(Arc::downgrade(&journal));
        journal
    }

    /// The id of the next operation.
    pub fn next_id(&self) -> String {
        let n = self.last_operation.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{n}", self.instance)
    }

    /// The head that this process last wrote or read.
    pub fn head(&self) -> Option<ChainHead> {
        self.head.lock().clone()
    }

    /// Reads the head from the database.
    pub async fn read_head(&self) -> Result<ChainHead, StorageError> {
        let before = self.head();
        let mut db = self.storage.read().await?;
        let head = entry::read_head(&mut db).await?;
        let mut cached = self.head.lock();
        // If the writer updated the head in the meantime, its value is newer.
        if *cached == before {
            *cached = Some(head.clone());
        }
        Ok(head)
    }

    /// Writes the start of an operation. If this fails with a timeout, the start may have been
    /// written nevertheless; an end is then queued too.
    pub async fn begin(
        &self,
        id: &str,
        request: &AuditRequest<'_>,
        at: Timestamp,
        requires_sync: bool,
    ) -> Result<(), StorageError> {
        if request.is_allowed_unaudited() && self.is_failing.load(Ordering::Relaxed) {
            // Extends and releases do not wait for a database that is known to be unavailable.
            return Err(StorageError::Unavailable(
                "the previous write failed".to_owned(),
            ));
        }
        let (written_tx, written_rx) = oneshot::channel();
        self.push(QueuedEntry {
            on_written: Some(written_tx),
            requires_sync,
            ..QueuedEntry::new(id, entry_body::begin(id, request, at), EntryKind::Begin)
        });
        let error = match timeout(BEGIN_TIMEOUT, written_rx).await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(error))) => error,
            // The writer task dropped the sender.
            Ok(Err(_)) => StorageError::Unavailable("the console is shutting down".to_owned()),
            Err(_) => StorageError::Unavailable(format!(
                "not written within {} s (timeout)",
                BEGIN_TIMEOUT.as_secs()
            )),
        };
        // The start may have been committed although the reply was lost. Without an end it would
        // appear as an operation in progress.
        if matches!(error, StorageError::Unavailable(_)) && !request.is_allowed_unaudited() {
            let error = OperationError::AuditUnavailable;
            self.push_bounded(
                id,
                entry_body::end(
                    id,
                    request,
                    at,
                    &AuditOutcome::from_error(&error),
                    self.clock.now(),
                ),
            );
        }
        Err(error)
    }

    /// Queues the end of an operation whose start was written.
    pub fn end(
        &self,
        id: &str,
        request: &AuditRequest<'_>,
        began_at: Timestamp,
        outcome: &AuditOutcome,
    ) {
        let body = entry_body::end(id, request, began_at, outcome, self.clock.now());
        self.push(QueuedEntry::new(id, body, EntryKind::End));
    }

    /// Queues an operation whose start was not written, unless the queue is full.
    pub fn record(&self, request: &AuditRequest<'_>, began_at: Timestamp, outcome: &AuditOutcome) {
        let id = self.next_id();
        self.push_bounded(
            &id,
            entry_body::end(&id, request, began_at, outcome, self.clock.now()),
        );
    }

    /// Queues an end for an operation of a killed process.
    pub fn close_orphan(&self, id: &str, body: EntryBody) {
        // A dropped entry is created again at the next pass over open operations.
        if self.queue_len() < MAX_QUEUED {
            self.push(QueuedEntry::new(id, body, EntryKind::Orphan));
        }
    }

    fn push_bounded(&self, id: &str, body: EntryBody) {
        if self.queue_len() >= MAX_QUEUED {
            tracing::error!(
                "an audit entry was dropped: {MAX_QUEUED} entries are waiting to be written already"
            );
            return;
        }
        self.push(QueuedEntry::new(id, body, EntryKind::End));
    }

    /// Records a rejection, or counts it.
    pub fn record_rejection(&self, request: &AuditRequest<'_>, error: &OperationError) {
        let now = self.clock.now();
        if self.rejection_limiter.try_admit(request, error.code(), now)
            && !self.try_push_rejection(request, &AuditOutcome::from_error(error), now)
        {
            self.rejection_limiter.count(request, error.code(), now);
        }
    }

    /// Records counted rejections: of windows that are over, or all.
    pub fn flush_counted_rejections(&self, all: bool) {
        for counted in self.rejection_limiter.take_due(all, self.clock.now()) {
            if !self.try_push_rejection(&counted.to_request(), &counted.to_outcome(), counted.since)
            {
                self.rejection_limiter.merge(counted);
            }
        }
    }

    fn try_push_rejection(
        &self,
        request: &AuditRequest<'_>,
        outcome: &AuditOutcome,
        began_at: Timestamp,
    ) -> bool {
        let id = self.next_id();
        let body = entry_body::rejected(&id, request, began_at, outcome, self.clock.now());
        let has_room = self.queue().has_room_for_rejection(body.json.len());
        if has_room {
            self.push(QueuedEntry {
                is_rejection: true,
                ..QueuedEntry::new(&id, body, EntryKind::End)
            });
        }
        has_room
    }

    fn push(&self, mut queued: QueuedEntry) {
        let is_awaited = queued.on_written.is_some();
        let mut queue = self.queue();
        queued.position = self.pushed.fetch_add(1, Ordering::Relaxed) + 1;
        match queued.is_rejection {
            true => queue.rejections += 1,
            false => queue.others += 1,
        }
        queue.entries.push_back(queued);
        // Wakes the writer after the lock is released, so that it does not block on it.
        drop(queue);
        self.wake.notify_one();
        if is_awaited {
            self.wake_at_once.notify_one();
        }
    }

    /// Writes queued ends now, without waiting for the start of another operation.
    fn write_now(&self) {
        self.wake.notify_one();
        self.wake_at_once.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, EntryQueue> {
        self.queue.lock()
    }

    /// Whether entries are queued, and no operation waits for any of them.
    fn has_only_unawaited_entries(&self) -> bool {
        let queue = self.queue();
        let is_awaited = |queued: &QueuedEntry| queued.on_written.is_some();
        !queue.entries.is_empty() && !queue.entries.iter().any(is_awaited)
    }

    fn queue_len(&self) -> usize {
        self.queue().entries.len()
    }

    /// Waits until all entries queued so far are written, up to [`CATCH_UP_TIMEOUT`], so that a
    /// search finds the user's own last operation.
    pub async fn catch_up(&self) {
        let position = self.pushed.load(Ordering::Relaxed);
        let mut written = self.written.subscribe();
        self.write_now();
        drop(
            timeout(
                CATCH_UP_TIMEOUT,
                written.wait_for(|written| *written >= position),
            )
            .await,
        );
    }

    /// Waits until the queue is empty, up to [`FLUSH_TIMEOUT`], or [`BEGIN_TIMEOUT`] if the
    /// database is known to be unavailable.
    pub async fn flush(&self) {
        let is_empty = || {
            let queue = self.queue();
            queue.entries.is_empty() && !queue.is_writing
        };
        let limit = || match self.is_failing.load(Ordering::Relaxed) {
            true => BEGIN_TIMEOUT,
            false => FLUSH_TIMEOUT,
        };
        let began_at = Instant::now();
        self.write_now();
        while !is_empty() && began_at.elapsed() < limit() {
            sleep(Duration::from_millis(2)).await;
        }
        if !is_empty() {
            tracing::error!("some audit entries could not be written before shutdown");
        }
    }

    /// Flushes all journals of the process and deregisters it, before a command exits.
    pub async fn flush_all() {
        let all: Vec<Arc<Self>> = OPEN_JOURNALS
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for journal in all {
            journal.flush().await;
            // A process with unwritten entries keeps its row, so that others close its operations.
            if journal.pushed.load(Ordering::Relaxed) > 0 && journal.queue_len() == 0 {
                journal.deregister().await;
            }
        }
    }

    /// Deletes the heartbeat row of this process. If that fails, other processes detect its end by
    /// timeout.
    async fn deregister(&self) {
        let _ignored = delete_instance(&self.storage, self.instance.clone()).await;
    }

    /// Closes the queue: the writer task writes the remaining entries and ends.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.write_now();
    }

    /// Logs the first failure, and the first success after failures.
    fn record_write_result(&self, written: &Result<(), StorageError>) {
        match written {
            Ok(()) if self.is_failing.swap(false, Ordering::Relaxed) => {
                tracing::info!("the audit log is writable again");
            }
            Err(error) if !self.is_failing.swap(true, Ordering::Relaxed) => {
                let consequence = match self.allow_unaudited {
                    true => "only forced releases are rejected",
                    false => "rejecting operations",
                };
                tracing::error!("audit log not writable; {consequence}: {error}");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

impl EntryQueue {
    fn has_room_for_rejection(&self, bytes: usize) -> bool {
        let rejections = self.entries.iter().filter(|queued| queued.is_rejection);
        let in_queue: usize = rejections.map(|queued| queued.entry.body.json.len()).sum();
        in_queue + bytes <= MAX_QUEUED_REJECTION_BYTES
            && self.rejections < REJECTION_ALLOWANCE + self.others / ENTRIES_PER_REJECTION
    }
}
