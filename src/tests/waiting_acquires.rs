//! Waiting for locks over HTTP: the wait queue, wake-ups, timeouts and disconnects.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::{wait_for, wait_until};

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

async fn acquire(api: &ApiClient, wait_ms: u64) -> ApiResponse {
    let body = json!({"ttl_ms": 30_000, "wait_ms": wait_ms});
    api.post(&format!("{PATH}/acquire"), body).await
}

async fn release(api: &ApiClient, acquired: &ApiResponse) {
    let body = json!({"token": acquired.json()["token"]});
    let released = api.post(&format!("{PATH}/release"), body).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

/// The number of waiters in the lock's evidence.
async fn waiter_count(api: &ApiClient) -> u64 {
    let lock = api.get(PATH).await.json();
    let evidence = lock["evidence"].as_array().cloned().unwrap_or_default();
    let queue = evidence.into_iter().find(|entry| entry["kind"] == "queue");
    queue.and_then(|entry| entry["value"].as_u64()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_a_hundred_concurrent_acquires_succeeds() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let requests = (0..100).map(|_| {
        let api = console.api();
        tokio::spawn(async move { acquire(&api, 0).await })
    });
    let mut acquired = 0;
    for response in futures::future::join_all(requests).await {
        let response = response.unwrap();
        match response.status {
            201 => acquired += 1,
            409 => assert_eq!(response.problem_code(), "held"),
            503 => assert_eq!(response.problem_code(), "no-quorum"),
            other => panic!("{other}: {}", response.text),
        }
    }
    assert_eq!(acquired, 1);
}

#[tokio::test]
async fn waiters_acquire_in_order_of_arrival() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut held = acquire(&api, 0).await;
    let mut waiters = Vec::new();
    for n in 1..=4 {
        let waiter = console.api();
        waiters.push(tokio::spawn(async move { acquire(&waiter, 9_000).await }));
        wait_until("the next waiter is queued", async || {
            waiter_count(&api).await == n
        })
        .await;
    }
    let mut last = 0;
    for waiter in waiters {
        release(&api, &held).await;
        held = waiter.await.unwrap();
        assert_eq!(held.status, 201, "{}", held.text);
        let fence = held.json()["fencing_token"].as_u64().unwrap();
        assert!(fence > last);
        last = fence;
    }
}

#[tokio::test]
async fn a_waiter_acquires_after_a_release_by_the_console_or_by_another_client() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let held = acquire(&api, 0).await;
    let waiter = console.api();
    let waiting_request = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    wait_until("the request is queued", async || {
        waiter_count(&api).await == 1
    })
    .await;
    let began = Instant::now();
    release(&api, &held).await;
    let next = waiting_request.await.unwrap();
    assert_eq!(next.status, 201, "{}", next.text);
    eprintln!("from release to the next owner: {:?}", began.elapsed());

    let waiter = console.api();
    let waiting_request = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    wait_until("the request is queued", async || {
        waiter_count(&api).await == 1
    })
    .await;
    nodes.delete(0, b"lock:a").await;
    assert_eq!(waiting_request.await.unwrap().status, 201);
}

#[tokio::test]
async fn a_wait_that_times_out_returns_the_owner_and_retry_after() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let held = acquire(&api, 0).await;
    let (first, second) = (console.api(), console.api());
    let both = tokio::join!(acquire(&first, 300), acquire(&second, 200));
    for response in [both.0, both.1] {
        response.assert_problem(409, "held");
        let problem: Value = response.json();
        assert_eq!(problem["owner"]["fingerprint"], held.json()["fingerprint"]);
        assert!(problem["retry_after_ms"].as_u64().unwrap() > 20_000);
    }
    let lock = wait_for("both rejections are evidence", async || {
        let lock = api.get(PATH).await.json();
        lock["flags"]
            .as_array()?
            .contains(&json!("contended"))
            .then_some(lock)
    })
    .await;
    assert_eq!(lock["evidence"][0]["kind"], "api-attempts");
    assert_eq!(lock["evidence"][0]["value"], 2);
}

#[tokio::test]
async fn a_waiter_that_disconnects_leaves_the_queue_and_acquires_nothing() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let held = acquire(&api, 0).await;
    let waiter = console.api();
    let waiting_request = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    wait_until("the request is queued", async || {
        waiter_count(&api).await == 1
    })
    .await;
    waiting_request.abort();
    wait_until("the queue is empty", async || waiter_count(&api).await == 0).await;
    release(&api, &held).await;
    let again = acquire(&api, 0).await;
    assert_eq!(
        again.status, 201,
        "the cancelled waiter holds the lock: {}",
        again.text
    );
}

#[tokio::test]
async fn an_acquire_with_the_owners_token_extends_the_lock_and_never_loses_it() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let first = acquire(&api, 0).await.json();
    let path = format!("{PATH}/acquire");
    let body = json!({"ttl_ms": 40_000, "token": first["token"]});
    let again = api.post(&path, body.clone()).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let again = again.json();
    assert_eq!(again["token"], first["token"]);
    assert!(again["validity_ms"].as_u64() > Some(30_000));
    assert!(again["fencing_token"].as_u64() > first["fencing_token"].as_u64());

    // Two nodes do not reply: the lease is not extended, and the existing keys remain.
    for n in [1, 2] {
        nodes.0[n].pause().await;
    }
    let group = TestGroup::start(nodes.config());
    group.wait_for_first_attempts().await;
    let rejected = api.post(&path, body).await;
    rejected.assert_problem(503, "no-quorum");
    for n in [1, 2] {
        nodes.0[n].resume().await;
    }
    let token = first["token"].as_str().unwrap();
    let values = nodes.values(0..3, &"lock:a".into()).await;
    assert!(
        values
            .iter()
            .all(|value| value.as_deref() == Some(token.as_bytes())),
        "{values:?}"
    );
}

#[tokio::test]
async fn a_disconnect_during_an_acquire_with_a_client_token_leaves_no_key() {
    let mut network = RedisNodes::proxied(3).await;
    let mut config = network.config();
    config.command_timeout = Duration::from_secs(10);
    let console = TestConsole::start(vec![config])
        .await
        .wait_until_connected()
        .await;
    let body = json!({"ttl_ms": 600_000, "token": "a token of its own"});
    for proxy in &network.proxies {
        proxy.delay(Duration::from_secs(1));
    }
    let client = console.api();
    let request = tokio::spawn(async move { client.post(&format!("{PATH}/acquire"), body).await });
    let key = "lock:a".into();
    let nodes = &mut network.nodes;
    wait_until("all nodes have the lock", async || {
        let values = nodes.values(0..3, &key).await;
        values.iter().all(Option::is_some)
    })
    .await;
    // The replies of the nodes are still delayed by the proxies.
    request.abort();
    wait_until("the lock is on no node", async || {
        let values = nodes.values(0..3, &key).await;
        values.iter().all(Option::is_none)
    })
    .await;
}

#[tokio::test]
async fn a_failed_acquire_with_a_client_token_leaves_no_key() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()])
        .await
        .wait_until_connected()
        .await;
    for n in [1, 2] {
        nodes.0[n].pause().await;
    }
    let body = json!({"ttl_ms": 600_000, "token": "a token of its own"});
    let rejected = console.api().post(&format!("{PATH}/acquire"), body).await;
    rejected.assert_problem(503, "no-quorum");
    assert_eq!(nodes.get(0, b"lock:a").await, None, "{}", rejected.text);
    for n in [1, 2] {
        nodes.0[n].resume().await;
    }
}
