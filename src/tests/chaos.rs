//! Many clients on three locks while servers and networks fail at random.
//!
//! `LOCKKEEPER_SOAK_SECONDS` sets the duration. `LOCKKEEPER_SEED` repeats the faults of an earlier
//! run, but not the scheduling of its tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::GroupConfig;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use redis::AsyncCommands as _;
use tokio::time::{sleep, timeout};

use crate::support::chaos::{FaultInjection, RestartMode};
use crate::support::critical_sections::{SectionLog, assert_mutual_exclusion};
use crate::support::locking::acquire;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNodes, TestGroup};
use crate::support::wait_until;

/// The number of clients in a test run and in a soak.
const CLIENTS: [usize; 2] = [60, 200];
/// The number of consoles. Each has its own connections and serves an equal share of the clients.
const CONSOLES: usize = 8;
const LOCKS: [&str; 3] = ["lock:a", "lock:b", "lock:c"];
/// The range of leases, in milliseconds.
const LEASE_RANGE_MS: std::ops::Range<u64> = 1_000..2_000;
/// The duration of the faults in a test run, in seconds.
const FAULT_SECONDS: u64 = 2;
/// The acquire timeout of a client after the faults have ended.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of acquire attempts of a client after the faults have ended.
const MAX_FINAL_ATTEMPTS: usize = 5;
/// The tolerance for a busy machine.
const SLACK: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutual_exclusion_holds_while_servers_and_networks_fail() {
    let nodes = RedisNodes::start_with(5, &PERSISTENT).await;
    run_with_faults(nodes, RestartMode::Persistent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutual_exclusion_holds_while_servers_lose_their_data() {
    run_with_faults(RedisNodes::start(5).await, RestartMode::Empty).await;
}

async fn run_with_faults(mut nodes: RedisNodes, restart_mode: RestartMode) {
    let seed = number_from_env("LOCKKEEPER_SEED").unwrap_or_else(rand::random);
    let soak = number_from_env("LOCKKEEPER_SOAK_SECONDS");
    let (seconds, clients) = (
        soak.unwrap_or(FAULT_SECONDS),
        CLIENTS[usize::from(soak.is_some())],
    );
    eprintln!("LOCKKEEPER_SEED={seed} LOCKKEEPER_SOAK_SECONDS={seconds}");
    let networks = [nodes.proxies().await, nodes.proxies().await];
    let consoles: Vec<Arc<TestGroup>> = futures::future::join_all(
        (0..CONSOLES).map(async |n| Arc::new(start_console(&networks[n % 2]).await)),
    )
    .await;
    let sections = Arc::new(SectionLog::default());

    let until = Instant::now() + Duration::from_secs(seconds);
    let clients: Vec<Arc<Client>> = (0..clients)
        .map(|client_id| {
            Arc::new(Client {
                client_id,
                console: Arc::clone(&consoles[client_id % CONSOLES]),
                sections: Arc::clone(&sections),
            })
        })
        .collect();
    let fault_injection = FaultInjection {
        seed,
        until,
        restart: restart_mode,
    };
    let tasks = clients.iter().map(|client| {
        let client = Arc::clone(client);
        tokio::spawn(async move { client.run_until(seed, until).await })
    });
    let tasks = futures::future::join_all(tasks.collect::<Vec<_>>());
    let (results, ()) = tokio::join!(tasks, fault_injection.run(&mut nodes, &networks));
    results.into_iter().for_each(|result| result.unwrap());
    let section_count = sections.all().len();
    assert_mutual_exclusion(&sections.all(), &format!("seed {seed}"));
    let elapsed = assert_all_locks_expire(&nodes).await;

    // Every client that has not entered a section yet acquires a lock now.
    let (faults_ended, turns) = (Instant::now(), sections.turns());
    let remaining = clients
        .iter()
        .filter(|client| !turns.contains_key(&client.client_id));
    let acquiring = remaining.map(|client| {
        let client = Arc::clone(client);
        tokio::spawn(async move { client.acquire_after_faults().await })
    });
    let acquiring: Vec<_> = acquiring.collect();
    let acquiring_count = acquiring.len();
    for acquired in futures::future::join_all(acquiring).await {
        assert!(
            acquired.unwrap(),
            "seed {seed}: a client did not acquire a lock"
        );
    }
    eprintln!(
        "{section_count} sections in {seconds} s of faults; the last lock expired {elapsed:?} later; then {acquiring_count} more clients acquired a lock within {:?}",
        faults_ended.elapsed()
    );
    assert_all_locks_expire(&nodes).await;
    assert_mutual_exclusion(&sections.all(), &format!("seed {seed}"));
    assert_eq!(
        sections.turns().len(),
        clients.len(),
        "every client entered a section"
    );
}

/// Waits until no node has any of the locks, and asserts that this takes one lease at most.
async fn assert_all_locks_expire(nodes: &RedisNodes) -> Duration {
    let started = Instant::now();
    wait_until("no lock is left on any node", async || {
        remaining_lock_count(nodes).await == 0
    })
    .await;
    let max_lease = Duration::from_millis(LEASE_RANGE_MS.end);
    let elapsed = started.elapsed();
    assert!(elapsed < max_lease + SLACK, "{elapsed:?}");
    elapsed
}

async fn start_console(network: &[Proxy]) -> TestGroup {
    let urls = network.iter().map(Proxy::url);
    let mut config = GroupConfig::new("orders", urls);
    // A node that may have lost data does not vote for this time after a restart.
    config.locking.max_lease = Duration::from_millis(LEASE_RANGE_MS.end);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    group
}

/// The number of locks on all nodes. Asserts that each has an expiry.
async fn remaining_lock_count(nodes: &RedisNodes) -> usize {
    let mut count = 0;
    for node in &nodes.0 {
        let mut client = node.client().await;
        for lock in LOCKS {
            let pttl: i64 = client.pttl(lock).await.unwrap();
            assert_ne!(pttl, -1, "{lock} has no expiry");
            count += usize::from(pttl >= 0);
        }
    }
    count
}

/// The value of an environment variable.
fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    Some(
        text.to_str()
            .unwrap()
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}

/// A client that acquires locks repeatedly and sometimes disconnects, crashes or exceeds its lease.
struct Client {
    client_id: usize,
    console: Arc<TestGroup>,
    sections: Arc<SectionLog>,
}

impl Client {
    /// Enters sections until the faults end.
    async fn run_until(&self, seed: u64, until: Instant) {
        let mut rng = StdRng::seed_from_u64(seed ^ (self.client_id as u64) << 32);
        while Instant::now() < until {
            let wait = random_millis(&mut rng, 0..1_500);
            // Some clients disconnect in the middle of an acquire.
            let disconnects = rng.random_bool(0.1);
            let client_timeout = disconnects.then(|| random_millis(&mut rng, 0..30));
            self.try_section(&mut rng, wait, client_timeout.unwrap_or(ACQUIRE_TIMEOUT))
                .await;
            sleep(random_millis(&mut rng, 0..40)).await;
        }
    }

    /// Tries to enter a section a few times and returns whether it did. Retries are needed because
    /// on a busy machine a short lease may end before the section begins.
    async fn acquire_after_faults(&self) -> bool {
        let mut rng = StdRng::seed_from_u64(self.client_id as u64);
        for _ in 0..MAX_FINAL_ATTEMPTS {
            if self
                .try_section(&mut rng, ACQUIRE_TIMEOUT, 2 * ACQUIRE_TIMEOUT)
                .await
            {
                return true;
            }
        }
        false
    }

    /// Acquires a lock and enters a section; returns whether it did.
    async fn try_section(
        &self,
        rng: &mut StdRng,
        wait: Duration,
        client_timeout: Duration,
    ) -> bool {
        let (lock, ttl) = (
            *LOCKS.choose(rng).unwrap(),
            random_millis(rng, LEASE_RANGE_MS),
        );
        let (key, name) = (LockKey::from(lock), format!("client-{}", self.client_id));
        let acquiring = acquire(&self.console, &key, &name, ttl, wait);
        let Ok(Ok(mut held)) = timeout(client_timeout, acquiring).await else {
            return false;
        };
        let section = self
            .sections
            .enter(lock, self.client_id, held.fence, held.valid_until);
        let Some(mut guard) = section else {
            held.release(&self.console).await;
            return false;
        };
        match rng.random_range(0..100) {
            // The section lasts until the lease ends, so that the release comes too late.
            0..3 => sleep(guard.valid_until() - Instant::now() + random_millis(rng, 0..20)).await,
            3..12 => {
                sleep(random_millis(rng, 0..3)).await;
                if held.extend(&self.console, ttl).await {
                    guard.set_valid_until(held.valid_until);
                }
                sleep(random_millis(rng, 0..3)).await;
            }
            _ => sleep(random_millis(rng, 0..3)).await,
        }
        drop(guard);
        // Some clients crash instead of releasing.
        if rng.random_range(0..100) > 0 {
            held.release(&self.console).await;
        }
        true
    }
}

fn random_millis(rng: &mut StdRng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(rng.random_range(range))
}
