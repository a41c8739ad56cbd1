//! A subscription to what is observed: a snapshot, then every change or those of a window, as server-sent events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::Index;
use super::event::{Event, EventId};
use super::full::FullSnapshot;
use super::watched::Watched;
use crate::domain::{Fault, Sight};

/// How often a subscriber is told the server's time, so that it notices silence, and no proxy takes the stream for a dead one.
pub const PING_INTERVAL: Duration = Duration::from_secs(2);
/// So much is handed over at a time: each connection copies what it sends, and the whole of a large board would be there once
/// for every subscriber.
const MAX_PIECE_BYTES: usize = 64 * 1024;
/// Subscribers are told one after another, each so much later than the one who came before it: thousands who are woken at the same moment
/// would keep everybody else waiting until the last of them was told.
const TURN: Duration = Duration::from_micros(50);
/// No subscriber waits longer for its turn.
const MAX_TURN: Duration = Duration::from_secs(1);
/// What happens within this time is told together to those who are told of every change.
const TOGETHER: Duration = Duration::from_millis(5);

/// What a subscriber wants to hear of.
pub enum Subject {
    /// Every change, one by one.
    Everything {
        /// Of these groups.
        sight: Sight,
        /// The last that it was told; nothing where it is new.
        place: Option<EventId>,
    },
    /// A window.
    Window(Arc<Watched>),
}

/// What is to be sent: shared with all who are sent the same.
enum Waiting {
    Change(Arc<Event>),
    Events(Bytes),
    Everything(Arc<FullSnapshot>),
}

/// One subscriber at its place in the stream. It holds at most one batch; what comes meanwhile waits in the index's ring, or is
/// told as what came of it.
pub struct Subscription {
    index: Index,
    subject: Subject,
    waiting: VecDeque<Waiting>,
    has_news: bool,
    /// Before that, nothing is told.
    rested: Instant,
    latest: watch::Receiver<u64>,
    ping: Interval,
    /// What pings say beside the time.
    build: &'static str,
    /// How long it waits while others are told first.
    turn: Duration,
}

impl Subscription {
    /// Begins with what there is to tell now. `rank` is how many others have subscribed; pings carry `build`.
    pub async fn start(
        index: Index,
        subject: Subject,
        rank: u32,
        build: &'static str,
    ) -> Result<Self, Fault> {
        let mut ping = interval(PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut subscription = Self {
            latest: index.stream().latest(),
            index,
            subject,
            waiting: VecDeque::new(),
            has_news: false,
            rested: Instant::now(),
            ping,
            build,
            turn: (TURN * rank).min(MAX_TURN),
        };
        // Now, and not once a timer says so: a snapshot comes first of all.
        subscription.take_news().await?;
        Ok(subscription)
    }

    /// The next events or a piece of them: at the latest when the next ping is due. Nothing where the index has ended.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(waiting) = self.waiting.pop_front() {
                let mut events = match waiting {
                    Waiting::Change(event) => event.frame(),
                    Waiting::Events(events) => events,
                    Waiting::Everything(full) => full.frame(&self.index).await.ok()?,
                };
                if events.len() > MAX_PIECE_BYTES {
                    let rest = events.split_off(MAX_PIECE_BYTES);
                    self.waiting.push_front(Waiting::Events(rest));
                }
                return Some(events);
            }
            tokio::select! {
                biased;
                () = sleep_until(self.rested), if self.has_news => self.take_news().await.ok()?,
                changed = self.latest.changed(), if !self.has_news => {
                    changed.ok()?;
                    self.has_news = true;
                    self.rested = self.rested.max(Instant::now() + self.turn);
                }
                _ = self.ping.tick() => {
                    let (now, build) = (self.index.now(), self.build);
                    let ping = format!("event: ping\ndata: {{\"now\":\"{now}\",\"build\":\"{build}\"}}\n\n");
                    return Some(ping.into());
                }
            }
        }
    }

    /// Takes what is new.
    async fn take_news(&mut self) -> Result<(), Fault> {
        let latest = *self.latest.borrow_and_update();
        let stream = self.index.stream();
        match &mut self.subject {
            Subject::Everything { sight, place } => {
                let missed = place.and_then(|place| stream.changes_since(place, sight));
                let told_to = if let Some((told_to, events)) = missed {
                    self.waiting.extend(events.into_iter().map(Waiting::Change));
                    told_to
                } else {
                    let full = self.index.full(sight);
                    let told_to = full.id();
                    self.waiting.push_back(Waiting::Everything(full));
                    told_to
                };
                *place = Some(told_to);
                self.has_news = told_to.is_before(latest);
                self.rested = Instant::now() + TOGETHER;
            }
            Subject::Window(watched) => {
                let seen = self.index.view(watched.view()).await?;
                let step = seen.step(watched, stream, self.index.now());
                *watched = Arc::clone(&step.after);
                self.rested = Instant::from(step.until) + self.turn;
                // What is told may be what others saw a moment ago.
                self.has_news = step.place.is_before(latest);
                self.waiting.extend(step.frame().map(Waiting::Events));
            }
        }
        Ok(())
    }
}
