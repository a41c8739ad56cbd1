//! The demo: it starts real servers with the documented locks, and no server outlives it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use lockkeeper::domain::quorum::majority;
use lockkeeper::domain::{Activity, Format, HoldEndReason, Lease, LockKey, RecordedHold};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::demo::{self, DemoOptions, RunningDemo};
use lockkeeper::server::stores::redis::formats::{DetectedLock, detect};
use redis::FromRedisValue;
use tokio_util::sync::CancellationToken;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::TestGroup;
use crate::support::{wait_for, wait_until};

#[tokio::test]
async fn the_documented_locks_are_on_the_nodes() {
    let demo = DemoGroups::start().await;
    assert_eq!(demo.orders.node_views().len(), 5);
    let expected = [
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
    for (group, key, format, nodes) in expected {
        wait_until(key, async || {
            let detected = inspect(group, key).await;
            detected.len() == nodes && detected.iter().all(|lock| lock.format == format)
        })
        .await;
    }
    let on_jobs = async |key| inspect(&demo.jobs, key).await.remove(0);
    assert_eq!(on_jobs("lock:nightly-report").await.lease, Lease::Never);
    let expired_lease = on_jobs("lock:import:legacy").await.lease;
    assert_eq!(expired_lease.remaining_ms(Clock::system().now()), Some(0));
    assert_eq!(
        on_jobs("redisson:inventory:sync").await.owners[0]
            .owner
            .hold_count,
        Some(2)
    );
    demo.shut_down().await;
}

#[tokio::test]
async fn a_split_lock_has_two_owners_without_a_quorum() {
    let demo = DemoGroups::start().await;
    wait_until("two owners with two nodes each", async || {
        let detected = inspect(&demo.orders, "lock:cart:merge").await;
        let nodes_of = |owner| {
            detected
                .iter()
                .filter(|lock| lock.owners[0].owner == owner)
                .count()
        };
        let owners: BTreeSet<_> = detected
            .iter()
            .map(|lock| lock.owners[0].owner.clone())
            .collect();
        detected.len() == 4
            && owners.len() == 2
            && owners
                .into_iter()
                .all(|owner| nodes_of(owner) < majority(5))
    })
    .await;
    demo.shut_down().await;
}

#[tokio::test]
async fn the_console_shows_each_owner_state_a_deadlock_crashes_and_the_week_before() {
    let demo = start(&CancellationToken::new()).await;
    let console = TestConsole::start_with_config(demo.config.clone(), Clock::system()).await;
    let api = console.api();
    for (group, key, level) in [
        ("orders", "lock:ledger:close", "owner-alive"),
        ("orders", "lock:warehouse:sync", "owner-silent"),
        ("jobs", "lock:nightly-report", "unknown"),
    ] {
        let path = format!("/api/v1/groups/{group}/locks/{key}");
        wait_until(&format!("{key}: {level}"), async || {
            let lock = api.get(&path).await;
            lock.status == 200 && lock.json()["release_advice"]["level"] == level
        })
        .await;
    }
    wait_until("a deadlock of two locks", async || {
        let waits = api.get("/api/v1/waits?group=jobs").await.json();
        let locks = waits["locks"].as_array().cloned().unwrap_or_default();
        locks.iter().filter(|lock| lock["deadlock"] == true).count() == 2
    })
    .await;
    for (query, flag) in [
        ("lock:invoice:1842", "contended"),
        ("lock:cart:merge", "split"),
        ("lock:stock:recount", "fragment"),
    ] {
        wait_until(flag, async || {
            let path = format!("/api/v1/groups/orders/locks/{query}");
            let lock = api.get(&path).await.json();
            lock["flags"].to_string().contains(flag)
        })
        .await;
    }
    // The first lease of the crashed client ends after 15 seconds, then another process holds it.
    wait_until("an expired hold of the crashed client", async || {
        let history = api.get("/api/v1/groups/jobs/locks/lock:feed:import/history");
        let history = history.await.json();
        let holds = history["holds"].as_array().cloned().unwrap_or_default();
        holds.iter().any(|hold| hold["end_reason"] == "expired")
    })
    .await;
    let from = Clock::system().now().plus_millis(-8 * 86_400_000);
    let path = format!("/api/v1/history?from={from}&limit=5000");
    let week = api.get(&path).await;
    let week: Activity = serde_json::from_str(&week.text).unwrap();
    let forced = |hold: &&RecordedHold| hold.hold.end_reason == Some(HoldEndReason::Forced);
    assert_eq!(week.holds.iter().filter(forced).count(), 2);
    assert!(week.outages.len() >= 14, "{:?}", week.outages);
    // The made-up gaps, and the one between the week and the start of the console.
    assert!(week.gaps.len() >= 3, "{:?}", week.gaps);
    console.stop().await;
    demo.shut_down().await;
}

#[tokio::test]
async fn a_contended_lock_changes_its_owner_and_short_locks_appear_and_end() {
    let demo = DemoGroups::start().await;
    let mut owners = BTreeSet::new();
    let mut payouts = BTreeSet::new();
    wait_until("the owner changes and several payouts appear", async || {
        for lock in inspect(&demo.orders, "lock:invoice:1842").await {
            owners.insert(lock.owners[0].owner.clone());
        }
        let names: Option<Vec<String>> =
            query(demo.port("a"), redis::cmd("KEYS").arg("lock:payout:*")).await;
        payouts.extend(names.unwrap_or_default());
        owners.len() > 1 && payouts.len() > 3
    })
    .await;
    demo.shut_down().await;
}

#[tokio::test]
async fn demo_clients_continue_without_a_minority_of_nodes_and_a_deleted_lock_stays_deleted() {
    let demo = DemoGroups::start().await;
    let expires_at = async || {
        inspect(&demo.orders, "lock:shipment:label-printer")
            .await
            .first()?
            .lease
            .expires_at()
    };
    wait_until("the lock without a client exists", async || {
        inspect(&demo.jobs, "lock:nightly-report").await.len() == 1
    })
    .await;
    let deleted: Option<u64> = query(
        demo.port("main"),
        redis::cmd("DEL").arg("lock:nightly-report"),
    )
    .await;
    assert_eq!(deleted, Some(1));
    for name in ["a", "c"] {
        let _no_reply: Option<()> =
            query(demo.port(name), redis::cmd("SHUTDOWN").arg("NOSAVE")).await;
    }
    // Far more than two readings of one lease differ by, and less than one renewal adds.
    let before = wait_for("a lease", expires_at).await.plus_millis(2_000);
    wait_until("a renewal", async || expires_at().await > Some(before)).await;
    assert_eq!(inspect(&demo.jobs, "lock:nightly-report").await, []);
    demo.shut_down().await;
}

#[tokio::test]
async fn no_server_outlives_a_demo_that_was_shut_down_cancelled_or_dropped() {
    let stop = CancellationToken::new();
    let stopped = start(&CancellationToken::new()).await;
    let cancelled = start(&stop).await;
    let dropped = start(&CancellationToken::new()).await;
    let pids = |demo: &RunningDemo| demo.nodes.iter().map(|node| node.pid).collect::<Vec<_>>();

    let pids_of_stopped = pids(&stopped);
    stopped.shut_down().await;
    assert!(
        pids_of_stopped.iter().all(|&pid| !is_running(pid)),
        "the servers have exited when shut_down() returns"
    );

    let pids_of_others = [pids(&cancelled), pids(&dropped)].concat();
    assert!(
        pids_of_others.iter().all(|&pid| is_running(pid)),
        "the other demos still run"
    );
    stop.cancel();
    drop(dropped);
    wait_until("no server is left", async || {
        pids_of_others.iter().all(|&pid| !is_running(pid))
    })
    .await;
}

#[tokio::test]
async fn no_server_outlives_a_killed_console() {
    let mut command = console_demo();
    let mut console = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let servers = wait_for("six servers run", async || {
        assert_eq!(
            console.try_wait().unwrap(),
            None,
            "the demo runs until it is killed"
        );
        let servers: Vec<u32> = descendants(console.id())
            .into_iter()
            .filter(|&pid| is_redis_server(pid))
            .collect();
        (servers.len() == 6).then_some(servers)
    })
    .await;
    console.kill().unwrap(); // SIGKILL: the console cannot stop its servers
    console.wait().unwrap();
    wait_until("no server is left", async || {
        servers.iter().all(|&pid| !is_running(pid))
    })
    .await;
}

#[test]
fn without_a_server_on_path_the_error_explains_how_to_install_one() {
    let output = console_demo()
        .env("PATH", "/no/such/folder")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("apt-get install redis-server"), "{stderr}");
    assert_eq!(stderr.trim().lines().count(), 1, "{stderr}");
}

#[tokio::test]
async fn an_etcd_cluster_and_a_zookeeper_ensemble_run_beside_redis() {
    let demo = start_with(&CancellationToken::new(), false).await;
    let console = TestConsole::start(demo.config.groups.clone()).await;
    let api = console.api();
    for (path, format) in [
        ("/api/v1/groups/etcd/locks/jobs%2Freindex", "etcd-mutex"),
        (
            "/api/v1/groups/zookeeper/locks/%2Flocks%2Fexport",
            "curator",
        ),
    ] {
        wait_until("the lock has a waiter", async || {
            let lock = api.get(path).await.json();
            lock["format"] == format && lock["evidence"][0]["kind"] == "queue"
        })
        .await;
    }
    demo.shut_down().await;
}

/// A running demo and its groups.
struct DemoGroups {
    demo: RunningDemo,
    orders: TestGroup,
    jobs: TestGroup,
}

impl DemoGroups {
    async fn start() -> Self {
        let demo = start(&CancellationToken::new()).await;
        let group = |n: usize| TestGroup::start(demo.config.groups[n].clone());
        let (orders, jobs) = (group(0), group(1));
        orders.wait_until_up().await;
        jobs.wait_until_up().await;
        Self { demo, orders, jobs }
    }

    fn port(&self, node: &str) -> u16 {
        self.demo
            .nodes
            .iter()
            .find(|candidate| candidate.name == node)
            .unwrap()
            .port
    }

    async fn shut_down(self) {
        self.demo.shut_down().await;
    }
}

async fn start(stop: &CancellationToken) -> RunningDemo {
    start_with(stop, true).await
}

async fn start_with(stop: &CancellationToken, redis_only: bool) -> RunningDemo {
    let options = DemoOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        redis_server: None,
        redis_only,
    };
    demo::start(options, stop.clone()).await.unwrap()
}

/// The command `lockkeeper demo`.
fn console_demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    command
        .args(["demo", "--redis-only", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null());
    command
}

/// The locks that the nodes of a group report for a key. A node that does not reply reports none.
async fn inspect(group: &TestGroup, key: &str) -> Vec<DetectedLock> {
    let inspection = group.inspect(&[LockKey::from(key)]).await;
    let key_states = inspection
        .nodes
        .into_iter()
        .filter_map(|node| node.result.ok())
        .flatten()
        .flatten();
    key_states
        .filter_map(|key_state| detect(&key_state, true))
        .collect()
}

async fn query<T: FromRedisValue>(port: u16, command: &redis::Cmd) -> Option<T> {
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.ok()?;
    command.query_async(&mut connection).await.ok()
}

fn is_running(pid: u32) -> bool {
    Command::new("kill")
        .args(["-0", &pid.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

fn is_redis_server(pid: u32) -> bool {
    let name = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm"))
        .unwrap_or_default();
    matches!(name.trim(), "redis-server" | "valkey-server")
}

/// The process and all its descendants.
fn descendants(root: u32) -> Vec<u32> {
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
    let mut pids = vec![root];
    let mut next = 0;
    while let Some(&parent) = pids.get(next) {
        pids.extend(
            pairs
                .iter()
                .filter(|pair| pair[1] == parent)
                .map(|pair| pair[0]),
        );
        next += 1;
    }
    pids
}
