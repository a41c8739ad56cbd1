//! Nodes with a high latency: the effect of a client with a short lease on the others, and the
//! shortest usable lease.

use std::time::Duration;

use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{AcquireParams, AcquireResult, Token};
use serde_json::{Value, json};

use tokio_util::sync::CancellationToken;

use crate::api::lock_path;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::proxy::{ProxiedNodes, Proxy};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::{wait_for, wait_until};

/// Delays every node so that a round trip takes this long.
fn set_round_trip(nodes: &ProxiedNodes, round_trip: Duration) {
    let proxies = nodes.proxies.iter();
    proxies.for_each(|proxy: &Proxy| proxy.delay(round_trip / 2));
}

async fn acquire(api: &ApiClient, key: &str, ttl_ms: u64) -> ApiResponse {
    let path = lock_path("orders", key.as_bytes(), "/acquire");
    api.post(&path, json!({"ttl_ms": ttl_ms})).await
}

/// The nodes that are not up.
async fn nodes_not_up(api: &ApiClient) -> Vec<Value> {
    let groups = api.get("/api/v1/groups").await.json();
    let nodes = groups["groups"][0]["nodes"].as_array().unwrap().iter();
    nodes
        .filter(|node| node["state"] != "up")
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_client_with_a_short_lease_does_not_break_the_connections_of_others() {
    for (round_trip_ms, short_lease_ms) in [(120, 1_500), (200, 3_000)] {
        let nodes = RedisNodes::proxied(3).await;
        let console = TestConsole::start(vec![nodes.config()]).await;
        let console = console.wait_until_connected().await;
        let api = console.api();
        set_round_trip(&nodes, Duration::from_millis(round_trip_ms));
        let (mut statuses, mut nodes_down) = (Vec::new(), Vec::new());
        for n in 0..6 {
            let (first, second) = (format!("lock:{n}"), format!("lock:next:{n}"));
            let (_ignored, other) = tokio::join!(
                acquire(&api, "lock:short", short_lease_ms),
                acquire(&api, &first, 30_000),
            );
            statuses.push(other.status);
            nodes_down.extend(nodes_not_up(&api).await);
            let next = acquire(&api, &second, 30_000).await;
            statuses.push(next.status);
        }
        assert_eq!(statuses, [201; 12], "round trip of {round_trip_ms} ms");
        assert_eq!(
            nodes_down,
            Vec::<Value>::new(),
            "round trip of {round_trip_ms} ms"
        );
    }
}

#[tokio::test]
async fn a_key_state_says_how_far_from_its_time_it_may_have_been_read() {
    let nodes = RedisNodes::proxied(1).await;
    let group = TestGroup::start(nodes.config());
    group.wait_until_up().await;
    let key = "lock:a".into();
    let mut client = nodes.nodes.0[0].client().await;
    let mut set = redis::cmd("SET");
    set.arg("lock:a").arg("token").arg("PX").arg(60_000);
    let () = set.query_async(&mut client).await.unwrap();
    set_round_trip(&nodes, Duration::from_millis(200));
    let state = group.key_state(&key).await.unwrap();
    assert!(
        state.read_uncertainty >= Duration::from_millis(100),
        "{state:?}"
    );
}

#[tokio::test]
async fn a_lease_close_to_the_round_trip_works_once_the_latency_is_measured() {
    let nodes = RedisNodes::proxied(3).await;
    set_round_trip(&nodes, Duration::from_millis(120));
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.wait_until_connected().await.api();
    let acquired = acquire(&api, "lock:a", 1_500).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
}

#[tokio::test]
async fn a_lease_shorter_than_the_latency_is_rejected_with_the_minimum() {
    let nodes = RedisNodes::proxied(3).await;
    set_round_trip(&nodes, Duration::from_millis(120));
    let console = TestConsole::start(vec![nodes.config()])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    // The latency is known after a few health checks.
    let rejected = wait_for("the acquire is rejected", async || {
        let response = acquire(&api, "lock:short", 100).await;
        (response.status == 422).then_some(response)
    })
    .await;
    assert_eq!(rejected.problem_code(), "impossible");
    let problem = rejected.json();
    assert_eq!(problem["field"], "ttl_ms");
    let min_ttl_ms = problem["min_ttl_ms"].as_u64().unwrap();
    assert!((360..600).contains(&min_ttl_ms), "{min_ttl_ms}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("{min_ttl_ms} ms")), "{detail}");

    let acquired = acquire(&api, "lock:short", min_ttl_ms).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let held = acquire(&api, "lock:held", 30_000).await.json();
    let path = lock_path("orders", b"lock:held", "/extend");
    let body = json!({"token": held["token"], "ttl_ms": 100});
    let extended = api.post(&path, body).await;
    extended.assert_problem(422, "impossible");
}

#[tokio::test]
async fn an_acquire_that_joins_the_attempt_of_a_shorter_one_does_not_fail_with_it() {
    let nodes = RedisNodes::proxied(3).await;
    let group = TestGroup::start(nodes.config());
    group.wait_until_up().await;
    set_round_trip(&nodes, Duration::from_millis(60));
    let queues = WaitQueues::default();
    let params = |token: &str, ttl_ms| {
        AcquireParams::plain(
            &"lock:a".into(),
            &Token::generate(token),
            Duration::from_millis(ttl_ms),
        )
    };
    let (short, long) = (params("short", 30), params("long", 30_000));
    let long_token = long.token.clone();
    // The future that is polled first queries the nodes, and the other one joins its attempt.
    let (short, long) = tokio::join!(
        queues.try_once(&group, &short, CancellationToken::new()),
        queues.try_once(&group, &long, CancellationToken::new())
    );
    assert_eq!(short.result, AcquireResult::NoQuorum, "{short:?}");
    assert!(
        matches!(long.result, AcquireResult::Acquired(_)),
        "{long:?}"
    );
    // A quorum is two nodes. A third one whose reply came too late may have been left out.
    wait_until("only the long request has the lock", async || {
        let values = nodes.nodes.values(0..3, &"lock:a".into()).await;
        let values: Vec<_> = values.into_iter().flatten().collect();
        values.len() >= 2 && values.iter().all(|value| value == long_token.expose())
    })
    .await;
}
