//! Rejected operations take a bounded part of the audit log, so that they cannot displace entries
//! of successful ones.

use std::time::Duration;

use futures::future::join_all;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};
use serde_json::{Value, json};

use super::{MB, start_process, token_with_role};
use crate::access::{api_token, role_grant};
use crate::api::{group_config, lock_path};
use crate::support::audit::{entries, wait_for_entries};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// A key of the maximum length, of bytes that JSON escapes with six characters each.
fn max_length_key(n: usize) -> Vec<u8> {
    let mut key = format!("lock:{n}:").into_bytes();
    key.resize(16 * 1024, 1);
    key
}

/// Sends an acquire that is rejected for lack of permission.
async fn try_to_acquire(viewer: &ApiClient, authorization: &str, key: &[u8]) {
    let headers = [
        ("authorization", authorization),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", key, "/acquire");
    let response = viewer
        .send("POST", &path, &headers, r#"{"ttl_ms": 1000}"#)
        .await;
    assert_eq!(response.problem_code(), "forbidden");
}

/// The `Authorization` header of a viewer, and the access configuration with its token.
fn viewer_token() -> (String, AccessConfig) {
    let (viewer, config) = api_token("viewer", role_grant(Role::Viewer, None, None));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    (format!("Bearer {viewer}"), access)
}

fn refused_entries(entries: &[Value]) -> Vec<&Value> {
    let refused = entries.iter().filter(|entry| entry["result"] == "refused");
    refused.collect()
}

#[tokio::test]
async fn excess_rejections_of_one_client_within_a_minute_are_summarized_in_one_entry() {
    let nodes = RedisNodes::start(1).await;
    let (viewer, access) = viewer_token();
    let clock = Clock::manual(Clock::system().now());
    let config = Config {
        access,
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let console = TestConsole::start_with_config(config, clock.clone()).await;
    let api = console.api();
    for n in 0..200 {
        try_to_acquire(&api, &viewer, &max_length_key(n)).await;
    }
    let written = wait_for_entries(&console.storage_file(), 20).await;
    let count = refused_entries(&written).len();
    assert!(
        count <= 30,
        "{count} entries for 200 rejections of a client"
    );
    let longest = written.iter().map(|line| line.to_string().len()).max();
    assert!(longest < Some(3_000), "an entry of {longest:?} bytes");
    let key = written[0]["key"].as_str().unwrap();
    assert!(key.starts_with("lock:0:") && key.contains("16384 bytes, sha256 "));
    clock.advance(Duration::from_mins(1));
    wait_until("the summary entry is written", async || {
        let written = entries(&console.storage_file()).await;
        let detail = refused_entries(&written).last().unwrap()["detail"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        detail.contains(&format!(
            "{} more rejections of this kind from 127.0.0.1",
            200 - count
        ))
    })
    .await;
    let written = entries(&console.storage_file()).await;
    let last = written.last().unwrap();
    assert_eq!(
        (&last["action"], &last["code"], &last["actor"]),
        (&json!("acquire"), &json!("forbidden"), &json!("viewer"))
    );
    // Later rejections get their own entries again.
    try_to_acquire(&api, &viewer, b"lock:later").await;
    let before = written.len();
    let written = wait_for_entries(&console.storage_file(), before + 1).await;
    assert_eq!(written.last().unwrap()["key"], "lock:later");
}

#[tokio::test]
async fn cross_site_requests_are_rate_limited_before_they_are_audited() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_requests_per_second: Some(3),
        ..LimitsConfig::default()
    };
    let console = TestConsole::start_with_limits(
        vec![group_config("orders", &nodes)],
        limits,
        Clock::system(),
    )
    .await;
    let api = console.api();
    let headers = [
        ("sec-fetch-site", "cross-site"),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    let started = std::time::Instant::now();
    for _ in 0..18 {
        let response = api
            .send("POST", &path, &headers, r#"{"ttl_ms": 1000}"#)
            .await;
        assert_eq!(response.status, 403);
    }
    let max_entries = 3 + usize::try_from(started.elapsed().as_millis() * 3 / 1000 + 1).unwrap();
    let written = wait_for_entries(&console.storage_file(), 1).await.len();
    assert!(
        (1..=max_entries).contains(&written),
        "{written} of at most {max_entries}"
    );
}

#[tokio::test]
async fn rejections_that_cannot_be_audited_take_no_memory() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("no-folder");
    std::fs::write(&file, "").unwrap();
    let (viewer, table) = token_with_role(Role::Viewer);
    let audit = format!(
        "[storage]\nurl = \"sqlite://{}/lockkeeper.db\"\n{table}",
        file.display()
    );
    let (console, _directory) = start_process(&nodes, &audit).await;
    let api = console.api.clone();
    try_to_acquire(&api, &viewer, &max_length_key(0)).await;
    let before = console.resident_bytes();
    for batch in 0..12 {
        let attempts = (0..50).map(|n| {
            let (api, viewer) = (api.clone(), viewer.clone());
            async move { try_to_acquire(&api, &viewer, &max_length_key(batch * 50 + n)).await }
        });
        join_all(attempts).await;
    }
    let growth = console.resident_bytes().saturating_sub(before) / MB;
    eprintln!("600 rejections that cannot be audited take {growth} MB");
    assert!(growth < 20, "{growth} MB");
}
