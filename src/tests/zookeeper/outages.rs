//! Outages of servers: no lock is reported as gone while no server replies.

use serde_json::Value;

use super::{lock_url, start_console, wait_for_owner};
use crate::support::console::ApiClient;
use crate::support::lock_client::LockClient;
use crate::support::wait_for;
use crate::support::zookeeper::ZookeeperServers;

async fn lock(api: &ApiClient, key: &str) -> Value {
    let response = api.get(&lock_url(key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()
}

#[tokio::test]
async fn a_lock_is_never_gone_while_the_leader_is_replaced() {
    let mut servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    wait_for_owner(&api, "/locks/orders", "web-1").await;
    let mut events = api.subscribe("?group=zk", None).await;
    let leader = servers.leader().await;
    servers.servers[leader].kill().await;
    let next = wait_for("another leader is elected", async || {
        for (index, server) in servers.servers.iter().enumerate() {
            if index != leader && server.mode().await.as_deref() == Some("leader") {
                return Some(index);
            }
        }
        None
    })
    .await;
    wait_for("the servers are shown with their new roles", async || {
        // Each read of the lock while the servers change fails the test if the lock is gone.
        let verdict = lock(&api, "/locks/orders").await["verdict"].clone();
        assert!(verdict == "held" || verdict == "unknown", "{verdict}");
        let groups = api.get("/api/v1/groups").await.json();
        let nodes = &groups["groups"][0]["nodes"];
        let is_replaced = nodes[next]["role"] == "leader" && nodes[leader]["state"] == "down";
        (is_replaced && verdict == "held").then_some(())
    })
    .await;
    // A change after the outage is reported again.
    kazoo.send("release web-1").await;
    let gone = events
        .wait_for(|event| event.event == "change" && event.data["type"] == "gone")
        .await;
    assert_eq!(gone.data["id"]["key"], "/locks/orders");
}

#[tokio::test]
async fn a_minority_makes_a_lock_unknown() {
    let mut servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    wait_for_owner(&api, "/locks/orders", "web-1").await;
    for server in &mut servers.servers[..2] {
        server.kill().await;
    }
    wait_for("the verdict is unknown", async || {
        (lock(&api, "/locks/orders").await["verdict"] == "unknown").then_some(())
    })
    .await;
    let other = api.get(&lock_url("/locks/other")).await;
    other.assert_problem(503, "unreachable");
    servers.servers[0].restart();
    wait_for("the lock is held again", async || {
        (lock(&api, "/locks/orders").await["verdict"] == "held").then_some(())
    })
    .await;
}
