//! Releases that reach too few nodes to remove the owner's quorum: they are reported as partial and
//! completed later.

use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::{Value, json};

use crate::api::lock_path;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::proxy::{ProxiedNodes, Proxy};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const KEY: &[u8] = b"lock:a";

/// Starts three nodes that all have the lock, and a console that is connected to all of them.
async fn start_with_stuck_lock() -> (ProxiedNodes, TestConsole) {
    let net = RedisNodes::proxied(3).await;
    for n in 0..3 {
        net.nodes.set(n, KEY, b"stuck", Some(600_000)).await;
    }
    let console = TestConsole::start(vec![net.config()]).await;
    (net, console.wait_until_connected().await)
}

fn cut_all(nodes: &[Proxy]) {
    nodes.iter().for_each(Proxy::cut);
}

fn heal_all(net: &ProxiedNodes) {
    net.proxies.iter().for_each(Proxy::heal);
}

async fn force_release(api: &ApiClient) -> ApiResponse {
    let path = lock_path("orders", KEY, "/force-release");
    let body = json!({"fingerprint": fingerprint(b"stuck"), "reason": "its host is gone"});
    api.post(&path, body).await
}

/// The outcome of each node.
fn node_outcomes(response: &Value) -> Vec<&str> {
    let nodes = response["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| node["outcome"].as_str().unwrap())
        .collect()
}

async fn audit_entries(api: &ApiClient, operation: &str) -> Vec<Value> {
    let response = api.get(&format!("/api/v1/audit?action={operation}")).await;
    response.json()["entries"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

async fn lock_values(net: &ProxiedNodes) -> Vec<Option<Vec<u8>>> {
    net.nodes.values(0..3, &"lock:a".into()).await
}

#[tokio::test]
async fn a_force_release_on_a_minority_is_partial_and_completed_when_nodes_recover() {
    let (net, console) = start_with_stuck_lock().await;
    let api = console.api();
    cut_all(&net.proxies[1..]);
    let response = force_release(&api).await;
    response.assert_problem(503, "partly-released");
    let problem = response.json();
    assert_eq!(node_outcomes(&problem), ["released", "failed", "failed"]);
    assert_eq!(
        (
            &problem["released"],
            &problem["remaining"],
            &problem["quorum"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    let entries = audit_entries(&api, "force-release").await;
    assert_eq!(entries[0]["result"], "partial", "{entries:?}");
    assert_eq!(entries[0]["code"], "partly-released");

    heal_all(&net);
    wait_until("no node has the lock", async || {
        lock_values(&net).await == [None, None, None]
    })
    .await;
    wait_until("the audit log has the completion", async || {
        // Latest first: one entry when the owner's quorum is gone, one when the last node is
        // released.
        let completed = audit_entries(&api, "complete-release").await;
        !completed.is_empty()
            && completed.iter().all(|entry| entry["result"] == "done")
            && completed[0]["fingerprint"] == json!(fingerprint(b"stuck"))
            && completed[0]["reason"] == "its host is gone"
            && node_outcomes(&completed[0]) == ["released"; 3]
    })
    .await;
}

#[tokio::test]
async fn completing_a_release_does_not_touch_a_new_owner() {
    let (net, console) = start_with_stuck_lock().await;
    let api = console.api();
    cut_all(&net.proxies[1..]);
    assert_eq!(force_release(&api).await.problem_code(), "partly-released");
    net.nodes.set(1, KEY, b"next", Some(600_000)).await;
    heal_all(&net);
    wait_until("the old owner is on no node", async || {
        lock_values(&net).await == [None, Some(b"next".to_vec()), None]
    })
    .await;
    wait_until("the audit log has the completion", async || {
        let completed = audit_entries(&api, "complete-release").await;
        // Node b is `other-owner` or `failed`, depending on which node is reachable first.
        !completed.is_empty()
            && matches!(
                &node_outcomes(&completed[0])[..],
                ["released", "other-owner" | "failed", "released"]
            )
    })
    .await;
}

#[tokio::test]
async fn a_release_by_the_owner_on_a_minority_is_reported_as_partial() {
    let net = RedisNodes::proxied(3).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.wait_until_connected().await;
    let api = console.api();
    let acquire = lock_path("orders", KEY, "/acquire");
    let acquired = api.post(&acquire, json!({"ttl_ms": 600_000})).await;
    let token = acquired.json()["token"].clone();
    wait_until("every node has the lock", async || {
        lock_values(&net).await.iter().all(Option::is_some)
    })
    .await;
    cut_all(&net.proxies[1..]);
    let release = lock_path("orders", KEY, "/release");
    let response = api.post(&release, json!({"token": token})).await;
    response.assert_problem(503, "partly-released");
    assert_eq!(
        node_outcomes(&response.json()),
        ["released", "failed", "failed"]
    );
    assert_eq!(audit_entries(&api, "release").await[0]["result"], "partial");
    heal_all(&net);
    wait_until("no node has the lock", async || {
        lock_values(&net).await == [None, None, None]
    })
    .await;
}

#[tokio::test]
async fn a_bulk_force_release_reports_each_partial_release() {
    let (net, console) = start_with_stuck_lock().await;
    let api = console.api();
    cut_all(&net.proxies[1..]);
    let item =
        |key: &str| json!({"group": "orders", "key": key, "fingerprint": fingerprint(b"stuck")});
    let body = json!({"items": [item("lock:a"), item("lock:nowhere")], "reason": "stuck"});
    let response = api.post("/api/v1/force-releases", body).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let response = response.json();
    assert_eq!(response["released"], 0, "{response}");
    assert_eq!(
        response["items"][0]["outcome"], "partly-released",
        "{response}"
    );
    let problem = &response["items"][0]["problem"];
    assert_eq!(node_outcomes(problem), ["released", "failed", "failed"]);
}

#[tokio::test]
async fn releasing_a_lost_lock_releases_its_remains_and_reports_not_owner() {
    let net = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.wait_until_connected().await;
    let api = console.api();
    let acquire = lock_path("orders", KEY, "/acquire");
    let acquired = api.post(&acquire, json!({"ttl_ms": 600_000})).await;
    let token = acquired.json()["token"].clone();
    wait_until("every node has the lock", async || {
        let values = net.values(0..3, &"lock:a".into()).await;
        values.iter().all(Option::is_some)
    })
    .await;
    for n in [1, 2] {
        net.set(n, KEY, b"next", Some(600_000)).await;
    }
    let release = lock_path("orders", KEY, "/release");
    let response = api.post(&release, json!({"token": token})).await;
    response.assert_problem(409, "not-owner");
    let nodes = response.json();
    assert_eq!(
        node_outcomes(&nodes),
        ["released", "other-owner", "other-owner"]
    );
}

#[tokio::test]
async fn a_force_release_completes_although_the_client_disconnects() {
    let net = RedisNodes::proxied(1).await;
    net.nodes.set(0, KEY, b"stuck", Some(600_000)).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.wait_until_connected().await;
    let api = console.api();
    let is_listed = async || {
        let listed = api.get("/api/v1/locks?q=lock:a").await;
        listed.json()["total"] == 1
    };
    wait_until("the lock is listed", is_listed).await;
    // The node executes the request at once, but its reply is delayed.
    net.proxies[0].delay(std::time::Duration::from_millis(60));
    let request = {
        let api = api.clone();
        tokio::spawn(async move { force_release(&api).await })
    };
    wait_until("the lock is released", async || {
        net.nodes.get(0, KEY).await.is_none()
    })
    .await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    wait_until("the audit entry is completed", async || {
        let entries = audit_entries(&api, "force-release").await;
        entries.len() == 1 && entries[0]["result"] == "done"
    })
    .await;
    wait_until("the lock is not listed any more", async || {
        !is_listed().await
    })
    .await;
    // The previous owner acquires the lock again.
    net.nodes.set(0, KEY, b"stuck", Some(600_000)).await;
    wait_until("the re-acquire is audited", async || {
        audit_entries(&api, "reacquired").await.len() == 1
    })
    .await;
}
