//! Keeping a lock: it is renewed at a third of its lease until it is released, lost, or was kept long enough.
//!
//! Nothing here takes a lock or gives one back. When keeping ends for whatever reason, the lock ends with its lease.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::pace::{Limit, Limits, Pace, Step};
use super::{Attempt, End, Layout, Token};
use crate::domain::{Fingerprint, LockKey, NodeAct, Owner, Timestamp};
use crate::server::clock::Clock;
use crate::server::nodes::Group;
use crate::server::telemetry::traces::Act;

/// A lock that was just acquired, to be kept.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The lock.
    pub key: LockKey,
    /// What it was acquired with.
    pub token: Token,
    /// Its lease.
    pub ttl: Duration,
    /// For how long it may be relied on from now.
    pub validity: Duration,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
    /// How long it is kept at most.
    pub limits: Limits,
    /// Without a renewal, it is given up this long before its validity ends: time to end what relies on it.
    pub ahead: Duration,
}

/// How keeping a lock ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It was to end: the lock is released, or this program ends.
    Stopped,
    /// The lock is lost: whoever relies on it must stop.
    Lost(Loss),
}

/// How a lock was lost. As a sentence it names no token.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Loss {
    /// Too few nodes have it, and nobody else is seen.
    #[error("it is gone from the nodes: it was deleted, or its lease ran out")]
    Gone,
    /// Somebody else has it.
    #[error("another owner has it{}", named(.0.as_ref()))]
    Taken(Option<Owner>),
    /// The key is no lock of this format any more.
    #[error("its key holds something else now: {0}")]
    WrongType(String),
    /// No renewal succeeded in time. Nodes that cannot be asked may still have it until its lease is over there.
    #[error("it could not be renewed in time: too few nodes answered")]
    Unrenewed,
    /// It was kept as long as it may be.
    #[error("it was kept as long as this group allows ({0}), and its lease ran out")]
    RanOut(Limit),
    /// Somebody released it by force, through this program.
    #[error("it was released by force")]
    Forced,
}

fn named(owner: Option<&Owner>) -> String {
    owner.map_or_else(String::new, |owner| format!(": {}", owner.name()))
}

/// How a lock that is kept stands.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Until when it may be relied on, on the wall clock.
    pub expires_at: Timestamp,
    /// What happened on each node when it was last asked.
    pub nodes: Vec<NodeAct>,
    /// As whom everybody sees the owner: another one after a renewal, where the value tells the time.
    pub owner: Fingerprint,
    /// It is renewed no more because of this limit; it ends with its lease.
    pub rests: Option<Limit>,
    /// How it ended.
    pub ended: Option<Ended>,
    pace: Pace,
    /// Changes when somebody else interferes: what is under way then is asked again.
    edition: u32,
}

impl Keeping {
    /// The lease that it is renewed for.
    pub fn ttl(&self) -> Duration {
        self.pace.ttl()
    }

    /// How often it was renewed.
    pub fn extensions(&self) -> u32 {
        self.pace.extensions()
    }

    /// Until when it may be relied on: by a clock that nobody sets.
    pub fn valid_until(&self) -> Instant {
        self.pace.valid_until()
    }

    /// When whoever relies on it has to begin to stop, unless it is renewed before: `ahead` of that.
    pub fn give_up_at(&self) -> Instant {
        self.pace.give_up_at()
    }

    /// Whether it is renewed when it is time to.
    pub fn is_renewed(&self) -> bool {
        self.ended.is_none() && self.rests.is_none()
    }

    /// Ends it, once.
    fn end(&mut self, ended: Ended) -> bool {
        let is_first = self.ended.is_none();
        self.ended.get_or_insert(ended);
        is_first
    }

    /// A renewal that began at `began` came to this.
    fn heard(&mut self, attempt: Attempt, began: Instant, edition: u32, clock: &Clock) {
        let now = Instant::now();
        if self.edition != edition {
            return self.pace.hurry(now);
        }
        self.nodes = attempt.nodes;
        match attempt.end {
            End::Won(_) => {
                if let Some(written) = attempt.token {
                    self.owner = written.fingerprint();
                }
                self.pace.renewed(began, chance());
                self.expires_at = clock.now().plus(self.pace.valid_until() - now);
            }
            End::NoQuorum => self.pace.failed(now, chance()),
            End::NotHeld => drop(self.end(Ended::Lost(Loss::Gone))),
            End::Taken { owner, .. } => drop(self.end(Ended::Lost(Loss::Taken(owner)))),
            End::WrongType(what) => drop(self.end(Ended::Lost(Loss::WrongType(what)))),
        }
    }

    /// What to do now; what that means for how it stands is noted down.
    fn step(&mut self) -> Step {
        let now = Instant::now();
        let step = self.pace.next(now);
        self.rests = self.pace.limit(now);
        if step == Step::Over {
            let loss = self.rests.map_or(Loss::Unrenewed, Loss::RanOut);
            self.end(Ended::Lost(loss));
        }
        step
    }
}

/// The handle of a lock that is kept. When it is dropped, keeping stops.
pub struct Kept {
    told: Arc<watch::Sender<Keeping>>,
    clock: Clock,
}

/// Keeps a lock until it is stopped or lost, or the group is let go.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn keep(group: Arc<Group>, hold: Hold) -> Kept {
    let now = Instant::now();
    let Hold {
        key,
        token,
        ttl,
        validity,
        ..
    } = hold;
    let drift = group.config.locking.drift;
    let clock = group.clock().clone();
    let keeping = Keeping {
        expires_at: clock.now().plus(validity),
        nodes: hold.nodes,
        owner: token.fingerprint(),
        rests: None,
        ended: None,
        pace: Pace::new(ttl, validity, drift, hold.limits, hold.ahead, now, chance()),
        edition: 0,
    };
    let told = Arc::new(watch::Sender::new(keeping));
    tokio::spawn(until_ended(group, key, token, Arc::clone(&told)));
    Kept { told, clock }
}

impl Kept {
    /// How it stands now.
    pub fn now(&self) -> Keeping {
        self.told.borrow().clone()
    }

    /// Whether it has not ended yet.
    pub fn is_going_on(&self) -> bool {
        self.told.borrow().ended.is_none()
    }

    /// How it stands, and whenever that changes.
    pub fn watch(&self) -> watch::Receiver<Keeping> {
        self.told.subscribe()
    }

    /// Waits until it is lost, and says how. For ever, if it is stopped before that.
    pub async fn lost(&self) -> Loss {
        match self.ended().await {
            Ended::Lost(loss) => loss,
            Ended::Stopped => std::future::pending().await,
        }
    }

    /// Waits until keeping ends, and says how.
    pub async fn ended(&self) -> Ended {
        let mut told = self.told.subscribe();
        let over = told.wait_for(|keeping| keeping.ended.is_some()).await;
        let ended = over.ok().and_then(|keeping| keeping.ended.clone());
        // The sender lives in this handle.
        ended.unwrap_or(Ended::Stopped)
    }

    /// Renews it no more. Whatever a renewal under way comes to, the lock is not reported lost any more: do this before
    /// it is released.
    pub fn stop(&self) {
        self.told
            .send_if_modified(|keeping| keeping.end(Ended::Stopped));
    }

    /// It is lost, by something that was done here.
    pub fn lose(&self, loss: Loss) {
        self.told
            .send_if_modified(|keeping| keeping.end(Ended::Lost(loss)));
    }

    /// Its owner extended it itself, and may rely on it for `validity` from now on: it is renewed for this lease then.
    pub fn extended(
        &self,
        ttl: Duration,
        validity: Duration,
        nodes: Vec<NodeAct>,
        owner: Fingerprint,
    ) {
        let now = Instant::now();
        self.told.send_modify(|keeping| {
            keeping.edition = keeping.edition.wrapping_add(1);
            keeping.pace.extended(ttl, validity, now, chance());
            keeping.expires_at = self.clock.now().plus(validity);
            (keeping.nodes, keeping.owner) = (nodes, owner);
        });
    }

    /// Holds renewals back while something is done to the lock; what one under way comes to does not count.
    pub fn pause(self: &Arc<Self>) -> Pause {
        self.paused(true);
        Pause(Arc::clone(self))
    }

    fn paused(&self, is_paused: bool) {
        self.told.send_modify(|keeping| {
            keeping.edition = keeping.edition.wrapping_add(1);
            keeping.pace.pause(is_paused);
            keeping.pace.hurry(Instant::now());
        });
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Renewals are held back until this is dropped; then the lock is renewed at once, or found to be lost.
pub struct Pause(Arc<Kept>);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.paused(false);
    }
}

async fn until_ended(
    group: Arc<Group>,
    key: LockKey,
    token: Token,
    told: Arc<watch::Sender<Keeping>>,
) {
    let mut ends = told.subscribe();
    tokio::select! {
        biased;
        _ = ends.wait_for(|keeping| keeping.ended.is_some()) => {}
        () = group.stop().cancelled() => {
            told.send_if_modified(|keeping| keeping.end(Ended::Stopped));
        }
        () = renew(&group, &key, &token, &told) => {}
    }
}

/// Renews when it is time to, until it is over.
async fn renew(group: &Group, key: &LockKey, token: &Token, told: &watch::Sender<Keeping>) {
    let mut changes = told.subscribe();
    loop {
        // Seen before it is looked at: what changes from now on wakes us.
        changes.mark_unchanged();
        let (step, ttl, edition, until) = look(told);
        match step {
            Step::Over => return,
            Step::Sleep(until) => {
                // Whatever changes, and when nothing does: look again.
                let _either = timeout_at(until, changes.changed()).await;
            }
            Step::Renew => {
                let began = Instant::now();
                let format = Layout::of_token(token).format();
                let mut trace = Act::renewal(&group.config.name, format);
                let extending = trace.around(super::extend(group, key, token, ttl));
                if let Ok(attempt) = timeout_at(until, extending).await {
                    told_of(&mut trace, &attempt.end);
                    told.send_modify(|keeping| {
                        keeping.heard(attempt, began, edition, group.clock());
                    });
                }
            }
        }
    }
}

/// Notes down what a renewal came to.
fn told_of(trace: &mut Act, end: &End) {
    match end {
        End::Won(_) => trace.came_to("done"),
        End::Taken { .. } => trace.failed("not-owner"),
        End::NotHeld => trace.failed("not-held"),
        End::NoQuorum => trace.failed("no-quorum"),
        End::WrongType(_) => trace.failed("wrong-type"),
    }
}

/// What to do now, for which lease, in which edition, and until when there is time for it: all as of one moment.
fn look(told: &watch::Sender<Keeping>) -> (Step, Duration, u32, Instant) {
    let mut looked = None;
    told.send_if_modified(|keeping| {
        let stood = (keeping.rests, keeping.ended.is_some());
        let step = keeping.step();
        let pace = &keeping.pace;
        looked = Some((step, pace.ttl(), keeping.edition, pace.give_up_at()));
        stood != (keeping.rests, keeping.ended.is_some())
    });
    looked.expect("it is called once")
}

fn chance() -> f64 {
    rand::random()
}
