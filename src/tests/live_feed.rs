//! What viewers are told while they watch.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::json;

use crate::support::console::{TestConsole, Told};
use crate::support::redis_nodes::RedisNodes;

fn group(name: &str, nodes: &RedisNodes) -> GroupConfig {
    GroupConfig::new(name, nodes.urls())
}

fn is_about(told: &Told, kind: &str, key: &str) -> bool {
    let key_of = |place: &serde_json::Value| place["key"] == key;
    told.event == "change"
        && told.data["type"] == kind
        && (key_of(&told.data["id"]) || key_of(&told.data["lock"]))
}

#[tokio::test]
async fn a_lock_set_by_another_client_is_told_and_so_is_its_end() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let mut viewer = console.person().watch("", None).await;
    let first = viewer.next().await.unwrap();
    assert_eq!(
        (first.event.as_str(), &first.data["locks"]),
        ("snapshot", &json!([]))
    );
    viewer
        .until(|told| told.data["group"]["looked_at"].is_string())
        .await;

    nodes
        .set_first(3, b"lock:new", b"somebody", Some(1_500))
        .await;
    let told = viewer
        .until(|told| is_about(told, "appeared", "lock:new"))
        .await;
    assert_eq!(told.data["lock"]["verdict"], "held");
    let told = viewer
        .until(|told| is_about(told, "gone", "lock:new"))
        .await;
    assert_eq!(told.data["ending"], "expired");
}

#[tokio::test]
async fn a_viewer_that_comes_back_gets_what_it_missed_and_nothing_twice() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    let mut viewer = person.watch("", None).await;
    let place = viewer.until(|told| !told.id.is_empty()).await.id;
    nodes.set(0, b"lock:missed", b"somebody", None).await;
    viewer
        .until(|told| is_about(told, "appeared", "lock:missed"))
        .await;
    drop(viewer);

    let mut again = person.watch("", Some(&place)).await;
    let mut last = place.rsplit('-').next().unwrap().parse::<u64>().unwrap();
    loop {
        let told = again.next().await.unwrap();
        assert_ne!(told.event, "snapshot", "it missed little");
        if told.event == "change" {
            let seq = told.id.rsplit('-').next().unwrap().parse::<u64>().unwrap();
            assert_eq!(seq, last + 1);
            last = seq;
            if is_about(&told, "appeared", "lock:missed") {
                break;
            }
        }
    }
    let mut stranger = person.watch("?since=1-1", None).await;
    assert_eq!(
        stranger.next().await.unwrap().event,
        "snapshot",
        "an id of another start"
    );
}

#[tokio::test]
async fn a_renewal_and_a_change_of_owners_are_told_apart() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let mut viewer = console.person().watch("?group=jobs", None).await;
    nodes.set(0, b"lock:r", b"first", Some(60_000)).await;
    viewer
        .until(|told| is_about(told, "appeared", "lock:r"))
        .await;
    nodes.set(0, b"lock:r", b"first", Some(90_000)).await;
    let renewed = viewer
        .until(|told| is_about(told, "renewed", "lock:r"))
        .await;
    assert_eq!(renewed.data["lock"]["renewals"]["count"], 1);
    assert_eq!(renewed.data["lock"]["renewals"]["source"], "feed");
    nodes.set(0, b"lock:r", b"second", Some(95_000)).await;
    let changed = viewer
        .until(|told| is_about(told, "changed-hands", "lock:r"))
        .await;
    assert_eq!(changed.data["lock"]["renewals"]["count"], 0);
    nodes.delete(0, b"lock:r").await;
    let gone = viewer.until(|told| is_about(told, "gone", "lock:r")).await;
    assert_eq!(gone.data["ending"], "released");
}

#[tokio::test]
async fn all_who_come_get_the_whole_of_a_large_board_and_then_what_changes() {
    let nodes = RedisNodes::start(1).await;
    let name = |n: usize| format!("lock:{n}:{}", "é🔒".repeat(200));
    for n in 0..300 {
        nodes
            .set(0, name(n).as_bytes(), b"somebody", Some(60_000))
            .await;
    }
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    person.sees(300).await;
    let mut viewers = Vec::new();
    for _ in 0..4 {
        viewers.push(person.watch("", None).await);
    }
    nodes.set(0, b"lock:late", b"somebody", Some(60_000)).await;
    for viewer in &mut viewers {
        let first = viewer.next().await.unwrap();
        assert_eq!(first.event, "snapshot");
        let locks = first.data["locks"].as_array().unwrap();
        let names: BTreeSet<_> = locks
            .iter()
            .map(|lock| lock["key"].as_str().unwrap())
            .collect();
        assert!((0..300).all(|n| names.contains(name(n).as_str())));
        if !names.contains("lock:late") {
            viewer
                .until(|told| is_about(told, "appeared", "lock:late"))
                .await;
        }
    }
}

#[tokio::test]
async fn the_first_that_a_viewer_is_told_is_what_there_is() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    // The server's timers are set some microseconds apart and round up to milliseconds: which of them is first differs.
    for n in 0..1_000 {
        let mut viewer = person.watch("", None).await;
        assert_eq!(viewer.next().await.unwrap().event, "snapshot", "viewer {n}");
    }
}

#[tokio::test]
async fn every_stream_ends_when_the_server_stops() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();
    let began = Instant::now();
    let (stopped, ended) = tokio::join!(console.stop(), async {
        while viewer.next().await.is_some() {}
    });
    let ((), ()) = (stopped, ended);
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}
