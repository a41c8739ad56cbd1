//! Who did what to which lock, why, and how it ended: written before the act, completed after it. No audit, no act.
//!
//! Owners extend and release their own locks all the same, and that is written when there is room.
//!
//! Lines in a file, each with the hash of the one before (`chain`); several programs may write to one file (`log`). What a
//! killed program had written is there; what a crashed machine had written is there but for the last 100 ms, and all of what
//! takes a lock from somebody else is (`syncing`). Or the same lines in a stream that several consoles share (`stream`).

mod asked;
mod backwards;
mod chain;
mod checking;
mod folder;
mod heads;
mod line;
mod log;
mod refusals;
mod runs;
mod search;
mod startup;
pub mod stream;
mod syncing;
mod tail;
mod unended;
mod verify;
mod volumes;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub use asked::{Asked, By, End};
pub use search::Search;
pub use verify::{Finding, Verified, verify};

use crate::domain::{ActKind, Audited, Fault, Timestamp};
use crate::server::clock::Clock;
use crate::server::config::AuditConfig;
use crate::server::shared::Shared;
use checking::Checking;
use log::{Log, Promise, Trouble};
use refusals::Refusals;
use stream::Ledger;
use syncing::Shelf;
use volumes::Volumes;

/// How long another program may keep us from writing.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How often it is looked whether counted refusals are to be written.
const BETWEEN_COUNTS: Duration = Duration::from_secs(1);

/// Where acts are written down. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Kind);

#[derive(Clone)]
enum Kind {
    Off,
    File(Arc<Book>),
    Stream(Arc<Ledger>),
}

/// An audit in files.
struct Book {
    me: Weak<Book>,
    shelf: Arc<Shelf>,
    /// Owners' own acts are done where they cannot be written down.
    is_lenient: bool,
    clock: Clock,
    /// What tells our acts from those of other programs.
    run: String,
    last_act: AtomicU64,
    is_in_trouble: AtomicBool,
    checking: Checking,
    refusals: Refusals,
}

/// An act that was begun. Dropped without an end, it says that nobody saw how it ended.
pub struct OpenAct<'a> {
    written: Option<Written>,
    asked: Asked<'a>,
    began_at: Timestamp,
}

/// Where the beginning of an act was written.
enum Written {
    File {
        book: Arc<Book>,
        id: String,
        promise: Promise,
    },
    Stream {
        ledger: Arc<Ledger>,
        id: String,
        act: u64,
    },
    /// Nowhere: the whole of it is written once there is room.
    Later(Audit),
}

impl Audit {
    /// As the configuration says. Nothing is opened before there is something to write.
    ///
    /// # Panics
    /// Outside of a tokio runtime, where it is shared.
    pub fn new(config: &AuditConfig, shared: Option<&Shared>, clock: Clock) -> Self {
        if let Some(shared) = shared.filter(|_| config.on && config.is_shared) {
            return Self(Kind::Stream(Ledger::new(config, shared.clone(), clock)));
        }
        let Some(path) = config.path() else {
            return Self::off();
        };
        let volumes = Volumes::at(path);
        let run = runs::new();
        let log = Log::new(volumes.clone(), run.clone(), config.largest);
        Self(Kind::File(Arc::new_cyclic(|me| Book {
            me: Weak::clone(me),
            shelf: Shelf::new(log, volumes, config.keep),
            is_lenient: config.is_lenient,
            clock,
            run,
            last_act: AtomicU64::new(0),
            is_in_trouble: AtomicBool::new(false),
            checking: Checking::default(),
            refusals: Refusals::default(),
        })))
    }

    /// Nothing is written down.
    pub fn off() -> Self {
        Self(Kind::Off)
    }

    /// Where it is written: a file, or a stream.
    pub fn place(&self) -> Option<String> {
        match &self.0 {
            Kind::Off => None,
            Kind::File(book) => Some(book.shelf.volumes.current().display().to_string()),
            Kind::Stream(ledger) => {
                let shared = &ledger.shared;
                Some(format!("{} {}", shared.address(), shared.stream_name()))
            }
        }
    }

    /// Before the program ends: waits a moment for what is still to be written.
    pub async fn settle(&self) {
        self.write_counted(true);
        if let Kind::Stream(ledger) = &self.0 {
            ledger.settle().await;
        }
    }

    /// Writes how many refusals there were that were only counted, whenever a minute of them is over; for ever.
    pub async fn write_what_is_counted(&self) {
        loop {
            sleep(BETWEEN_COUNTS).await;
            self.write_counted(false);
        }
    }

    fn write_counted(&self, everything: bool) {
        match &self.0 {
            Kind::Off => {}
            Kind::File(book) => book.write_counted(everything),
            Kind::Stream(ledger) => ledger.write_counted(everything),
        }
    }

    fn book(&self) -> Option<&Arc<Book>> {
        match &self.0 {
            Kind::File(book) => Some(book),
            Kind::Off | Kind::Stream(_) => None,
        }
    }

    /// Before an act: writes that it begins, or refuses it. What is done to somebody else's lock is on disk when this returns.
    pub async fn begin<'a>(&self, asked: Asked<'a>) -> Result<OpenAct<'a>, Fault> {
        let (is_lenient, began_at, begun) = match &self.0 {
            Kind::Off => return Ok(OpenAct::unwritten(asked)),
            Kind::File(book) => {
                let at = book.clock.now();
                (book.is_lenient, at, book.begin(&asked, at).await)
            }
            Kind::Stream(ledger) => {
                let at = ledger.clock.now();
                let begun = ledger.begin(&asked, at).await;
                let written = begun.map(|(act, id)| Written::Stream {
                    ledger: Arc::clone(ledger),
                    id,
                    act,
                });
                (ledger.is_lenient, at, written)
            }
        };
        match begun {
            Ok(written) => Ok(OpenAct {
                written: Some(written),
                asked,
                began_at,
            }),
            Err(why) if is_lenient && asked.act != ActKind::ForceRelease => {
                tracing::debug!(act = asked.act.slug(), "not in the audit: {why}");
                Ok(OpenAct::unwritten(asked))
            }
            // It is written when there is room.
            Err(why) if asked.is_done_unwritten() => {
                tracing::debug!(act = asked.act.slug(), "in the audit later: {why}");
                Ok(OpenAct {
                    written: Some(Written::Later(self.clone())),
                    asked,
                    began_at,
                })
            }
            Err(why) => {
                // It has paths and addresses in it, which are not for everybody who may act.
                tracing::warn!(
                    act = asked.act.slug(),
                    request.id = asked.by.request,
                    "refused, for it cannot be written to the audit: {why}"
                );
                let detail = "the server's log says why".to_owned();
                Err(Fault::AuditUnavailable { detail })
            }
        }
    }

    /// Writes that an act was refused before anything was asked of a node, or counts it where there are many. It is refused also
    /// where that cannot be written.
    pub fn refused(&self, asked: &Asked<'_>, fault: &Fault) {
        match &self.0 {
            Kind::Off => {}
            Kind::File(book) => book.refused(asked, fault),
            Kind::Stream(ledger) => ledger.refused(asked, fault),
        }
    }

    /// Writes something that was over as soon as it began.
    pub fn tell(&self, asked: &Asked<'_>, end: &End) {
        if let Kind::Stream(ledger) = &self.0 {
            return ledger.tell(asked, end);
        }
        if let Some(book) = self.book() {
            let now = book.clock.now();
            let (_, id) = book.next_id();
            let body = line::end(&id, asked, now, end, now);
            let told = book.log().tell(body);
            book.told(told);
        }
    }

    /// Writes how an act of a program that is no more ended, as far as that can be told.
    fn close(&self, act: &Audited, end: &End) {
        if let Some(book) = self.book() {
            let asked = Asked::again(act);
            let body = line::end(&act.id, &asked, act.began_at, end, book.clock.now());
            let told = book.log().tell(body);
            book.told(told);
        }
    }
}

impl Book {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.shelf.log()
    }

    fn next_id(&self) -> (u64, String) {
        let act = self.last_act.fetch_add(1, Ordering::Relaxed) + 1;
        (act, runs::id(&self.run, act))
    }

    fn refused(&self, asked: &Asked<'_>, fault: &Fault) {
        let now = self.clock.now();
        if self.refusals.take_in(asked, fault.code(), now)
            && !self.has_written_refusal(asked, &End::fault(fault), now)
        {
            self.refusals.count(asked, fault.code(), now);
        }
    }

    fn write_counted(&self, everything: bool) {
        let now = self.clock.now();
        for counted in self.refusals.take(everything, now) {
            if !self.has_written_refusal(&counted.asked(), &counted.end(), counted.since) {
                self.refusals.count_again(counted);
            }
        }
    }

    fn has_written_refusal(&self, asked: &Asked<'_>, end: &End, began_at: Timestamp) -> bool {
        let (_, id) = self.next_id();
        let body = line::refused(&id, asked, began_at, end, self.clock.now());
        let told = self.log().tell_refused(&body);
        let is_written = matches!(told, Ok(true));
        self.told(told.map(|_| ()));
        is_written
    }

    async fn begin(&self, asked: &Asked<'_>, at: Timestamp) -> Result<Written, String> {
        let (act, id) = self.next_id();
        let body = line::begin(&id, asked, at);
        let deadline = Instant::now() + LONGEST_WAIT;
        let promise = loop {
            let begun = self.log().begin(act, &body);
            match begun {
                Ok(promise) => break promise,
                Err(Trouble::Busy) if Instant::now() < deadline => {
                    sleep(Duration::from_millis(1)).await;
                }
                Err(trouble) => return Err(self.trouble(trouble)),
            }
        };
        let written = Written::File {
            book: self.me.upgrade().expect("it is borrowed"),
            id,
            promise,
        };
        if asked.act == ActKind::ForceRelease {
            if let Err(why) = self.shelf.now().await {
                let fault = Fault::AuditUnavailable {
                    detail: why.clone(),
                };
                written.end(asked, at, &End::fault(&fault));
                return Err(self.trouble(Trouble::Broken(why)));
            }
        } else {
            self.shelf.soon();
        }
        if self.is_in_trouble.swap(false, Ordering::Relaxed) {
            tracing::info!("the audit can be written again");
        }
        Ok(written)
    }

    /// Says it in the log once, until it goes well again.
    fn trouble(&self, trouble: Trouble) -> String {
        let why = match trouble {
            Trouble::Busy => format!(
                "{}: another program keeps it locked",
                self.shelf
                    .volumes
                    .path_of(&self.shelf.volumes.lock())
                    .display()
            ),
            Trouble::Broken(why) => why,
        };
        if !self.is_in_trouble.swap(true, Ordering::Relaxed) {
            tracing::error!("acts are refused, for the audit cannot be written: {why}");
        }
        why
    }

    /// What is to be brought to disk, and said where it cannot be written now.
    fn told(&self, told: Result<(), Trouble>) {
        match told {
            Ok(()) | Err(Trouble::Busy) => {}
            Err(trouble @ Trouble::Broken(_)) => drop(self.trouble(trouble)),
        }
        self.shelf.soon();
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        let mut log = self.log();
        if log.settle_within(LONGEST_WAIT).is_err() {
            tracing::error!("the end of an act could not be written to the audit");
        }
        log.leave();
    }
}

impl Written {
    fn end(&self, asked: &Asked<'_>, began_at: Timestamp, end: &End) {
        match self {
            Self::File { book, id, promise } => {
                let body = line::end(id, asked, began_at, end, book.clock.now());
                let ended = book.log().end(promise, body);
                book.told(ended);
            }
            Self::Stream { ledger, id, act } => ledger.end(*act, id, asked, began_at, end),
            Self::Later(audit) => audit.tell(asked, end),
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
