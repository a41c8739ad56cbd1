//! Auto-renewal: extends a lock after a third of its lease until it is released, lost, or has
//! reached a limit.
//!
//! This module neither acquires nor releases locks. When a renewal ends for any reason, the lock
//! expires with its lease.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::renewal_schedule::{RenewalLimits, RenewalSchedule, RenewalStep};
use super::{AcquireOutcome, AcquireResult, Layout, Token};
use crate::domain::{Fingerprint, Format, LockKey, NodeResult};
use crate::server::clock::Clock;
use crate::server::config::GroupConfig;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::lock_node::LockNode;

pub use super::renewal_state::{Loss, RenewalEnd, RenewalState};

/// How often suspension of the machine is checked: timers do not report it.
const SUSPENSION_INTERVAL: Duration = Duration::from_secs(1);

/// The parameters of an auto-renewal of a lock that was just acquired.
#[derive(Clone, Debug)]
pub struct RenewalParams {
    /// The key of the lock.
    pub key: LockKey,
    /// The owner's token.
    pub token: Token,
    /// The lease duration.
    pub ttl: Duration,
    /// The remaining validity.
    pub validity: Duration,
    /// The outcome of the acquire on each node.
    pub nodes: Vec<NodeResult>,
    /// The limits of the renewal.
    pub limits: RenewalLimits,
    /// How long before the end of its validity the lock is given up: time for the caller to stop
    /// its work.
    pub lead_time: Duration,
}

/// The handle of an auto-renewal. Dropping it stops the renewal.
pub struct RenewalHandle {
    state: Arc<watch::Sender<RenewalState>>,
    clock: Clock,
}

/// A group of locks whose leases can be extended.
pub trait RenewableStore: Send + Sync + 'static {
    /// The group's configuration.
    fn config(&self) -> &GroupConfig;

    /// The clock used for all times of the group.
    fn clock(&self) -> &Clock;

    /// Cancelled when the group is stopped.
    fn stop(&self) -> &CancellationToken;

    /// The format that the form of a token suggests.
    fn format_of_token(&self, token: &Token) -> Format;

    /// The fingerprint with which the owner of this token is shown.
    fn owner_fingerprint(&self, token: &Token) -> Fingerprint {
        token.fingerprint()
    }

    /// Extends the lease to at least `ttl` where the token owns the lock.
    fn extend(
        &self,
        key: &LockKey,
        token: &Token,
        ttl: Duration,
    ) -> impl Future<Output = AcquireOutcome> + Send;
}

impl<N: LockNode> RenewableStore for Group<N> {
    fn config(&self) -> &GroupConfig {
        &self.config
    }

    fn clock(&self) -> &Clock {
        self.clock()
    }

    fn stop(&self) -> &CancellationToken {
        self.stop()
    }

    fn format_of_token(&self, token: &Token) -> Format {
        Layout::of_token(token).format()
    }

    async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        super::extend(self, key, token, ttl).await
    }
}

/// Starts renewing a lock until it is stopped or lost, or the group shuts down.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn start_renewal<S: RenewableStore>(group: Arc<S>, params: RenewalParams) -> RenewalHandle {
    let RenewalParams {
        key,
        token,
        ttl,
        validity,
        ..
    } = params;
    let drift = group.config().locking.drift;
    let clock = group.clock().clone();
    let (now, chance) = (clock.instant(), clock.random());
    let state = RenewalState {
        expires_at: clock.now().plus(validity),
        nodes: params.nodes,
        owner: group.owner_fingerprint(&token),
        limit_reached: None,
        end: None,
        schedule: RenewalSchedule::new(
            ttl,
            validity,
            drift,
            params.limits,
            params.lead_time,
            now,
            chance,
        ),
        generation: 0,
        suspended: clock.suspended_duration(),
    };
    let sender = Arc::new(watch::Sender::new(state));
    tokio::spawn(run(group, key, token, Arc::clone(&sender)));
    RenewalHandle {
        state: sender,
        clock,
    }
}

impl RenewalHandle {
    /// A copy of the current state.
    pub fn state(&self) -> RenewalState {
        self.state.borrow().clone()
    }

    /// Whether the renewal has not ended yet.
    pub fn is_active(&self) -> bool {
        self.state.borrow().end.is_none()
    }

    /// Subscribes to the state and its changes.
    pub fn subscribe(&self) -> watch::Receiver<RenewalState> {
        self.state.subscribe()
    }

    /// Waits until the lock is lost and returns the reason. Never returns if the renewal is stopped
    /// before that.
    pub async fn wait_until_lost(&self) -> Loss {
        match self.wait_until_ended().await {
            RenewalEnd::Lost(loss) => loss,
            RenewalEnd::Stopped => std::future::pending().await,
        }
    }

    /// Waits until the renewal ends and returns how it ended.
    pub async fn wait_until_ended(&self) -> RenewalEnd {
        let mut updates = self.state.subscribe();
        let ended = updates.wait_for(|state| state.end.is_some()).await;
        let ended = ended.ok().and_then(|state| state.end.clone());
        // The handle owns the sender, so the channel cannot close while it is borrowed here.
        ended.unwrap_or(RenewalEnd::Stopped)
    }

    /// Stops the renewal. The result of an extend in progress is ignored and the lock is no longer
    /// reported as lost, so this must be called before a release.
    pub fn stop(&self) {
        self.state
            .send_if_modified(|state| state.set_end(RenewalEnd::Stopped));
    }

    /// Marks the lock as lost because of something that this process did.
    pub fn mark_lost(&self, loss: Loss) {
        self.state
            .send_if_modified(|state| state.set_end(RenewalEnd::Lost(loss)));
    }

    /// Records an extend by the owner, who may rely on the lock for `validity` from now on. The
    /// lock is renewed with this `ttl` from then on.
    pub fn record_extension(
        &self,
        ttl: Duration,
        validity: Duration,
        nodes: Vec<NodeResult>,
        owner: Fingerprint,
    ) {
        let (now, chance) = (self.clock.instant(), self.clock.random());
        self.state.send_modify(|state| {
            state.generation = state.generation.wrapping_add(1);
            state.apply_suspension(self.clock.suspended_duration(), now);
            state.schedule.record_extension(ttl, validity, now, chance);
            state.expires_at = self.clock.now().plus(validity);
            (state.nodes, state.owner) = (nodes, owner);
        });
    }

    /// Suspends renewals while another operation runs on the lock. The result of an extend in
    /// progress is ignored.
    pub fn pause(self: &Arc<Self>) -> RenewalPause {
        self.set_paused(true);
        RenewalPause(Arc::clone(self))
    }

    fn set_paused(&self, is_paused: bool) {
        self.state.send_modify(|state| {
            state.generation = state.generation.wrapping_add(1);
            state.schedule.set_paused(is_paused);
            state.schedule.renew_now(self.clock.instant());
        });
    }
}

impl Drop for RenewalHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Suspends renewals until it is dropped. The lock is then renewed immediately, or found to be
/// lost.
pub struct RenewalPause(Arc<RenewalHandle>);

impl Drop for RenewalPause {
    fn drop(&mut self) {
        self.0.set_paused(false);
    }
}

async fn run<S: RenewableStore>(
    group: Arc<S>,
    key: LockKey,
    token: Token,
    sender: Arc<watch::Sender<RenewalState>>,
) {
    let mut changes = sender.subscribe();
    tokio::select! {
        // Checked in order, so that no extend begins after the renewal has ended.
        biased;
        _ = changes.wait_for(|state| state.end.is_some()) => {}
        () = group.stop().cancelled() => {
            sender.send_if_modified(|state| state.set_end(RenewalEnd::Stopped));
        }
        () = renew_when_due(&*group, &key, &token, &sender) => {}
    }
}

/// Extends the lock whenever it is due, until the renewal is over.
async fn renew_when_due<S: RenewableStore>(
    group: &S,
    key: &LockKey,
    token: &Token,
    sender: &watch::Sender<RenewalState>,
) {
    let clock = group.clock();
    let mut changes = sender.subscribe();
    loop {
        // Marked as seen before the state is read, so that a change during the read wakes the loop.
        changes.mark_unchanged();
        let (step, ttl, generation, deadline) = next_step(sender, clock);
        match step {
            RenewalStep::GiveUp => return,
            RenewalStep::Sleep(deadline) => {
                // Wakes on a change of the state, and regularly without one to notice a suspension.
                let deadline = deadline.min(clock.instant() + SUSPENSION_INTERVAL);
                let _woken_or_elapsed = clock.timeout_at(deadline, changes.changed()).await;
            }
            RenewalStep::Renew => {
                let sent_at = clock.instant();
                let format = group.format_of_token(token);
                let span = info_span!(
                    // A renewal belongs to no request and starts its own trace.
                    parent: None,
                    "renew",
                    otel.status_code = Empty,
                    lockkeeper.group = group.config().name,
                    lockkeeper.format = format.slug(),
                    lockkeeper.outcome = Empty,
                );
                let extend = group.extend(key, token, ttl).instrument(span.clone());
                let outcome = clock.timeout_at(deadline, extend).await;
                record_span_outcome(&span, outcome.as_ref().map(|outcome| &outcome.result));
                if let Some(outcome) = outcome {
                    sender.send_modify(|state| {
                        state.record_attempt(outcome, sent_at, generation, clock);
                    });
                }
            }
        }
    }
}

/// Records the result of an extend in its span; `None` means that there was no time for it.
fn record_span_outcome(span: &Span, result: Option<&AcquireResult>) {
    let outcome = match result {
        Some(AcquireResult::Acquired(_)) => "done",
        Some(AcquireResult::HeldByOther { .. }) => "not-owner",
        Some(AcquireResult::NotHeld) => "not-held",
        Some(AcquireResult::NoQuorum) => "no-quorum",
        Some(AcquireResult::WrongType(_)) => "wrong-type",
        None => "timeout",
    };
    span.record("lockkeeper.outcome", outcome);
    if result.is_some_and(|result| !matches!(result, AcquireResult::Acquired(_))) {
        span.record("otel.status_code", "error");
    }
}

/// The next step, the lease, the generation and the deadline, all as of the same moment.
fn next_step(
    sender: &watch::Sender<RenewalState>,
    clock: &Clock,
) -> (RenewalStep, Duration, u32, Instant) {
    let mut next = None;
    sender.send_if_modified(|state| {
        let before = (state.limit_reached, state.end.is_some());
        let step = state.next_step(clock);
        let schedule = &state.schedule;
        next = Some((
            step,
            schedule.ttl(),
            state.generation,
            schedule.give_up_at(),
        ));
        before != (state.limit_reached, state.end.is_some())
    });
    next.expect("`send_if_modified` calls its closure once")
}
