//! Refused operations are written down in bounded room: they push out no entry of an operation that was done.

use std::time::Duration;

use futures::future::join_all;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, AuditConfig, Config, LimitsConfig};
use serde_json::{Value, json};

use super::{MB, lines, process, token_of};
use crate::access::{rights, token};
use crate::api::{group, lock_path};
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

/// Somebody who may only look, and somebody who may do everything: their headers, and the way in for both.
fn people() -> (String, String, AccessConfig) {
    let (viewer, one) = token("viewer", rights(Role::Viewer, None, None));
    let (admin, other) = token("admin", rights(Role::Admin, None, None));
    let access = AccessConfig {
        tokens: vec![one, other],
        ..AccessConfig::default()
    };
    (
        format!("Bearer {viewer}"),
        format!("Bearer {admin}"),
        access,
    )
}

fn refused(lines: &[Value]) -> Vec<&Value> {
    let refused = lines.iter().filter(|line| line["end"] == "refused");
    refused.collect()
}

#[tokio::test]
async fn refusals_of_one_client_within_a_minute_beyond_the_first_are_counted_in_one_entry() {
    let nodes = RedisNodes::start(1).await;
    let (viewer, _, access) = people();
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
    let written = lines(&console.audit_file());
    let count = refused(&written).len();
    assert!(count <= 30, "{count} entries for 200 refusals of a client");
    let longest = written.iter().map(|line| line.to_string().len()).max();
    assert!(longest < Some(3_000), "an entry of {longest:?} bytes");
    let name = written[0]["key"].as_str().unwrap();
    assert!(name.starts_with("lock:0:") && name.contains("16384 bytes, sha256 "));
    clock.advance(Duration::from_mins(1));
    eventually_is("the others are told", async || {
        let written = lines(&console.audit_file());
        let told = refused(&written).last().unwrap()["detail"]
            .as_str()
            .unwrap()
            .to_owned();
        told.contains(&format!("{} more like this from 127.0.0.1", 200 - count))
    })
    .await;
    let written = lines(&console.audit_file());
    let last = written.last().unwrap();
    assert_eq!(
        (&last["act"], &last["code"], &last["who"]),
        (&json!("acquire"), &json!("forbidden"), &json!("viewer"))
    );
    // What comes later is written down one by one again.
    try_to_acquire(&person, &viewer, b"lock:later").await;
    let written = lines(&console.audit_file());
    assert_eq!(written.last().unwrap()["key"], "lock:later");
}

#[tokio::test]
async fn refusals_push_out_no_entry_of_an_operation_that_was_done() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let (viewer, admin, access) = people();
    let config = Config {
        access,
        audit: AuditConfig {
            largest: MB,
            keep: 2,
            ..AuditConfig::to(file.clone())
        },
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let person = console.person();
    let headers = [
        ("authorization", admin.as_str()),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", b"lock:evidence", "/acquire");
    let done = person
        .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(done.status, 201, "{}", done.text);
    // From many clients, so that each one's refusals are written down; their names alone have ten times the bytes that are kept.
    let trying = (1..=50_u8).map(|n| {
        let (person, viewer) = (person.calling_from([127, 0, 1, n]), viewer.clone());
        async move {
            for m in 0..6 {
                try_to_acquire(&person, &viewer, &long_name(m)).await;
            }
        }
    });
    join_all(trying).await;
    let path = "/api/v1/audit?key=lock:evidence&end=done";
    let told = person.send("GET", path, &headers, "").await.json();
    assert_eq!(
        told["acts"].as_array().unwrap().len(),
        1,
        "the acquire is in the audit no more"
    );
    let files = std::fs::read_dir(folder.path()).unwrap();
    let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
    let bytes: u64 = sizes.sum();
    assert!(bytes < MB / 4, "refusals take {bytes} bytes");
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
    let written = lines(&console.audit_file()).len();
    assert!((1..=most).contains(&written), "{written} of at most {most}");
}

#[tokio::test]
async fn refusals_that_cannot_be_written_down_take_no_memory() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let (viewer, table) = token_of(Role::Viewer);
    let audit = format!("[audit]\nfile = {file:?}\n{table}");
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
