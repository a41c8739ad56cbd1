//! Counts what the schedules exercised. The tests require a minimum of each, because a simulation
//! in which nothing happens would prove nothing.

use std::collections::BTreeMap;

macro_rules! counters {
    ($($name:ident)*) => {
        /// An occurrence that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Counter {
            $($name,)*
        }

        impl Counter {
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

counters! {
    Schedule Event Acquired HeldByOther NoQuorum Contention FenceBumped FenceBumpDenied
    NoReply NotSent NodeExcluded RolledBack TokenChanged AcquireCancelled Extended ExtendedLate
    ExtendFailed LockRestored Renewed RenewalEnded ShorterLeaseRequested Reacquired Released ReleasedLate
    ForceReleased MessageLost MessageDuplicated RequestArrivedLate Pause ClientCrash EarlyStart CrashKeptData
    CrashLostData CrashRolledBack ClockStep WallClockSet Partition FenceExpired
}

/// The value of each counter.
#[derive(Clone, Default)]
pub struct Counters(BTreeMap<Counter, u64>);

impl Counters {
    pub fn increment(&mut self, counter: Counter) {
        *self.0.entry(counter).or_default() += 1;
    }

    pub fn get(&self, counter: Counter) -> u64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// Adds the values of other counters.
    pub fn merge(&mut self, other: &Self) {
        for (counter, count) in &other.0 {
            *self.0.entry(*counter).or_default() += count;
        }
    }
}

impl std::fmt::Display for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for counter in Counter::ALL {
            writeln!(f, "{:>12} {counter:?}", self.get(*counter))?;
        }
        Ok(())
    }
}
