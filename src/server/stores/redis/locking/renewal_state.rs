//! The state of an auto-renewal and how it can end. `renewal` talks to the nodes;
//! `renewal_schedule` decides when.

use std::time::Duration;

use tokio::time::Instant;

use super::renewal_schedule::{ReachedLimit, RenewalSchedule, RenewalStep};
use super::{AcquireOutcome, AcquireResult};
use crate::domain::reason::Reason;
use crate::domain::{Fingerprint, NodeResult, Owner, Timestamp};
use crate::server::clock::Clock;

/// Differences below this are not treated as a suspension: reading two clocks one after the other
/// can take as long.
const MIN_SUSPENSION: Duration = Duration::from_millis(100);

/// How an auto-renewal ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RenewalEnd {
    /// It was stopped: the lock is released, or the process exits.
    Stopped,
    /// The lock is lost: its holder must stop relying on it.
    Lost(Loss),
}

/// Why a lock was lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Too few nodes have the lock, and no other owner was found.
    Gone,
    /// Another owner holds the lock.
    HeldByOther(Option<Owner>),
    /// The key no longer holds a lock of this format.
    WrongType(String),
    /// No extend succeeded before the validity ended. Unreachable nodes may still have the lock
    /// until its lease expires there.
    RenewalFailed,
    /// A limit of the renewal was reached.
    LimitReached(ReachedLimit),
    /// It was force-released through this process.
    ForceReleased,
    /// The principal that started the renewal is no longer allowed to extend the lock.
    Revoked,
}

impl Loss {
    /// The reason that is reported to users. It contains no token.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Gone => Reason::LockGone,
            Self::HeldByOther(owner) => Reason::HeldByOther {
                owner: owner.as_ref().map(Owner::display_name),
            },
            Self::WrongType(type_name) => Reason::WrongType {
                cause: Box::new(Reason::text(type_name)),
            },
            Self::RenewalFailed => Reason::NotRenewedInTime,
            Self::LimitReached(limit) => Reason::RenewalLimit {
                limit: (*limit).into(),
            },
            Self::ForceReleased => Reason::ForceReleased,
            Self::Revoked => Reason::RenewalNotPermitted,
        }
    }
}

/// The state of an auto-renewal.
#[derive(Clone, Debug)]
pub struct RenewalState {
    /// The end of its validity on the wall clock.
    pub expires_at: Timestamp,
    /// The outcome on each node of the last extend.
    pub nodes: Vec<NodeResult>,
    /// The owner's current fingerprint. It changes with an extend if the value contains the expiry.
    pub owner: Fingerprint,
    /// The limit that ended the extends; the lock expires with its lease.
    pub limit_reached: Option<ReachedLimit>,
    /// How the renewal ended; `None` while it is running.
    pub end: Option<RenewalEnd>,
    pub(super) schedule: RenewalSchedule,
    /// Incremented when another operation changes the state. The result of an extend from an
    /// earlier generation is ignored.
    pub(super) generation: u32,
    /// How long this machine had been suspended when the schedule was last adjusted.
    pub(super) suspended: Duration,
}

impl RenewalState {
    /// The lease duration of the next extend.
    pub fn ttl(&self) -> Duration {
        self.schedule.ttl()
    }

    /// The number of successful extends.
    pub fn renewals(&self) -> u32 {
        self.schedule.renewals()
    }

    /// The end of the validity on the monotonic clock. A suspension of the machine is deducted with
    /// up to one second of delay.
    pub fn valid_until(&self) -> Instant {
        self.schedule.valid_until()
    }

    /// When the holder must begin to stop, unless an extend succeeds before: `lead_time` before the
    /// end of the validity.
    pub fn give_up_at(&self) -> Instant {
        self.schedule.give_up_at()
    }

    /// Whether the lock is still being renewed.
    pub fn is_renewed(&self) -> bool {
        self.end.is_none() && self.limit_reached.is_none()
    }

    /// Sets how the renewal ended, if it has not ended. Returns whether this call ended it.
    pub(super) fn set_end(&mut self, end: RenewalEnd) -> bool {
        let is_first = self.end.is_none();
        self.end.get_or_insert(end);
        is_first
    }

    /// Records the outcome of an extend that was sent at `sent_at`.
    pub(super) fn record_attempt(
        &mut self,
        outcome: AcquireOutcome,
        sent_at: Instant,
        generation: u32,
        clock: &Clock,
    ) {
        let now = clock.instant();
        if self.generation != generation {
            // Another operation changed the lock meanwhile, so this outcome may be about an older
            // lease.
            return self.schedule.renew_now(now);
        }
        self.nodes = outcome.nodes;
        match outcome.result {
            AcquireResult::Acquired(_) => {
                if let Some(token) = outcome.token {
                    self.owner = token.fingerprint();
                }
                self.schedule.record_success(sent_at, clock.random());
                self.expires_at = clock.now().plus(self.schedule.valid_until() - now);
            }
            // The lock may still be valid; the schedule retries until its validity ends.
            AcquireResult::NoQuorum => self.schedule.record_failure(now, clock.random()),
            AcquireResult::NotHeld => {
                self.set_end(RenewalEnd::Lost(Loss::Gone));
            }
            AcquireResult::HeldByOther { owner, .. } => {
                self.set_end(RenewalEnd::Lost(Loss::HeldByOther(owner)));
            }
            AcquireResult::WrongType(type_name) => {
                self.set_end(RenewalEnd::Lost(Loss::WrongType(type_name)));
            }
        }
    }

    /// Deducts the time for which the machine was suspended since the last call.
    pub(super) fn apply_suspension(&mut self, suspended: Duration, now: Instant) {
        let suspension = suspended.saturating_sub(self.suspended);
        if suspension >= MIN_SUSPENSION {
            self.suspended = suspended;
            self.schedule.apply_suspension(suspension, now);
        }
    }

    /// Returns the next step and records its consequences.
    pub(super) fn next_step(&mut self, clock: &Clock) -> RenewalStep {
        let now = clock.instant();
        self.apply_suspension(clock.suspended_duration(), now);
        let step = self.schedule.next_step(now);
        self.limit_reached = self.schedule.reached_limit(now);
        if step == RenewalStep::GiveUp {
            let loss = self
                .limit_reached
                .map_or(Loss::RenewalFailed, Loss::LimitReached);
            self.set_end(RenewalEnd::Lost(loss));
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quorum::ClockDrift;
    use crate::server::stores::redis::locking::renewal_schedule::RenewalLimits;

    #[test]
    fn a_lock_whose_lease_ended_during_a_suspension_is_lost_at_the_next_step() {
        let (lease, clock) = (Duration::from_secs(30), Clock::system());
        let schedule = |now| {
            let drift = ClockDrift::default();
            RenewalSchedule::new(
                lease,
                lease,
                drift,
                RenewalLimits::NONE,
                Duration::ZERO,
                now,
                0.0,
            )
        };
        let mut state = RenewalState {
            expires_at: Timestamp::from_millis(0),
            nodes: Vec::new(),
            owner: Fingerprint::parse("00112233aabbccdd").unwrap(),
            limit_reached: None,
            end: None,
            schedule: schedule(clock.instant()),
            generation: 0,
            suspended: clock.suspended_duration(),
        };
        // Reading two clocks takes time; that must not count as a suspension.
        let now = clock.instant();
        state.apply_suspension(state.suspended + Duration::from_millis(99), now);
        assert!(matches!(state.next_step(&clock), RenewalStep::Sleep(_)));
        state.apply_suspension(state.suspended + lease, now);
        assert_eq!(state.next_step(&clock), RenewalStep::GiveUp);
        assert_eq!(state.end, Some(RenewalEnd::Lost(Loss::RenewalFailed)));
    }
}
