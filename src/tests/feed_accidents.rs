//! No accident makes the list differ from what the nodes hold for long: each ends with both compared.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;

use crate::feed::{fed, is_about, is_fed, run};
use crate::support::ask;
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

/// After an accident list and Redis agree again within this time.
const SOON: Duration = Duration::from_secs(10);

/// Name and deadline of each lock as the server shows them, in tenths of a second of this process.
async fn on_redis(client: &mut MultiplexedConnection, now: Instant) -> BTreeMap<String, i64> {
    let keys: Vec<String> = ask(client, "KEYS lock:*").await;
    let mut found = BTreeMap::new();
    for key in keys {
        let pttl: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(client)
            .await
            .unwrap();
        if pttl >= 0 {
            let at = i64::try_from(now.elapsed().as_millis()).unwrap() + pttl;
            found.insert(key, at);
        }
    }
    found
}

async fn on_the_list(person: &Person, now: Instant) -> BTreeMap<String, i64> {
    let listed = person.get("/api/v1/locks?limit=1000").await.json();
    let at = i64::try_from(now.elapsed().as_millis()).unwrap();
    let observed: moments::Millis = moments::parse(listed["observed_at"].as_str().unwrap());
    let locks = listed["locks"].as_array().unwrap().iter();
    locks
        .filter(|lock| lock["verdict"] == "held")
        .map(|lock| {
            let end = moments::parse(lock["expires_at"].as_str().unwrap());
            (
                lock["key"].as_str().unwrap().to_owned(),
                at + end - observed,
            )
        })
        .collect()
}

/// Moments as the API writes them, compared within one day.
mod moments {
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

/// Waits until the list shows the server's locks with their deadlines.
async fn agree_soon(what: &str, person: &Person, node: &RedisNode) {
    let began = Instant::now();
    let mut client = node.client().await;
    let mut last = Default::default();
    while began.elapsed() < SOON {
        let (list, redis) = (
            on_the_list(person, began).await,
            on_redis(&mut client, began).await,
        );
        let same = list.len() == redis.len()
            && list.iter().all(|(key, end)| {
                redis
                    .get(key)
                    .is_some_and(|there| (there - end).abs() < 150)
            });
        if same {
            eprintln!("{what}: agree after {:?}", began.elapsed());
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

/// Half of the locks go, some are renewed, some come.
async fn stir(client: &mut MultiplexedConnection) {
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
async fn list_and_redis_agree_of_a_killed_feed() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    agree_soon("at first", &person, &nodes.0[0]).await;
    for kind in ["pubsub", "normal"] {
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL")
            .arg("TYPE")
            .arg(kind)
            .arg("SKIPME")
            .arg("yes");
        let killed: u32 = kill.query_async(&mut client).await.unwrap();
        assert!(killed > 0, "there is a connection of type {kind}");
        stir(&mut client).await;
        agree_soon(kind, &person, &nodes.0[0]).await;
        is_fed(&person).await;
        fill(&mut client, "b").await;
        agree_soon("afterwards", &person, &nodes.0[0]).await;
    }
}

#[tokio::test]
async fn list_and_redis_agree_of_connections_that_are_killed_again_and_again() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    for round in 0..8 {
        fill(&mut client, &format!("{round}")).await;
        agree_soon("before", &person, &nodes.0[0]).await;
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("TYPE").arg("normal").arg("SKIPME");
        let () = kill.arg("yes").query_async(&mut client).await.unwrap();
        stir(&mut client).await;
        agree_soon("afterwards", &person, &nodes.0[0]).await;
    }
}

#[tokio::test]
async fn a_lock_that_was_told_of_while_its_node_did_not_answer_is_looked_at_again() {
    is_looked_at_again_on_one_of(1).await;
}

#[tokio::test]
async fn so_is_one_that_the_nodes_which_answer_know_nothing_of() {
    is_looked_at_again_on_one_of(3).await;
}

async fn is_looked_at_again_on_one_of(many: usize) {
    let nodes = RedisNodes::proxied(many).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    is_fed(&person).await;
    let node = async || person.get("/api/v1/groups").await.json()["groups"][0].clone();
    eventually_is("a pass has ended", async || {
        node().await["coverage"]["pass_ms"].is_u64()
    })
    .await;
    let since = node().await["nodes"][0]["since"].clone();
    // What is asked over the connections of now does not arrive, and the feed still tells.
    nodes.proxies[0].hold_back();
    let mut client = nodes.nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:new", "x", "PX", "70000"]).await;
    eventually_is("the node was given up, and is back", async || {
        let node = node().await["nodes"][0].clone();
        node["since"] != since && node["state"] == "up"
    })
    .await;
    nodes.proxies[0].heal();
    // Sooner than the next pass of the scan.
    eventually_is("it is on the list", async || {
        let listed = person.get("/api/v1/locks").await.json();
        listed["locks"][0]["key"] == "lock:new"
    })
    .await;
}

#[tokio::test]
async fn list_and_redis_agree_of_a_flush_and_nobody_is_said_to_have_released() {
    let nodes = RedisNodes::start(1).await;
    let (console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    for flush in ["FLUSHALL", "FLUSHDB"] {
        fill(&mut client, "a").await;
        agree_soon("before", &person, &nodes.0[0]).await;
        let mut viewer = console.person().watch("", None).await;
        viewer.next().await.unwrap();
        run(&mut client, &[flush]).await;
        run(&mut client, &["SET", "lock:after", "x", "PX", "60000"]).await;
        agree_soon(flush, &person, &nodes.0[0]).await;
        let gone = viewer.until(|told| is_about(told, "gone", "lock:7")).await;
        assert_eq!(gone.data["ending"], "unknown");
    }
}

#[tokio::test]
async fn list_and_redis_agree_of_a_restart() {
    let mut nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    agree_soon("before", &person, &nodes.0[0]).await;
    nodes.0[0].restart_empty().await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:after", "x", "PX", "60000"]).await;
    agree_soon("restart", &person, &nodes.0[0]).await;
    is_fed(&person).await;
}

#[tokio::test]
async fn list_and_redis_agree_after_a_node_hung() {
    let span = Duration::from_secs(6);
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    for n in 0..5 {
        run(
            &mut client,
            &["SET", &format!("lock:brief:{n}"), "x", "PX", "3000"],
        )
        .await;
    }
    agree_soon("before", &person, &nodes.0[0]).await;
    nodes.0[0].stop().await;
    let stopped = Instant::now();
    while stopped.elapsed() < span {
        // Longer than `eventually` waits for anything.
        let rest = span.saturating_sub(stopped.elapsed());
        let ping = redis::cmd("PING").to_owned();
        let _it_hangs = tokio::time::timeout(rest, ping.exec_async(&mut client)).await;
    }
    nodes.0[0].go_on().await;
    agree_soon("hang", &person, &nodes.0[0]).await;
    stir(&mut client).await;
    agree_soon("afterwards", &person, &nodes.0[0]).await;
}

/// The numbers of the connections that are told of something.
async fn subscribers(client: &mut MultiplexedConnection) -> Vec<String> {
    let mut list = redis::cmd("CLIENT");
    list.arg("LIST").arg("TYPE").arg("pubsub");
    let text: String = list.query_async(client).await.unwrap();
    let first_word = |line: &str| line.split(' ').next().unwrap().to_owned();
    text.lines().map(first_word).collect()
}

#[tokio::test]
async fn list_and_redis_agree_after_the_server_cut_off_a_slow_feed() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    agree_soon("before", &person, &nodes.0[0]).await;
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
    eventually_is("the server cut the feed off", async || {
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
    stir(&mut client).await;
    agree_soon("cut off", &person, &nodes.0[0]).await;
}

#[tokio::test]
async fn list_and_redis_agree_after_the_network_swallowed_everything() {
    let nodes = RedisNodes::start(1).await;
    let proxy = Proxy::before(nodes.0[0].port()).await;
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        ..GroupConfig::new("orders", [proxy.url()])
    };
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();
    is_fed(&person).await;
    let mut client = nodes.0[0].client().await;
    fill(&mut client, "a").await;
    agree_soon("before", &person, &nodes.0[0]).await;
    proxy.blackhole();
    stir(&mut client).await;
    eventually_is("it is noticed", async || {
        let node = person.node().await;
        node["state"] == "down" && node["feed"] == "poll"
    })
    .await;
    proxy.heal();
    agree_soon("swallowed", &person, &nodes.0[0]).await;
    is_fed(&person).await;
}
