//! What a number makes of a schedule: who takes part, whose clock is how wrong, what the network does, what breaks when.

use std::time::Duration;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::LockingConfig;

use super::assumptions::Broken;
use super::clock::{Clock, Moment};
use super::dice::Dice;

/// What messages go through.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The usual delay, one way, in microseconds.
    pub usual: (u64, u64),
    /// How many of a thousand messages take longer than that, up to `slowest`.
    pub slow: u64,
    /// The longest delay.
    pub slowest: u64,
    /// How many of a thousand are lost.
    pub lost: u64,
    /// How many of a thousand arrive once more, later.
    pub twice: u64,
    /// What one client sends to one node arrives in order, as on one connection. Otherwise in any.
    pub in_order: bool,
}

/// What clients do, so many times in a thousand.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Stop for a while, in the middle of anything.
    pub pauses: u64,
    /// For how long at most, in microseconds.
    pub longest_pause: u64,
    /// Bring a token of their own.
    pub brings: u64,
    /// Extend once more.
    pub extends: u64,
    /// Ask for a shorter lease when they have the lock already.
    pub mixes: u64,
    /// Have a lock renewed for them.
    pub keeps: u64,
    /// Release somebody's lock by force.
    pub forces: u64,
    /// Sleep longer than the lock is valid.
    pub oversleeps: u64,
    /// Go away without a release.
    pub leaves: u64,
    /// Hang up in the middle of an acquire.
    pub hangs_up: u64,
    /// Do nothing for an hour or two.
    pub idles: u64,
}

/// What happens at a moment that was set beforehand.
#[derive(Clone, Copy, Debug)]
pub enum Mischief {
    /// A node ends, and comes back after so long.
    Crash {
        node: usize,
        down_for: u64,
        keeps: Keeps,
    },
    /// A node puts what it has on its disk, for [`Keeps::WhatWasSaved`].
    Save { node: usize },
    /// A node's clock is set, by so many microseconds.
    Step { node: usize, by: i64 },
    /// A client's wall clock is set.
    SetWall { client: usize, by: i64 },
    /// A client and a node cannot reach one another for so long.
    Cut {
        client: usize,
        node: usize,
        lasts: u64,
    },
    /// A client ends in the middle of whatever it does; another one starts in its place after so long.
    Kill { client: usize, down_for: u64 },
}

/// What a node knows after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    Everything,
    WhatWasSaved,
    Nothing,
}

/// One schedule.
#[derive(Clone)]
pub struct Plan {
    pub locks: u8,
    /// Every client's lease, in milliseconds.
    pub leases: Vec<u64>,
    pub locking: LockingConfig,
    pub command_timeout: Duration,
    pub node_clocks: Vec<Clock>,
    /// The nodes that put every write on their disk before they answer.
    pub keeps_every_write: Vec<bool>,
    pub client_clocks: Vec<Clock>,
    pub network: Network,
    pub habits: Habits,
    /// How often each client acquires.
    pub rounds: u64,
    pub mischief: Vec<(Moment, Mischief)>,
    /// Nothing goes wrong, and everybody releases.
    pub calm: bool,
    /// Fences rise only as far as the clocks of clients are right, see [`super::checker::Promise`].
    pub needs_the_clock: bool,
    pub broken: Option<Broken>,
}

/// What a schedule is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing goes wrong.
    Calm,
    /// Everything does, but nodes forget nothing; wall clocks show anything.
    Wild,
    /// Nodes restart empty, or with what they had a while ago.
    Forgetful,
    /// Locks are left alone for so long that counters are forgotten.
    Slow,
}

/// How far the rate of a clock may be off, in millionths: two that differ by twice that are covered by a drift of 1 %.
pub const WORST_RATE: i64 = 5_000;
/// A millisecond.
pub const MS: u64 = 1_000;
const DAY: i64 = 86_400_000_000;

impl Plan {
    /// The schedule of this number: under all assumptions, or with one that is broken.
    pub fn new(seed: u64, broken: Option<Broken>) -> Self {
        Self::aimed(seed, broken, broken)
    }

    /// The schedule of this number in which it would show if `aim` were broken.
    pub fn aimed(seed: u64, aim: Option<Broken>, broken: Option<Broken>) -> Self {
        let mut dice = Dice::new(seed);
        let kind = match dice.between(0, 100) {
            0..8 => Kind::Calm,
            8..55 => Kind::Wild,
            55..92 => Kind::Forgetful,
            _ => Kind::Slow,
        };
        let kind = aim.map_or(kind, Broken::kind);
        let nodes = dice.one_of(&[1, 3, 3, 3, 5]);
        let clients = 2 + dice.place(4);
        let mut plan = Self::among(&mut dice, kind, nodes, clients);
        if let Some(aim) = aim {
            plan.aim(&mut dice, aim);
        }
        plan.mischief(&mut dice, kind);
        if let Some(broken) = broken {
            plan.break_it(&mut dice, broken);
        }
        plan
    }

    fn among(dice: &mut Dice, kind: Kind, nodes: usize, clients: usize) -> Self {
        let (calm, forgetful) = (kind == Kind::Calm, kind == Kind::Forgetful);
        let usual_lease = dice.one_of(&[60, 100, 200, 400]);
        let mixed = dice.happens(300);
        let leases: Vec<u64> = (0..clients)
            .map(|_| {
                if mixed {
                    dice.one_of(&[60, 100, 200, 400])
                } else {
                    usual_lease
                }
            })
            .collect();
        let longest = *leases.iter().max().unwrap();
        let allowed = dice.one_of(&[1, 2]);
        let mut locking = LockingConfig::new(GroupKind::Redlock);
        locking.longest_lease = Duration::from_millis(longest * allowed);
        locking.fencing = dice.happens(900);
        let off = match kind {
            Kind::Calm | Kind::Wild => 2 * DAY,
            Kind::Forgetful => i64::try_from(longest * MS / 10).unwrap(),
            Kind::Slow => 300_000_000,
        };
        let clock = |dice: &mut Dice, off: i64| Clock {
            rate: match dice.place(4) {
                0 => -WORST_RATE,
                1 => WORST_RATE,
                2 => 0,
                _ => dice.around(WORST_RATE),
            },
            off: dice.around(off),
        };
        let often = |dice: &mut Dice, choices: &[u64]| if calm { 0 } else { dice.one_of(choices) };
        Self {
            locks: dice.one_of(&[1, 1, 2]),
            locking,
            command_timeout: Duration::from_millis(dice.one_of(&[50, 500])),
            node_clocks: (0..nodes).map(|_| clock(dice, 2 * DAY)).collect(),
            keeps_every_write: (0..nodes)
                .map(|_| !forgetful || dice.happens(300))
                .collect(),
            client_clocks: (0..clients).map(|_| clock(dice, off)).collect(),
            network: Network {
                usual: (
                    50,
                    if calm {
                        3_000
                    } else {
                        dice.one_of(&[300, 2_000, 8_000])
                    },
                ),
                slow: often(dice, &[0, 20, 100]),
                slowest: dice.one_of(&[30 * MS, longest * MS, 3 * longest * MS]),
                lost: often(dice, &[0, 10, 60]),
                twice: often(dice, &[0, 20, 100]),
                in_order: calm || dice.happens(300),
            },
            habits: Habits {
                pauses: often(dice, &[0, 10, 40]),
                longest_pause: dice.one_of(&[10 * MS, longest * MS, 2 * longest * MS]),
                brings: dice.one_of(&[0, 150, 400]),
                extends: 350,
                mixes: dice.one_of(&[0, 300]),
                keeps: dice.one_of(&[0, 300]),
                forces: often(dice, &[0, 0, 150]),
                oversleeps: often(dice, &[0, 80, 250]),
                leaves: often(dice, &[0, 60]),
                hangs_up: often(dice, &[0, 40]),
                idles: if kind == Kind::Slow { 300 } else { 0 },
            },
            rounds: dice.between(2, 4),
            mischief: Vec::new(),
            calm,
            needs_the_clock: forgetful && allowed == 1,
            broken: None,
            leases,
        }
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, leases, network) = (self.nodes(), &self.leases, self.network);
        write!(
            f,
            "{nodes} nodes, leases of {leases:?} ms, {network:?}, broken: {:?}",
            self.broken
        )
    }
}

impl Plan {
    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.node_clocks.len()
    }

    /// The longest lease that anybody asks for, in microseconds.
    pub fn longest(&self) -> u64 {
        self.leases.iter().max().unwrap() * MS
    }

    /// Whether this assumption is broken.
    pub fn breaks(&self, assumption: Broken) -> bool {
        self.broken == Some(assumption)
    }

    /// The nodes that a client has in its configuration.
    pub fn nodes_of(&self, client: usize) -> Vec<usize> {
        match self.broken {
            Some(Broken::DifferentNodes) if client.is_multiple_of(2) => vec![0, 1, 2],
            Some(Broken::DifferentNodes) => vec![2, 3, 4],
            _ => (0..self.nodes()).collect(),
        }
    }

    fn mischief(&mut self, dice: &mut Dice, kind: Kind) {
        if kind == Kind::Calm {
            return;
        }
        let longest = self.longest();
        let span = longest * 2 * self.rounds;
        let (nodes, clients) = (self.nodes(), self.client_clocks.len());
        let mut planned = Vec::new();
        for _ in 0..dice.between(0, 4) {
            let node = dice.place(nodes);
            let keeps = if self.keeps_every_write[node] {
                Keeps::Everything
            } else {
                dice.one_of(&[Keeps::Nothing, Keeps::WhatWasSaved])
            };
            let longest_down = dice.one_of(&[10 * MS, longest, 3 * longest]);
            let down_for = dice.between(MS, longest_down);
            planned.push(Mischief::Crash {
                node,
                down_for,
                keeps,
            });
            planned.push(Mischief::Save { node });
        }
        for node in 0..nodes {
            if dice.happens(200) {
                // Both together stay within what the drift adds.
                planned.push(Mischief::Step {
                    node,
                    by: dice.one_of(&[1_000, 500]),
                });
                planned.push(Mischief::Step { node, by: 1_000 });
            }
            if dice.happens(100) {
                let by = -i64::try_from(dice.between(1, 50 * MS)).unwrap();
                planned.push(Mischief::Step { node, by });
            }
        }
        for client in 0..clients {
            // Where counters are forgotten, clocks make up for it: then they are right.
            let may_be_wrong = kind == Kind::Wild || !self.locking.fencing;
            if may_be_wrong && dice.happens(200) {
                planned.push(Mischief::SetWall {
                    client,
                    by: dice.around(DAY),
                });
            }
            if dice.happens(80) {
                let down_for = dice.between(MS, longest);
                planned.push(Mischief::Kill { client, down_for });
            }
            if dice.happens(150) {
                let (node, lasts) = (dice.place(nodes), dice.between(MS, 2 * longest));
                planned.push(Mischief::Cut {
                    client,
                    node,
                    lasts,
                });
            }
        }
        for mischief in planned {
            let at = dice.between(0, span);
            self.mischief.push((at, mischief));
        }
    }
}
