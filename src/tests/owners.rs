//! The owners list: locks on real servers are counted by the host or process in their label.

use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_for;

/// Returns the response once it counts this many locks.
async fn owners_once_counted(console: &TestConsole, query: &str, locks: u64) -> Value {
    let api = console.api();
    wait_for("the locks are counted", async || {
        let owners = api.get(&format!("/api/v1/owners{query}")).await.json();
        let lock_count = |row: &Value| row["lock_count"].as_u64().unwrap_or(0);
        let labeled: u64 = owners["rows"].as_array()?.iter().map(lock_count).sum();
        (labeled + lock_count(&owners["unlabeled"]) == locks).then_some(owners)
    })
    .await
}

#[tokio::test]
async fn locks_of_one_host_are_counted_in_one_row() {
    let nodes = RedisNodes::start(1).await;
    nodes
        .set(
            0,
            b"job-lock:prod:a",
            b"ADDED:2026-11-21T03:00:00.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05",
            Some(600_000),
        )
        .await;
    nodes
        .set(
            0,
            b"job-lock:prod:b",
            b"ADDED:2026-11-21T03:00:00.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05",
            Some(600_000),
        )
        .await;
    nodes
        .set(
            0,
            b"job-lock:prod:c",
            b"ADDED:2026-11-21T03:00:00.000Z@web-1:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05",
            Some(600_000),
        )
        .await;
    nodes
        .set(0, b"lock:nameless", b"0f5c4a3cfe0544ae", Some(600_000))
        .await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let owners = owners_once_counted(&console, "", 4).await;
    let rows: Vec<(&str, u64)> = owners["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["lock_count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert!(
        rows.contains(&("web-2", 2)) && rows.contains(&("web-1", 1)),
        "{rows:?}"
    );
    assert_eq!(owners["unlabeled"]["lock_count"], 1);
    assert_eq!(owners["rows"][0]["groups"], json!(["orders"]));

    nodes.delete(0, b"job-lock:prod:c").await;
    let owners = owners_once_counted(&console, "?group=orders&group_by=label", 3).await;
    assert_eq!(owners["total"], 1);

    let api = console.api();
    let unknown = api.get("/api/v1/owners?group=x").await;
    unknown.assert_problem(404, "unknown-group");
    let bad = api.get("/api/v1/owners?group_by=shoe").await;
    bad.assert_problem(400, "bad-request");
    console.stop().await;
}
