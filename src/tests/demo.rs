//! The demo: real servers with the promised locks on them, and nothing left behind however it ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use lockkeeper::domain::quorum::majority;
use lockkeeper::domain::{Format, Lease, LockKey};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::demo::{self, Demo, DemoOptions};
use lockkeeper::server::formats::{Recognised, recognise};
use redis::FromRedisValue;
use tokio_util::sync::CancellationToken;

use crate::support::redis_nodes::TestGroup;
use crate::support::{eventually, eventually_is};

#[tokio::test]
async fn the_promised_locks_are_on_the_nodes() {
    let demo = Visited::start().await;
    assert_eq!(demo.orders.nodes().len(), 5);
    let promised = [
        (&demo.orders, "lock:ledger:close", Format::NodeRedlock, 5),
        (
            &demo.orders,
            "lock:shipment:label-printer",
            Format::Redsync,
            5,
        ),
        (&demo.orders, "lock:invoice:1842", Format::Madelson, 5),
        (&demo.orders, "lock:stock:recount", Format::NodeRedlock, 2),
        (&demo.jobs, "redisson:billing:run", Format::Redisson, 1),
        (&demo.jobs, "lock:nightly-report", Format::RedisPy, 1),
        (&demo.jobs, "lock:import:legacy", Format::LegacyTimestamp, 1),
        (
            &demo.jobs,
            "job-lock:prod:send-reminders",
            Format::ShedLock,
            1,
        ),
        (
            &demo.jobs,
            "redisson:catalogue",
            Format::RedissonReadWrite,
            1,
        ),
        (
            &demo.jobs,
            "redisson:invoice:print",
            Format::RedissonFair,
            1,
        ),
        (&demo.jobs, "semaphore:gpu", Format::RedisSemaphore, 1),
        (&demo.jobs, "bull:thumbnails:4181:lock", Format::Bullmq, 1),
        (
            &demo.jobs,
            "laravel_unique_job:App\\Jobs\\ExportOrders:eu",
            Format::LaravelUniqueJob,
            1,
        ),
    ];
    for (group, key, format, nodes) in promised {
        eventually_is(key, async || {
            let seen = look(group, key).await;
            seen.len() == nodes && seen.iter().all(|lock| lock.format == format)
        })
        .await;
    }
    let on_jobs = async |key| look(&demo.jobs, key).await.remove(0);
    assert_eq!(on_jobs("lock:nightly-report").await.lease, Lease::Never);
    let overdue = on_jobs("lock:import:legacy").await.lease;
    assert_eq!(overdue.remaining_ms(Clock::real().now()), Some(0));
    assert_eq!(
        on_jobs("redisson:inventory:sync").await.owners[0]
            .owner
            .holds,
        Some(2)
    );
    demo.end().await;
}

#[tokio::test]
async fn two_owners_split_a_lock_and_neither_has_a_quorum() {
    let demo = Visited::start().await;
    eventually_is("two owners with two nodes each", async || {
        let seen = look(&demo.orders, "lock:cart:merge").await;
        let of = |owner| {
            seen.iter()
                .filter(|lock| lock.owners[0].owner == owner)
                .count()
        };
        let owners: BTreeSet<_> = seen
            .iter()
            .map(|lock| lock.owners[0].owner.clone())
            .collect();
        seen.len() == 4
            && owners.len() == 2
            && owners.into_iter().all(|owner| of(owner) < majority(5))
    })
    .await;
    demo.end().await;
}

#[tokio::test]
async fn the_contended_lock_changes_hands_and_short_ones_come_and_go() {
    let demo = Visited::start().await;
    let mut owners = BTreeSet::new();
    let mut payouts = BTreeSet::new();
    eventually_is("another owner, and several payouts", async || {
        for lock in look(&demo.orders, "lock:invoice:1842").await {
            owners.insert(lock.owners[0].owner.clone());
        }
        let names: Option<Vec<String>> =
            ask(demo.port("a"), redis::cmd("KEYS").arg("lock:payout:*")).await;
        payouts.extend(names.unwrap_or_default());
        owners.len() > 1 && payouts.len() > 3
    })
    .await;
    demo.end().await;
}

#[tokio::test]
async fn the_clients_go_on_while_a_minority_of_nodes_is_dead_and_a_freed_lock_stays_free() {
    let demo = Visited::start().await;
    let ends_at = async || {
        look(&demo.orders, "lock:shipment:label-printer")
            .await
            .first()?
            .lease
            .expires_at()
    };
    eventually_is("the lock that nobody misses", async || {
        look(&demo.jobs, "lock:nightly-report").await.len() == 1
    })
    .await;
    let freed: Option<u64> = ask(
        demo.port("main"),
        redis::cmd("DEL").arg("lock:nightly-report"),
    )
    .await;
    assert_eq!(freed, Some(1));
    for name in ["a", "c"] {
        let _it_hangs_up: Option<()> =
            ask(demo.port(name), redis::cmd("SHUTDOWN").arg("NOSAVE")).await;
    }
    let before = eventually("a lease", ends_at).await.plus_millis(2_000);
    eventually_is("a renewal", async || ends_at().await > Some(before)).await;
    assert_eq!(look(&demo.jobs, "lock:nightly-report").await, []);
    demo.end().await;
}

#[tokio::test]
async fn an_ended_a_cancelled_and_a_dropped_demo_leave_no_server() {
    let stop = CancellationToken::new();
    let ended = start(&CancellationToken::new()).await;
    let cancelled = start(&stop).await;
    let dropped = start(&CancellationToken::new()).await;
    let pids = |demo: &Demo| demo.nodes.iter().map(|node| node.pid).collect::<Vec<_>>();

    let of_ended = pids(&ended);
    ended.end().await;
    assert!(
        of_ended.iter().all(|&pid| !runs(pid)),
        "they are gone when end() comes back"
    );

    let of_others = [pids(&cancelled), pids(&dropped)].concat();
    assert!(of_others.iter().all(|&pid| runs(pid)), "the others go on");
    stop.cancel();
    drop(dropped);
    eventually_is("no server", async || {
        of_others.iter().all(|&pid| !runs(pid))
    })
    .await;
}

#[tokio::test]
async fn a_killed_console_leaves_no_server() {
    let mut command = console_demo();
    let mut console = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let servers = eventually("six servers", async || {
        assert_eq!(
            console.try_wait().unwrap(),
            None,
            "the demo runs until it is killed"
        );
        let servers: Vec<u32> = below(console.id())
            .into_iter()
            .filter(|&pid| is_server(pid))
            .collect();
        (servers.len() == 6).then_some(servers)
    })
    .await;
    console.kill().unwrap(); // SIGKILL: nothing in the console gets to run any more
    console.wait().unwrap();
    eventually_is("no server", async || servers.iter().all(|&pid| !runs(pid))).await;
}

#[test]
fn without_a_server_on_path_one_sentence_says_how_to_get_one() {
    let output = console_demo()
        .env("PATH", "/no/such/folder")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("apt-get install redis-server"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

/// The demo, and its groups as the console sees them.
struct Visited {
    demo: Demo,
    orders: TestGroup,
    jobs: TestGroup,
}

impl Visited {
    async fn start() -> Self {
        let demo = start(&CancellationToken::new()).await;
        let group = |n: usize| TestGroup::start(demo.config.groups[n].clone());
        let (orders, jobs) = (group(0), group(1));
        orders.is_up().await;
        jobs.is_up().await;
        Self { demo, orders, jobs }
    }

    fn port(&self, node: &str) -> u16 {
        self.demo
            .nodes
            .iter()
            .find(|known| known.name == node)
            .unwrap()
            .port
    }

    async fn end(self) {
        self.demo.end().await;
    }
}

async fn start(stop: &CancellationToken) -> Demo {
    let options = DemoOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        redis_server: None,
    };
    demo::start(options, stop.clone()).await.unwrap()
}

/// `lockkeeper demo` as a process of its own.
fn console_demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    command
        .args(["demo", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null());
    command
}

/// What the nodes of a group show of a key; one that does not answer shows nothing.
async fn look(group: &TestGroup, key: &str) -> Vec<Recognised> {
    let look = group.look(&[LockKey::from(key)]).await;
    let sightings = look
        .nodes
        .into_iter()
        .filter_map(|node| node.seen.ok())
        .flatten()
        .flatten();
    sightings
        .filter_map(|sighting| recognise(&sighting, true))
        .collect()
}

async fn ask<T: FromRedisValue>(port: u16, command: &redis::Cmd) -> Option<T> {
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.ok()?;
    command.query_async(&mut connection).await.ok()
}

fn runs(pid: u32) -> bool {
    Command::new("kill")
        .args(["-0", &pid.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

fn is_server(pid: u32) -> bool {
    let name = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm"))
        .unwrap_or_default();
    matches!(name.trim(), "redis-server" | "valkey-server")
}

/// Every process below this one.
fn below(of: u32) -> Vec<u32> {
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid="])
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let numbers = |line: &str| {
        line.split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect::<Vec<u32>>()
    };
    let pairs: Vec<Vec<u32>> = table.lines().map(numbers).collect();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(
            pairs
                .iter()
                .filter(|pair| pair[1] == parent)
                .map(|pair| pair[0]),
        );
        at += 1;
    }
    found
}
