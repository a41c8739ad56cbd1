//! What waits to be written, and the task that writes it: everything that waits in one transaction.
//!
//! The beginning of an operation waits for its entry; ends wait here until they can be written. How many wait is bounded: ends of what
//! was begun by what is in progress, everything else by a number.

mod writer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::chain::Head;
use super::checking::Checking;
use super::entry::{self, Entry, EntryKind};
use super::instances::forget;
use super::refusals::Refusals;
use super::{Asked, End, line};
use crate::domain::{Fault, Timestamp};
use crate::server::clock::Clock;
use crate::server::storage::{Storage, StorageError};
use writer::Writer;

/// How long the beginning of an operation may wait to be written.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How many entries that nobody waits for may wait, beside the ends of what was begun.
const MAX_LATE: usize = 10_000;
/// How many bytes about refusals may wait: clients choose how many there are.
const MAX_REFUSED_BYTES: usize = 256 * 1024;
/// One in so many entries may be about refusals, so that they push out no operation that was done; and so many more.
const REFUSED_SHARE: u64 = 8;
const REFUSED_BESIDE: u64 = 10_000;
/// How long whoever looks waits for what is being written.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Every audit of this program: a command that ends waits for what it did to be written.
static JOURNALS: Mutex<Vec<Weak<Journal>>> = Mutex::new(Vec::new());

/// The audit of one program.
pub struct Journal {
    pub storage: Storage,
    pub clock: Clock,
    /// Owners' own operations are done where they cannot be written down.
    pub is_lenient: bool,
    /// What tells our operations from those of other programs.
    pub instance: String,
    pub checking: Checking,
    last_operation: AtomicU64,
    queue: Mutex<Queue>,
    refusals: Refusals,
    head: Mutex<Option<Head>>,
    rung: Notify,
    /// How many entries were handed over, and how many of them were written.
    pushed: AtomicU64,
    written: watch::Sender<u64>,
    is_in_trouble: AtomicBool,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    is_writing: bool,
    refused: u64,
    others: u64,
}

struct Waiting {
    /// Which one it is of all that were handed over.
    place: u64,
    entry: Entry,
    /// Who waits for it; without anybody, it is written whenever that is possible.
    waits: Option<oneshot::Sender<Result<(), StorageError>>>,
    is_refusal: bool,
    is_synced: bool,
}

impl Waiting {
    fn end(id: &str, body: Vec<u8>, kind: EntryKind) -> Self {
        Self {
            place: 0,
            entry: Entry {
                id: id.to_owned(),
                body,
                kind,
            },
            waits: None,
            is_refusal: false,
            is_synced: false,
        }
    }
}

impl Journal {
    /// Starts the task that writes.
    pub fn start(storage: Storage, clock: Clock, is_lenient: bool) -> Arc<Self> {
        let journal = Arc::new(Self {
            storage,
            clock,
            is_lenient,
            instance: format!("{:012x}", rand::random::<u64>() >> 16),
            checking: Checking::default(),
            last_operation: AtomicU64::new(0),
            queue: Mutex::default(),
            refusals: Refusals::default(),
            head: Mutex::default(),
            rung: Notify::new(),
            pushed: AtomicU64::new(0),
            written: watch::Sender::new(0),
            is_in_trouble: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(Writer::new(Arc::clone(&journal)).run());
        let mut all = JOURNALS.lock();
        all.retain(|journal| journal.strong_count() > 0);
        all.push(Arc::downgrade(&journal));
        journal
    }

    /// What the next operation is called.
    pub fn next_id(&self) -> String {
        let n = self.last_operation.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{n}", self.instance)
    }

    /// Where the chain stood when this program wrote or read it last; nothing before that.
    pub fn head(&self) -> Option<Head> {
        self.head.lock().clone()
    }

    /// Reads where the chain stands.
    pub async fn read_head(&self) -> Result<Head, StorageError> {
        let before = self.head();
        let mut db = self.storage.read().await?;
        let head = entry::head(&mut db).await?;
        let mut known = self.head.lock();
        // What was written since then is newer than what was read.
        if *known == before {
            *known = Some(head.clone());
        }
        Ok(head)
    }

    /// Writes that an operation begins. Where that fails, it may be there all the same; then its end is written too, once that is
    /// possible.
    pub async fn begin(
        &self,
        id: &str,
        asked: &Asked<'_>,
        at: Timestamp,
        is_synced: bool,
    ) -> Result<(), StorageError> {
        if asked.is_done_unwritten() && self.is_in_trouble.load(Ordering::Relaxed) {
            // An owner is not kept waiting for storage that is known to be away.
            return Err(StorageError::Unavailable("it was a moment ago".to_owned()));
        }
        let (tell, told) = oneshot::channel();
        self.push(Waiting {
            waits: Some(tell),
            is_synced,
            ..Waiting::end(id, line::begin(id, asked, at), EntryKind::Begin)
        });
        let why = match timeout(BEGIN_TIMEOUT, told).await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => StorageError::Unavailable("the console stops".to_owned()),
            Err(_) => StorageError::Unavailable("it does not answer in time".to_owned()),
        };
        if matches!(why, StorageError::Unavailable(_)) && !asked.is_done_unwritten() {
            let fault = Fault::AuditUnavailable {
                detail: "the server's log says why".to_owned(),
            };
            self.push_late(
                id,
                line::end(id, asked, at, &End::fault(&fault), self.clock.now()),
            );
        }
        Err(why)
    }

    /// Writes how an operation that was begun ended, as soon as that is possible.
    pub fn end(&self, id: &str, asked: &Asked<'_>, began_at: Timestamp, end: &End) {
        let body = line::end(id, asked, began_at, end, self.clock.now());
        self.push(Waiting::end(id, body, EntryKind::End));
    }

    /// Writes an operation that was not begun in the audit, unless too much of that waits already.
    pub fn tell(&self, asked: &Asked<'_>, began_at: Timestamp, end: &End) {
        let id = self.next_id();
        self.push_late(&id, line::end(&id, asked, began_at, end, self.clock.now()));
    }

    /// Writes an end for an operation of a program that was killed, if it has none.
    pub fn close(&self, id: &str, body: Vec<u8>) {
        if self.len() < MAX_LATE {
            self.push(Waiting::end(id, body, EntryKind::Orphan));
        }
    }

    fn push_late(&self, id: &str, body: Vec<u8>) {
        if self.len() >= MAX_LATE {
            tracing::error!(
                "an audit entry is lost: {MAX_LATE} wait already for the storage to take them"
            );
            return;
        }
        self.push(Waiting::end(id, body, EntryKind::End));
    }

    /// Writes that something was refused, or counts it.
    pub fn refused(&self, asked: &Asked<'_>, fault: &Fault) {
        let now = self.clock.now();
        if self.refusals.take_in(asked, fault.code(), now)
            && !self.has_taken_refusal(asked, &End::fault(fault), now)
        {
            self.refusals.count(asked, fault.code(), now);
        }
    }

    /// Writes how many refusals there were that were only counted, of those minutes that are over or of all.
    pub fn write_counted(&self, everything: bool) {
        for counted in self.refusals.take(everything, self.clock.now()) {
            if !self.has_taken_refusal(&counted.asked(), &counted.end(), counted.since) {
                self.refusals.count_again(counted);
            }
        }
    }

    fn has_taken_refusal(&self, asked: &Asked<'_>, end: &End, began_at: Timestamp) -> bool {
        let id = self.next_id();
        let body = line::refused(&id, asked, began_at, end, self.clock.now());
        let has_room = self.queue().has_room_for_refusal(body.len());
        if has_room {
            self.push(Waiting {
                is_refusal: true,
                ..Waiting::end(&id, body, EntryKind::End)
            });
        }
        has_room
    }

    fn push(&self, mut waiting: Waiting) {
        let mut queue = self.queue();
        waiting.place = self.pushed.fetch_add(1, Ordering::Relaxed) + 1;
        match waiting.is_refusal {
            true => queue.refused += 1,
            false => queue.others += 1,
        }
        queue.waiting.push_back(waiting);
        drop(queue);
        self.rung.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    fn len(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Waits a moment until everything is written that was handed over before: whoever did something and looks finds it.
    pub async fn catch_up(&self) {
        let place = self.pushed.load(Ordering::Relaxed);
        let mut written = self.written.subscribe();
        drop(timeout(CATCH_UP, written.wait_for(|written| *written >= place)).await);
    }

    /// Waits a moment until everything is written.
    pub async fn settle(&self) {
        let is_settled = || {
            let queue = self.queue();
            queue.waiting.is_empty() && !queue.is_writing
        };
        let until = Instant::now() + BEGIN_TIMEOUT;
        while !is_settled() && Instant::now() < until {
            sleep(Duration::from_millis(2)).await;
        }
        if !is_settled() {
            tracing::error!("the ends of some operations could not be written to the audit");
        }
    }

    /// Before a command ends: waits a moment until what it did is written, and is no more among those who live.
    pub async fn settle_all() {
        let all: Vec<Arc<Self>> = JOURNALS.lock().iter().filter_map(Weak::upgrade).collect();
        for journal in all {
            journal.settle().await;
            if journal.pushed.load(Ordering::Relaxed) > 0 && journal.len() == 0 {
                journal.leave().await;
            }
        }
    }

    /// This program ends and has left nothing open. Where that cannot be written, others find out.
    async fn leave(&self) {
        let _found_out = forget(&self.storage, self.instance.clone()).await;
    }

    /// Nothing more will come: the task writes what waits and ends.
    pub fn close_down(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.rung.notify_one();
    }

    /// Says it in the log once, until it goes well again.
    fn note(&self, written: &Result<(), StorageError>) {
        match written {
            Ok(()) if self.is_in_trouble.swap(false, Ordering::Relaxed) => {
                tracing::info!("the audit can be written again");
            }
            Err(why) if !self.is_in_trouble.swap(true, Ordering::Relaxed) => {
                tracing::error!("operations are refused, for the audit cannot be written: {why}");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

impl Queue {
    fn has_room_for_refusal(&self, bytes: usize) -> bool {
        let refused = self.waiting.iter().filter(|waiting| waiting.is_refusal);
        let in_queue: usize = refused.map(|waiting| waiting.entry.body.len()).sum();
        in_queue + bytes <= MAX_REFUSED_BYTES
            && self.refused < REFUSED_BESIDE + self.others / REFUSED_SHARE
    }
}
