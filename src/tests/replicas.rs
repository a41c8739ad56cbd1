//! Nodes with a read replica: scans, inspections and change notifications use the replica, and
//! every operation the primary.

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{NodeState, NodeView};
use lockkeeper::server::config::{GroupConfig, NodeConfig, RedisUrl};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::console::{ApiClient, TestConsole};
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{RedisNode, TestGroup};
use crate::support::{wait_for, wait_until};

fn config_reading_from(primary: &RedisNode, replica: RedisUrl) -> GroupConfig {
    let node = NodeConfig {
        read_from: Some(replica),
        ..NodeConfig::new("a", primary.url())
    };
    GroupConfig {
        nodes: vec![node],
        ..GroupConfig::new("orders", [primary.url()])
    }
}

pub async fn start_replica_of(primary: &RedisNode) -> RedisNode {
    let replica =
        RedisNode::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let mut client = replica.client().await;
    wait_until("the replica is in sync", async || {
        let mut info = redis::cmd("INFO");
        let info: String = info
            .arg("replication")
            .query_async(&mut client)
            .await
            .unwrap();
        info.contains("master_link_status:up")
    })
    .await;
    replica
}

/// Waits until the API reports that the change feed comes from the replica.
async fn wait_until_replica_is_read(api: &ApiClient) {
    wait_until("the replica's change feed is up", async || {
        let node = api.first_node().await;
        node["feed"] == "tracking" && node["read_from"].is_string()
    })
    .await;
}

/// How often a command succeeded on a server. Failed calls are the console's probes of its
/// permissions.
async fn successful_calls(client: &mut MultiplexedConnection, command: &str) -> u64 {
    let mut info = redis::cmd("INFO");
    let info: String = info.arg("commandstats").query_async(client).await.unwrap();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")));
    let number = |name: &str| -> u64 {
        let rest = line.into_iter().flat_map(|line| line.split(','));
        let mut named = rest.filter_map(|part| part.trim().strip_prefix(name));
        named.next().map_or(0, |value| value.parse().unwrap())
    };
    number("calls=") - number("failed_calls=")
}

#[tokio::test]
async fn scans_use_the_replica_and_operations_the_primary() {
    let primary = RedisNode::start().await;
    let replica = start_replica_of(&primary).await;
    let console = TestConsole::start(vec![config_reading_from(&primary, replica.url())]).await;
    let api = console.api();
    let mut client = primary.client().await;
    let () = client.pset_ex("lock:seen", "owner", 60_000).await.unwrap();
    api.wait_for_lock_count(1).await;
    let acquired = api
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    wait_until(
        "the lock acquired on the primary is read from the replica",
        async || api.get("/api/v1/locks").await.json()["total"] == 2,
    )
    .await;
    let node = &api.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0];
    assert_eq!(node["read_from"], format!("127.0.0.1:{}", replica.port()));
    assert_eq!(
        (&node["role"], &node["feed"]),
        (&json!("primary"), &json!("tracking"))
    );
    let mut replica_client = replica.client().await;
    // The console probes the permissions of the node's user by calling each command once.
    assert!(successful_calls(&mut client, "scan").await <= 1);
    assert!(successful_calls(&mut replica_client, "scan").await > 1);
    assert!(successful_calls(&mut replica_client, "evalsha").await <= 1);
}

#[tokio::test]
async fn a_node_is_read_itself_while_its_replica_is_down() {
    let primary = RedisNode::start().await;
    let mut replica = start_replica_of(&primary).await;
    let console = TestConsole::start(vec![config_reading_from(&primary, replica.url())]).await;
    let api = console.api();
    wait_until_replica_is_read(&api).await;
    replica.kill().await;
    wait_until("the node itself is read, with a change feed", async || {
        let node = api.first_node().await;
        node["read_from"].is_null()
            && node["read_from_unavailable_reason"]["code"] == "replica-unusable"
            && node["feed"] == "tracking"
            && node["state"] == "up"
    })
    .await;
    let mut client = primary.client().await;
    let () = client.pset_ex("lock:seen", "owner", 60_000).await.unwrap();
    api.wait_for_lock_count(1).await;
    replica.restart().await;
    let address = format!("127.0.0.1:{}", replica.port());
    wait_for("the replica is read again", async || {
        (api.first_node().await["read_from"] == address).then_some(())
    })
    .await;
    let () = client.del("lock:seen").await.unwrap();
    api.wait_for_lock_count(0).await;
}

#[tokio::test]
async fn keys_for_which_a_replica_did_not_reply_are_read_again() {
    const LOCKS: usize = 200;
    let primary = RedisNode::start().await;
    let replica = start_replica_of(&primary).await;
    let proxy = Proxy::in_front_of(replica.port()).await;
    let console = TestConsole::start(vec![config_reading_from(&primary, proxy.url())]).await;
    let api = console.api();
    wait_until_replica_is_read(&api).await;
    let mut client = primary.client().await;
    let mut write = async |owner: &str| {
        let mut locks = redis::pipe();
        for n in 0..LOCKS {
            locks.pset_ex(format!("lock:{n}"), owner, 600_000).ignore();
        }
        locks.exec_async(&mut client).await.unwrap();
    };
    let owners = async || {
        let listed = api.get("/api/v1/locks?verdict=held&limit=1000").await;
        let fingerprint = |lock: &Value| lock["owner"]["fingerprint"].to_string();
        let listed = listed.json()["locks"].as_array().unwrap().clone();
        listed.iter().map(fingerprint).collect::<Vec<_>>()
    };
    write("first").await;
    let before = wait_for("all locks are held", async || {
        let owners = owners().await;
        (owners.len() == LOCKS).then_some(owners)
    })
    .await;
    let since = api.first_node().await["since"].clone();
    // Requests on the existing connections are held back, while change notifications still arrive.
    proxy.hold_requests();
    write("second").await;
    wait_until("all locks are held by another owner", async || {
        let owners = owners().await;
        owners.len() == LOCKS && !owners.contains(&before[0])
    })
    .await;
    assert_eq!(
        api.first_node().await["since"],
        since,
        "the node was up all the time"
    );
}

#[tokio::test]
async fn a_server_that_is_not_a_replica_of_the_node_is_not_read() {
    let (primary, unrelated) = (RedisNode::start().await, RedisNode::start().await);
    let mut client = unrelated.client().await;
    let () = client.pset_ex("lock:unrelated", "x", 60_000).await.unwrap();
    let group = TestGroup::start(config_reading_from(&primary, unrelated.url()));
    let is_rejected = |view: &NodeView| {
        matches!(
            &view.read_from_unavailable_reason,
            Some(Reason::ReplicaUnusable { cause, .. }) if **cause == Reason::NotItsReplica
        )
    };
    let view = group.wait_for_node(0, is_rejected).await;
    assert_eq!(view.state, NodeState::Up);
    assert_eq!(group.key_state(&"lock:unrelated".into()).await, None);
}
