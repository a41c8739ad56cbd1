//! The moment from which a lease is counted, which goes on while this machine is suspended.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::clock::Clock;

/// A moment from which a lease is counted.
#[derive(Clone, Debug)]
pub struct LeaseBegan {
    at: Instant,
    suspended: Duration,
    clock: Clock,
}

impl LeaseBegan {
    /// This moment.
    pub fn now(clock: &Clock) -> Self {
        Self {
            at: clock.instant(),
            suspended: clock.suspended(),
            clock: clock.clone(),
        }
    }

    /// What has passed of the lease.
    pub fn elapsed(&self) -> Duration {
        let awake = self.clock.instant().saturating_duration_since(self.at);
        awake + self.clock.suspended().saturating_sub(self.suspended)
    }

    /// The same moment by the clock that stands still while the machine is suspended.
    pub fn at(&self) -> Instant {
        self.at
    }
}
