//! Nodes that are read from a replica: it is scanned, looked at and listened to, and everything is done on the primary.

use lockkeeper::domain::{NodeState, NodeView};
use lockkeeper::server::config::{GroupConfig, NodeConfig, RedisUrl};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::console::{Person, TestConsole};
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{RedisNode, TestGroup};
use crate::support::{eventually, eventually_is};

fn reading_from(primary: &RedisNode, replica: RedisUrl) -> GroupConfig {
    let node = NodeConfig {
        read_from: Some(replica),
        ..NodeConfig::new("a", primary.url())
    };
    GroupConfig {
        nodes: vec![node],
        ..GroupConfig::new("orders", [primary.url()])
    }
}

async fn replica_of(primary: &RedisNode) -> RedisNode {
    let replica =
        RedisNode::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let mut client = replica.client().await;
    eventually_is("the replica has what its primary has", async || {
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

/// What the API says of the only node.
async fn the_replica_tells(person: &Person) {
    eventually_is("the replica tells", async || {
        let node = person.node().await;
        node["feed"] == "tracking" && node["read_from"].is_string()
    })
    .await;
}

/// How often a server did this: what a user may do is found out by asking for a script that is not there.
async fn did(client: &mut MultiplexedConnection, command: &str) -> u64 {
    let mut info = redis::cmd("INFO");
    let info: String = info.arg("commandstats").query_async(client).await.unwrap();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")));
    let figure = |name: &str| -> u64 {
        let rest = line.into_iter().flat_map(|line| line.split(','));
        let mut named = rest.filter_map(|part| part.trim().strip_prefix(name));
        named.next().map_or(0, |figure| figure.parse().unwrap())
    };
    figure("calls=") - figure("failed_calls=")
}

#[tokio::test]
async fn the_replica_is_scanned_and_the_primary_acted_on() {
    let primary = RedisNode::start().await;
    let replica = replica_of(&primary).await;
    let console = TestConsole::start(vec![reading_from(&primary, replica.url())]).await;
    let person = console.person();
    let mut client = primary.client().await;
    let () = client
        .pset_ex("lock:seen", "somebody", 60_000)
        .await
        .unwrap();
    person.sees(1).await;
    let taken = person
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    eventually_is(
        "what is taken on the primary is seen on the replica",
        async || person.get("/api/v1/locks").await.json()["total"] == 2,
    )
    .await;
    let node = &person.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0];
    assert_eq!(node["read_from"], format!("127.0.0.1:{}", replica.port()));
    assert_eq!(
        (&node["role"], &node["feed"]),
        (&json!("primary"), &json!("tracking"))
    );
    let mut second = replica.client().await;
    // What the node's user may not do is found out by trying each thing once.
    assert!(did(&mut client, "scan").await <= 1);
    assert!(did(&mut second, "scan").await > 1);
    assert!(did(&mut second, "evalsha").await <= 1);
}

#[tokio::test]
async fn a_replica_that_is_away_is_done_without_until_it_comes_back() {
    let primary = RedisNode::start().await;
    let mut replica = replica_of(&primary).await;
    let console = TestConsole::start(vec![reading_from(&primary, replica.url())]).await;
    let person = console.person();
    the_replica_tells(&person).await;
    replica.kill().await;
    eventually_is("the node itself is read, and tells", async || {
        let node = person.node().await;
        let says = node["read_from"].as_str().unwrap_or_default().to_owned();
        says.contains("the node itself is") && node["feed"] == "tracking" && node["state"] == "up"
    })
    .await;
    let mut client = primary.client().await;
    let () = client
        .pset_ex("lock:seen", "somebody", 60_000)
        .await
        .unwrap();
    person.sees(1).await;
    replica.restart().await;
    let address = format!("127.0.0.1:{}", replica.port());
    eventually("the replica is read again", async || {
        (person.node().await["read_from"] == address).then_some(())
    })
    .await;
    let () = client.del("lock:seen").await.unwrap();
    person.sees(0).await;
}

#[tokio::test]
async fn what_a_replica_left_unanswered_is_asked_again_soon() {
    const LOCKS: usize = 200;
    let primary = RedisNode::start().await;
    let replica = replica_of(&primary).await;
    let proxy = Proxy::before(replica.port()).await;
    let console = TestConsole::start(vec![reading_from(&primary, proxy.url())]).await;
    let person = console.person();
    the_replica_tells(&person).await;
    let mut client = primary.client().await;
    let mut write = async |owner: &str| {
        let mut locks = redis::pipe();
        for n in 0..LOCKS {
            locks.pset_ex(format!("lock:{n}"), owner, 600_000).ignore();
        }
        locks.exec_async(&mut client).await.unwrap();
    };
    let owners = async || {
        let listed = person.get("/api/v1/locks?verdict=held&limit=1000").await;
        let fingerprint = |lock: &Value| lock["owner"]["fingerprint"].to_string();
        let listed = listed.json()["locks"].as_array().unwrap().clone();
        listed.iter().map(fingerprint).collect::<Vec<_>>()
    };
    write("first").await;
    let before = eventually("all are held", async || {
        let owners = owners().await;
        (owners.len() == LOCKS).then_some(owners)
    })
    .await;
    let since = person.node().await["since"].clone();
    // What is asked over the connections of now does not arrive, and the feed still tells.
    proxy.hold_back();
    write("second").await;
    eventually_is("all are held by another owner", async || {
        let owners = owners().await;
        owners.len() == LOCKS && !owners.contains(&before[0])
    })
    .await;
    assert_eq!(
        person.node().await["since"],
        since,
        "the node was up all the time"
    );
}

#[tokio::test]
async fn a_server_that_is_no_replica_of_the_node_is_not_read() {
    let (primary, stranger) = (RedisNode::start().await, RedisNode::start().await);
    let mut client = stranger.client().await;
    let () = client.pset_ex("lock:elsewhere", "x", 60_000).await.unwrap();
    let group = TestGroup::start(reading_from(&primary, stranger.url()));
    let is_told = |view: &NodeView| {
        let from = view.read_from.as_deref();
        from.is_some_and(|from| from.contains("it is no replica of this node"))
    };
    let view = group.node_is(0, is_told).await;
    assert_eq!(view.state, NodeState::Up);
    assert_eq!(group.sighting(&"lock:elsewhere".into()).await, None);
}
