//! The change feed: changes are published at once and every renewal is counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;

use crate::support::console::{ApiClient, ServerSentEvent, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{wait_for, wait_until};

pub fn config(nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    }
}

/// Starts a console and waits until every node reports its changes.
pub async fn start_with_feed(nodes: &RedisNodes) -> (TestConsole, ApiClient) {
    let console = TestConsole::start(vec![config(nodes)]).await;
    let api = console.api();
    wait_until_feed_is_up(&api).await;
    (console, api)
}

pub async fn wait_until_feed_is_up(api: &ApiClient) {
    wait_until("every node uses client tracking", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let nodes = groups["groups"][0]["nodes"].as_array().unwrap().clone();
        nodes.iter().all(|node| node["feed"] == "tracking")
    })
    .await;
}

pub fn is_change(event: &ServerSentEvent, kind: &str, key: &str) -> bool {
    event.event == "change"
        && event.data["type"] == kind
        && (event.data["id"]["key"] == key || event.data["lock"]["key"] == key)
}

pub async fn run(client: &mut MultiplexedConnection, words: &[&str]) -> redis::Value {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    command.query_async(client).await.unwrap()
}

#[tokio::test]
async fn the_renewals_of_three_hundred_locks_are_counted_exactly() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let key = |n: u64| format!("lock:{n}");
    for n in 0..300 {
        run(
            &mut client,
            &["SET", &key(n), &format!("owner {n}"), "PX", "30000"],
        )
        .await;
    }
    api.wait_for_lock_count(300).await;
    // Each lock has its own renewal period between 1 and 5 seconds, driven by one clock.
    let period = |n: u64| 1_000 + n * 4_000 / 300;
    let started = Instant::now();
    let mut sent = BTreeMap::<u64, u64>::new();
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    while started.elapsed() < Duration::from_secs(7) {
        tick.tick().await;
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap();
        for n in 0..300 {
            let count = sent.entry(n).or_default();
            if elapsed / period(n) > *count {
                run(&mut client, &["PEXPIRE", &key(n), "30000"]).await;
                *count += 1;
            }
        }
    }
    let expected: BTreeMap<String, u64> = sent.iter().map(|(n, count)| (key(*n), *count)).collect();
    let counted = wait_for("all renewals are counted", async || {
        let listed = api.get("/api/v1/locks?limit=1000").await.json();
        let locks = listed["locks"].as_array().unwrap().clone();
        let counts: BTreeMap<String, u64> = locks
            .iter()
            .map(|lock| {
                assert_eq!(lock["renewals"]["source"], "feed");
                let count = lock["renewals"]["count"].as_u64().unwrap();
                (lock["key"].as_str().unwrap().to_owned(), count)
            })
            .collect();
        (counts.values().sum::<u64>() >= expected.values().sum()).then_some((counts, locks))
    })
    .await;
    assert_eq!(counted.0, expected);
    let fastest = counted
        .1
        .iter()
        .find(|lock| lock["key"] == "lock:0")
        .unwrap();
    let interval = fastest["renewals"]["interval_ms"].as_u64().unwrap();
    assert!((950..1_050).contains(&interval), "{fastest}");
    let margin = fastest["renewals"]["margin_ms"].as_u64().unwrap();
    assert!((28_500..29_500).contains(&margin), "{fastest}");
}

#[tokio::test]
async fn an_expired_lock_is_published_at_once_although_redis_deletes_it_late() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    // Among many keys with a TTL, the active expiry of Redis needs minutes to find one that has
    // expired.
    let mut others = redis::pipe();
    for n in 0..20_000 {
        others
            .cmd("SET")
            .arg(format!("other:{n}"))
            .arg("x")
            .arg("PX")
            .arg(3_600_000)
            .ignore();
    }
    let () = others.query_async(&mut client).await.unwrap();
    let (console, _api) = start_with_feed(&nodes).await;
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();
    let set_at = Instant::now();
    run(&mut client, &["SET", "lock:a", "x", "PX", "700"]).await;
    run(&mut client, &["SET", "lock:b", "x", "PX", "60000"]).await;
    let gone = events
        .wait_for(|event| is_change(event, "gone", "lock:a"))
        .await;
    assert_eq!(gone.data["end_reason"], "expired");
    let delay = set_at.elapsed().saturating_sub(Duration::from_millis(700));
    assert!(delay < Duration::from_secs(2), "{delay:?}");
    run(&mut client, &["DEL", "lock:b"]).await;
    let gone = events
        .wait_for(|event| is_change(event, "gone", "lock:b"))
        .await;
    assert_eq!(gone.data["end_reason"], "released");
}

#[tokio::test]
async fn a_lock_on_five_nodes_is_published_once_and_complete() {
    let nodes = RedisNodes::start(5).await;
    let (console, _api) = start_with_feed(&nodes).await;
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();
    nodes
        .set_on_first(5, b"lock:a", b"client-1", Some(20_000))
        .await;
    let event = events
        .wait_for(|event| is_change(event, "appeared", "lock:a"))
        .await;
    assert_eq!(event.data["lock"]["verdict"], "held");
    nodes
        .set_on_first(5, b"lock:a", b"client-1", Some(30_000))
        .await;
    let event = events
        .wait_for(|event| is_change(event, "renewed", "lock:a"))
        .await;
    assert_eq!(event.data["lock"]["renewals"]["count"], 1);
    nodes.delete_on_first(5, b"lock:a").await;
    let mut renewed = 0;
    let gone = events
        .wait_for(|event| {
            renewed += u32::from(is_change(event, "renewed", "lock:a"));
            is_change(event, "gone", "lock:a")
        })
        .await;
    assert_eq!((renewed, &gone.data["end_reason"]), (0, &"released".into()));
}

#[tokio::test]
async fn ownership_changes_faster_than_the_poll_interval_are_counted() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let started = Instant::now();
    let mut changes = 0;
    let mut reported = None;
    while started.elapsed() < Duration::from_secs(30) && reported.is_none() {
        for _ in 0..100 {
            let owner = format!("owner {changes}");
            run(
                &mut client,
                &["SET", "lock:hot", &owner, "NX", "PX", "5000"],
            )
            .await;
            tick.tick().await;
            run(&mut client, &["DEL", "lock:hot"]).await;
            changes += 1;
        }
        run(&mut client, &["SET", "lock:hot", "rest", "NX", "PX", "300"]).await;
        let listed = api.get("/api/v1/locks?q=lock:hot").await.json();
        reported = listed["locks"][0]["renewals"]["ownership_changes_per_minute"].as_f64();
        run(&mut client, &["DEL", "lock:hot"]).await;
    }
    let expected_rate = f64::from(changes) * 60.0 / started.elapsed().as_secs_f64();
    let reported = reported.expect("the rate is reported");
    assert!(
        (0.6..1.5).contains(&(reported / expected_rate)),
        "{reported} of {expected_rate}"
    );
}
