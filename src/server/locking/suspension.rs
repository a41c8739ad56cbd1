//! The time for which this machine was suspended. A lease on a node goes on meanwhile, and `Instant` stands still: on Linux
//! it reads `CLOCK_MONOTONIC`, which does not count that time, as `CLOCK_BOOTTIME` does.

use std::time::Duration;

use tokio::time::Instant;

/// A moment from which a lease is counted.
#[derive(Clone, Copy, Debug)]
pub struct LeaseBegan {
    at: Instant,
    suspended: Duration,
}

impl LeaseBegan {
    /// This moment.
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            suspended: suspended(),
        }
    }

    /// What has passed of the lease.
    pub fn elapsed(&self) -> Duration {
        self.at.elapsed() + suspended().saturating_sub(self.suspended)
    }

    /// The same moment by the clock that stands still while the machine is suspended.
    pub fn at(&self) -> Instant {
        self.at
    }
}

/// For how long this machine was suspended since it was started. The two clocks are read one after the other: what lies
/// between is counted as well, which makes a lease look older than it is and never younger.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let awake = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(awake)
}

/// Nothing is known of it on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn suspended() -> Duration {
    Duration::ZERO
}
