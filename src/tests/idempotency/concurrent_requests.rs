//! Concurrent requests with one idempotency key share an acquire attempt until it ends or the last
//! client disconnects.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;

use super::{KEY, acquire, is_replayed, stable_fields};
use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Spawns requests that wait for `lock:a` with one key, each over its own connection.
fn spawn_waiters(
    console: &TestConsole,
    count: usize,
    wait_ms: u64,
) -> Vec<tokio::task::JoinHandle<ApiResponse>> {
    let body = json!({"ttl_ms": 60_000, "wait_ms": wait_ms});
    let spawn_waiter = |api: ApiClient| {
        let body = body.clone();
        tokio::spawn(async move {
            loop {
                let response = acquire(&api, b"lock:a", KEY, body.clone()).await;
                // The probes of `attempt_is_running` and of the wait queue's limit occupy the key
                // or a queue position for a moment.
                if !matches!(response.status, 422 | 429) {
                    return response;
                }
            }
        })
    };
    (0..count).map(|_| spawn_waiter(console.api())).collect()
}

/// Whether an attempt with the key is running: then another request with the same key is rejected.
async fn attempt_is_running(console: &TestConsole) -> bool {
    let probe = acquire(&console.api(), b"lock:a", KEY, json!({"ttl_ms": 77})).await;
    probe.status == 422
}

#[tokio::test]
async fn a_client_that_disconnects_leaves_the_attempt_to_the_other_waiters() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_queued_acquires: 3,
        ..LimitsConfig::default()
    };
    let groups = vec![group_config("orders", &nodes)];
    let console = TestConsole::start_with_limits(groups, limits, Clock::system()).await;
    nodes
        .set(0, b"lock:a", b"another owner", Some(600_000))
        .await;
    nodes
        .set(0, b"lock:b", b"another owner", Some(600_000))
        .await;
    let first = spawn_waiters(&console, 1, 9_000).remove(0);
    wait_until("the attempt is running", async || {
        attempt_is_running(&console).await
    })
    .await;
    let others = spawn_waiters(&console, 2, 9_000);
    let queue_is_full = async || {
        let path = lock_path("orders", b"lock:b", "/acquire");
        let body = json!({"ttl_ms": 1_000, "wait_ms": 1});
        console.api().post(&path, body).await.status == 429
    };
    wait_until("all three requests wait", queue_is_full).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    wait_until("the first request has left the queue", async || {
        !queue_is_full().await
    })
    .await;
    assert!(attempt_is_running(&console).await);
    nodes.delete(0, b"lock:a").await;
    let mut bodies = Vec::new();
    for other in others {
        let response = other.await.unwrap();
        assert!(
            is_replayed(&response),
            "the first request began the attempt"
        );
        bodies.push(stable_fields(&response));
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn the_attempt_ends_and_is_rolled_back_when_every_client_disconnects() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    for n in 0..3 {
        nodes
            .set(n, b"lock:a", b"another owner", Some(600_000))
            .await;
    }
    let waiters = spawn_waiters(&console, 3, 9_000);
    wait_until("the attempt is running", async || {
        attempt_is_running(&console).await
    })
    .await;
    for waiter in waiters {
        waiter.abort();
    }
    wait_until("the attempt has ended", async || {
        !attempt_is_running(&console).await
    })
    .await;
    for n in 0..3 {
        assert_eq!(
            nodes.get(n, b"lock:a").await.as_deref(),
            Some(&b"another owner"[..])
        );
        nodes.delete(n, b"lock:a").await;
    }
    // No request waits, so the lock and the key are free.
    let next = acquire(&console.api(), b"lock:a", KEY, json!({"ttl_ms": 60_000})).await;
    assert!(!is_replayed(&next));
}

#[tokio::test]
async fn a_failure_is_returned_to_every_waiter_and_is_not_stored() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    nodes
        .set(0, b"lock:a", b"another owner", Some(600_000))
        .await;
    for waiter in spawn_waiters(&console, 3, 300) {
        let response = waiter.await.unwrap();
        assert_eq!(
            (response.status, response.problem_code().as_str()),
            (409, "held")
        );
        assert!(response.headers.contains_key("retry-after"));
    }
    nodes.delete(0, b"lock:a").await;
    let body = json!({"ttl_ms": 60_000, "wait_ms": 300});
    let next = acquire(&console.api(), b"lock:a", KEY, body).await;
    assert!(!is_replayed(&next));
}
