//! Who holds what: labels on real servers add up to hosts and processes.

use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::eventually;
use crate::support::redis_nodes::RedisNodes;

/// The answer once so many locks are added up in it.
async fn told(console: &TestConsole, query: &str, locks: u64) -> Value {
    let person = console.person();
    eventually("the locks are added up", async || {
        let owners = person.get(&format!("/api/v1/owners{query}")).await.json();
        let of = |row: &Value| row["locks"].as_u64().unwrap_or(0);
        let named: u64 = owners["rows"].as_array()?.iter().map(of).sum();
        (named + of(&owners["unnamed"]) == locks).then_some(owners)
    })
    .await
}

#[tokio::test]
async fn what_a_dead_host_still_holds_stands_in_one_row() {
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
    let owners = told(&console, "", 4).await;
    let rows: Vec<(&str, u64)> = owners["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["locks"].as_u64().unwrap(),
            )
        })
        .collect();
    assert!(
        rows.contains(&("web-2", 2)) && rows.contains(&("web-1", 1)),
        "{rows:?}"
    );
    assert_eq!(owners["unnamed"]["locks"], 1);
    assert_eq!(owners["rows"][0]["groups"], json!(["orders"]));

    nodes.delete(0, b"job-lock:prod:c").await;
    let owners = told(&console, "?group=orders&by=label", 3).await;
    assert_eq!(owners["total"], 1);

    let person = console.person();
    let unknown = person.get("/api/v1/owners?group=x").await;
    unknown.is(404, "unknown-group");
    let bad = person.get("/api/v1/owners?by=shoe").await;
    bad.is(400, "bad-request");
    console.stop().await;
}
