//! The assumptions, one by one: in which schedules it would show if one did not hold, and what it is to break it.

use std::time::Duration;

use lockkeeper::domain::quorum::Drift;

use super::dice::Dice;
use super::schedule::{Keeps, Kind, MS, Mischief, Plan, WORST_RATE};

/// An assumption that is broken on purpose, or a rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Nodes' clocks are set forward by more than the drift during a lease.
    ClocksJump,
    /// A node that restarted empty takes new locks at once.
    NoDelayedRestart,
    /// Nothing is subtracted for clocks that run at different rates.
    NoDrift,
    /// Half of the nodes, rounded down, are enough.
    HalfIsEnough,
    /// A release deletes whatever is there.
    CarelessRelease,
    /// Nodes that counted less than the quorum are not raised.
    NoRaise,
    /// A node forgets its counters while the clocks of clients differ by more than the time in between.
    ClocksBehind,
    /// A try goes on with the token of a try that failed.
    SameToken,
    /// One owner asks for leases of different lengths.
    MixedLeases,
    /// A program that has not seen a node before it restarted empty takes part at once.
    Newcomers,
    /// A token that was released, or whose acquire failed, is brought along again.
    BroughtAgain,
    /// An owner whose lock was not valid any more extends it, and relies on its fencing token.
    ExtendsTooLate,
    /// The wall clock of a client that waits for a node after its restart is set forward.
    WaitCutShort,
}

impl Broken {
    /// All of them.
    const ALL: [Self; 13] = [
        Self::ClocksJump,
        Self::NoDelayedRestart,
        Self::NoDrift,
        Self::HalfIsEnough,
        Self::CarelessRelease,
        Self::NoRaise,
        Self::ClocksBehind,
        Self::SameToken,
        Self::MixedLeases,
        Self::Newcomers,
        Self::BroughtAgain,
        Self::ExtendsTooLate,
        Self::WaitCutShort,
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Self {
        let is_it = |broken: &Self| format!("{broken:?}") == name;
        Self::ALL.into_iter().find(is_it).unwrap()
    }

    /// The kind of schedule in which it shows.
    pub fn kind(self) -> Kind {
        match self {
            Self::NoDelayedRestart | Self::Newcomers | Self::ClocksBehind | Self::WaitCutShort => {
                Kind::Forgetful
            }
            Self::ClocksJump
            | Self::NoDrift
            | Self::HalfIsEnough
            | Self::CarelessRelease
            | Self::NoRaise
            | Self::SameToken
            | Self::MixedLeases
            | Self::BroughtAgain
            | Self::ExtendsTooLate => Kind::Wild,
        }
    }
}

impl Plan {
    /// Makes what would go wrong likely, within the assumptions.
    pub fn aim(&mut self, dice: &mut Dice, aim: Broken) {
        let nodes = self.nodes();
        match aim {
            Broken::NoDrift => {
                self.habits.oversleeps = 500;
                for clock in &mut self.node_clocks {
                    clock.rate = WORST_RATE;
                }
                for clock in &mut self.client_clocks {
                    clock.rate = -WORST_RATE;
                }
            }
            Broken::ClocksJump | Broken::CarelessRelease => self.habits.oversleeps = 300,
            Broken::ClocksBehind => {
                self.locking.fencing = true;
                self.locking.longest_lease = Duration::from_micros(2 * self.longest());
                self.needs_the_clock = false;
            }
            Broken::NoRaise => self.locking.fencing = true,
            Broken::SameToken | Broken::BroughtAgain | Broken::ExtendsTooLate => {
                self.locks = 1;
                self.locking.fencing = true;
                self.command_timeout = Duration::from_millis(50);
                self.network.slow = 150;
                self.network.slowest = 3 * self.longest();
                self.network.in_order = false;
                self.habits.brings = if aim == Broken::BroughtAgain { 900 } else { 0 };
                if aim == Broken::ExtendsTooLate {
                    // With one node, one message that arrives twice is enough.
                    self.node_clocks.truncate(1);
                    self.keeps_every_write.truncate(1);
                    self.network.twice = 200;
                    self.habits.oversleeps = 500;
                }
            }
            Broken::MixedLeases => {
                self.habits.extends = 700;
                self.habits.oversleeps = 300;
            }
            Broken::NoDelayedRestart
            | Broken::Newcomers
            | Broken::WaitCutShort
            | Broken::HalfIsEnough => {}
        }
        if aim.kind() == Kind::Forgetful {
            self.keeps_every_write = vec![false; nodes];
            for node in 0..nodes {
                let down_for = dice.between(MS, 20 * MS);
                let keeps = Keeps::Nothing;
                let at = dice.between(0, 4 * self.longest());
                let crash = Mischief::Crash {
                    node,
                    down_for,
                    keeps,
                };
                self.mischief.push((at, crash));
            }
        }
    }

    /// Breaks it.
    pub fn break_it(&mut self, dice: &mut Dice, broken: Broken) {
        self.broken = Some(broken);
        let longest = self.longest();
        match broken {
            Broken::NoDrift => {
                self.locking.drift = Drift {
                    ratio: 0.0,
                    plus: Duration::ZERO,
                };
            }
            Broken::NoDelayedRestart => self.locking.delayed_restart = false,
            Broken::ClocksJump => {
                for node in 0..self.nodes() {
                    let by = i64::try_from(dice.between(longest / 4, longest)).unwrap();
                    let at = dice.between(0, 4 * longest);
                    self.mischief.push((at, Mischief::Step { node, by }));
                }
            }
            Broken::ClocksBehind => {
                for clock in &mut self.client_clocks {
                    clock.off = dice.around(60_000_000);
                }
            }
            Broken::Newcomers => {
                for client in 0..self.client_clocks.len() {
                    let at = dice.between(0, 4 * longest);
                    self.mischief.push((
                        at,
                        Mischief::Kill {
                            client,
                            down_for: MS,
                        },
                    ));
                }
            }
            Broken::WaitCutShort => {
                for client in 0..self.client_clocks.len() {
                    let at = dice.between(0, 4 * longest);
                    let by = i64::try_from(3 * longest).unwrap();
                    self.mischief.push((at, Mischief::SetWall { client, by }));
                }
            }
            // What clients and nodes leave out.
            Broken::HalfIsEnough
            | Broken::CarelessRelease
            | Broken::NoRaise
            | Broken::SameToken
            | Broken::MixedLeases
            | Broken::BroughtAgain
            | Broken::ExtendsTooLate => {}
        }
    }
}
