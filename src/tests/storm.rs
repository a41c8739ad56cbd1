//! Many clients on three locks while servers and networks fail at random.
//!
//! `LOCKKEEPER_SOAK_SECONDS` makes it longer, `LOCKKEEPER_SEED` repeats the faults of an earlier run (what happens to run
//! at the same moment is another matter).

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::GroupConfig;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use redis::AsyncCommands as _;
use tokio::time::{sleep, timeout};

use crate::support::eventually_is;
use crate::support::ours::take;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNodes, TestGroup};
use crate::support::sections::{Sections, assert_sound};
use crate::support::storm::{Restart, Storm};

/// How many clients there are in the ordinary test run, and in a soak.
const CLIENTS: [usize; 2] = [60, 200];
/// Each has connections of its own and serves its part of the clients.
const CONSOLES: usize = 8;
const LOCKS: [&str; 3] = ["lock:a", "lock:b", "lock:c"];
/// Shortest and longest, in milliseconds.
const LEASES: std::ops::Range<u64> = 1_000..2_000;
/// How long the faults last in the ordinary test run.
const SECONDS: u64 = 2;
/// How long a client waits for a turn when all is well again.
const CALM: Duration = Duration::from_secs(30);
/// How often it comes for it.
const TRIES_IN_CALM: usize = 5;
/// How much longer than it should anything may take on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_meets_anybody_while_servers_and_networks_fail() {
    let nodes = RedisNodes::start_with(5, &PERSISTENT).await;
    weather(nodes, Restart::Remembers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_meets_anybody_while_servers_forget() {
    weather(RedisNodes::start(5).await, Restart::Forgets).await;
}

async fn weather(mut nodes: RedisNodes, restart: Restart) {
    let seed = number("LOCKKEEPER_SEED").unwrap_or_else(rand::random);
    let soak = number("LOCKKEEPER_SOAK_SECONDS");
    let (seconds, clients) = (
        soak.unwrap_or(SECONDS),
        CLIENTS[usize::from(soak.is_some())],
    );
    eprintln!("LOCKKEEPER_SEED={seed} LOCKKEEPER_SOAK_SECONDS={seconds}");
    let networks = [nodes.proxies().await, nodes.proxies().await];
    let consoles: Vec<Arc<TestGroup>> = futures::future::join_all(
        (0..CONSOLES).map(async |n| Arc::new(console(&networks[n % 2]).await)),
    )
    .await;
    let sections = Arc::new(Sections::default());

    let until = Instant::now() + Duration::from_secs(seconds);
    let clients: Vec<Arc<Client>> = (0..clients)
        .map(|number| {
            Arc::new(Client {
                number,
                console: Arc::clone(&consoles[number % CONSOLES]),
                sections: Arc::clone(&sections),
            })
        })
        .collect();
    let storm = Storm {
        seed,
        until,
        restart,
    };
    let living = clients.iter().map(|client| {
        let client = Arc::clone(client);
        tokio::spawn(async move { client.lives(seed, until).await })
    });
    let living = futures::future::join_all(living.collect::<Vec<_>>());
    let (lived, ()) = tokio::join!(living, storm.rage(&mut nodes, &networks));
    lived.into_iter().for_each(|lived| lived.unwrap());
    let stormy = sections.all().len();
    assert_sound(&sections.all(), &format!("seed {seed}"));
    let lingered = nothing_stays(&nodes).await;

    // Whoever had bad luck has a turn now.
    let (calm, turns) = (Instant::now(), sections.turns());
    let unlucky = clients
        .iter()
        .filter(|client| !turns.contains_key(&client.number));
    let coming = unlucky.map(|client| {
        let client = Arc::clone(client);
        tokio::spawn(async move { client.comes_in_calm().await })
    });
    let coming: Vec<_> = coming.collect();
    let unlucky = coming.len();
    for came in futures::future::join_all(coming).await {
        assert!(came.unwrap(), "seed {seed}: somebody waited in vain");
    }
    eprintln!(
        "{stormy} sections in {seconds} s of storm; the last lock was gone {lingered:?} after it; then {unlucky} had a turn within {:?}",
        calm.elapsed()
    );
    nothing_stays(&nodes).await;
    assert_sound(&sections.all(), &format!("seed {seed}"));
    assert_eq!(
        sections.turns().len(),
        clients.len(),
        "everybody had a turn"
    );
}

/// Waits until no node has any of the locks any more: no longer than a lease.
async fn nothing_stays(nodes: &RedisNodes) -> Duration {
    let began = Instant::now();
    eventually_is("no lock is left on any node", async || {
        locks_left(nodes).await == 0
    })
    .await;
    let longest = Duration::from_millis(LEASES.end);
    let lingered = began.elapsed();
    assert!(lingered < longest + SLACK, "{lingered:?}");
    lingered
}

/// One of many consoles.
async fn console(network: &[Proxy]) -> TestGroup {
    let urls = network.iter().map(Proxy::url);
    let mut config = GroupConfig::new("orders", urls);
    // What a node that may have forgotten something waits for.
    config.locking.longest_lease = Duration::from_millis(LEASES.end);
    let group = TestGroup::start(config);
    group.is_up().await;
    group
}

/// Locks on all nodes together. A lock without expiry would stay for ever.
async fn locks_left(nodes: &RedisNodes) -> usize {
    let mut left = 0;
    for node in &nodes.0 {
        let mut client = node.client().await;
        for lock in LOCKS {
            let pttl: i64 = client.pttl(lock).await.unwrap();
            assert_ne!(pttl, -1, "{lock} has no expiry");
            left += usize::from(pttl >= 0);
        }
    }
    left
}

/// A field of the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    Some(
        text.to_str()
            .unwrap()
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}

/// One who needs the locks again and again, and is not always careful.
struct Client {
    number: usize,
    console: Arc<TestGroup>,
    sections: Arc<Sections>,
}

impl Client {
    /// Comes again and again until the storm is over.
    async fn lives(&self, seed: u64, until: Instant) {
        let mut dice = StdRng::seed_from_u64(seed ^ (self.number as u64) << 32);
        while Instant::now() < until {
            let wait = millis(&mut dice, 0..1_500);
            // Some hang up in the middle of it.
            let hangs_up = dice.random_bool(0.1);
            let patience = hangs_up.then(|| millis(&mut dice, 0..30));
            self.comes(&mut dice, wait, patience.unwrap_or(CALM)).await;
            sleep(millis(&mut dice, 0..40)).await;
        }
    }

    /// Comes until it is its turn, or often enough; tells whether it was. On a busy machine a short lease may be over before anything
    /// can be done with it.
    async fn comes_in_calm(&self) -> bool {
        let mut dice = StdRng::seed_from_u64(self.number as u64);
        for _ in 0..TRIES_IN_CALM {
            if self.comes(&mut dice, CALM, 2 * CALM).await {
                return true;
            }
        }
        false
    }

    /// Takes a lock and does something with it; tells whether it was given one.
    async fn comes(&self, dice: &mut StdRng, wait: Duration, patience: Duration) -> bool {
        let (lock, ttl) = (*LOCKS.choose(dice).unwrap(), millis(dice, LEASES));
        let (key, name) = (LockKey::from(lock), format!("client-{}", self.number));
        let taking = take(&self.console, &key, &name, ttl, wait);
        let Ok(Ok(mut held)) = timeout(patience, taking).await else {
            return false;
        };
        let section = self
            .sections
            .enter(lock, self.number, held.fence, held.valid_until);
        let Some(mut inside) = section else {
            held.release(&self.console).await;
            return false;
        };
        match dice.random_range(0..100) {
            // Works until it may no longer, and comes back too late to give it back.
            0..3 => sleep(inside.valid_until() - Instant::now() + millis(dice, 0..20)).await,
            3..12 => {
                sleep(millis(dice, 0..3)).await;
                if held.extend(&self.console, ttl).await {
                    inside.extended(held.valid_until);
                }
                sleep(millis(dice, 0..3)).await;
            }
            _ => sleep(millis(dice, 0..3)).await,
        }
        drop(inside);
        // Some crash instead.
        if dice.random_range(0..100) > 0 {
            held.release(&self.console).await;
        }
        true
    }
}

fn millis(dice: &mut StdRng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(dice.random_range(range))
}
