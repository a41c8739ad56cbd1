//! Faults at random, from a seed: servers are killed and hang, networks delay, cut, swallow and hold back.
//!
//! Three hands do it at the same time, one on the servers and one on each of two networks to them. Each hand has one node
//! at a time, so nobody ever misses more than two.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::proxy::Proxy;
use super::redis_nodes::RedisNodes;

/// How long a fault lasts, and how long it is calm after it, in milliseconds.
const LASTS: std::ops::Range<u64> = 100..1_200;
const CALM: std::ops::Range<u64> = 50..500;

/// What a server that was killed knows when it is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Everything it answered for.
    Remembers,
    /// Nothing.
    Forgets,
}

/// Where and how long.
pub struct Storm {
    pub seed: u64,
    pub until: Instant,
    pub restart: Restart,
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
    LoseRequests,
    LoseAnswers,
    HoldBack,
}

impl Storm {
    /// Rages until it is over; then everything is healed.
    pub async fn rage(&self, nodes: &mut RedisNodes, networks: &[Vec<Proxy>; 2]) {
        tokio::join!(
            self.on_servers(nodes),
            self.on_network(&networks[0], 1),
            self.on_network(&networks[1], 2)
        );
    }

    async fn on_servers(&self, nodes: &mut RedisNodes) {
        let mut dice = StdRng::seed_from_u64(self.seed);
        while self.pauses(&mut dice, CALM).await {
            let n = dice.random_range(0..nodes.0.len());
            let node = &mut nodes.0[n];
            let fault = *[ServerFault::Kill, ServerFault::Hang]
                .choose(&mut dice)
                .unwrap();
            eprintln!("{:?} {fault:?} of node {n}", self.left());
            match fault {
                ServerFault::Kill => {
                    node.kill().await;
                    self.pauses(&mut dice, LASTS).await;
                    match self.restart {
                        Restart::Remembers => node.restart().await,
                        Restart::Forgets => node.restart_empty().await,
                    }
                }
                ServerFault::Hang => {
                    node.stop().await;
                    self.pauses(&mut dice, LASTS).await;
                    node.go_on().await;
                }
            }
        }
    }

    async fn on_network(&self, network: &[Proxy], number: u64) {
        let faults = [
            NetworkFault::Delay,
            NetworkFault::Cut,
            NetworkFault::Blackhole,
            NetworkFault::LoseRequests,
            NetworkFault::LoseAnswers,
            NetworkFault::HoldBack,
        ];
        let mut dice = StdRng::seed_from_u64(self.seed.wrapping_add(number));
        while self.pauses(&mut dice, CALM).await {
            let n = dice.random_range(0..network.len());
            let proxy = &network[n];
            let fault = *faults.choose(&mut dice).unwrap();
            eprintln!(
                "{:?} {fault:?} on network {number} to node {n}",
                self.left()
            );
            match fault {
                NetworkFault::Delay => {
                    proxy.delay(Duration::from_millis(dice.random_range(1..200)))
                }
                NetworkFault::Cut => proxy.cut(),
                NetworkFault::Blackhole => proxy.blackhole(),
                NetworkFault::LoseRequests => proxy.lose_requests(),
                NetworkFault::LoseAnswers => proxy.lose_answers(),
                NetworkFault::HoldBack => proxy.hold_back(),
            }
            self.pauses(&mut dice, LASTS).await;
            proxy.heal();
        }
    }

    /// Lets some time pass, no more than is left; tells whether the storm goes on.
    async fn pauses(&self, dice: &mut StdRng, millis: std::ops::Range<u64>) -> bool {
        let pause = Duration::from_millis(dice.random_range(millis));
        tokio::time::sleep(pause.min(self.left())).await;
        !self.left().is_zero()
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}
