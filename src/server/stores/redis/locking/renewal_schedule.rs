//! The schedule of an auto-renewal: when to extend next, when to stop, when the lock is lost. It
//! does no I/O and receives the time and random numbers from its caller.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::quorum::ClockDrift;
use crate::domain::reason::RenewalLimit;
use crate::server::config::LockingConfig;

/// The shortest pause after a failed extend.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause after a failed extend; a tenth of the lease if that is less.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The maximum fraction of the interval by which an extend is moved forward at random, so that
/// locks acquired at the same time are not renewed in step.
const MAX_JITTER: f64 = 0.1;

/// The limits of an auto-renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalLimits {
    /// The lock is not renewed when this much time has passed since the acquire.
    pub max_hold: Duration,
    /// The maximum number of extends.
    pub max_renewals: u32,
}

impl RenewalLimits {
    /// No limits.
    pub const NONE: Self = Self {
        max_hold: Duration::MAX,
        max_renewals: u32::MAX,
    };

    /// The limits from the configuration.
    pub fn from_config(config: &LockingConfig) -> Self {
        Self {
            max_hold: config.max_hold,
            max_renewals: config.max_renewals,
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedLimit {
    /// The maximum hold duration.
    MaxHold(Duration),
    /// The maximum number of extends.
    MaxRenewals(u32),
}

impl From<ReachedLimit> for RenewalLimit {
    fn from(limit: ReachedLimit) -> Self {
        match limit {
            ReachedLimit::MaxHold(duration) => {
                Self::HoldMs(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
            }
            ReachedLimit::MaxRenewals(max) => Self::Extensions(max.into()),
        }
    }
}

/// The next action of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalStep {
    /// Extend now.
    Renew,
    /// Nothing to do before this moment.
    Sleep(Instant),
    /// Stop relying on the lock.
    GiveUp,
}

/// The renewal schedule of one lock.
#[derive(Clone, Debug)]
pub struct RenewalSchedule {
    ttl: Duration,
    drift: ClockDrift,
    limits: RenewalLimits,
    /// How long before the end of its validity the lock is given up.
    lead_time: Duration,
    held_since: Instant,
    /// The end of the validity.
    valid_until: Instant,
    renewals: u32,
    next_renewal: Instant,
    /// The longest pause before the next retry; `None` if the last extend succeeded.
    retry_pause: Option<Duration>,
    is_paused: bool,
}

impl RenewalSchedule {
    /// Creates the schedule of a lock that was acquired with `ttl` and is valid for `validity` from
    /// `now` on. `chance` is a random number between 0 and 1, here and below.
    pub fn new(
        ttl: Duration,
        validity: Duration,
        drift: ClockDrift,
        limits: RenewalLimits,
        lead_time: Duration,
        now: Instant,
        chance: f64,
    ) -> Self {
        let mut schedule = Self {
            ttl,
            drift,
            limits,
            lead_time,
            held_since: now,
            valid_until: now,
            renewals: 0,
            next_renewal: now,
            retry_pause: None,
            is_paused: false,
        };
        schedule.set_lease(ttl, now + validity, chance);
        schedule
    }

    /// The action at this moment.
    pub fn next_step(&self, now: Instant) -> RenewalStep {
        let give_up_at = self.give_up_at();
        // Takes precedence over a due extend, which would come too late.
        if now >= give_up_at {
            RenewalStep::GiveUp
        } else if self.is_paused || self.reached_limit(now).is_some() {
            RenewalStep::Sleep(give_up_at)
        } else if now >= self.next_renewal {
            RenewalStep::Renew
        } else {
            RenewalStep::Sleep(self.next_renewal.min(give_up_at))
        }
    }

    /// The limit that prevents further extends, if one is reached.
    pub fn reached_limit(&self, now: Instant) -> Option<ReachedLimit> {
        let RenewalLimits {
            max_hold,
            max_renewals,
        } = self.limits;
        if self.renewals >= max_renewals {
            Some(ReachedLimit::MaxRenewals(max_renewals))
        } else if now.saturating_duration_since(self.held_since) >= max_hold {
            Some(ReachedLimit::MaxHold(max_hold))
        } else {
            None
        }
    }

    /// Records the success of an extend that was sent at `sent_at`.
    pub fn record_success(&mut self, sent_at: Instant, chance: f64) {
        self.renewals += 1;
        // A node may have started the lease as soon as the request was sent.
        let valid_until = sent_at + self.ttl.saturating_sub(self.drift.for_lease(self.ttl));
        self.set_lease(self.ttl, valid_until, chance);
    }

    /// Records the failure of an extend. The pause before the retry doubles each time and leaves
    /// time for at least one more retry.
    pub fn record_failure(&mut self, now: Instant, chance: f64) {
        let left = self.give_up_at().saturating_duration_since(now);
        let max_pause = (self.ttl / 10).min(MAX_RETRY_PAUSE);
        let pause = self.retry_pause.map_or(self.ttl / 60, |pause| pause * 2);
        // Half of the remaining time leaves room for at least one more retry.
        let pause = pause.min(max_pause).min(left / 2).max(MIN_RETRY_PAUSE);
        self.retry_pause = Some(pause);
        self.next_renewal = now + pause.mul_f64(0.5 + chance / 2.0);
    }

    /// Records an extend by the owner with lease `ttl`; the lock is valid for `validity` from `now`
    /// on.
    pub fn record_extension(
        &mut self,
        ttl: Duration,
        validity: Duration,
        now: Instant,
        chance: f64,
    ) {
        self.set_lease(ttl, now + validity, chance);
    }

    /// Moves all times back by a suspension of the machine, which `Instant` does not count.
    pub fn apply_suspension(&mut self, duration: Duration, now: Instant) {
        for time in [
            &mut self.held_since,
            &mut self.valid_until,
            &mut self.next_renewal,
        ] {
            // On some platforms `Instant` cannot represent a time before the machine started.
            *time = time.checked_sub(duration).unwrap_or(now);
        }
    }

    /// Makes the next extend due immediately.
    pub fn renew_now(&mut self, now: Instant) {
        self.next_renewal = now;
    }

    /// Suspends or resumes extends.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// The lease duration of the next extend.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The end of the validity.
    pub fn valid_until(&self) -> Instant {
        self.valid_until
    }

    /// When the holder must stop relying on the lock, unless an extend succeeds before.
    pub fn give_up_at(&self) -> Instant {
        let lead_time = self.valid_until.checked_sub(self.lead_time);
        lead_time.unwrap_or(self.valid_until)
    }

    /// The number of successful extends.
    pub fn renewals(&self) -> u32 {
        self.renewals
    }

    /// Sets a lease that began `ttl − drift` before its validity ends. The next extend is due after
    /// a third of it.
    fn set_lease(&mut self, ttl: Duration, valid_until: Instant, chance: f64) {
        let third = (ttl / 3).mul_f64(1.0 - MAX_JITTER * chance);
        let remaining = ttl
            .saturating_sub(self.drift.for_lease(ttl))
            .saturating_sub(third);
        self.ttl = ttl;
        self.valid_until = valid_until;
        self.next_renewal = valid_until.checked_sub(remaining).unwrap_or(valid_until);
        self.retry_pause = None;
    }
}

#[cfg(test)]
mod tests;
