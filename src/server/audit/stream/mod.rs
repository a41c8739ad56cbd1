//! The audit as a Redis stream that several consoles share: one chain, whoever writes.
//!
//! Lines wait here for their turn; one task writes them, as many at once as there are. An act begins when its line is there;
//! where it cannot be written, it does not begin. Ends that cannot be written wait until they can be.

mod dead;
mod look;
mod verify;
mod writer;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::asked::{Asked, End};
use super::chain::Head;
use super::refusals::Refusals;
use super::{line, runs};
use crate::domain::{Fault, Timestamp};
use crate::server::clock::Clock;
use crate::server::config::AuditConfig;
use crate::server::shared::{Gone, Shared};
pub use verify::verify;

/// How long the beginning of an act may wait to be written.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// So many lines about what was over at once (somebody signed in) wait to be written, at most.
const MOST_TOLD: usize = 10_000;
/// So many bytes about refusals wait to be written, at most: clients choose how many there are.
const MOST_REFUSED_BYTES: usize = 256 * 1024;
/// One in so many lines of ours may be about refusals, so that they push out no operation that was done; and so many more, where
/// the stream has no bound.
const REFUSED_SHARE: u64 = 8;
const REFUSED_BESIDE: u64 = 10_000;

/// An audit in a stream.
pub struct Ledger {
    pub(super) shared: Shared,
    pub(super) is_lenient: bool,
    pub(super) clock: Clock,
    most_lines: Option<u64>,
    /// What tells our acts from those of other programs.
    run: String,
    last_act: AtomicU64,
    queue: Mutex<Queue>,
    refusals: Refusals,
    /// Rung when there is something to write.
    rung: Arc<Notify>,
    is_in_trouble: AtomicBool,
}

/// What is to be written, in order.
#[derive(Default)]
struct Queue {
    lines: VecDeque<Waiting>,
    /// The acts that are in progress.
    open: HashSet<u64>,
    /// Lines are on their way.
    is_writing: bool,
    /// How many lines there were about refusals, and how many about everything else.
    refused: u64,
    others: u64,
}

impl Queue {
    /// Whether there is room for a line about a refusal of so many bytes.
    fn has_room_for_refusal(&self, bytes: usize, most_lines: Option<u64>) -> bool {
        let beside = most_lines.map_or(REFUSED_BESIDE, |most| most / REFUSED_SHARE);
        let refused = self.lines.iter().filter(|line| line.is_refusal);
        let waiting: usize = refused.map(|line| line.body.len()).sum();
        waiting + bytes <= MOST_REFUSED_BYTES && self.refused < beside + self.others / REFUSED_SHARE
    }
}

/// A line before it is in the chain.
struct Waiting {
    body: Vec<u8>,
    /// Who waits for it to be written; without anybody, it is written whenever that is possible.
    waits: Option<oneshot::Sender<Result<(), String>>>,
    /// It tells of a refusal that was not begun.
    is_refusal: bool,
}

impl Ledger {
    /// Nothing is written yet.
    pub fn new(config: &AuditConfig, shared: Shared, clock: Clock) -> Arc<Self> {
        let ledger = Arc::new(Self {
            shared,
            is_lenient: config.is_lenient,
            clock,
            most_lines: config.most_lines,
            run: runs::new(),
            last_act: AtomicU64::new(0),
            queue: Mutex::default(),
            refusals: Refusals::default(),
            rung: Arc::default(),
            is_in_trouble: AtomicBool::new(false),
        });
        let (weak, rung) = (Arc::downgrade(&ledger), Arc::clone(&ledger.rung));
        ledger.shared.spawn(writer::write(weak, rung));
        ledger
    }

    /// Where the chain stands.
    pub async fn head(&self) -> Result<Head, Gone> {
        writer::end_of_stream(self).await
    }

    fn next_id(&self) -> (u64, String) {
        let act = self.last_act.fetch_add(1, Ordering::Relaxed) + 1;
        (act, runs::id(&self.run, act))
    }

    /// Writes that an act begins; answers its number and its id.
    pub async fn begin(&self, asked: &Asked<'_>, at: Timestamp) -> Result<(u64, String), String> {
        let (act, id) = self.next_id();
        let (tell, told) = oneshot::channel();
        let begins = Waiting {
            body: line::begin(&id, asked, at),
            waits: Some(tell),
            is_refusal: false,
        };
        self.queue().open.insert(act);
        self.add(begins);
        let why = match timeout(LONGEST_WAIT, told).await {
            Ok(Ok(Ok(()))) => return Ok((act, id)),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => "the console is shutting down".to_owned(),
            Err(_) => format!("{}: no answer in time", self.shared.address()),
        };
        // An owner's own act is done all the same; its end tells all of it.
        if asked.is_done_unwritten() && self.queue().lines.len() < MOST_TOLD {
            self.trouble(&why);
            return Ok((act, id));
        }
        // It may be there all the same: then it is told that nothing was done.
        let fault = Fault::AuditUnavailable {
            detail: why.clone(),
        };
        self.end(act, &id, asked, at, &End::fault(&fault));
        Err(why)
    }

    /// Writes how an act ended, as soon as that is possible.
    pub fn end(&self, act: u64, id: &str, asked: &Asked<'_>, began_at: Timestamp, end: &End) {
        let body = line::end(id, asked, began_at, end, self.clock.now());
        self.queue().open.remove(&act);
        self.add(Waiting {
            body,
            waits: None,
            is_refusal: false,
        });
    }

    /// Writes something that was over as soon as it began, unless too much of that waits already.
    pub fn tell(&self, asked: &Asked<'_>, end: &End) {
        if self.queue().lines.len() >= MOST_TOLD {
            self.trouble(
                "who signs in or out is not written down any more until it can be written again",
            );
            return;
        }
        let (act, id) = self.next_id();
        self.end(act, &id, asked, self.clock.now(), end);
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
        let (_, id) = self.next_id();
        let body = line::refused(&id, asked, began_at, end, self.clock.now());
        let has_room = self
            .queue()
            .has_room_for_refusal(body.len(), self.most_lines);
        if has_room {
            self.add(Waiting {
                body,
                waits: None,
                is_refusal: true,
            });
        }
        has_room
    }

    fn add(&self, line: Waiting) {
        let mut queue = self.queue();
        if line.is_refusal {
            queue.refused += 1;
        } else {
            queue.others += 1;
        }
        queue.lines.push_back(line);
        drop(queue);
        self.rung.notify_one();
    }

    /// Waits until everything is written, for so long at most, and leaves: nothing of ours is open any more.
    pub async fn settle(&self) {
        let end = Instant::now() + LONGEST_WAIT;
        while !self.is_settled() {
            if Instant::now() > end {
                tracing::error!("the end of an act could not be written to the audit");
                return;
            }
            self.rung.notify_one();
            sleep(Duration::from_millis(5)).await;
        }
        if self.queue().open.is_empty() && self.last_act.load(Ordering::Relaxed) > 0 {
            // Whoever looks for programs that were killed forgets us otherwise.
            let _left_there = self.shared.forget_run(&self.run).await;
        }
    }

    /// Whether everything is written.
    fn is_settled(&self) -> bool {
        let queue = self.queue();
        queue.lines.is_empty() && !queue.is_writing
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Only ever changed by whole lines.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says it in the log once, until it goes well again.
    fn trouble(&self, why: &str) {
        if !self.is_in_trouble.swap(true, Ordering::Relaxed) {
            tracing::error!("acts are refused, for the audit cannot be written: {why}");
        }
    }

    fn is_well(&self) {
        if self.is_in_trouble.swap(false, Ordering::Relaxed) {
            tracing::info!("the audit can be written again");
        }
    }
}
