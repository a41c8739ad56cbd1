//! Locks are found by their values on every kind of server, and by a user with the documented
//! permissions only.

use std::collections::BTreeMap;

use lockkeeper::server::config::{GroupConfig, NodeConfig, RedisUrl};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::discovery::{listed, wait_for_passes};
use crate::permissions::rules_in_section;
use crate::replicas::start_replica_of;
use crate::support::clusters::RedisCluster;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::{run_command, wait_until};

/// The token of a Redlock client in Rust: 20 random bytes.
const TOKEN: &[u8] =
    b"\x8f\x02\xd1\x7a\xe3\x90\x55\x1b\xc8\x3e\xff\x04\xa9\x67\xb2\x10\xde\x71\x88\xc5";
const STRING_LOCK: &str = "rust:compaction";
const HASH_LOCK: &str = "order:42";
const OTHER_DATA: [&str; 2] = ["cart:7", "page:1"];

/// Writes a lock that is a string.
async fn write_string_lock(client: &mut MultiplexedConnection) {
    let () = client.pset_ex(STRING_LOCK, TOKEN, 60_000).await.unwrap();
}

/// Writes a lock of Redisson, which is a hash.
async fn write_hash_lock(client: &mut MultiplexedConnection) {
    let owner = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
    let () = client.hset(HASH_LOCK, owner, 1).await.unwrap();
    let () = client.pexpire(HASH_LOCK, 60_000).await.unwrap();
}

async fn write_other_data(client: &mut MultiplexedConnection, name: &str) {
    let () = client.set_ex(name, "{\"price\":7}", 60).await.unwrap();
}

/// Writes locks and other data to one server.
async fn write_all(client: &mut MultiplexedConnection) {
    write_string_lock(client).await;
    write_hash_lock(client).await;
    for name in OTHER_DATA {
        write_other_data(client, name).await;
    }
}

/// Starts a console with this group only, and checks that it lists the locks and nothing else.
async fn check_listed(config: GroupConfig) {
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    wait_until("both locks are listed", async || {
        listed(&api, "").await.len() >= 2
    })
    .await;
    wait_for_passes(&api, 2).await;
    let expected = [(STRING_LOCK, "rslock"), (HASH_LOCK, "redisson")];
    let expected = expected.map(|(name, format)| (name.to_owned(), format.to_owned()));
    assert_eq!(listed(&api, "").await, BTreeMap::from(expected));
    assert_eq!(listed(&api, "&confidence=possible").await, BTreeMap::new());
}

#[tokio::test]
async fn locks_are_found_by_value_on_redis_6_2() {
    let node = RedisNode::start_redis_6_2().await;
    write_all(&mut node.client().await).await;
    check_listed(GroupConfig::new("default", [node.url()])).await;
}

#[tokio::test]
async fn locks_are_found_by_value_on_valkey() {
    let node = RedisNode::start_valkey().await;
    write_all(&mut node.client().await).await;
    check_listed(GroupConfig::new("default", [node.url()])).await;
}

#[tokio::test]
async fn locks_are_found_by_value_in_a_cluster() {
    let cluster = RedisCluster::start().await;
    write_string_lock(&mut cluster.client_for_key(STRING_LOCK).await).await;
    write_hash_lock(&mut cluster.client_for_key(HASH_LOCK).await).await;
    for name in OTHER_DATA {
        write_other_data(&mut cluster.client_for_key(name).await, name).await;
    }
    check_listed(cluster.config()).await;
}

#[tokio::test]
async fn locks_are_found_by_value_on_a_replica() {
    let primary = RedisNode::start().await;
    write_all(&mut primary.client().await).await;
    let replica = start_replica_of(&primary).await;
    let node = NodeConfig {
        read_from: Some(replica.url()),
        ..NodeConfig::new("a", primary.url())
    };
    let config = GroupConfig {
        nodes: vec![node],
        ..GroupConfig::new("default", [primary.url()])
    };
    check_listed(config).await;
    let mut client = primary.client().await;
    let stats: String = run_command(&mut client, "INFO commandstats").await;
    assert!(!stats.contains("cmdstat_scan:"), "{stats}");
}

#[tokio::test]
async fn locks_are_found_by_value_with_the_documented_permissions() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    write_all(&mut client).await;
    let (_, rules) = rules_in_section("## To watch and to lock\n").swap_remove(0);
    let rules = rules.into_iter().collect::<Vec<_>>().join(" ");
    let user = format!("ACL SETUSER watcher on >secret resetchannels -@all ~* {rules}");
    let () = run_command(&mut client, &user).await;
    let url = format!("redis://watcher:secret@127.0.0.1:{}", nodes.0[0].port());
    check_listed(GroupConfig::new(
        "default",
        [RedisUrl::parse(&url).unwrap()],
    ))
    .await;
}
