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
    /// Programs have different nodes in their configurations: two of five are a quorum.
    DifferentNodes,
    /// A release deletes whatever is there.
    CarelessRelease,
    /// Nodes that counted less than the quorum say that they were raised, and were not.
    NoRaise,
    /// A node forgets its counters while the clocks of clients differ by more than the time in between.
    ClocksBehind,
    /// What was not replied to is taken for what was not sent: a try goes on with the token of a try that is still being released.
    SameToken,
    /// What a try that failed had taken is not released.
    NoRollback,
    /// Asking again for a lock that one has sets its lease, also to less than what is left.
    LeasesAreSet,
    /// A program starts at once after so many nodes restarted empty that no majority is older.
    Newcomers,
    /// A program that meets a node for the first time does not look since when it runs.
    Strangers,
    /// A token that was released, or whose acquire failed, is brought along again.
    BroughtAgain,
    /// An owner whose lock was not valid any more extends it, and relies on its fencing token.
    ExtendsTooLate,
    /// A node that restarted is left out for less than the longest lease.
    WaitCutShort,
}

impl Broken {
    /// All of them.
    const ALL: [Self; 15] = [
        Self::ClocksJump,
        Self::NoDelayedRestart,
        Self::NoDrift,
        Self::DifferentNodes,
        Self::CarelessRelease,
        Self::NoRaise,
        Self::ClocksBehind,
        Self::SameToken,
        Self::NoRollback,
        Self::LeasesAreSet,
        Self::Newcomers,
        Self::Strangers,
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
            Self::NoDelayedRestart
            | Self::Newcomers
            | Self::Strangers
            | Self::ClocksBehind
            | Self::WaitCutShort => Kind::Forgetful,
            Self::NoRollback => Kind::Calm,
            Self::ClocksJump
            | Self::NoDrift
            | Self::DifferentNodes
            | Self::CarelessRelease
            | Self::NoRaise
            | Self::SameToken
            | Self::LeasesAreSet
            | Self::BroughtAgain
            | Self::ExtendsTooLate => Kind::Wild,
        }
    }
}

impl Plan {
    /// Makes what would go wrong likely, within the assumptions.
    pub fn aim(&mut self, dice: &mut Dice, aim: Broken) {
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
            Broken::LeasesAreSet => {
                self.habits.extends = 700;
                self.habits.mixes = 500;
                self.habits.oversleeps = 300;
            }
            Broken::Strangers => {
                self.network.lost = 150;
                self.node_clocks.truncate(3);
            }
            Broken::WaitCutShort => self.locking.fencing = false,
            Broken::DifferentNodes => {
                self.node_clocks.resize(5, self.node_clocks[0]);
                self.keeps_every_write.resize(5, true);
            }
            // So that what is left of a try outlasts everything else.
            Broken::NoRollback => {
                self.rounds = 1;
                self.leases.fill(400);
            }
            Broken::NoDelayedRestart | Broken::Newcomers => {}
        }
        if aim.kind() == Kind::Forgetful {
            let nodes = self.nodes();
            self.keeps_every_write = vec![false; nodes];
            let minority = (nodes - 1) / 2;
            let crashes = if aim == Broken::Strangers {
                minority
            } else {
                nodes
            };
            for node in 0..crashes {
                let down_for = dice.between(MS, 20 * MS);
                let keeps = Keeps::Nothing;
                let at = dice.between(0, 4 * self.longest());
                let crash = Mischief::Crash {
                    node,
                    down_for,
                    keeps,
                };
                self.mischief.push((at, crash));
                if aim == Broken::Strangers {
                    self.start_again(dice, at);
                }
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
            Broken::WaitCutShort => self.locking.longest_lease /= 10,
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
            Broken::Newcomers => self.start_again(dice, 0),
            // What clients and nodes leave out.
            Broken::DifferentNodes
            | Broken::CarelessRelease
            | Broken::NoRaise
            | Broken::SameToken
            | Broken::LeasesAreSet
            | Broken::Strangers
            | Broken::NoRollback
            | Broken::BroughtAgain
            | Broken::ExtendsTooLate => {}
        }
    }

    /// All clients end some time later, and others take their places.
    fn start_again(&mut self, dice: &mut Dice, from: u64) {
        for client in 0..self.client_clocks.len() {
            let at = from + dice.between(0, 4 * self.longest());
            let down_for = MS;
            self.mischief
                .push((at, Mischief::Kill { client, down_for }));
        }
    }
}
