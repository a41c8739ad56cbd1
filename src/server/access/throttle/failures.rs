//! Counters of failed attempts, and the back-off that follows from them.

use std::time::Duration;

use crate::domain::operation_error::LimitReached;
use crate::domain::{OperationError, Timestamp};

/// Attempts without back-off per account and network, or per account and known browser.
pub const FREE_ATTEMPTS_PER_PAIR: u32 = 5;
/// Attempts without back-off per network. Higher, because many users can share a network.
pub const FREE_ATTEMPTS_PER_NETWORK: u32 = 20;
/// Attempts without delay per account, from all networks.
pub const FREE_ATTEMPTS_PER_ACCOUNT: u32 = 20;
/// The maximum time until the next attempt is accepted.
pub const MAX_BACKOFF: Duration = Duration::from_mins(1);
/// The maximum delay of an attempt on an account that is attacked from many networks. It bounds the
/// harm that an attacker can do to an account by knowing its name.
pub const MAX_DELAY: Duration = Duration::from_secs(2);
/// Counters are reset after this time without an attempt.
pub const FAILURE_TTL: Duration = Duration::from_mins(15);

/// Failed attempts of one account or network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    pub count: u32,
    /// The time of the last one.
    pub last: Option<Timestamp>,
}

impl Failures {
    /// The time until the next attempt is accepted.
    fn backoff_left(&self, free: u32, now: Timestamp) -> Duration {
        let Some(last) = self.last else {
            return Duration::ZERO;
        };
        let backoff = exponential_pause(self.count.saturating_sub(free), Duration::from_secs(1));
        // `since` is zero if the clock was set back, so the wait is never longer than the back-off.
        backoff.min(MAX_BACKOFF).saturating_sub(now.since(last))
    }

    /// How long the next attempt is delayed.
    fn delay(&self, free: u32, now: Timestamp) -> Duration {
        if self.last.is_none_or(|last| now.since(last) > FAILURE_TTL) {
            return Duration::ZERO;
        }
        let delay = exponential_pause(self.count.saturating_sub(free), Duration::from_millis(100));
        delay.min(MAX_DELAY)
    }

    fn record_attempt(&mut self, now: Timestamp) {
        if self.last.is_none_or(|last| now.since(last) > FAILURE_TTL) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = Some(now);
    }
}

/// Doubles with each attempt beyond the free ones.
fn exponential_pause(excess: u32, first: Duration) -> Duration {
    // Avoids an overflow of the exponent; both limits are reached before.
    match excess.min(16) {
        0 => Duration::ZERO,
        excess => first * 2_u32.pow(excess - 1),
    }
}

/// The counters that apply to one attempt.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptCounters {
    /// For the account from this network, or with this known browser.
    pub pair: Failures,
    /// For the network, and for the account from all networks. `None` for a known browser.
    pub shared: Option<[Failures; 2]>,
    /// Since when the account has been used from this network.
    pub known_network_since: Option<Timestamp>,
}

impl AttemptCounters {
    /// Counts an attempt. Returns its delay, or an error if it comes too soon.
    pub fn record_attempt(&mut self, now: Timestamp) -> Result<Duration, OperationError> {
        for failures in self.all() {
            // If the clock was set back, the last attempt is not in the future.
            failures.last = failures.last.map(|last| last.min(now));
        }
        let (mut backoff, mut delay) = (
            self.pair.backoff_left(FREE_ATTEMPTS_PER_PAIR, now),
            Duration::ZERO,
        );
        // Attempts from a known network or browser are not slowed down by those of others.
        if let Some([network, account]) = self.shared
            && self.known_network_since.is_none()
        {
            backoff = backoff.max(network.backoff_left(FREE_ATTEMPTS_PER_NETWORK, now));
            delay = account.delay(FREE_ATTEMPTS_PER_ACCOUNT, now);
        }
        if !backoff.is_zero() {
            return Err(too_many_attempts(backoff));
        }
        for failures in self.all() {
            failures.record_attempt(now);
        }
        Ok(delay)
    }

    /// Records that the last counted attempt succeeded.
    pub fn record_success(&mut self, now: Timestamp) {
        self.pair = Failures::default();
        if let Some([network, account]) = &mut self.shared {
            // Other failures from this network still count.
            network.count = network.count.saturating_sub(1);
            *account = Failures::default();
            self.known_network_since = Some(now);
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Failures> {
        std::iter::once(&mut self.pair).chain(self.shared.iter_mut().flatten())
    }
}

/// The error for an attempt that comes too soon.
pub fn too_many_attempts(backoff: Duration) -> OperationError {
    OperationError::TooManyRequests {
        cause: LimitReached::FailedSignIns,
        retry_after_ms: u64::try_from(backoff.as_millis())
            .unwrap_or(u64::MAX)
            .max(1),
    }
}
