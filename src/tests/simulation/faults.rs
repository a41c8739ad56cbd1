//! Injects faults: node crashes and restarts, clock steps, partitions and client crashes.

use lockkeeper::domain::quorum;

use super::assumptions::BrokenAssumption;
use super::checker::ms;
use super::coverage::Counter;
use super::network::{ConnectionId, SimServer};
use super::node::Database;
use super::schedule::{DataAfterRestart, Fault};
use super::virtual_time::{SimEvent, World, node_name};

impl World {
    /// Restarts a node after a crash. Clients reconnect a random time later.
    pub fn restart_node(&mut self, node: usize) {
        let server = &mut self.servers[node];
        server.is_up = true;
        server.started_at_us = server.clock.wall_us(self.now);
        if !self.plan.fsyncs_every_write[node] {
            self.servers[node].lost_data_at = Some(self.now);
        }
        self.trace(|_| format!("node {} restarts", node_name(node)));
        for client in 0..self.clients.len() {
            let delay = self.rng.between(100, 20_000);
            self.schedule_after(delay, SimEvent::ConnectionOpened { client, node });
        }
    }

    pub fn inject_fault(&mut self, fault: Fault) {
        self.trace(|_| format!("{fault:?}"));
        match fault {
            Fault::Crash {
                node,
                down_for_us,
                data,
            } => self.crash(node, down_for_us, data),
            Fault::Snapshot { node } => {
                self.servers[node].snapshot = self.servers[node].database.clone()
            }
            Fault::StepClock { node, by_us } => {
                self.counters.increment(Counter::ClockStep);
                self.servers[node].clock.offset_us += by_us;
            }
            Fault::SetWallClock { client, by_us } => {
                self.counters.increment(Counter::WallClockSet);
                self.clients[client].clock.offset_us += by_us;
            }
            Fault::Partition {
                client,
                node,
                duration_us,
            } => {
                self.counters.increment(Counter::Partition);
                self.clients[client].links[node].partitioned_until = self.now + duration_us;
            }
            Fault::KillClient {
                client,
                down_for_us,
            } => {
                if self.kill_client(client) {
                    self.counters.increment(Counter::ClientCrash);
                    self.schedule_after(down_for_us, SimEvent::RestartClient { client });
                }
            }
        }
    }

    fn crash(&mut self, node: usize, down_for_us: u64, data: DataAfterRestart) {
        if !self.servers[node].is_up {
            return;
        }
        let server = &mut self.servers[node];
        server.is_up = false;
        server.incarnation += 1;
        let incarnation = server.incarnation - 1;
        match data {
            DataAfterRestart::All => self.counters.increment(Counter::CrashKeptData),
            DataAfterRestart::LastSnapshot => {
                server.database = server.snapshot.clone();
                self.counters.increment(Counter::CrashRolledBack);
            }
            DataAfterRestart::Empty => {
                server.database = Database::default();
                server.snapshot = Database::default();
                self.counters.increment(Counter::CrashLostData);
            }
        }
        self.schedule_after(down_for_us, SimEvent::RestartNode { node });
        for client in 0..self.clients.len() {
            let delay = self.rng.between(0, 20_000);
            self.schedule_after(
                delay,
                SimEvent::ConnectionLost(ConnectionId {
                    client,
                    node,
                    incarnation,
                }),
            );
        }
    }

    /// Starts a new client in place of one that ended. It does not know the nodes' earlier run IDs,
    /// so it must not start while it could mistake a node that lost leases, or a down node that
    /// will have lost them, for a node of a new group.
    pub fn restart_client(&mut self, client: usize) {
        // 1 % more for the slowest clock.
        let max_lease_us =
            u64::try_from(self.plan.locking.max_lease.as_micros()).unwrap() * 101 / 100;
        let now = self.now;
        let fsyncs = &self.plan.fsyncs_every_write;
        let may_miss_leases = |(node, server): (usize, &SimServer)| {
            let is_down = !server.is_up && !fsyncs[node];
            is_down
                || server
                    .lost_data_at
                    .is_some_and(|at| at + max_lease_us > now)
        };
        let servers = || self.servers.iter().enumerate();
        let never_restarted = |server: &SimServer| server.is_up && server.incarnation == 0;
        let old = servers()
            .filter(|(_, server)| never_restarted(server))
            .count();
        let complete = servers().filter(|(node, server)| never_restarted(server) || fsyncs[*node]);
        let can_detect = old > 0 && complete.count() >= quorum::majority(self.servers.len());
        let is_too_early = !can_detect && servers().any(may_miss_leases);
        if is_too_early && !self.plan.breaks(BrokenAssumption::EarlyStart) {
            return self.schedule_after(max_lease_us / 4, SimEvent::RestartClient { client });
        }
        if can_detect && servers().any(may_miss_leases) {
            self.counters.increment(Counter::EarlyStart);
        }
        self.trace(|_| format!("client {client} restarts, {}", ms(now)));
        self.connect(client);
        self.start_client(client);
    }
}
