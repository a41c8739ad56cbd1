//! Lock history on real servers: the holds of a lock, how they ended, hold statistics and overdue
//! locks.

use std::time::Duration;

use lockkeeper::domain::LockKey;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{wait_for, wait_until};

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

/// A version 1 UUID in hex, the token format of redis-py.
fn token(n: u32) -> String {
    format!("{n:08x}a1b211f0a4c40242ac120002")
}

fn fingerprint_of(token: &str) -> String {
    lockkeeper::server::stores::redis::formats::fingerprint(token.as_bytes()).to_string()
}

async fn set(client: &mut MultiplexedConnection, key: &str, token: &str, ms: u64) {
    let () = client.pset_ex(key, token, ms).await.unwrap();
}

/// The holds of one lock, latest first.
async fn fetch_holds(api: &ApiClient, path: &str) -> Vec<Value> {
    let history = api.get(&format!("{path}/history")).await;
    assert_eq!(history.status, 200, "{}", history.text);
    history.json()["holds"].as_array().cloned().unwrap()
}

/// Waits until the history contains a hold of this owner with this end reason; without one the hold
/// is current.
async fn wait_for_hold(
    api: &ApiClient,
    path: &str,
    owner: &str,
    end_reason: Option<&str>,
) -> Value {
    let fingerprint = fingerprint_of(owner);
    wait_for("the hold is recorded", async || {
        let mut holds = fetch_holds(api, path).await.into_iter();
        let is_expected = |hold: &Value| {
            hold["fingerprint"] == json!(fingerprint) && hold["end_reason"] == json!(end_reason)
        };
        holds.find(is_expected)
    })
    .await
}

/// After the first scan pass, the start of a new hold is known to be observed.
async fn wait_for_first_scan_pass(api: &ApiClient) {
    wait_until("the first scan pass has ended", async || {
        let groups = api.get("/api/v1/groups").await.json();
        !groups["groups"][0]["coverage"]["pass_started_at"].is_null()
    })
    .await;
}

#[tokio::test]
async fn holds_are_recorded_with_their_owner_and_end_reason() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    wait_for_first_scan_pass(&api).await;
    let (one, two, three, four) = (token(1), token(2), token(3), token(4));

    // A lock that is renewed once and released.
    set(&mut client, "lock:a", &one, 60_000).await;
    let hold = wait_for_hold(&api, PATH, &one, None).await;
    assert_eq!(hold["ended_at"], Value::Null);
    assert_eq!(hold["started_at_source"], "appeared", "{hold}");
    let () = client.pexpire("lock:a", 90_000).await.unwrap();
    wait_until("the renewal is counted", async || {
        api.get(PATH).await.json()["renewals"]["count"] == 1
    })
    .await;
    nodes.delete(0, b"lock:a").await;
    let hold = wait_for_hold(&api, PATH, &one, Some("released")).await;
    assert_eq!(hold["renewal_count"], 1, "{hold}");
    assert!(
        hold["started_at"].as_str() < hold["ended_at"].as_str(),
        "{hold}"
    );

    // A lock that expires.
    set(&mut client, "lock:a", &two, 1_500).await;
    wait_for_hold(&api, PATH, &two, None).await;
    wait_for_hold(&api, PATH, &two, Some("expired")).await;

    // A lock whose owner changes without a release.
    set(&mut client, "lock:a", &three, 60_000).await;
    wait_for_hold(&api, PATH, &three, None).await;
    set(&mut client, "lock:a", &four, 60_000).await;
    wait_for_hold(&api, PATH, &three, Some("taken-over")).await;

    // The response for a single lock contains its history too.
    let single_lock = api.get(PATH).await.json();
    assert_eq!(single_lock["history"]["holds"].as_array().unwrap().len(), 4);
    assert_eq!(
        single_lock["history"]["holds"][0]["fingerprint"],
        fingerprint_of(&four)
    );
    assert_eq!(single_lock["history"]["retention"]["max_holds"], 100);
    assert_eq!(
        single_lock["history"]["retention"]["max_age_ms"],
        86_400_000
    );

    // A lock that is force-released through this console.
    let body = json!({"fingerprint": fingerprint_of(&four), "reason": "stuck"});
    let forced = api.post(&format!("{PATH}/force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    wait_for_hold(&api, PATH, &four, Some("forced")).await;

    // The history contains no token.
    let text = api.get(&format!("{PATH}/history")).await.text;
    assert!(!text.contains(&four), "{text}");
    console.stop().await;
}

#[tokio::test]
async fn a_lock_on_three_nodes_has_one_history_and_one_forced_end() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let owner = token(7);
    for n in 0..3 {
        set(&mut nodes.0[n].client().await, "lock:a", &owner, 60_000).await;
    }
    wait_for_hold(&api, PATH, &owner, None).await;
    let body = json!({"fingerprint": fingerprint_of(&owner), "reason": "stuck"});
    let forced = api.post(&format!("{PATH}/force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    wait_for_hold(&api, PATH, &owner, Some("forced")).await;
    assert_eq!(fetch_holds(&api, PATH).await.len(), 1);
    console.stop().await;
}

#[tokio::test]
async fn a_lock_held_much_longer_than_similar_locks_is_overdue() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    wait_for_first_scan_pass(&api).await;
    // Five short holds of locks with the same key pattern. They are acquired through this console,
    // so that they are observed at once.
    for n in 0..5 {
        let path = format!("/api/v1/groups/orders/locks/lock%3Ainvoice%3A{n}");
        let body = json!({"ttl_ms": 30_000});
        let acquired = api.post(&format!("{path}/acquire"), body).await.json();
        let fingerprint = acquired["fingerprint"].clone();
        wait_until("the hold is recorded", async || {
            let holds = fetch_holds(&api, &path).await;
            holds.iter().any(|hold| hold["fingerprint"] == fingerprint)
        })
        .await;
        let body = json!({"token": acquired["token"]});
        api.post(&format!("{path}/release"), body).await;
        wait_until("the release is recorded", async || {
            let holds = fetch_holds(&api, &path).await;
            holds.iter().any(|hold| hold["end_reason"] == "released")
        })
        .await;
    }
    set(&mut client, "lock:invoice:77", &token(1), 600_000).await;
    let path = "/api/v1/groups/orders/locks/lock%3Ainvoice%3A77";
    wait_for_hold(&api, path, &token(1), None).await;
    let lock = api.get(path).await.json();
    assert_eq!(
        lock["history"]["hold_stats"]["count"], 5,
        "{}",
        lock["history"]
    );
    assert_eq!(lock["history"]["hold_stats"]["scope"], "pattern");
    assert_eq!(lock["history"]["hold_stats"]["pattern"], "lock:invoice:*");
    assert_eq!(lock["flags"], json!([]));
    // A lock is overdue ten seconds after its usual hold time at the earliest.
    let started = std::time::Instant::now();
    let overdue = wait_for("the lock is overdue", async || {
        let list = api.get("/api/v1/locks?flag=overdue").await.json();
        list["locks"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(overdue["key"], "lock:invoice:77");
    assert!(started.elapsed() > Duration::from_secs(8));
    console.stop().await;
}

#[tokio::test]
async fn an_unobserved_lock_has_an_empty_history_and_an_unknown_group_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let history = api.get(&format!("{PATH}/history")).await.json();
    assert_eq!(
        (&history["holds"], &history["hold_stats"]),
        (&json!([]), &Value::Null)
    );
    let unknown = api.get("/api/v1/groups/x/locks/lock%3Aa/history").await;
    unknown.assert_problem(404, "unknown-group");
    // A key may contain any bytes.
    let key = LockKey::new([0xff, b'/', b'%']);
    let path = format!("/api/v1/groups/orders/locks/{}/history", key.encoded());
    assert_eq!(api.get(&path).await.status, 200);
    let empty = api.get("/api/v1/groups/orders/locks//history").await;
    assert_eq!(empty.status, 200, "Redis allows the empty key");
    console.stop().await;
}
