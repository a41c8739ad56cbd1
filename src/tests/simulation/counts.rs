//! How often what happened, so that nobody takes a simulation of nothing for a proof.

use std::collections::BTreeMap;

macro_rules! seen {
    ($($what:ident)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Seen {
            $($what,)*
        }

        impl Seen {
            /// Everything that is counted.
            pub const ALL: &[Self] = &[$(Self::$what,)*];
        }
    };
}

seen! {
    Schedule Event Won KeptOut NoQuorum Contention Raised RaiseDenied
    Unanswered NotAsked Abstained Withdrawn TokenChanged HungUp Extended ExtendedLate
    ExtendFailed PutBack Renewed RenewalsEnded AskedForLess Retaken Released ReleasedLate
    Forced Lost Twice AfterGivingUp Pause ClientCrash Newcomer CrashKept
    CrashForgot CrashRolledBack ClockStep WallClockSet Cut CountersForgotten
}

/// How often each was seen.
#[derive(Clone, Default)]
pub struct Counts(BTreeMap<Seen, u64>);

impl Counts {
    /// It was seen once more.
    pub fn saw(&mut self, what: Seen) {
        *self.0.entry(what).or_default() += 1;
    }

    /// How often it was seen.
    pub fn of(&self, what: Seen) -> u64 {
        self.0.get(&what).copied().unwrap_or(0)
    }

    /// What was seen elsewhere is added.
    pub fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(*what).or_default() += times;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for what in Seen::ALL {
            writeln!(f, "{:>12} {what:?}", self.of(*what))?;
        }
        Ok(())
    }
}
