//! The assumptions and rules of the locking code: the schedules in which breaking one should lead
//! to a violation, and how to break it.

use std::time::Duration;

use lockkeeper::domain::quorum::ClockDrift;

use super::rng::SimRng;
use super::schedule::{DataAfterRestart, Fault, MAX_RATE_PPM, MS, Plan, ScheduleKind};

/// An assumption that a schedule breaks deliberately, or a rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenAssumption {
    /// Clocks of nodes are stepped forward by more than the drift during a lease.
    ClockJump,
    /// A node that restarted empty accepts new locks immediately.
    NoDelayedRestart,
    /// The validity does not allow for clocks with different rates.
    NoDriftAllowance,
    /// Clients are configured with different nodes, so that two of five are a quorum.
    DifferentNodes,
    /// A release deletes the key without comparing the token.
    UncheckedRelease,
    /// Nodes with a lower fence counter than the quorum reply that it was bumped, but it was not.
    NoFenceBump,
    /// A node loses its fence counters while the clocks of clients differ by more than the time in
    /// between.
    SkewedClocks,
    /// A request without a reply counts as not sent: an attempt reuses the token of an attempt that
    /// is still being rolled back.
    ReusedToken,
    /// A failed acquire is not rolled back.
    NoRollback,
    /// An extend or a repeated acquire sets the lease even if more time is left.
    ShortenedLeases,
    /// A client starts immediately after so many nodes restarted empty that no majority is older.
    EarlyStart,
    /// A client ignores the uptime of a node that it connects to for the first time.
    IgnoredUptime,
    /// A caller-supplied token is used again after it was released or its acquire failed.
    ReusedSuppliedToken,
    /// An owner extends its lock after the validity ended and still relies on its fencing token.
    LateExtend,
    /// A node that restarted is excluded for less than the longest lease.
    ShortRestartDelay,
}

impl BrokenAssumption {
    const ALL: [Self; 15] = [
        Self::ClockJump,
        Self::NoDelayedRestart,
        Self::NoDriftAllowance,
        Self::DifferentNodes,
        Self::UncheckedRelease,
        Self::NoFenceBump,
        Self::SkewedClocks,
        Self::ReusedToken,
        Self::NoRollback,
        Self::ShortenedLeases,
        Self::EarlyStart,
        Self::IgnoredUptime,
        Self::ReusedSuppliedToken,
        Self::LateExtend,
        Self::ShortRestartDelay,
    ];

    /// The assumption with this name. Panics if there is none.
    pub fn from_name(name: &str) -> Self {
        let matches = |broken: &Self| format!("{broken:?}") == name;
        Self::ALL.into_iter().find(matches).unwrap()
    }

    /// The kind of schedule in which breaking the assumption leads to a violation.
    pub fn schedule_kind(self) -> ScheduleKind {
        match self {
            Self::NoDelayedRestart
            | Self::EarlyStart
            | Self::IgnoredUptime
            | Self::SkewedClocks
            | Self::ShortRestartDelay => ScheduleKind::DataLoss,
            Self::NoRollback => ScheduleKind::FaultFree,
            Self::ClockJump
            | Self::NoDriftAllowance
            | Self::DifferentNodes
            | Self::UncheckedRelease
            | Self::NoFenceBump
            | Self::ReusedToken
            | Self::ShortenedLeases
            | Self::ReusedSuppliedToken
            | Self::LateExtend => ScheduleKind::Faulty,
        }
    }
}

impl Plan {
    /// Makes situations likely in which the assumption matters, without breaking it.
    pub fn target(&mut self, rng: &mut SimRng, assumption: BrokenAssumption) {
        match assumption {
            BrokenAssumption::NoDriftAllowance => {
                self.behavior.oversleep = 500;
                for clock in &mut self.node_clocks {
                    clock.rate_ppm = MAX_RATE_PPM;
                }
                for clock in &mut self.client_clocks {
                    clock.rate_ppm = -MAX_RATE_PPM;
                }
            }
            BrokenAssumption::ClockJump | BrokenAssumption::UncheckedRelease => {
                self.behavior.oversleep = 300
            }
            BrokenAssumption::SkewedClocks => {
                self.locking.fencing = true;
                self.locking.max_lease = Duration::from_micros(2 * self.max_lease_us());
                self.fences_depend_on_clocks = false;
            }
            BrokenAssumption::NoFenceBump => self.locking.fencing = true,
            BrokenAssumption::ReusedToken
            | BrokenAssumption::ReusedSuppliedToken
            | BrokenAssumption::LateExtend => {
                self.locks = 1;
                self.locking.fencing = true;
                self.command_timeout = Duration::from_millis(50);
                self.network.slow_per_mille = 150;
                self.network.max_delay_us = 3 * self.max_lease_us();
                self.network.in_order = false;
                self.behavior.supply_token = if assumption == BrokenAssumption::ReusedSuppliedToken
                {
                    900
                } else {
                    0
                };
                if assumption == BrokenAssumption::LateExtend {
                    // With one node, a single duplicated message is enough.
                    self.node_clocks.truncate(1);
                    self.fsyncs_every_write.truncate(1);
                    self.network.duplicated_per_mille = 200;
                    self.behavior.oversleep = 500;
                }
            }
            BrokenAssumption::ShortenedLeases => {
                self.behavior.extend = 700;
                self.behavior.request_shorter_lease = 500;
                self.behavior.oversleep = 300;
            }
            BrokenAssumption::IgnoredUptime => {
                self.network.lost_per_mille = 150;
                self.node_clocks.truncate(3);
            }
            BrokenAssumption::ShortRestartDelay => self.locking.fencing = false,
            BrokenAssumption::DifferentNodes => {
                self.node_clocks.resize(5, self.node_clocks[0]);
                self.fsyncs_every_write.resize(5, true);
            }
            // The leftovers of an attempt must outlast everything else.
            BrokenAssumption::NoRollback => {
                self.rounds = 1;
                self.leases_ms.fill(400);
            }
            BrokenAssumption::NoDelayedRestart | BrokenAssumption::EarlyStart => {}
        }
        if assumption.schedule_kind() == ScheduleKind::DataLoss {
            let nodes = self.nodes();
            self.fsyncs_every_write = vec![false; nodes];
            let minority = (nodes - 1) / 2;
            let crashes = if assumption == BrokenAssumption::IgnoredUptime {
                minority
            } else {
                nodes
            };
            for node in 0..crashes {
                let down_for_us = rng.between(MS, 20 * MS);
                let data = DataAfterRestart::Empty;
                let at = rng.between(0, 4 * self.max_lease_us());
                let crash = Fault::Crash {
                    node,
                    down_for_us,
                    data,
                };
                self.faults.push((at, crash));
                if assumption == BrokenAssumption::IgnoredUptime {
                    self.restart_clients(rng, at);
                }
            }
        }
    }

    /// Breaks the assumption in this schedule.
    pub fn break_assumption(&mut self, rng: &mut SimRng, broken: BrokenAssumption) {
        self.broken = Some(broken);
        let max_lease_us = self.max_lease_us();
        match broken {
            BrokenAssumption::NoDriftAllowance => {
                self.locking.drift = ClockDrift {
                    factor: 0.0,
                    constant: Duration::ZERO,
                };
            }
            BrokenAssumption::NoDelayedRestart => self.locking.delayed_restart = false,
            BrokenAssumption::ShortRestartDelay => self.locking.max_lease /= 10,
            BrokenAssumption::ClockJump => {
                for node in 0..self.nodes() {
                    let by_us = i64::try_from(rng.between(max_lease_us / 4, max_lease_us)).unwrap();
                    let at = rng.between(0, 4 * max_lease_us);
                    self.faults.push((at, Fault::StepClock { node, by_us }));
                }
            }
            BrokenAssumption::SkewedClocks => {
                for clock in &mut self.client_clocks {
                    clock.offset_us = rng.offset(60_000_000);
                }
            }
            BrokenAssumption::EarlyStart => self.restart_clients(rng, 0),
            // The simulated clients and nodes check for these themselves.
            BrokenAssumption::DifferentNodes
            | BrokenAssumption::UncheckedRelease
            | BrokenAssumption::NoFenceBump
            | BrokenAssumption::ReusedToken
            | BrokenAssumption::ShortenedLeases
            | BrokenAssumption::IgnoredUptime
            | BrokenAssumption::NoRollback
            | BrokenAssumption::ReusedSuppliedToken
            | BrokenAssumption::LateExtend => {}
        }
    }

    /// Kills and restarts every client at a random time after `from`.
    fn restart_clients(&mut self, rng: &mut SimRng, from: u64) {
        for client in 0..self.client_clocks.len() {
            let at = from + rng.between(0, 4 * self.max_lease_us());
            let down_for_us = MS;
            self.faults.push((
                at,
                Fault::KillClient {
                    client,
                    down_for_us,
                },
            ));
        }
    }
}
