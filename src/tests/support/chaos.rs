//! Injects random faults from a seed: servers are killed or hang; networks delay, disconnect, drop
//! or hold traffic.
//!
//! Three tasks inject faults concurrently: one into the servers and one into each of two networks.
//! Each task affects one node at a time, so a client of one network never misses more than two
//! nodes.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::proxy::Proxy;
use super::redis_nodes::RedisNodes;

/// How long a fault lasts.
const FAULT_DURATION_MS: std::ops::Range<u64> = 100..1_200;
/// The time without a fault after each fault.
const PAUSE_MS: std::ops::Range<u64> = 50..500;

/// The data of a killed server after its restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMode {
    /// Every write that it acknowledged.
    Persistent,
    /// No data.
    Empty,
}

/// A run of random faults until a point in time.
pub struct FaultInjection {
    pub seed: u64,
    pub until: Instant,
    pub restart: RestartMode,
}

#[derive(Clone, Copy, Debug)]
enum ServerFault {
    Kill,
    Hang,
}

#[derive(Clone, Copy, Debug)]
enum NetworkFault {
    Delay,
    Cut,
    Blackhole,
    DropRequests,
    DropReplies,
    HoldRequests,
}

impl FaultInjection {
    /// Injects faults until `until`, then heals everything.
    pub async fn run(&self, nodes: &mut RedisNodes, networks: &[Vec<Proxy>; 2]) {
        tokio::join!(
            self.inject_server_faults(nodes),
            self.inject_network_faults(&networks[0], 1),
            self.inject_network_faults(&networks[1], 2)
        );
    }

    async fn inject_server_faults(&self, nodes: &mut RedisNodes) {
        let mut rng = StdRng::seed_from_u64(self.seed);
        while self.pause(&mut rng, PAUSE_MS).await {
            let n = rng.random_range(0..nodes.0.len());
            let node = &mut nodes.0[n];
            let fault = *[ServerFault::Kill, ServerFault::Hang]
                .choose(&mut rng)
                .unwrap();
            eprintln!("{:?} {fault:?} of node {n}", self.remaining());
            match fault {
                ServerFault::Kill => {
                    node.kill().await;
                    self.pause(&mut rng, FAULT_DURATION_MS).await;
                    match self.restart {
                        RestartMode::Persistent => node.restart().await,
                        RestartMode::Empty => node.restart_empty().await,
                    }
                }
                ServerFault::Hang => {
                    node.pause().await;
                    self.pause(&mut rng, FAULT_DURATION_MS).await;
                    node.resume().await;
                }
            }
        }
    }

    async fn inject_network_faults(&self, network: &[Proxy], number: u64) {
        let faults = [
            NetworkFault::Delay,
            NetworkFault::Cut,
            NetworkFault::Blackhole,
            NetworkFault::DropRequests,
            NetworkFault::DropReplies,
            NetworkFault::HoldRequests,
        ];
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_add(number));
        while self.pause(&mut rng, PAUSE_MS).await {
            let n = rng.random_range(0..network.len());
            let proxy = &network[n];
            let fault = *faults.choose(&mut rng).unwrap();
            eprintln!(
                "{:?} {fault:?} on network {number} to node {n}",
                self.remaining()
            );
            match fault {
                NetworkFault::Delay => proxy.delay(Duration::from_millis(rng.random_range(1..200))),
                NetworkFault::Cut => proxy.cut(),
                NetworkFault::Blackhole => proxy.blackhole(),
                NetworkFault::DropRequests => proxy.drop_requests(),
                NetworkFault::DropReplies => proxy.drop_replies(),
                NetworkFault::HoldRequests => proxy.hold_requests(),
            }
            self.pause(&mut rng, FAULT_DURATION_MS).await;
            proxy.heal();
        }
    }

    /// Sleeps for a random time, at most until the end. Returns whether time remains.
    async fn pause(&self, rng: &mut StdRng, millis: std::ops::Range<u64>) -> bool {
        let pause = Duration::from_millis(rng.random_range(millis));
        tokio::time::sleep(pause.min(self.remaining())).await;
        !self.remaining().is_zero()
    }

    fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}
