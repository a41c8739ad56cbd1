//! Auto-renewal over HTTP: locks that the console renews for clients, and the events that
//! subscribers receive.

use std::time::Duration;

use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::Token;
use redis::AsyncCommands as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::auto_renewal::{KEY, LEASE, assert_ends_within, patient_config, token_is_on_all_nodes};
use crate::support::console::{ApiClient, EventStream, ServerSentEvent, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// A console on three nodes, with a subscriber to its event stream.
async fn start_console() -> (RedisNodes, TestConsole, ApiClient, EventStream) {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![patient_config(&nodes)])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let mut events = api.subscribe("", None).await;
    events
        .wait_for(|event| event.data["group"]["last_polled_at"].is_string())
        .await;
    (nodes, console, api, events)
}

fn path(action: &str) -> String {
    format!("/api/v1/groups/orders/locks/lock%3Arenewal/{action}")
}

/// Acquires the lock with auto-renewal.
async fn acquire_with_renewal(api: &ApiClient, ttl: Duration) -> Value {
    let ttl_ms = u64::try_from(ttl.as_millis()).unwrap();
    let body = json!({ "ttl_ms": ttl_ms, "auto_renew": true, "label": "web-2" });
    let response = api.post(&path("acquire"), body).await;
    assert_eq!(response.status, 201, "{}", response.text);
    response.json()
}

fn is_lost(event: &ServerSentEvent) -> bool {
    event.event == "change" && event.data["type"] == "lost"
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

#[tokio::test]
async fn a_lock_is_renewed_and_its_loss_is_published_to_all_subscribers() {
    let (nodes, _console, api, mut events) = start_console().await;
    let acquired = acquire_with_renewal(&api, LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    // With a renewal in every third of the lease, the third one proves that the first lease is over.
    events
        .wait_for(|event| event.data["lock"]["renewals"]["count"].as_u64() >= Some(3))
        .await;
    assert!(token_is_on_all_nodes(&nodes, &token).await);

    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let deleted = Instant::now();
    let event = events.wait_for(is_lost).await;
    let elapsed = deleted.elapsed();
    assert!(elapsed < LEASE, "before the lease ends: {elapsed:?}");
    assert_eq!(event.data["id"]["key"], KEY);
    assert_eq!(event.data["fingerprint"], acquired["fingerprint"]);
    assert_eq!(event.data["label"], "web-2");
    assert_eq!(event.data["reason"]["code"], "lock-gone");
    assert!(
        !event.id.is_empty(),
        "a subscriber that reconnects receives the event too"
    );
    assert!(!event.data.to_string().contains(text(&acquired, "token")));

    let body = json!({ "ttl_ms": 1500, "label": "next" });
    assert_eq!(api.post(&path("acquire"), body).await.status, 201);
    assert_ends_within(&nodes, LEASE).await;
}

#[tokio::test]
async fn a_lock_that_another_owner_took_is_reported_with_that_owner_and_left_untouched() {
    let (nodes, _console, api, mut events) = start_console().await;
    acquire_with_renewal(&api, LEASE).await;
    let other = Token::generate("owner-b");
    nodes
        .set_on_first(3, KEY.as_bytes(), other.expose(), None)
        .await;
    let event = events.wait_for(is_lost).await;
    assert_eq!(
        event.data["reason"]["message"],
        "another owner holds the lock: owner-b (console)"
    );
    assert!(token_is_on_all_nodes(&nodes, &other).await);
    let left: i64 = nodes.0[0].client().await.pttl(KEY).await.unwrap();
    assert_eq!(left, -1);
}

#[tokio::test]
async fn a_release_with_the_token_stops_the_renewal_without_a_lost_event() {
    let (nodes, _console, api, mut events) = start_console().await;
    let acquired = acquire_with_renewal(&api, LEASE).await;
    let released = api
        .post(&path("release"), json!({ "token": acquired["token"] }))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    // The first lost event must be that of the second lock, which is force-released.
    let second = acquire_with_renewal(&api, LEASE).await;
    assert_ne!(second["fingerprint"], acquired["fingerprint"]);
    let body = json!({ "fingerprint": second["fingerprint"], "reason": "stuck" });
    let forced = api.post(&path("force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    let event = events.wait_for(is_lost).await;
    assert_eq!(event.data["fingerprint"], second["fingerprint"]);
    assert_eq!(event.data["reason"]["code"], "force-released");
    assert_eq!(nodes.values(0..3, &KEY.into()).await, [None, None, None]);
}

#[tokio::test]
async fn a_rejected_force_release_does_not_stop_the_renewal() {
    let (nodes, _console, api, mut events) = start_console().await;
    // The lock must be held until all requests are answered, on a busy machine, too.
    let acquired = acquire_with_renewal(&api, 2 * LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    for fingerprint in ["0123456789abcdef", text(&acquired, "fingerprint")] {
        let body = json!({ "fingerprint": fingerprint, "reason": " " });
        let rejected = api.post(&path("force-release"), body).await;
        assert_eq!(rejected.status, 422, "{}", rejected.text);
    }
    let body = json!({ "fingerprint": "0123456789abcdef", "reason": "stuck" });
    let rejected = api.post(&path("force-release"), body).await;
    assert_eq!(rejected.problem_code(), "owner-changed");
    let body = json!({ "token": "wrong", "ttl_ms": 60_000 });
    let rejected = api.post(&path("extend"), body).await;
    assert_eq!(rejected.problem_code(), "not-owner");
    events
        .wait_for(|event| event.data["lock"]["renewals"]["count"].as_u64() >= Some(1))
        .await;
    assert!(token_is_on_all_nodes(&nodes, &token).await);
}

#[tokio::test]
async fn a_caller_supplied_token_reacquires_a_held_lock_and_changes_its_lease() {
    let (nodes, _console, api, _events) = start_console().await;
    let request = json!({ "ttl_ms": 1500, "auto_renew": true, "token": "my-own-secret" });
    for _ in 0..2 {
        let response = api.post(&path("acquire"), request.clone()).await;
        assert_eq!(response.status, 201, "{}", response.text);
    }
    let body = json!({ "token": "my-own-secret", "ttl_ms": 30_000 });
    assert_eq!(api.post(&path("extend"), body).await.status, 200);
    let left: i64 = nodes.0[0].client().await.pttl(KEY).await.unwrap();
    assert!(left > 29_000, "{left}");
    let body = json!({ "token": "my-own-secret" });
    assert_eq!(api.post(&path("release"), body).await.status, 200);
    assert_ends_within(&nodes, LEASE).await;
    let mut client = nodes.0[0].client().await;
    let () = client.pset_ex(KEY, "my-own-secret", 1500).await.unwrap();
    // A renewal that still ran would extend the lease.
    assert_ends_within(&nodes, LEASE).await;
}

#[tokio::test]
async fn a_reentrant_lock_acquired_twice_is_renewed_until_it_is_released_twice() {
    let (nodes, _console, api, mut events) = start_console().await;
    let token = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
    let body = json!({ "ttl_ms": 1500, "auto_renew": true, "format": "redisson", "token": token });
    for _ in 0..2 {
        let response = api.post(&path("acquire"), body.clone()).await;
        assert_eq!(response.status, 201, "{}", response.text);
    }
    let release = async || {
        let body = json!({ "token": token });
        let released = api.post(&path("release"), body).await;
        released.json()["outcome"].clone()
    };
    assert_eq!(release().await, "holds");
    let renewal_count = |event: &ServerSentEvent| event.data["lock"]["renewals"]["count"].as_u64();
    let before = events
        .wait_for(|event| renewal_count(event).is_some())
        .await;
    // Three renewals later the first lease is over.
    let later = renewal_count(&before).map(|count| count + 3);
    events.wait_for(|event| renewal_count(event) >= later).await;
    assert_eq!(release().await, "released");
    for node in &nodes.0 {
        assert!(!node.client().await.exists::<_, bool>(KEY).await.unwrap());
    }
    // The release publishes no lost event, so the first one belongs to the next lock.
    let next = acquire_with_renewal(&api, LEASE).await;
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let event = events.wait_for(is_lost).await;
    assert_eq!(event.data["fingerprint"], next["fingerprint"]);
}

#[tokio::test]
async fn a_legacy_timestamp_lock_is_identified_by_its_current_value() {
    let (nodes, _console, api, mut events) = start_console().await;
    let body = json!({ "ttl_ms": 1500, "auto_renew": true, "format": "legacy-timestamp" });
    let acquired = api.post(&path("acquire"), body).await.json();
    let current_fingerprint = async || {
        let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
        fingerprint(&value).to_string()
    };
    wait_until("a renewal has changed the value", async || {
        current_fingerprint().await != text(&acquired, "fingerprint")
    })
    .await;
    // The value changes with every renewal, so a force release may miss it and is retried.
    wait_until(
        "a force release with the current fingerprint succeeds",
        async || {
            let body = json!({ "fingerprint": current_fingerprint().await, "reason": "stuck" });
            api.post(&path("force-release"), body).await.status == 200
        },
    )
    .await;
    let event = events.wait_for(is_lost).await;
    assert_eq!(event.data["reason"]["code"], "force-released");
    assert_ne!(event.data["fingerprint"], acquired["fingerprint"]);
}

#[tokio::test]
async fn the_locks_of_a_stopped_console_expire() {
    let (nodes, console, api, events) = start_console().await;
    let acquired = acquire_with_renewal(&api, LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    assert!(token_is_on_all_nodes(&nodes, &token).await);
    drop(events);
    tokio::join!(console.stop(), assert_ends_within(&nodes, LEASE));
}
