//! Faults of the change feed: after each one, the lock list and Redis agree again within a bound.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;

use crate::change_feed::{is_change, run, start_with_feed, wait_until_feed_is_up};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::wait_until;

/// The time within which the list and Redis agree after a fault.
const MAX_RECOVERY_TIME: Duration = Duration::from_secs(10);

/// The expiry of each lock on the server, in milliseconds since `epoch`.
async fn expiries_on_redis(
    client: &mut MultiplexedConnection,
    epoch: Instant,
) -> BTreeMap<String, i64> {
    let keys: Vec<String> = run_command(client, "KEYS lock:*").await;
    let mut expiries = BTreeMap::new();
    for key in keys {
        let pttl: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(client)
            .await
            .unwrap();
        if pttl >= 0 {
            let expires_at = i64::try_from(epoch.elapsed().as_millis()).unwrap() + pttl;
            expiries.insert(key, expires_at);
        }
    }
    expiries
}

async fn expiries_in_list(api: &ApiClient, epoch: Instant) -> BTreeMap<String, i64> {
    let listed = api.get("/api/v1/locks?limit=1000").await.json();
    let at = i64::try_from(epoch.elapsed().as_millis()).unwrap();
    let observed: timestamps::Millis = timestamps::parse(listed["observed_at"].as_str().unwrap());
    let locks = listed["locks"].as_array().unwrap().iter();
    locks
        .filter(|lock| lock["verdict"] == "held")
        .map(|lock| {
            let end = timestamps::parse(lock["expires_at"].as_str().unwrap());
            (
                lock["key"].as_str().unwrap().to_owned(),
                at + end - observed,
            )
        })
        .collect()
}

/// Timestamps of the API, as milliseconds since midnight.
mod timestamps {
    pub type Millis = i64;

    pub fn parse(text: &str) -> Millis {
        let (_, time) = text.split_once('T').unwrap();
        let time = time.trim_end_matches('Z');
        let mut parts = time.split(':');
        let mut next = || parts.next().unwrap().parse::<f64>().unwrap();
        let seconds = next() * 3_600.0 + next() * 60.0 + next();
        (seconds * 1_000.0).round() as Millis
    }
}

/// Waits until the list shows the locks of the server with the same expiry, within 150 ms.
async fn wait_until_list_agrees(what: &str, api: &ApiClient, node: &RedisNode) {
    let started = Instant::now();
    let mut client = node.client().await;
    let mut last = Default::default();
    while started.elapsed() < MAX_RECOVERY_TIME {
        let (list, redis) = (
            expiries_in_list(api, started).await,
            expiries_on_redis(&mut client, started).await,
        );
        let same = list.len() == redis.len()
            && list.iter().all(|(key, end)| {
                redis
                    .get(key)
                    .is_some_and(|redis_end| (redis_end - end).abs() < 150)
            });
        if same {
            eprintln!("{what}: agree after {:?}", started.elapsed());
            return;
        }
        last = (list, redis);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: list and Redis do not agree: {last:?}");
}

async fn fill(client: &mut MultiplexedConnection, round: &str) {
    for n in 0..50 {
        let (key, px) = (format!("lock:{n}"), format!("{}", 60_000 + n * 100));
        run(client, &["SET", &key, round, "PX", &px]).await;
    }
}

/// Deletes half of the locks, renews the others and adds new ones.
async fn change_locks(client: &mut MultiplexedConnection) {
    for n in 0..25 {
        run(client, &["DEL", &format!("lock:{n}")]).await;
        run(client, &["PEXPIRE", &format!("lock:{}", n + 25), "90000"]).await;
        run(
            client,
            &["SET", &format!("lock:new:{n}"), "x", "PX", "70000"],
        )
        .await;
    }
}

#[tokio::test]
async fn list_and_redis_agree_after_the_feed_connection_is_killed() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    wait_until_list_agrees("initially", &api, &nodes.0[0]).await;
    for kind in ["pubsub", "normal"] {
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL")
            .arg("TYPE")
            .arg(kind)
            .arg("SKIPME")
            .arg("yes");
        let killed: u32 = kill.query_async(&mut client).await.unwrap();
        assert!(killed > 0, "there is a connection of type {kind}");
        change_locks(&mut client).await;
        wait_until_list_agrees(kind, &api, &nodes.0[0]).await;
        wait_until_feed_is_up(&api).await;
        fill(&mut client, "b").await;
        wait_until_list_agrees("afterwards", &api, &nodes.0[0]).await;
    }
}

#[tokio::test]
async fn list_and_redis_agree_after_connections_are_killed_repeatedly() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    for round in 0..8 {
        fill(&mut client, &format!("{round}")).await;
        wait_until_list_agrees("before", &api, &nodes.0[0]).await;
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("TYPE").arg("normal").arg("SKIPME");
        let () = kill.arg("yes").query_async(&mut client).await.unwrap();
        change_locks(&mut client).await;
        wait_until_list_agrees("afterwards", &api, &nodes.0[0]).await;
    }
}

#[tokio::test]
async fn a_notified_lock_is_polled_again_when_its_only_node_did_not_reply() {
    assert_polled_again(1).await;
}

#[tokio::test]
async fn a_notified_lock_is_polled_again_when_the_nodes_that_replied_do_not_have_it() {
    assert_polled_again(3).await;
}

async fn assert_polled_again(node_count: usize) {
    let nodes = RedisNodes::proxied(node_count).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    wait_until_feed_is_up(&api).await;
    let node = async || api.get("/api/v1/groups").await.json()["groups"][0].clone();
    wait_until("a scan pass has ended", async || {
        node().await["coverage"]["pass_ms"].is_u64()
    })
    .await;
    let since = node().await["nodes"][0]["since"].clone();
    // Requests on the existing connections no longer arrive, while notifications still do.
    nodes.proxies[0].hold_requests();
    let mut client = nodes.nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:new", "x", "PX", "70000"]).await;
    wait_until("the node went down and is up again", async || {
        let node = node().await["nodes"][0].clone();
        node["since"] != since && node["state"] == "up"
    })
    .await;
    nodes.proxies[0].heal();
    // This must happen before the next scan pass, which would find the lock anyway.
    wait_until("the lock is listed", async || {
        let listed = api.get("/api/v1/locks").await.json();
        listed["locks"][0]["key"] == "lock:new"
    })
    .await;
}

#[tokio::test]
async fn list_and_redis_agree_after_a_flush_and_no_lock_is_reported_released() {
    let nodes = RedisNodes::start(1).await;
    let (console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    for flush in ["FLUSHALL", "FLUSHDB"] {
        fill(&mut client, "a").await;
        wait_until_list_agrees("before", &api, &nodes.0[0]).await;
        let mut events = console.api().subscribe("", None).await;
        events.next().await.unwrap();
        run(&mut client, &[flush]).await;
        run(&mut client, &["SET", "lock:after", "x", "PX", "60000"]).await;
        wait_until_list_agrees(flush, &api, &nodes.0[0]).await;
        let gone = events
            .wait_for(|event| is_change(event, "gone", "lock:7"))
            .await;
        assert_eq!(gone.data["end_reason"], "unknown");
    }
}

#[tokio::test]
async fn list_and_redis_agree_after_a_restart() {
    let mut nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    wait_until_list_agrees("before", &api, &nodes.0[0]).await;
    nodes.0[0].restart_empty().await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:after", "x", "PX", "60000"]).await;
    wait_until_list_agrees("restart", &api, &nodes.0[0]).await;
    wait_until_feed_is_up(&api).await;
}

#[tokio::test]
async fn list_and_redis_agree_after_a_node_hangs() {
    let span = Duration::from_secs(6);
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    for n in 0..5 {
        run(
            &mut client,
            &["SET", &format!("lock:brief:{n}"), "x", "PX", "3000"],
        )
        .await;
    }
    wait_until_list_agrees("before", &api, &nodes.0[0]).await;
    nodes.0[0].pause().await;
    let stopped = Instant::now();
    while stopped.elapsed() < span {
        // The paused server does not reply, so each PING waits for the rest of the span.
        let rest = span.saturating_sub(stopped.elapsed());
        let ping = redis::cmd("PING").to_owned();
        let _hangs = tokio::time::timeout(rest, ping.exec_async(&mut client)).await;
    }
    nodes.0[0].resume().await;
    wait_until_list_agrees("hang", &api, &nodes.0[0]).await;
    change_locks(&mut client).await;
    wait_until_list_agrees("afterwards", &api, &nodes.0[0]).await;
}

/// The client IDs of the connections with a pub/sub subscription.
async fn subscribers(client: &mut MultiplexedConnection) -> Vec<String> {
    let mut list = redis::cmd("CLIENT");
    list.arg("LIST").arg("TYPE").arg("pubsub");
    let text: String = list.query_async(client).await.unwrap();
    let first_word = |line: &str| line.split(' ').next().unwrap().to_owned();
    text.lines().map(first_word).collect()
}

#[tokio::test]
async fn list_and_redis_agree_after_the_server_disconnects_a_slow_feed() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    wait_until_list_agrees("before", &api, &nodes.0[0]).await;
    let before = subscribers(&mut client).await;
    let limit = [
        "CONFIG",
        "SET",
        "client-output-buffer-limit",
        "pubsub 1024 0 0",
    ];
    run(&mut client, &limit).await;
    let script = "for n = 1, 5000 do redis.call('set', 'lock:many:' .. n, 'x', 'px', 400) end";
    run(&mut client, &["EVAL", script, "0"]).await;
    wait_until("the server has disconnected the feed", async || {
        subscribers(&mut client).await != before
    })
    .await;
    run(
        &mut client,
        &[
            "CONFIG",
            "SET",
            "client-output-buffer-limit",
            "pubsub 33554432 8388608 60",
        ],
    )
    .await;
    change_locks(&mut client).await;
    wait_until_list_agrees("disconnected", &api, &nodes.0[0]).await;
}

#[tokio::test]
async fn list_and_redis_agree_after_the_network_drops_all_packets() {
    let nodes = RedisNodes::start(1).await;
    let proxy = Proxy::in_front_of(nodes.0[0].port()).await;
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        ..GroupConfig::new("orders", [proxy.url()])
    };
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    wait_until_feed_is_up(&api).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    wait_until_list_agrees("before", &api, &nodes.0[0]).await;
    proxy.blackhole();
    change_locks(&mut client).await;
    wait_until("the node is reported down", async || {
        let node = api.first_node().await;
        node["state"] == "down" && node["feed"] == "poll"
    })
    .await;
    proxy.heal();
    wait_until_list_agrees("packets dropped", &api, &nodes.0[0]).await;
    wait_until_feed_is_up(&api).await;
}
