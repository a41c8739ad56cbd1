//! The owners list and the page of one owner: locks on real servers are counted by the host or process
//! in their label.

use serde_json::{Value, json};

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::{GroupConfig, PostgresConfig, ServiceConfig};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};

use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
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

/// A ShedLock key of a host in Redis, as the library writes it.
async fn hold_in_redis(nodes: &RedisNodes, key: &str, host: &str) {
    let value =
        format!("ADDED:2026-11-21T03:00:00.000Z@{host}:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05");
    nodes
        .set(0, key.as_bytes(), value.as_bytes(), Some(600_000))
        .await;
}

#[tokio::test]
async fn one_host_with_locks_in_redis_and_postgresql_is_one_owner_with_a_history() {
    let (nodes, database) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let options: PgConnectOptions = database.url().parse().unwrap();
    let mut client = options.connect().await.unwrap();
    client.execute(crate::postgres::SHEDLOCK).await.unwrap();
    let mut tables = GroupConfig::new("tables", []);
    tables.kind = GroupKind::Postgres;
    tables.service = ServiceConfig::Postgres(PostgresConfig {
        url: database.url().parse().unwrap(),
        tables: Vec::new(),
        advisory_names: Vec::new(),
    });
    hold_in_redis(&nodes, "job-lock:prod:a", "web-1").await;
    hold_in_redis(&nodes, "job-lock:prod:b", "web-10").await;
    nodes
        .set(0, b"lock:nameless", b"0f5c4a3cfe0544ae", Some(600_000))
        .await;
    let console = TestConsole::start(vec![nodes.config(), tables]).await;
    let api = console.api();
    let owner = wait_for("both locks of web-1 are listed", async || {
        let owner = api.get("/api/v1/owners/web-1").await.json();
        (owner["held_count"] == 2).then_some(owner)
    })
    .await;
    assert_eq!(owner["groups"], json!(["orders", "tables"]));
    assert_eq!(
        (&owner["host"], &owner["fingerprint"]),
        (&json!("web-1"), &Value::Null)
    );
    assert_eq!(owner["waits"], json!([]));
    for held in owner["held"].as_array().unwrap() {
        assert!(held["advice"].is_string(), "{held}");
    }
    let page = api.get("/owners/web-1").await.text;
    assert!(page.contains("job-lock:prod:a") && page.contains("nightly"));
    let held = owner["held"].as_array().unwrap().iter();
    let keys: Vec<&Value> = held.map(|held| &held["lock"]["key"]).collect();
    assert!(!keys.contains(&&json!("job-lock:prod:b")), "{keys:?}");

    // An owner without a label has a page by its fingerprint.
    let list = api.get("/api/v1/locks?q=nameless").await.json();
    let fingerprint = list["locks"][0]["owner"]["fingerprint"].as_str().unwrap();
    let path = format!("/api/v1/owners/{fingerprint}");
    let as_host = api.get(&path).await.json();
    assert_eq!(as_host["held_count"], 0);
    let unlabelled = api
        .get(&format!("{path}?owner_by=fingerprint"))
        .await
        .json();
    assert_eq!(unlabelled["held_count"], 1);
    let page = api
        .get(&format!("/owners/{fingerprint}?by=fingerprint"))
        .await;
    assert!(page.text.contains("lock:nameless"));

    // Between its holds, the owner is found by its history.
    nodes.delete(0, b"job-lock:prod:a").await;
    let ended = wait_for("the end of the hold is recorded", async || {
        let history = api.get("/api/v1/history?owner=web-1").await.json();
        let mut holds = history["holds"].as_array()?.iter();
        let ended = holds.find(|hold| hold["key"] == "job-lock:prod:a")?.clone();
        ended["ended_at"].is_string().then_some(history.clone())
    })
    .await;
    for hold in ended["holds"].as_array().unwrap() {
        assert_eq!(hold["label"], "web-1", "{hold}");
    }
    let unknown = api.get("/api/v1/owners/nothing-of-the-kind").await;
    assert_eq!(
        (unknown.status, &unknown.json()["held_count"]),
        (200, &json!(0))
    );
    console.stop().await;
}

#[tokio::test]
async fn hostile_names_of_owners_are_rejected_or_shown_as_text() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    for name in [
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "a%2F..%2Fb",
        "%E2%80%AEevil",
        "-?name=..",
    ] {
        let page = api.get(&format!("/owners/{name}")).await;
        assert_eq!(page.status, 200, "{name}");
        assert!(!page.text.contains("<script>alert"), "{name}");
        assert!(!page.text.contains('\u{202e}'), "{name}");
        assert_eq!(
            api.get(&format!("/api/v1/owners/{name}")).await.status,
            200,
            "{name}"
        );
    }
    let not_utf8 = api.get("/api/v1/owners/%FF").await;
    not_utf8.assert_problem(400, "bad-request");
    let page = api.get("/owners/%FF").await.text;
    assert!(page.contains("Page not found"));
    let invalid = api.get("/api/v1/owners/web?owner_by=fingerprint").await;
    invalid.assert_problem(422, "impossible");
    let unknown = api.get("/api/v1/owners/web?owner_by=shoe").await;
    unknown.assert_problem(400, "bad-request");
    let history = api
        .get("/api/v1/history?owner=x&owner_by=fingerprint")
        .await;
    history.assert_problem(422, "impossible");
    console.stop().await;
}
