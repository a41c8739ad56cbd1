//! Keeping a lock: it is renewed at a third of its lease until it is released, lost, or was kept long enough.
//!
//! Nothing here takes a lock or gives one back. When keeping ends for whatever reason, the lock ends with its lease.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::pace::{Limits, Pace, Step};
use super::{End, Layout, Token};
use crate::domain::{Fingerprint, LockKey, NodeAct};
use crate::server::clock::Clock;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;

pub use super::keeping::{Ended, Keeping, Loss};

/// So often it is looked whether the machine was suspended: timers do not tell.
const SUSPENSION_INTERVAL: Duration = Duration::from_secs(1);

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

/// The handle of a lock that is kept. When it is dropped, keeping stops.
pub struct Kept {
    told: Arc<watch::Sender<Keeping>>,
    clock: Clock,
}

/// Keeps a lock until it is stopped or lost, or the group is let go.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn keep<N: LockNode>(group: Arc<Group<N>>, hold: Hold) -> Kept {
    let Hold {
        key,
        token,
        ttl,
        validity,
        ..
    } = hold;
    let drift = group.config.locking.drift;
    let clock = group.clock().clone();
    let (now, chance) = (clock.instant(), clock.random());
    let keeping = Keeping {
        expires_at: clock.now().plus(validity),
        nodes: hold.nodes,
        owner: token.fingerprint(),
        rests: None,
        ended: None,
        pace: Pace::new(ttl, validity, drift, hold.limits, hold.ahead, now, chance),
        edition: 0,
        suspended: clock.suspended(),
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
        let (now, chance) = (self.clock.instant(), self.clock.random());
        self.told.send_modify(|keeping| {
            keeping.edition = keeping.edition.wrapping_add(1);
            keeping.note_suspension(self.clock.suspended(), now);
            keeping.pace.extended(ttl, validity, now, chance);
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
            keeping.pace.hurry(self.clock.instant());
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

async fn until_ended<N: LockNode>(
    group: Arc<Group<N>>,
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
async fn renew<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
    told: &watch::Sender<Keeping>,
) {
    let clock = group.clock();
    let mut changes = told.subscribe();
    loop {
        // Seen before it is looked at: what changes from now on wakes us.
        changes.mark_unchanged();
        let (step, ttl, edition, until) = look(told, clock);
        match step {
            Step::Over => return,
            Step::Sleep(until) => {
                // Whatever changes, and when nothing does: look again.
                let until = until.min(clock.instant() + SUSPENSION_INTERVAL);
                let _either = clock.timeout_at(until, changes.changed()).await;
            }
            Step::Renew => {
                let began = clock.instant();
                let format = Layout::of_token(token).format();
                let span = info_span!(
                    parent: None,
                    "renew",
                    otel.status_code = Empty,
                    lockkeeper.group = group.config.name,
                    lockkeeper.format = format.slug(),
                    lockkeeper.outcome = Empty,
                );
                let extending = super::extend(group, key, token, ttl).instrument(span.clone());
                let extended = clock.timeout_at(until, extending).await;
                note_end(&span, extended.as_ref().map(|attempt| &attempt.end));
                if let Some(attempt) = extended {
                    told.send_modify(|keeping| {
                        keeping.heard(attempt, began, edition, clock);
                    });
                }
            }
        }
    }
}

/// Notes down what a renewal came to; nothing where there was no time for it.
fn note_end(span: &Span, end: Option<&End>) {
    let outcome = match end {
        Some(End::Won(_)) => "done",
        Some(End::Taken { .. }) => "not-owner",
        Some(End::NotHeld) => "not-held",
        Some(End::NoQuorum) => "no-quorum",
        Some(End::WrongType(_)) => "wrong-type",
        None => "given-up",
    };
    span.record("lockkeeper.outcome", outcome);
    if end.is_some_and(|end| !matches!(end, End::Won(_))) {
        span.record("otel.status_code", "error");
    }
}

/// What to do now, for which lease, in which edition, and until when there is time for it: all as of one moment.
fn look(told: &watch::Sender<Keeping>, clock: &Clock) -> (Step, Duration, u32, Instant) {
    let mut looked = None;
    told.send_if_modified(|keeping| {
        let stood = (keeping.rests, keeping.ended.is_some());
        let step = keeping.step(clock);
        let pace = &keeping.pace;
        looked = Some((step, pace.ttl(), keeping.edition, pace.give_up_at()));
        stood != (keeping.rests, keeping.ended.is_some())
    });
    looked.expect("it is called once")
}
