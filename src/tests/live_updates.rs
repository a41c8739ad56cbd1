//! Live updates: the events that subscribers receive.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::json;

use crate::support::console::{ServerSentEvent, TestConsole};
use crate::support::redis_nodes::RedisNodes;

fn group_config(name: &str, nodes: &RedisNodes) -> GroupConfig {
    GroupConfig::new(name, nodes.urls())
}

fn is_change(event: &ServerSentEvent, kind: &str, key: &str) -> bool {
    let has_key = |object: &serde_json::Value| object["key"] == key;
    event.event == "change"
        && event.data["type"] == kind
        && (has_key(&event.data["id"]) || has_key(&event.data["lock"]))
}

#[tokio::test]
async fn a_lock_set_by_another_client_and_its_expiry_are_sent() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let mut subscriber = console.api().subscribe("", None).await;
    let first = subscriber.next().await.unwrap();
    assert_eq!(
        (first.event.as_str(), &first.data["locks"]),
        ("snapshot", &json!([]))
    );
    subscriber
        .wait_for(|event| event.data["group"]["last_polled_at"].is_string())
        .await;

    nodes
        .set_on_first(3, b"lock:new", b"owner", Some(1_500))
        .await;
    let event = subscriber
        .wait_for(|event| is_change(event, "appeared", "lock:new"))
        .await;
    assert_eq!(event.data["lock"]["verdict"], "held");
    let event = subscriber
        .wait_for(|event| is_change(event, "gone", "lock:new"))
        .await;
    assert_eq!(event.data["end_reason"], "expired");
}

#[tokio::test]
async fn a_subscriber_that_reconnects_receives_the_missed_events_once() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    let mut subscriber = api.subscribe("", None).await;
    let last_event_id = subscriber.wait_for(|event| !event.id.is_empty()).await.id;
    nodes.set(0, b"lock:missed", b"owner", None).await;
    subscriber
        .wait_for(|event| is_change(event, "appeared", "lock:missed"))
        .await;
    drop(subscriber);

    let mut resumed = api.subscribe("", Some(&last_event_id)).await;
    let mut last = last_event_id
        .rsplit('-')
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    loop {
        let event = resumed.next().await.unwrap();
        assert_ne!(event.event, "snapshot", "few events were missed");
        if event.event == "change" {
            let seq = event.id.rsplit('-').next().unwrap().parse::<u64>().unwrap();
            assert_eq!(seq, last + 1);
            last = seq;
            if is_change(&event, "appeared", "lock:missed") {
                break;
            }
        }
    }
    let mut restarted = api.subscribe("?since=1-1", None).await;
    assert_eq!(
        restarted.next().await.unwrap().event,
        "snapshot",
        "the event id is of another epoch"
    );
}

#[tokio::test]
async fn a_renewal_and_a_change_of_owner_are_sent_as_different_events() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let mut subscriber = console.api().subscribe("?group=jobs", None).await;
    nodes.set(0, b"lock:r", b"first", Some(60_000)).await;
    subscriber
        .wait_for(|event| is_change(event, "appeared", "lock:r"))
        .await;
    nodes.set(0, b"lock:r", b"first", Some(90_000)).await;
    let renewed = subscriber
        .wait_for(|event| is_change(event, "renewed", "lock:r"))
        .await;
    assert_eq!(renewed.data["lock"]["renewals"]["count"], 1);
    assert_eq!(renewed.data["lock"]["renewals"]["source"], "feed");
    nodes.set(0, b"lock:r", b"second", Some(95_000)).await;
    let changed = subscriber
        .wait_for(|event| is_change(event, "owner-changed", "lock:r"))
        .await;
    assert_eq!(changed.data["lock"]["renewals"]["count"], 0);
    nodes.delete(0, b"lock:r").await;
    let gone = subscriber
        .wait_for(|event| is_change(event, "gone", "lock:r"))
        .await;
    assert_eq!(gone.data["end_reason"], "released");
}

#[tokio::test]
async fn every_subscriber_receives_a_large_snapshot_completely_and_then_the_changes() {
    let nodes = RedisNodes::start(1).await;
    let name = |n: usize| format!("lock:{n}:{}", "é🔒".repeat(200));
    for n in 0..300 {
        nodes
            .set(0, name(n).as_bytes(), b"owner", Some(60_000))
            .await;
    }
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    api.wait_for_lock_count(300).await;
    let mut subscribers = Vec::new();
    for _ in 0..4 {
        subscribers.push(api.subscribe("", None).await);
    }
    nodes.set(0, b"lock:late", b"owner", Some(60_000)).await;
    for subscriber in &mut subscribers {
        let first = subscriber.next().await.unwrap();
        assert_eq!(first.event, "snapshot");
        let locks = first.data["locks"].as_array().unwrap();
        let names: BTreeSet<_> = locks
            .iter()
            .map(|lock| lock["key"].as_str().unwrap())
            .collect();
        assert!((0..300).all(|n| names.contains(name(n).as_str())));
        if !names.contains("lock:late") {
            subscriber
                .wait_for(|event| is_change(event, "appeared", "lock:late"))
                .await;
        }
    }
}

#[tokio::test]
async fn the_first_event_of_every_subscription_is_the_snapshot() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    // The server's timers are set some microseconds apart and round up to milliseconds: which of
    // them fires first varies.
    for n in 0..1_000 {
        let mut subscriber = api.subscribe("", None).await;
        assert_eq!(
            subscriber.next().await.unwrap().event,
            "snapshot",
            "subscriber {n}"
        );
    }
}

#[tokio::test]
async fn every_event_stream_ends_when_the_console_stops() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let mut subscriber = console.api().subscribe("", None).await;
    subscriber.next().await.unwrap();
    let began = Instant::now();
    let (stopped, ended) = tokio::join!(console.stop(), async {
        while subscriber.next().await.is_some() {}
    });
    let ((), ()) = (stopped, ended);
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}
