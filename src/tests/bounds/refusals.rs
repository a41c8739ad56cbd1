//! Refused operations are written down in bounded room: they push out no entry of an operation that was done.

use std::time::Duration;

use futures::future::join_all;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};
use serde_json::{Value, json};

use super::{MB, process, token_of};
use crate::access::{rights, token};
use crate::api::{group, lock_path};
use crate::support::audit::{entries, entries_of};
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// The longest name that is accepted, of bytes that JSON writes as six.
fn long_name(n: usize) -> Vec<u8> {
    let mut name = format!("lock:{n}:").into_bytes();
    name.resize(16 * 1024, 1);
    name
}

/// Asks for a lock without the right to.
async fn try_to_acquire(viewer: &Person, authorization: &str, key: &[u8]) {
    let headers = [
        ("authorization", authorization),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", key, "/acquire");
    let answer = viewer
        .send("POST", &path, &headers, r#"{"ttl_ms": 1000}"#)
        .await;
    assert_eq!(answer.code(), "forbidden");
}

/// Somebody who may only look: the header, and the way in.
fn viewer() -> (String, AccessConfig) {
    let (viewer, config) = token("viewer", rights(Role::Viewer, None, None));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    (format!("Bearer {viewer}"), access)
}

fn refused(lines: &[Value]) -> Vec<&Value> {
    let refused = lines.iter().filter(|line| line["end"] == "refused");
    refused.collect()
}

#[tokio::test]
async fn refusals_of_one_client_within_a_minute_beyond_the_first_are_counted_in_one_entry() {
    let nodes = RedisNodes::start(1).await;
    let (viewer, access) = viewer();
    let clock = Clock::by_hand(Clock::real().now());
    let config = Config {
        access,
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, clock.clone()).await;
    let person = console.person();
    for n in 0..200 {
        try_to_acquire(&person, &viewer, &long_name(n)).await;
    }
    let written = entries_of(&console.storage_file(), 20).await;
    let count = refused(&written).len();
    assert!(count <= 30, "{count} entries for 200 refusals of a client");
    let longest = written.iter().map(|line| line.to_string().len()).max();
    assert!(longest < Some(3_000), "an entry of {longest:?} bytes");
    let name = written[0]["key"].as_str().unwrap();
    assert!(name.starts_with("lock:0:") && name.contains("16384 bytes, sha256 "));
    clock.advance(Duration::from_mins(1));
    eventually_is("the others are told", async || {
        let written = entries(&console.storage_file()).await;
        let told = refused(&written).last().unwrap()["detail"]
            .as_str()
            .unwrap()
            .to_owned();
        told.contains(&format!("{} more like this from 127.0.0.1", 200 - count))
    })
    .await;
    let written = entries(&console.storage_file()).await;
    let last = written.last().unwrap();
    assert_eq!(
        (&last["act"], &last["code"], &last["who"]),
        (&json!("acquire"), &json!("forbidden"), &json!("viewer"))
    );
    // What comes later is written down one by one again.
    try_to_acquire(&person, &viewer, b"lock:later").await;
    let before = written.len();
    let written = entries_of(&console.storage_file(), before + 1).await;
    assert_eq!(written.last().unwrap()["key"], "lock:later");
}

#[tokio::test]
async fn what_a_page_of_another_site_sends_meets_the_limits_before_it_is_written_down() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        requests_per_second: Some(3),
        ..LimitsConfig::default()
    };
    let console =
        TestConsole::start_within(vec![group("orders", &nodes)], limits, Clock::real()).await;
    let person = console.person();
    let headers = [
        ("sec-fetch-site", "cross-site"),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    let began = std::time::Instant::now();
    for _ in 0..18 {
        let answer = person
            .send("POST", &path, &headers, r#"{"ttl_ms": 1000}"#)
            .await;
        assert_eq!(answer.status, 403);
    }
    let most = 3 + usize::try_from(began.elapsed().as_millis() * 3 / 1000 + 1).unwrap();
    let written = entries_of(&console.storage_file(), 1).await.len();
    assert!((1..=most).contains(&written), "{written} of at most {most}");
}

#[tokio::test]
async fn refusals_that_cannot_be_written_down_take_no_memory() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-folder");
    std::fs::write(&file, "").unwrap();
    let (viewer, table) = token_of(Role::Viewer);
    let audit = format!(
        "[storage]\nurl = \"sqlite://{}/lockkeeper.db\"\n{table}",
        file.display()
    );
    let (console, _folder) = process(&nodes, &audit).await;
    let person = console.person.clone();
    try_to_acquire(&person, &viewer, &long_name(0)).await;
    let before = console.memory();
    for at_once in 0..12 {
        let trying = (0..50).map(|n| {
            let (person, viewer) = (person.clone(), viewer.clone());
            async move { try_to_acquire(&person, &viewer, &long_name(at_once * 50 + n)).await }
        });
        join_all(trying).await;
    }
    let more = console.memory().saturating_sub(before) / MB;
    eprintln!("600 refusals that cannot be written take {more} MB");
    assert!(more < 20, "{more} MB");
}
