//! How often what happened, so that nobody takes a simulation of nothing for a proof.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Schedule,
    Event,
    Try,
    Won,
    KeptOut,
    NoQuorum,
    TooLate,
    Contention,
    Behind,
    RaiseDenied,
    Unanswered,
    NotAsked,
    Abstained,
    Withdrawn,
    WithdrawnLater,
    TokenChanged,
    HungUp,
    Extended,
    ExtendedLate,
    ExtendFailed,
    PutBack,
    AskedForLess,
    Retaken,
    Released,
    ReleasedLate,
    Lost,
    Twice,
    AfterGivingUp,
    Pause,
    ClientCrash,
    Newcomer,
    CrashKept,
    CrashForgot,
    CrashRolledBack,
    ClockStep,
    WallClockSet,
    Cut,
    CountersForgotten,
}

const KINDS: usize = Seen::CountersForgotten as usize + 1;

impl Seen {
    /// Everything that is counted.
    pub const ALL: [Self; KINDS] = [
        Self::Schedule,
        Self::Event,
        Self::Try,
        Self::Won,
        Self::KeptOut,
        Self::NoQuorum,
        Self::TooLate,
        Self::Contention,
        Self::Behind,
        Self::RaiseDenied,
        Self::Unanswered,
        Self::NotAsked,
        Self::Abstained,
        Self::Withdrawn,
        Self::WithdrawnLater,
        Self::TokenChanged,
        Self::HungUp,
        Self::Extended,
        Self::ExtendedLate,
        Self::ExtendFailed,
        Self::PutBack,
        Self::AskedForLess,
        Self::Retaken,
        Self::Released,
        Self::ReleasedLate,
        Self::Lost,
        Self::Twice,
        Self::AfterGivingUp,
        Self::Pause,
        Self::ClientCrash,
        Self::Newcomer,
        Self::CrashKept,
        Self::CrashForgot,
        Self::CrashRolledBack,
        Self::ClockStep,
        Self::WallClockSet,
        Self::Cut,
        Self::CountersForgotten,
    ];
}

/// How often each was seen.
#[derive(Clone)]
pub struct Counts([u64; KINDS]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl Counts {
    /// It was seen once more.
    pub fn saw(&mut self, what: Seen) {
        self.0[what as usize] += 1;
    }

    /// How often it was seen.
    pub fn of(&self, what: Seen) -> u64 {
        self.0[what as usize]
    }

    /// What was seen elsewhere is added.
    pub fn add(&mut self, other: &Self) {
        for (here, there) in self.0.iter_mut().zip(other.0) {
            *here += there;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for what in Seen::ALL {
            writeln!(f, "{:>12} {what:?}", self.of(what))?;
        }
        Ok(())
    }
}
