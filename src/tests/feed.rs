//! What nodes tell by themselves: every change at once, and every renewal counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;

use crate::support::console::{Person, TestConsole, Told};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

pub fn config(nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    }
}

/// A console on one server that tells of changes.
pub async fn fed(nodes: &RedisNodes) -> (TestConsole, Person) {
    let console = TestConsole::start(vec![config(nodes)]).await;
    let person = console.person();
    is_fed(&person).await;
    (console, person)
}

pub async fn is_fed(person: &Person) {
    eventually_is("every node tells", async || {
        let groups = person.get("/api/v1/groups").await.json();
        let nodes = groups["groups"][0]["nodes"].as_array().unwrap().clone();
        nodes.iter().all(|node| node["feed"] == "tracking")
    })
    .await;
}

pub fn is_about(told: &Told, kind: &str, key: &str) -> bool {
    told.event == "change"
        && told.data["type"] == kind
        && (told.data["id"]["key"] == key || told.data["lock"]["key"] == key)
}

pub async fn run(client: &mut MultiplexedConnection, words: &[&str]) -> redis::Value {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    command.query_async(client).await.unwrap()
}

#[tokio::test]
async fn three_hundred_locks_renewed_every_one_to_five_seconds_are_counted_exactly() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let key = |n: u64| format!("lock:{n}");
    for n in 0..300 {
        run(
            &mut client,
            &["SET", &key(n), &format!("owner {n}"), "PX", "30000"],
        )
        .await;
    }
    person.sees(300).await;
    // Each at its own period from 1 to 5 seconds, driven by one clock.
    let period = |n: u64| 1_000 + n * 4_000 / 300;
    let began = Instant::now();
    let mut done = BTreeMap::<u64, u64>::new();
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    while began.elapsed() < Duration::from_secs(7) {
        tick.tick().await;
        let passed = u64::try_from(began.elapsed().as_millis()).unwrap();
        for n in 0..300 {
            let count = done.entry(n).or_default();
            if passed / period(n) > *count {
                run(&mut client, &["PEXPIRE", &key(n), "30000"]).await;
                *count += 1;
            }
        }
    }
    let expected: BTreeMap<String, u64> = done.iter().map(|(n, count)| (key(*n), *count)).collect();
    let counted = eventually("all are counted", async || {
        let listed = person.get("/api/v1/locks?limit=1000").await.json();
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
    let quick = counted
        .1
        .iter()
        .find(|lock| lock["key"] == "lock:0")
        .unwrap();
    let every = quick["renewals"]["every_ms"].as_u64().unwrap();
    assert!((950..1_050).contains(&every), "{quick}");
    let margin = quick["renewals"]["margin_ms"].as_u64().unwrap();
    assert!((28_500..29_500).contains(&margin), "{quick}");
}

#[tokio::test]
async fn an_expired_lock_is_told_at_once_though_redis_itself_is_late() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    // Beside many keys with a deadline Redis finds those that are over only after minutes.
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
    let (console, _person) = fed(&nodes).await;
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();
    let set_at = Instant::now();
    run(&mut client, &["SET", "lock:a", "x", "PX", "700"]).await;
    run(&mut client, &["SET", "lock:b", "x", "PX", "60000"]).await;
    let gone = viewer.until(|told| is_about(told, "gone", "lock:a")).await;
    assert_eq!(gone.data["ending"], "expired");
    let late = set_at.elapsed().saturating_sub(Duration::from_millis(700));
    assert!(late < Duration::from_secs(2), "{late:?}");
    run(&mut client, &["DEL", "lock:b"]).await;
    let gone = viewer.until(|told| is_about(told, "gone", "lock:b")).await;
    assert_eq!(gone.data["ending"], "released");
}

#[tokio::test]
async fn a_redlock_on_five_nodes_appears_once_and_whole() {
    let nodes = RedisNodes::start(5).await;
    let (console, _person) = fed(&nodes).await;
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();
    nodes
        .set_first(5, b"lock:a", b"somebody", Some(20_000))
        .await;
    let told = viewer
        .until(|told| is_about(told, "appeared", "lock:a"))
        .await;
    assert_eq!(told.data["lock"]["verdict"], "held");
    nodes
        .set_first(5, b"lock:a", b"somebody", Some(30_000))
        .await;
    let told = viewer
        .until(|told| is_about(told, "renewed", "lock:a"))
        .await;
    assert_eq!(told.data["lock"]["renewals"]["count"], 1);
    for n in 0..5 {
        nodes.delete(n, b"lock:a").await;
    }
    let mut renewed = 0;
    let gone = viewer
        .until(|told| {
            renewed += u32::from(is_about(told, "renewed", "lock:a"));
            is_about(told, "gone", "lock:a")
        })
        .await;
    assert_eq!((renewed, &gone.data["ending"]), (0, &"released".into()));
}

#[tokio::test]
async fn a_lock_that_changes_hands_too_fast_to_look_is_counted() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let began = Instant::now();
    let mut hand_overs = 0;
    let mut told = None;
    while began.elapsed() < Duration::from_secs(10) && told.is_none() {
        for _ in 0..100 {
            let owner = format!("owner {hand_overs}");
            run(
                &mut client,
                &["SET", "lock:hot", &owner, "NX", "PX", "5000"],
            )
            .await;
            tick.tick().await;
            run(&mut client, &["DEL", "lock:hot"]).await;
            hand_overs += 1;
        }
        run(&mut client, &["SET", "lock:hot", "rest", "NX", "PX", "300"]).await;
        let listed = person.get("/api/v1/locks?q=lock:hot").await.json();
        told = listed["locks"][0]["renewals"]["hand_overs_per_minute"].as_f64();
        run(&mut client, &["DEL", "lock:hot"]).await;
    }
    let truly = f64::from(hand_overs) * 60.0 / began.elapsed().as_secs_f64();
    let told = told.expect("it is counted");
    assert!((0.6..1.5).contains(&(told / truly)), "{told} of {truly}");
}
