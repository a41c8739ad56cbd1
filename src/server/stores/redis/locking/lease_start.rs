//! The start of a lease, measured so that time during a suspension of the machine counts.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::clock::Clock;

/// The start of a lease.
#[derive(Clone, Debug)]
pub struct LeaseStart {
    instant: Instant,
    suspended: Duration,
    clock: Clock,
}

impl LeaseStart {
    /// The current moment.
    pub fn now(clock: &Clock) -> Self {
        Self {
            instant: clock.instant(),
            suspended: clock.suspended_duration(),
            clock: clock.clone(),
        }
    }

    /// The elapsed time, including suspensions.
    pub fn elapsed(&self) -> Duration {
        // The nodes count the lease during a suspension of this machine, `Instant` does not.
        let awake = self.clock.instant().saturating_duration_since(self.instant);
        awake
            + self
                .clock
                .suspended_duration()
                .saturating_sub(self.suspended)
    }

    /// The start on the monotonic clock, which stops while the machine is suspended.
    pub fn instant(&self) -> Instant {
        self.instant
    }
}
