//! Operations on nodes that cannot grant a lock: dead nodes and replicas.

use std::collections::BTreeMap;

use lockkeeper::server::config::{GroupConfig, LockingConfig};
use serde_json::json;

use super::{all_are_empty, all_contents, node_contents, post};
use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::wait_until;

/// A group in which a restarted node votes again at once.
fn config_without_delayed_restart(nodes: &RedisNodes) -> GroupConfig {
    let config = group_config("orders", nodes);
    GroupConfig {
        locking: LockingConfig {
            delayed_restart: false,
            ..config.locking.clone()
        },
        ..config
    }
}

#[tokio::test]
async fn without_a_quorum_nothing_is_acquired_and_no_key_remains() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![config_without_delayed_restart(&nodes)]).await;
    let api = console.api();
    let acquired = post(&api, b"lock:held", "/acquire", r#"{"ttl_ms": 600000}"#).await;
    let token = acquired.json()["token"].clone();
    nodes.0[1].kill().await;
    nodes.0[2].kill().await;
    let before = node_contents(&nodes, 0).await;

    for body in [
        r#"{"ttl_ms": 60000}"#,
        r#"{"ttl_ms": 60000, "wait_ms": 300}"#,
    ] {
        let response = post(&api, b"lock:a", "/acquire", body).await;
        response.assert_problem(503, "no-quorum");
        let problem = response.json();
        assert_eq!(
            (&problem["nodes_reached"], &problem["quorum"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(problem["nodes"].as_array().unwrap().len(), 3);
    }
    wait_until("nothing is left on the survivor", async || {
        node_contents(&nodes, 0).await == before
    })
    .await;

    let extend = json!({"token": token, "ttl_ms": 60_000}).to_string();
    let extended = post(&api, b"lock:held", "/extend", extend).await;
    extended.assert_problem(503, "no-quorum");
    let wrong_token = r#"{"token": "wrong-token"}"#;
    let released = post(&api, b"lock:held", "/release", wrong_token).await;
    released.assert_problem(409, "not-owner");
    // The owner can release its lock on the surviving node.
    let release = json!({"token": token}).to_string();
    let released = post(&api, b"lock:held", "/release", release).await;
    released.assert_problem(503, "partly-released");
    assert!(node_contents(&nodes, 0).await.is_empty());
}

/// A replica that follows this node.
async fn replica_of(primary: &RedisNode) -> RedisNode {
    let port = primary.port().to_string();
    let replica = RedisNode::start_with(&["--replicaof", "127.0.0.1", &port]).await;
    wait_until("the replica is in sync", async || {
        let mut info_command = redis::cmd("INFO");
        let mut client = replica.client().await;
        let info: String = info_command
            .arg("replication")
            .query_async(&mut client)
            .await
            .unwrap();
        info.contains("master_link_status:up")
    })
    .await;
    replica
}

#[tokio::test]
async fn a_read_only_replica_grants_no_lock_and_reports_the_reason() {
    let primary = RedisNode::start().await;
    let nodes = RedisNodes(vec![replica_of(&primary).await]);
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let response = post(&api, b"lock:a", "/acquire", r#"{"ttl_ms": 60000}"#).await;
    response.assert_problem(503, "no-quorum");
    let node = &response.json()["nodes"][0];
    assert_eq!(node["outcome"], "failed");
    assert_eq!(node["reason"]["code"], "replica", "{node}");
    let primary = RedisNodes(vec![primary]);
    assert!(all_are_empty(&nodes).await && all_are_empty(&primary).await);

    // A lock that was replicated to the node is neither extended nor released there.
    primary.set(0, b"lock:b", b"owner-b", Some(600_000)).await;
    wait_until("the lock is replicated", async || {
        nodes.get(0, b"lock:b").await.is_some()
    })
    .await;
    let before = all_contents(&nodes).await;
    for (action, body) in [
        ("/extend", r#"{"token": "owner-b", "ttl_ms": 1000}"#),
        ("/release", r#"{"token": "owner-b"}"#),
    ] {
        let response = post(&api, b"lock:b", action, body).await;
        response.assert_problem(503, "no-quorum");
    }
    assert_eq!(all_contents(&nodes).await, before);
    assert_eq!(all_contents(&primary).await, before);
}

#[tokio::test]
async fn a_replica_among_three_nodes_does_not_vote() {
    let primary = RedisNode::start().await;
    let replica = replica_of(&primary).await;
    let nodes = RedisNodes(vec![primary, replica, RedisNode::start().await]);
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let response = post(&api, b"lock:a", "/acquire", r#"{"ttl_ms": 60000}"#).await;
    assert_eq!(response.status, 201, "{}", response.text);
    let node_results = response.json()["nodes"].clone();
    let outcomes = [0, 1, 2].map(|n| node_results[n]["outcome"].as_str().unwrap().to_owned());
    assert_eq!((&*outcomes[0], &*outcomes[2]), ("acquired", "acquired"));
    // The acquire does not wait for the replica once the other two nodes have granted the lock.
    assert!(
        ["failed", "pending"].contains(&&*outcomes[1]),
        "{outcomes:?}"
    );
    let body = json!({"token": response.json()["token"]}).to_string();
    let released = post(&api, b"lock:a", "/release", body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    wait_until("no key is left on any node", async || {
        all_contents(&nodes).await.iter().all(BTreeMap::is_empty)
    })
    .await;
}
