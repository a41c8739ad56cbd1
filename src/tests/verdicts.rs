//! Every verdict and flag on real nodes, and the responses while nodes are unreachable.

use std::time::{Duration, Instant};

use lockkeeper::server::config::{GroupConfig, RedisUrl};
use serde_json::{Value, json};

use crate::support::console::{ApiClient, TestConsole};
use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

async fn find_lock(api: &ApiClient, key: &str) -> Option<Value> {
    let listed = api.get("/api/v1/locks").await.json();
    listed["locks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|lock| lock["key"] == key)
        .cloned()
}

async fn wait_for_verdict(api: &ApiClient, key: &str, verdict: &str) -> Value {
    wait_until(&format!("{key} is {verdict}"), async || {
        find_lock(api, key)
            .await
            .is_some_and(|lock| lock["verdict"] == verdict)
    })
    .await;
    find_lock(api, key).await.unwrap()
}

fn flags(lock: &Value) -> Vec<&str> {
    lock["flags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flag| flag.as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn every_verdict_is_reported_on_five_nodes() {
    let mut nodes = RedisNodes::start(5).await;
    for (key, owner, on) in [
        ("lock:held", "A", 0..5),
        ("lock:majority", "A", 0..3),
        ("lock:partial", "A", 0..2),
        ("lock:split", "A", 0..2),
        ("lock:split", "B", 2..4),
        ("lock:beside", "A", 0..3),
        ("lock:beside", "B", 4..5),
    ] {
        for n in on {
            nodes
                .set(
                    n,
                    key.as_bytes(),
                    format!("owner-{owner}").as_bytes(),
                    Some(600_000),
                )
                .await;
        }
    }
    nodes
        .set_on_first(5, b"lock:forever", b"owner-A", None)
        .await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let api = console.api();

    assert_eq!(
        flags(&wait_for_verdict(&api, "lock:held", "held").await),
        Vec::<&str>::new()
    );
    let forever = wait_for_verdict(&api, "lock:forever", "held").await;
    assert_eq!(
        (flags(&forever), &forever["lease_ms"]),
        (vec!["no-expiry"], &Value::Null)
    );
    wait_for_verdict(&api, "lock:majority", "held").await;
    let partial = wait_for_verdict(&api, "lock:partial", "partial").await;
    assert_eq!(
        (flags(&partial), &partial["owner"]),
        (vec!["fragment"], &Value::Null)
    );
    let split = wait_for_verdict(&api, "lock:split", "split").await;
    assert_eq!(split["owners"].as_array().unwrap().len(), 2);
    assert_eq!(
        flags(&wait_for_verdict(&api, "lock:beside", "held").await),
        ["split"]
    );

    // Node e does not have `lock:partial`. Once it is down, it could: two nodes plus e would be a
    // quorum.
    nodes.0[4].kill().await;
    wait_for_verdict(&api, "lock:partial", "unknown").await;
    let held = wait_for_verdict(&api, "lock:majority", "held").await;
    assert_eq!(held["nodes"][4]["outcome"], "unreachable");
    assert!(held["nodes"][4]["reason"]["code"].is_string(), "{held}");

    // The node restarts empty: all nodes are reachable again.
    nodes.0[4].restart_empty().await;
    wait_for_verdict(&api, "lock:partial", "partial").await;
    let groups = api.get("/api/v1/groups").await.json();
    let node = &groups["groups"][0]["nodes"][4];
    assert_eq!(node["state"], "up");
    assert!(node["restarted_at"].is_string(), "{node}");
}

#[tokio::test]
async fn with_every_node_hanging_requests_are_answered_and_verdicts_are_unknown() {
    let nodes = RedisNodes::start(3).await;
    nodes
        .set_on_first(3, b"lock:a", b"owner-A", Some(600_000))
        .await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let api = console.api();
    wait_for_verdict(&api, "lock:a", "held").await;
    for n in 0..3 {
        nodes.0[n].pause().await;
    }
    // Once before the console has marked the nodes as down, and once afterwards.
    for is_detected in [false, true] {
        if is_detected {
            wait_for_verdict(&api, "lock:a", "unknown").await;
        }
        for path in [
            "/",
            "/nodes",
            "/mine",
            "/api/v1/locks",
            "/api/v1/groups",
            "/groups/orders/locks/lock%3Aa",
            "/healthz",
            "/readyz",
        ] {
            let began = Instant::now();
            let response = api.get(path).await;
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "{path} took {:?}",
                began.elapsed()
            );
            assert_eq!(response.status, 200, "{path}");
        }
        let began = Instant::now();
        let acquire = api
            .post(
                "/api/v1/groups/orders/locks/lock%3Ab/acquire",
                json!({"ttl_ms": 30_000}),
            )
            .await;
        acquire.assert_problem(503, "no-quorum");
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "acquire took {:?}",
            began.elapsed()
        );
    }
    let listed = api.get("/api/v1/locks").await.json();
    assert_eq!(
        (&listed["nodes_reached"], &listed["nodes_total"]),
        (&json!(0), &json!(3))
    );
    let stale = find_lock(&api, "lock:a").await.unwrap();
    assert_eq!(
        (&stale["verdict"], &stale["owner"]),
        (&json!("unknown"), &Value::Null)
    );
    assert_eq!(
        stale["owners"].as_array().unwrap().len(),
        1,
        "the last known owner"
    );
    let missing = api.get("/api/v1/groups/orders/locks/lock%3Anever").await;
    missing.assert_problem(503, "unreachable");

    for n in 0..3 {
        nodes.0[n].resume().await;
    }
    wait_for_verdict(&api, "lock:a", "held").await;
}

#[tokio::test]
async fn a_ready_console_shows_the_state_of_its_nodes() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let api = console.api();
    wait_until("the console is ready", async || {
        api.get("/readyz").await.status == 200
    })
    .await;
    for path in ["/nodes", "/"] {
        let page = api.get(path).await.text;
        assert!(
            page.contains("orders") && !page.contains("not checked yet"),
            "{path}: {page}"
        );
    }
}

#[tokio::test]
async fn a_node_that_is_not_redis_is_reported_as_such() {
    let nodes = RedisNodes::start(2).await;
    let mut urls = nodes.urls();
    let garbage = FakeServer::garbage().await;
    urls.push(RedisUrl::parse(&garbage.url()).unwrap());
    let console = TestConsole::start(vec![GroupConfig::new("orders", urls)]).await;
    let api = console.api();
    wait_until("the node is down with a reason", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let node = &groups["groups"][0]["nodes"][2];
        node["state"] == "down" && node["reason"]["code"] == "invalid-reply"
    })
    .await;
}

#[tokio::test]
async fn a_key_that_only_looks_like_a_lock_is_not_listed() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:json", b"{\"a\":1}", Some(60_000)).await;
    nodes
        .set(0, b"lock:huge", &vec![b'x'; 1_000_000], Some(60_000))
        .await;
    nodes.set(0, b"lock:real", b"owner-A", Some(60_000)).await;
    nodes.set(0, b"lock:legacy", b"1700000000", None).await;
    let console = TestConsole::start(vec![GroupConfig::new("jobs", nodes.urls())]).await;
    let api = console.api();
    wait_for_verdict(&api, "lock:real", "held").await;
    let legacy = wait_for_verdict(&api, "lock:legacy", "held").await;
    assert_eq!(
        (flags(&legacy), &legacy["lease_ms"]),
        (vec!["overdue"], &json!(0))
    );
    let keys: Vec<String> = api.get("/api/v1/locks?sort=key").await.json()["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| lock["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["lock:legacy", "lock:real"]);
}
