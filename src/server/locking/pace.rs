//! The pace of a lock that is kept: when to renew it next, when to leave off, when it is lost. No I/O, no clock, no chance.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::quorum::Drift;
use crate::server::config::LockingConfig;

/// The shortest pause after a renewal that failed.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
/// The longest; a tenth of the lease where that is less.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The share of the interval by which chance may bring a renewal forward, so that locks taken together fall out of step.
const JITTER: f64 = 0.1;

/// How long a lock is kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So long after it was acquired it is not renewed any more.
    pub longest_hold: Duration,
    /// So often it is renewed.
    pub most_extensions: u32,
}

impl Limits {
    /// It is kept for as long as somebody wants it to be.
    pub const NONE: Self = Self {
        longest_hold: Duration::MAX,
        most_extensions: u32::MAX,
    };

    /// Those of the configuration.
    pub fn of(config: &LockingConfig) -> Self {
        Self {
            longest_hold: config.longest_hold,
            most_extensions: config.most_extensions,
        }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The longest hold.
    LongestHold(Duration),
    /// The number of extensions.
    MostExtensions(u32),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LongestHold(span) => write!(f, "{}", humantime::format_duration(*span)),
            Self::MostExtensions(1) => f.write_str("1 extension"),
            Self::MostExtensions(most) => write!(f, "{most} extensions"),
        }
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Renew it.
    Renew,
    /// Nothing before this moment.
    Sleep(Instant),
    /// Stop relying on it.
    Over,
}

/// The pace of one lock.
#[derive(Clone, Debug)]
pub struct Pace {
    ttl: Duration,
    drift: Drift,
    limits: Limits,
    /// Without a renewal, the lock is given up this long before its validity ends.
    ahead: Duration,
    held_since: Instant,
    /// Until when it may be relied on.
    valid_until: Instant,
    extensions: u32,
    due: Instant,
    /// The longest pause before the next try, where the last one failed.
    pause: Option<Duration>,
    is_paused: bool,
}

impl Pace {
    /// The pace of a lock that was acquired with `ttl` and may be relied on for `validity` from `now` on. Chance is
    /// between 0 and 1, here and below.
    pub fn new(
        ttl: Duration,
        validity: Duration,
        drift: Drift,
        limits: Limits,
        ahead: Duration,
        now: Instant,
        chance: f64,
    ) -> Self {
        let mut pace = Self {
            ttl,
            drift,
            limits,
            ahead,
            held_since: now,
            valid_until: now,
            extensions: 0,
            due: now,
            pause: None,
            is_paused: false,
        };
        pace.lease(ttl, now + validity, chance);
        pace
    }

    /// What to do at this moment.
    pub fn next(&self, now: Instant) -> Step {
        let over = self.give_up_at();
        if now >= over {
            Step::Over
        } else if self.is_paused || self.limit(now).is_some() {
            Step::Sleep(over)
        } else if now >= self.due {
            Step::Renew
        } else {
            Step::Sleep(self.due.min(over))
        }
    }

    /// Which limit forbids to renew it any more.
    pub fn limit(&self, now: Instant) -> Option<Limit> {
        let Limits {
            longest_hold,
            most_extensions,
        } = self.limits;
        if self.extensions >= most_extensions {
            Some(Limit::MostExtensions(most_extensions))
        } else if now.saturating_duration_since(self.held_since) >= longest_hold {
            Some(Limit::LongestHold(longest_hold))
        } else {
            None
        }
    }

    /// A renewal succeeded that began at `began`.
    pub fn renewed(&mut self, began: Instant, chance: f64) {
        self.extensions += 1;
        let valid_until = began + self.ttl.saturating_sub(self.drift.of(self.ttl));
        self.lease(self.ttl, valid_until, chance);
    }

    /// A renewal failed, and another may succeed: after a pause that grows from try to try and leaves time for one more.
    pub fn failed(&mut self, now: Instant, chance: f64) {
        let left = self.give_up_at().saturating_duration_since(now);
        let longest = (self.ttl / 10).min(LONGEST_PAUSE);
        let pause = self.pause.map_or(self.ttl / 60, |pause| pause * 2);
        let pause = pause.min(longest).min(left / 2).max(SHORTEST_PAUSE);
        self.pause = Some(pause);
        self.due = now + pause.mul_f64(0.5 + chance / 2.0);
    }

    /// Its owner set the lease to `ttl` itself, and may rely on it for `validity` from `now` on.
    pub fn extended(&mut self, ttl: Duration, validity: Duration, now: Instant, chance: f64) {
        self.lease(ttl, now + validity, chance);
    }

    /// The machine was suspended for this long, which no `Instant` tells: everything is due that much earlier.
    pub fn suspended(&mut self, span: Duration, now: Instant) {
        for moment in [&mut self.held_since, &mut self.valid_until, &mut self.due] {
            *moment = moment.checked_sub(span).unwrap_or(now);
        }
    }

    /// Renew it as soon as that may be.
    pub fn hurry(&mut self, now: Instant) {
        self.due = now;
    }

    /// Renew it no more, until this is taken back.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// The lease that it is renewed for.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Until when it may be relied on.
    pub fn valid_until(&self) -> Instant {
        self.valid_until
    }

    /// When to stop relying on it, unless it is renewed.
    pub fn give_up_at(&self) -> Instant {
        let ahead = self.valid_until.checked_sub(self.ahead);
        ahead.unwrap_or(self.valid_until)
    }

    /// How often it was renewed.
    pub fn extensions(&self) -> u32 {
        self.extensions
    }

    /// The lease began `ttl − drift` before it ends to be valid; a third of it later it is renewed.
    fn lease(&mut self, ttl: Duration, valid_until: Instant, chance: f64) {
        let third = (ttl / 3).mul_f64(1.0 - JITTER * chance);
        let rest = ttl.saturating_sub(self.drift.of(ttl)).saturating_sub(third);
        self.ttl = ttl;
        self.valid_until = valid_until;
        self.due = valid_until.checked_sub(rest).unwrap_or(valid_until);
        self.pause = None;
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
