//! The demo: real servers with the promised locks on them, and nothing left behind however it ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockkeeper::domain::{Format, Lease, LockKey, quorum::majority};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::demo::{self, Demo, DemoNode, DemoOptions};
use lockkeeper::server::formats::{Recognised, recognise};
use lockkeeper::server::nodes::sighting::{Sighting, Ttl, Value};
use redis::FromRedisValue;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_promised_locks_are_on_the_nodes() {
    let demo = start(&CancellationToken::new()).await;
    assert_eq!(demo.config.groups[0].nodes.len(), 5);
    let promised = [
        ("orders", "lock:ledger:close", Format::NodeRedlock, 5),
        ("orders", "lock:shipment:label-printer", Format::Redsync, 5),
        ("orders", "lock:invoice:1842", Format::Plain, 5),
        ("orders", "lock:stock:recount", Format::NodeRedlock, 2),
        ("jobs", "redisson:billing:run", Format::Redisson, 1),
        ("jobs", "lock:nightly-report", Format::RedisPy, 1),
        ("jobs", "lock:import:legacy", Format::LegacyTimestamp, 1),
        ("jobs", "job-lock:prod:send-reminders", Format::ShedLock, 1),
    ];
    for (group, key, format, on) in promised {
        let seen = eventually(async || {
            let seen = look(&demo.nodes, group, key).await;
            (seen.len() >= on).then_some(seen)
        });
        let seen = seen.await;
        assert!(
            seen.iter().all(|lock| lock.format == format),
            "{key}: {seen:?}"
        );
    }
    let nodes = &demo.nodes;
    assert_eq!(
        look(nodes, "jobs", "lock:nightly-report").await[0].lease,
        Lease::Never
    );
    let overdue = look(nodes, "jobs", "lock:import:legacy").await[0].lease;
    assert_eq!(overdue.remaining_ms(Clock::real().now()), Some(0));
    assert_eq!(
        look(nodes, "jobs", "redisson:inventory:sync").await[0].owners[0]
            .owner
            .holds,
        Some(2)
    );
    demo.end().await;
}

#[tokio::test]
async fn two_owners_split_a_lock_and_neither_has_a_quorum() {
    let demo = start(&CancellationToken::new()).await;
    eventually(async || {
        let seen = look(&demo.nodes, "orders", "lock:cart:merge").await;
        let owners: BTreeSet<_> = seen
            .iter()
            .map(|lock| lock.owners[0].owner.clone())
            .collect();
        let most = owners
            .iter()
            .map(|owner| {
                seen.iter()
                    .filter(|lock| lock.owners[0].owner == *owner)
                    .count()
            })
            .max();
        (seen.len() == 4 && owners.len() == 2 && most < Some(majority(5))).then_some(())
    })
    .await;
    demo.end().await;
}

#[tokio::test]
async fn the_contended_lock_changes_hands_and_short_ones_come_and_go() {
    let demo = start(&CancellationToken::new()).await;
    let mut owners = BTreeSet::new();
    let mut payouts = BTreeSet::new();
    eventually(async || {
        for lock in look(&demo.nodes, "orders", "lock:invoice:1842").await {
            owners.insert(lock.owners[0].owner.clone());
        }
        let names: Option<Vec<String>> =
            ask(demo.nodes[0].port, redis::cmd("KEYS").arg("lock:payout:*")).await;
        payouts.extend(names.unwrap_or_default());
        (owners.len() > 1 && payouts.len() > 3).then_some(())
    })
    .await;
    demo.end().await;
}

#[tokio::test]
async fn the_clients_go_on_while_a_minority_of_nodes_is_dead_and_a_freed_lock_stays_free() {
    let demo = start(&CancellationToken::new()).await;
    let lease = async || {
        look(&demo.nodes, "orders", "lock:shipment:label-printer")
            .await
            .first()
            .map(|lock| lock.lease)
    };
    eventually(lease).await;
    let freed: Option<u64> = ask(
        port(&demo, "jobs", "main"),
        redis::cmd("DEL").arg("lock:nightly-report"),
    )
    .await;
    for name in ["a", "c"] {
        let _hung_up: Option<()> = ask(
            port(&demo, "orders", name),
            redis::cmd("SHUTDOWN").arg("NOSAVE"),
        )
        .await;
    }
    let before = eventually(lease).await.expires_at().unwrap();
    eventually(async || {
        lease()
            .await
            .filter(|now| now.expires_at() > Some(before.plus_millis(2_000)))
    })
    .await;
    assert_eq!(freed, Some(1));
    assert!(
        look(&demo.nodes, "jobs", "lock:nightly-report")
            .await
            .is_empty()
    );
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
    eventually(async || of_others.iter().all(|&pid| !runs(pid)).then_some(())).await;
}

#[tokio::test]
async fn a_killed_console_leaves_no_server() {
    let mut console = console_demo(Command::new(env!("CARGO_BIN_EXE_lockkeeper")));
    let servers = eventually(async || {
        assert_eq!(
            console.try_wait().unwrap(),
            None,
            "the demo runs until it is killed"
        );
        let servers: Vec<u32> = descendants(console.id())
            .into_iter()
            .filter(|&pid| is_server(pid))
            .collect();
        (servers.len() == 6).then_some(servers)
    })
    .await;
    console.kill().unwrap(); // SIGKILL: nothing in the console gets to run any more
    console.wait().unwrap();
    eventually(async || servers.iter().all(|&pid| !runs(pid)).then_some(())).await;
}

#[test]
fn without_a_server_on_path_one_sentence_says_how_to_get_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    let output = console_demo_of(command.env("PATH", "/no/such/folder"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("apt-get install redis-server"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

async fn start(stop: &CancellationToken) -> Demo {
    let options = DemoOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        redis_server: None,
    };
    demo::start(options, stop.clone()).await.unwrap()
}

fn console_demo(mut command: Command) -> Child {
    console_demo_of(&mut command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn console_demo_of(command: &mut Command) -> &mut Command {
    command
        .args(["demo", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
}

fn port(demo: &Demo, group: &str, name: &str) -> u16 {
    demo.nodes
        .iter()
        .find(|node| (node.group, node.name) == (group, name))
        .unwrap()
        .port
}

/// What the nodes of a group show of a key; one that does not answer shows nothing.
async fn look(nodes: &[DemoNode], group: &str, key: &str) -> Vec<Recognised> {
    let mut seen = Vec::new();
    for node in nodes.iter().filter(|node| node.group == group) {
        let value = match ask::<String>(node.port, redis::cmd("TYPE").arg(key))
            .await
            .as_deref()
        {
            Some("string") => ask(node.port, redis::cmd("GET").arg(key))
                .await
                .map(Value::Text),
            Some("hash") => ask(node.port, redis::cmd("HGETALL").arg(key))
                .await
                .map(Value::Hash),
            _ => None,
        };
        let Some(ttl) = ask::<i64>(node.port, redis::cmd("PTTL").arg(key))
            .await
            .filter(|&ttl| ttl != -2)
        else {
            continue;
        };
        let Some(value) = value else { continue };
        let ttl = u64::try_from(ttl).map_or(Ttl::Never, Ttl::Ms);
        let sighting = Sighting {
            key: LockKey::from(key),
            value,
            ttl,
            seen_at: Clock::real().now(),
        };
        seen.extend(recognise(&sighting, true));
    }
    seen
}

async fn ask<T: FromRedisValue>(port: u16, command: &redis::Cmd) -> Option<T> {
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.ok()?;
    command.query_async(&mut connection).await.ok()
}

/// Asks again and again until there is an answer.
async fn eventually<T>(mut question: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(answer) = question().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "it did not happen within 30 s");
        tokio::task::yield_now().await;
    }
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
fn descendants(of: u32) -> Vec<u32> {
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid="])
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let pairs: Vec<(u32, u32)> = table
        .lines()
        .filter_map(|line| {
            let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
            Some((numbers.next()??, numbers.next()??))
        })
        .collect();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(
            pairs
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    found
}
