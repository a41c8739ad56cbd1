//! Idempotency keys: a repeated acquire replays the first response.

mod concurrent_requests;

use std::time::Duration;

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::{Value, json};

use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;

const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

async fn acquire(api: &ApiClient, lock: &[u8], key: &str, body: Value) -> ApiResponse {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    let path = lock_path("orders", lock, "/acquire");
    api.send("POST", &path, &headers, body.to_string()).await
}

/// The fields that are equal in every replay, without the remaining validity.
pub fn stable_fields(response: &ApiResponse) -> Value {
    let mut fields = response.json();
    for field in ["validity_ms", "expires_at"] {
        fields.as_object_mut().unwrap().remove(field);
    }
    fields
}

/// Asserts that a replay reports the end of the hold.
fn assert_hold_ended(response: &ApiResponse) {
    let status_and_code = (response.status, response.problem_code());
    assert_eq!(
        status_and_code,
        (410, "hold-ended".to_owned()),
        "{}",
        response.text
    );
    assert_eq!(response.headers["idempotency-replayed"], "true");
    assert!(!response.text.contains("token"), "{}", response.text);
}

/// Whether a successful acquire is a replayed response.
fn is_replayed(response: &ApiResponse) -> bool {
    assert_eq!(response.status, 201, "{}", response.text);
    match response.headers.get("idempotency-replayed") {
        Some(value) => {
            assert_eq!(value, "true");
            true
        }
        None => false,
    }
}

#[tokio::test]
async fn the_same_key_and_request_replay_the_first_response() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000, "label": "deploy"});
    let first = acquire(&api, b"lock:a", KEY, body.clone()).await;
    assert!(!is_replayed(&first));
    let token = first.json()["token"].as_str().unwrap().to_owned();
    nodes
        .wait_for_value_on_all(b"lock:a", Some(token.as_bytes()))
        .await;
    let before = [
        nodes.dump(0).await,
        nodes.dump(1).await,
        nodes.dump(2).await,
    ];

    // From another client, and with the same JSON in another notation.
    let replayed = acquire(&console.api(), b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&replayed));
    assert_eq!(stable_fields(&replayed), stable_fields(&first));
    let path = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", KEY),
    ];
    let reformatted = "{ \"label\" : \"deploy\",\n \"wait_ms\": null, \"ttl_ms\":60000 }";
    let reformatted = api
        .send("POST", &path, &headers, reformatted.to_owned())
        .await;
    assert!(is_replayed(&reformatted));
    assert_eq!(stable_fields(&reformatted), stable_fields(&first));

    let other_request = acquire(&api, b"lock:a", KEY, json!({"ttl_ms": 60_001})).await;
    assert_eq!(
        (other_request.status, other_request.problem_code().as_str()),
        (422, "impossible")
    );
    assert_eq!(other_request.json()["field"], "Idempotency-Key");
    let other_key = acquire(&api, b"lock:a", "another", body.clone()).await;
    assert_eq!(
        (other_key.status, other_key.problem_code().as_str()),
        (409, "held")
    );
    let without_key = api.post(&path, body.clone()).await;
    assert_eq!(
        (without_key.status, without_key.problem_code().as_str()),
        (409, "held")
    );
    for (n, before) in before.iter().enumerate() {
        assert_eq!(nodes.dump(n).await, *before, "a key was changed");
    }

    // A key applies to one lock. On another lock it identifies another acquire.
    let other_lock = acquire(&api, b"lock:b", KEY, json!({"ttl_ms": 60_000})).await;
    assert!(!is_replayed(&other_lock));
}

#[tokio::test]
async fn a_repeat_after_the_release_acquires_nothing_and_reports_the_ended_hold() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&api, b"lock:a", KEY, body.clone()).await;
    let token = first.json()["token"].clone();
    let release = lock_path("orders", b"lock:a", "/release");
    assert_eq!(
        api.post(&release, json!({"token": token})).await.status,
        200
    );
    let late = acquire(&api, b"lock:a", KEY, body).await;
    assert_hold_ended(&late);
    assert_eq!(nodes.get(0, b"lock:a").await, None);
}

#[tokio::test]
async fn simultaneous_requests_with_one_key_are_one_acquire() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)])
        .await
        .wait_until_connected()
        .await;
    let body = json!({"ttl_ms": 60_000});
    let requests = (0..30).map(|_| {
        let (api, body) = (console.api(), body.clone());
        async move { acquire(&api, b"lock:a", KEY, body).await }
    });
    let responses = futures::future::join_all(requests).await;
    let originals = responses
        .iter()
        .filter(|response| !is_replayed(response))
        .count();
    assert_eq!(originals, 1);
    let matches_first =
        |response: &ApiResponse| stable_fields(response) == stable_fields(&responses[0]);
    assert!(responses.iter().all(matches_first));
    let token = responses[0].json()["token"].as_str().unwrap().to_owned();
    nodes
        .wait_for_value_on_all(b"lock:a", Some(token.as_bytes()))
        .await;
}

#[tokio::test]
async fn a_response_is_replayed_until_its_lease_ends() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
    let limits = LimitsConfig::default();
    let groups = vec![group_config("orders", &nodes)];
    let console = TestConsole::start_with_limits(groups, limits, clock.clone()).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&api, b"lock:a", KEY, body.clone()).await;
    assert!(!is_replayed(&first));
    clock.advance(Duration::from_secs(59));
    let replayed = acquire(&api, b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&replayed));
    assert_eq!(stable_fields(&replayed), stable_fields(&first));

    // 60 s, less 1 % and 2 ms of drift, less the round trip.
    clock.advance(Duration::from_millis(900));
    nodes.delete(0, b"lock:a").await;
    let new = acquire(&api, b"lock:a", KEY, body).await;
    assert!(!is_replayed(&new));
    assert_ne!(new.json()["token"], first.json()["token"]);

    // A lock with auto-renewal outlives its first lease.
    let renewed_body = json!({"ttl_ms": 60_000, "auto_renew": true});
    let first = acquire(&api, b"lock:r", KEY, renewed_body.clone()).await;
    clock.advance(Duration::from_hours(1));
    let replayed = acquire(&api, b"lock:r", KEY, renewed_body).await;
    assert!(is_replayed(&replayed));
    assert_eq!(stable_fields(&replayed), stable_fields(&first));
}

#[tokio::test]
async fn the_cache_size_is_bounded_and_an_evicted_response_does_not_break_a_lock() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        idempotency_cache_size: 2,
        ..LimitsConfig::default()
    };
    let groups = vec![group_config("orders", &nodes)];
    let console = TestConsole::start_with_limits(groups, limits, Clock::system()).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    for lock in [b"lock:1", b"lock:2", b"lock:3"] {
        assert!(!is_replayed(&acquire(&api, lock, KEY, body.clone()).await));
    }
    for lock in [b"lock:2", b"lock:3"] {
        assert!(is_replayed(&acquire(&api, lock, KEY, body.clone()).await));
    }
    let evicted = acquire(&api, b"lock:1", KEY, body).await;
    assert_eq!(
        (evicted.status, evicted.problem_code().as_str()),
        (409, "held")
    );
}

#[tokio::test]
async fn an_invalid_idempotency_key_is_rejected_before_any_node_is_contacted() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    let too_long = "k".repeat(256);
    for invalid in ["", "two words", "tab\there", "schlüssel", &too_long] {
        let response = acquire(&api, b"lock:a", invalid, body.clone()).await;
        assert_eq!(
            (response.status, response.problem_code().as_str()),
            (422, "impossible")
        );
        assert_eq!(response.json()["field"], "Idempotency-Key", "{invalid:?}");
    }
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "one"),
        ("idempotency-key", "one"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    let duplicate_header = api.send("POST", &path, &headers, body.to_string()).await;
    assert_eq!(
        (
            duplicate_header.status,
            duplicate_header.problem_code().as_str()
        ),
        (422, "impossible")
    );
    assert!(nodes.dump(0).await.is_empty());

    let longest = acquire(&api, b"lock:a", &"k".repeat(255), body).await;
    assert!(!is_replayed(&longest));
}

#[tokio::test]
async fn neither_tokens_nor_idempotency_keys_are_logged() {
    let nodes = RedisNodes::start(1).await;
    let console = ConsoleProcess::start_with_nodes(&nodes, &["--log", "trace"]).await;
    let path = lock_path("default", b"lock:a", "/acquire");
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", KEY),
    ];
    let mut responses = Vec::new();
    for ttl_ms in [60_000, 60_000, 50_000] {
        let body = json!({"ttl_ms": ttl_ms}).to_string();
        responses.push(console.api.send("POST", &path, &headers, body).await);
    }
    assert!(is_replayed(&responses[1]) && responses[2].status == 422);
    let token = responses[0].json()["token"].as_str().unwrap().to_owned();
    assert!(!responses[2].text.contains(&token) && !responses[2].text.contains(KEY));
    let log = console.stop().await;
    let secret = token.rsplit(':').next().unwrap();
    assert!(log.contains("acquired") && !log.contains(secret) && !log.contains(KEY));
}

#[tokio::test]
async fn a_replay_has_the_remaining_validity() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&api, b"lock:a", KEY, body.clone()).await;
    // Another client shortens the lease, which stands in for the passing of time.
    let mut client = nodes.0[0].client().await;
    let _result: i64 = redis::cmd("PEXPIRE")
        .arg("lock:a")
        .arg(9_000)
        .query_async(&mut client)
        .await
        .unwrap();
    let replayed = acquire(&api, b"lock:a", KEY, body).await;
    assert!(is_replayed(&replayed));
    assert_eq!(stable_fields(&replayed), stable_fields(&first));
    let validity = replayed.json()["validity_ms"].as_u64().unwrap();
    assert!((1..=9_000).contains(&validity), "{}", replayed.text);
    assert!(replayed.json()["expires_at"].as_str() < first.json()["expires_at"].as_str());
}

#[tokio::test]
async fn a_replay_for_a_renewed_lock_has_the_current_validity_and_reports_its_loss() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let body = json!({"ttl_ms": 1_500, "auto_renew": true});
    let mut stream = api.subscribe("", None).await;
    let first = acquire(&api, b"lock:a", KEY, body.clone()).await;
    let first_expires_at = first.json()["expires_at"].as_str().unwrap().to_owned();
    stream
        .wait_for(|event| event.data["lock"]["renewals"]["count"].as_u64() >= Some(3))
        .await;
    let replayed = acquire(&api, b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&replayed));
    assert_eq!(replayed.json()["token"], first.json()["token"]);
    let expires_at = replayed.json()["expires_at"].as_str().unwrap().to_owned();
    assert!(
        expires_at > first_expires_at,
        "{expires_at} is not after {first_expires_at}"
    );
    assert!((1..1_500).contains(&replayed.json()["validity_ms"].as_u64().unwrap()));

    nodes.delete(0, b"lock:a").await;
    nodes
        .set(0, b"lock:a", b"another owner", Some(600_000))
        .await;
    stream.wait_for(|event| event.data["type"] == "lost").await;
    assert_hold_ended(&acquire(&api, b"lock:a", KEY, body).await);
}
