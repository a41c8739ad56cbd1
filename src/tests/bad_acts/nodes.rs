//! Nodes that cannot give a lock: dead, hanging, or replicas.

use std::collections::BTreeMap;

use lockkeeper::server::config::{GroupConfig, LockingConfig};
use serde_json::json;

use super::{everything, everywhere, post, untouched};
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

/// A group in which a node that restarts counts again at once.
fn forgetful(nodes: &RedisNodes) -> GroupConfig {
    let config = group("orders", nodes);
    GroupConfig {
        locking: LockingConfig {
            delayed_restart: false,
            ..config.locking.clone()
        },
        ..config
    }
}

#[tokio::test]
async fn below_a_quorum_nothing_is_acquired_and_nothing_stays_on_the_survivors() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![forgetful(&nodes)]).await;
    let person = console.person();
    let acquired = post(&person, b"lock:held", "/acquire", r#"{"ttl_ms": 600000}"#).await;
    let token = acquired.json()["token"].clone();
    nodes.0[1].kill().await;
    nodes.0[2].kill().await;
    let before = everything(&nodes, 0).await;

    for body in [
        r#"{"ttl_ms": 60000}"#,
        r#"{"ttl_ms": 60000, "wait_ms": 300}"#,
    ] {
        let answer = post(&person, b"lock:a", "/acquire", body).await;
        answer.is(503, "no-quorum");
        let problem = answer.json();
        assert_eq!(
            (&problem["reached"], &problem["quorum"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(problem["nodes"].as_array().unwrap().len(), 3);
    }
    eventually_is("nothing is left on the survivor", async || {
        everything(&nodes, 0).await == before
    })
    .await;

    let extend = json!({"token": token, "ttl_ms": 60_000}).to_string();
    let extended = post(&person, b"lock:held", "/extend", extend).await;
    extended.is(503, "no-quorum");
    let foreign = r#"{"token": "someone else"}"#;
    let released = post(&person, b"lock:held", "/release", foreign).await;
    released.is(409, "not-owner");
    // The rest of an own lock can be cleared away.
    let release = json!({"token": token}).to_string();
    let released = post(&person, b"lock:held", "/release", release).await;
    released.is(503, "partly-released");
    assert!(everything(&nodes, 0).await.is_empty());
}

/// A replica that follows this node.
async fn replica_of(primary: &RedisNode) -> RedisNode {
    let port = primary.port().to_string();
    let replica = RedisNode::start_with(&["--replicaof", "127.0.0.1", &port]).await;
    eventually_is("it replicates", async || {
        let mut ask = redis::cmd("INFO");
        let mut client = replica.client().await;
        let info: String = ask
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
async fn a_read_only_replica_as_a_node_gives_no_lock_and_says_why() {
    let primary = RedisNode::start().await;
    let nodes = RedisNodes(vec![replica_of(&primary).await]);
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let answer = post(&person, b"lock:a", "/acquire", r#"{"ttl_ms": 60000}"#).await;
    answer.is(503, "no-quorum");
    let node = &answer.json()["nodes"][0];
    assert_eq!(node["outcome"], "failed");
    let reason = node["reason"].as_str().unwrap();
    assert!(reason.contains("replica"), "{reason}");
    let primary = RedisNodes(vec![primary]);
    assert!(untouched(&nodes).await && untouched(&primary).await);

    // Somebody's lock that reached it by replication is neither extended nor released there.
    primary.set(0, b"lock:b", b"owner-b", Some(600_000)).await;
    eventually_is("it was replicated", async || {
        nodes.get(0, b"lock:b").await.is_some()
    })
    .await;
    let before = everywhere(&nodes).await;
    for (verb, body) in [
        ("/extend", r#"{"token": "owner-b", "ttl_ms": 1000}"#),
        ("/release", r#"{"token": "owner-b"}"#),
    ] {
        let answer = post(&person, b"lock:b", verb, body).await;
        answer.is(503, "no-quorum");
    }
    assert_eq!(everywhere(&nodes).await, before);
    assert_eq!(everywhere(&primary).await, before);
}

#[tokio::test]
async fn a_replica_among_three_nodes_is_one_that_does_not_vote() {
    let primary = RedisNode::start().await;
    let replica = replica_of(&primary).await;
    let nodes = RedisNodes(vec![primary, replica, RedisNode::start().await]);
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let answer = post(&person, b"lock:a", "/acquire", r#"{"ttl_ms": 60000}"#).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let nodes_then = answer.json()["nodes"].clone();
    let outcomes = [0, 1, 2].map(|n| nodes_then[n]["outcome"].as_str().unwrap().to_owned());
    assert_eq!((&*outcomes[0], &*outcomes[2]), ("acquired", "acquired"));
    // Nobody waits for it where the other two have decided.
    assert!(
        ["failed", "pending"].contains(&&*outcomes[1]),
        "{outcomes:?}"
    );
    let body = json!({"token": answer.json()["token"]}).to_string();
    let released = post(&person, b"lock:a", "/release", body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    eventually_is("nothing is left, on the replica neither", async || {
        everywhere(&nodes).await.iter().all(BTreeMap::is_empty)
    })
    .await;
}
