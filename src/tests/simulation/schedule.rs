//! Generates a schedule from its seed: the nodes and clients, their clocks, the network and the
//! faults.

use std::time::Duration;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::LockingConfig;

use super::assumptions::BrokenAssumption;
use super::clock::{DriftingClock, SimTime};
use super::rng::SimRng;

/// The behavior of the network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkParams {
    /// The minimum and maximum of the usual one-way delay.
    pub usual_delay_us: (u64, u64),
    /// The share of messages that take longer, up to `max_delay_us`.
    pub slow_per_mille: u64,
    pub max_delay_us: u64,
    pub lost_per_mille: u64,
    /// The share of messages that arrive a second time, later.
    pub duplicated_per_mille: u64,
    /// Messages of one client to one node arrive in order, as on one connection. Otherwise in any
    /// order.
    pub in_order: bool,
}

/// The probabilities of what clients do, per mille.
#[derive(Clone, Copy)]
pub struct ClientBehavior {
    /// Pause before a call or when a reply arrives.
    pub pause: u64,
    /// The longest pause (a duration, not a probability).
    pub max_pause_us: u64,
    /// Acquire with a caller-supplied token.
    pub supply_token: u64,
    /// Extend the lock instead of releasing it.
    pub extend: u64,
    /// Request a shorter lease for a lock that is held already.
    pub request_shorter_lease: u64,
    pub auto_renew: u64,
    /// Force-release a lock of another owner.
    pub force_release: u64,
    /// Sleep longer than the lock is valid.
    pub oversleep: u64,
    /// Finish without a release.
    pub skip_release: u64,
    /// Cancel an acquire before it completes.
    pub cancel_acquire: u64,
    /// Sleep for one to two hours.
    pub idle: u64,
}

/// A fault at a planned time.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A node crashes and restarts later.
    Crash {
        node: usize,
        down_for_us: u64,
        data: DataAfterRestart,
    },
    /// A node saves a snapshot, for [`DataAfterRestart::LastSnapshot`].
    Snapshot { node: usize },
    /// The clock of a node is stepped.
    StepClock { node: usize, by_us: i64 },
    /// The wall clock of a client is stepped.
    SetWallClock { client: usize, by_us: i64 },
    /// The connection between a client and a node is interrupted.
    Partition {
        client: usize,
        node: usize,
        duration_us: u64,
    },
    /// A client is killed at any point; another one starts in its place later.
    KillClient { client: usize, down_for_us: u64 },
}

/// The data of a node after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAfterRestart {
    All,
    LastSnapshot,
    Empty,
}

/// The parameters of one schedule.
#[derive(Clone)]
pub struct Plan {
    pub locks: u8,
    /// The lease of each client.
    pub leases_ms: Vec<u64>,
    pub locking: LockingConfig,
    pub command_timeout: Duration,
    pub node_clocks: Vec<DriftingClock>,
    /// For each node, whether it fsyncs every write before it replies.
    pub fsyncs_every_write: Vec<bool>,
    pub client_clocks: Vec<DriftingClock>,
    pub network: NetworkParams,
    pub behavior: ClientBehavior,
    /// The number of acquires of each client.
    pub rounds: u64,
    pub faults: Vec<(SimTime, Fault)>,
    /// There are no faults, and every client releases its locks.
    pub fault_free: bool,
    /// Fencing tokens increase only if the clocks of clients are correct, see
    /// [`super::checker::FenceGuarantee`].
    pub fences_depend_on_clocks: bool,
    pub broken: Option<BrokenAssumption>,
}

/// The kind of faults in a schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ScheduleKind {
    FaultFree,
    /// All faults except data loss. Wall clocks may be off by any amount.
    Faulty,
    /// Nodes may restart empty or with an older snapshot.
    DataLoss,
    /// Locks are idle for so long that fence counters expire.
    LongIdle,
}

/// The maximum rate error of a clock. Two clocks that differ by twice this much are covered by a
/// drift of 1 %.
pub const MAX_RATE_PPM: i64 = 5_000;
/// Microseconds in a millisecond.
pub const MS: u64 = 1_000;
const DAY_US: i64 = 86_400_000_000;

impl Plan {
    /// The schedule of this seed, optionally with a broken assumption.
    pub fn new(seed: u64, broken: Option<BrokenAssumption>) -> Self {
        Self::targeted(seed, broken, broken)
    }

    /// The schedule of this seed in which a break of `targeted_assumption` would probably lead to a
    /// violation.
    pub fn targeted(
        seed: u64,
        targeted_assumption: Option<BrokenAssumption>,
        broken: Option<BrokenAssumption>,
    ) -> Self {
        let mut rng = SimRng::new(seed);
        let kind = match rng.between(0, 100) {
            0..8 => ScheduleKind::FaultFree,
            8..55 => ScheduleKind::Faulty,
            55..92 => ScheduleKind::DataLoss,
            _ => ScheduleKind::LongIdle,
        };
        let kind = targeted_assumption.map_or(kind, BrokenAssumption::schedule_kind);
        let nodes = rng.choose(&[1, 3, 3, 3, 5]);
        let clients = 2 + rng.index(4);
        let mut plan = Self::generate(&mut rng, kind, nodes, clients);
        if let Some(targeted_assumption) = targeted_assumption {
            plan.target(&mut rng, targeted_assumption);
        }
        plan.plan_faults(&mut rng, kind);
        if let Some(broken) = broken {
            plan.break_assumption(&mut rng, broken);
        }
        plan
    }

    fn generate(rng: &mut SimRng, kind: ScheduleKind, nodes: usize, clients: usize) -> Self {
        let (fault_free, loses_data) = (
            kind == ScheduleKind::FaultFree,
            kind == ScheduleKind::DataLoss,
        );
        let usual_lease = rng.choose(&[60, 100, 200, 400]);
        let mixed = rng.chance(300);
        let leases: Vec<u64> = (0..clients)
            .map(|_| {
                if mixed {
                    rng.choose(&[60, 100, 200, 400])
                } else {
                    usual_lease
                }
            })
            .collect();
        let max_lease_ms = *leases.iter().max().unwrap();
        let max_lease_factor = rng.choose(&[1, 2]);
        let mut locking = LockingConfig::new(GroupKind::Redlock);
        locking.max_lease = Duration::from_millis(max_lease_ms * max_lease_factor);
        locking.fencing = rng.chance(900);
        let max_offset_us = match kind {
            ScheduleKind::FaultFree | ScheduleKind::Faulty => 2 * DAY_US,
            ScheduleKind::DataLoss => i64::try_from(max_lease_ms * MS / 10).unwrap(),
            ScheduleKind::LongIdle => 300_000_000,
        };
        let clock = |rng: &mut SimRng, max_offset_us: i64| DriftingClock {
            rate_ppm: match rng.index(4) {
                0 => -MAX_RATE_PPM,
                1 => MAX_RATE_PPM,
                2 => 0,
                _ => rng.offset(MAX_RATE_PPM),
            },
            offset_us: rng.offset(max_offset_us),
        };
        let per_mille =
            |rng: &mut SimRng, choices: &[u64]| if fault_free { 0 } else { rng.choose(choices) };
        Self {
            locks: rng.choose(&[1, 1, 2]),
            locking,
            command_timeout: Duration::from_millis(rng.choose(&[50, 500])),
            node_clocks: (0..nodes).map(|_| clock(rng, 2 * DAY_US)).collect(),
            fsyncs_every_write: (0..nodes).map(|_| !loses_data || rng.chance(300)).collect(),
            client_clocks: (0..clients).map(|_| clock(rng, max_offset_us)).collect(),
            network: NetworkParams {
                usual_delay_us: (
                    50,
                    if fault_free {
                        3_000
                    } else {
                        rng.choose(&[300, 2_000, 8_000])
                    },
                ),
                slow_per_mille: per_mille(rng, &[0, 20, 100]),
                max_delay_us: rng.choose(&[30 * MS, max_lease_ms * MS, 3 * max_lease_ms * MS]),
                lost_per_mille: per_mille(rng, &[0, 10, 60]),
                duplicated_per_mille: per_mille(rng, &[0, 20, 100]),
                in_order: fault_free || rng.chance(300),
            },
            behavior: ClientBehavior {
                pause: per_mille(rng, &[0, 10, 40]),
                max_pause_us: rng.choose(&[10 * MS, max_lease_ms * MS, 2 * max_lease_ms * MS]),
                supply_token: rng.choose(&[0, 150, 400]),
                extend: 350,
                request_shorter_lease: rng.choose(&[0, 300]),
                auto_renew: rng.choose(&[0, 300]),
                force_release: per_mille(rng, &[0, 0, 150]),
                oversleep: per_mille(rng, &[0, 80, 250]),
                skip_release: per_mille(rng, &[0, 60]),
                cancel_acquire: per_mille(rng, &[0, 40]),
                idle: if kind == ScheduleKind::LongIdle {
                    300
                } else {
                    0
                },
            },
            rounds: rng.between(2, 4),
            faults: Vec::new(),
            fault_free,
            fences_depend_on_clocks: loses_data && max_lease_factor == 1,
            broken: None,
            leases_ms: leases,
        }
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, leases, network) = (self.nodes(), &self.leases_ms, self.network);
        write!(
            f,
            "{nodes} nodes, leases of {leases:?} ms, {network:?}, broken: {:?}",
            self.broken
        )
    }
}

impl Plan {
    pub fn nodes(&self) -> usize {
        self.node_clocks.len()
    }

    /// The longest lease that a client requests.
    pub fn max_lease_us(&self) -> u64 {
        self.leases_ms.iter().max().unwrap() * MS
    }

    pub fn breaks(&self, assumption: BrokenAssumption) -> bool {
        self.broken == Some(assumption)
    }

    /// The indices of the nodes in a client's configuration.
    pub fn configured_nodes(&self, client: usize) -> Vec<usize> {
        match self.broken {
            Some(BrokenAssumption::DifferentNodes) if client.is_multiple_of(2) => vec![0, 1, 2],
            Some(BrokenAssumption::DifferentNodes) => vec![2, 3, 4],
            _ => (0..self.nodes()).collect(),
        }
    }

    fn plan_faults(&mut self, rng: &mut SimRng, kind: ScheduleKind) {
        if kind == ScheduleKind::FaultFree {
            return;
        }
        let max_lease_us = self.max_lease_us();
        let total_us = max_lease_us * 2 * self.rounds;
        let (nodes, clients) = (self.nodes(), self.client_clocks.len());
        let mut planned = Vec::new();
        for _ in 0..rng.between(0, 4) {
            let node = rng.index(nodes);
            let data = if self.fsyncs_every_write[node] {
                DataAfterRestart::All
            } else {
                rng.choose(&[DataAfterRestart::Empty, DataAfterRestart::LastSnapshot])
            };
            let max_down_us = rng.choose(&[10 * MS, max_lease_us, 3 * max_lease_us]);
            let down_for_us = rng.between(MS, max_down_us);
            planned.push(Fault::Crash {
                node,
                down_for_us,
                data,
            });
            planned.push(Fault::Snapshot { node });
        }
        for node in 0..nodes {
            if rng.chance(200) {
                // Both steps together stay within the 2 ms that the drift allows.
                planned.push(Fault::StepClock {
                    node,
                    by_us: rng.choose(&[1_000, 500]),
                });
                planned.push(Fault::StepClock { node, by_us: 1_000 });
            }
            if rng.chance(100) {
                let by_us = -i64::try_from(rng.between(1, 50 * MS)).unwrap();
                planned.push(Fault::StepClock { node, by_us });
            }
        }
        for client in 0..clients {
            // After a loss of counters, fencing tokens depend on the clocks, so the clocks must be
            // correct.
            let may_step = kind == ScheduleKind::Faulty || !self.locking.fencing;
            if may_step && rng.chance(200) {
                planned.push(Fault::SetWallClock {
                    client,
                    by_us: rng.offset(DAY_US),
                });
            }
            if rng.chance(80) {
                let down_for_us = rng.between(MS, max_lease_us);
                planned.push(Fault::KillClient {
                    client,
                    down_for_us,
                });
            }
            if rng.chance(150) {
                let (node, duration_us) = (rng.index(nodes), rng.between(MS, 2 * max_lease_us));
                planned.push(Fault::Partition {
                    client,
                    node,
                    duration_us,
                });
            }
        }
        for fault in planned {
            let at = rng.between(0, total_us);
            self.faults.push((at, fault));
        }
    }
}
