//! Sentinel groups: the console follows the primary through failovers while locks are held.

use std::time::{Duration, Instant};

use lockkeeper::domain::NodeState;
use lockkeeper::domain::reason::Reason;
use lockkeeper::server::config::NodeConfig;
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::busy_client::BusyClient;
use crate::support::console::TestConsole;
use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::{RedisNode, TestGroup, url};
use crate::support::sentinels::SentinelDeployment;
use crate::support::{wait_for, wait_until};

/// Maximum time until the console acquires locks again after the new primary accepts writes.
const MAX_RECOVERY_TIME: Duration = Duration::from_secs(5);

fn lock_path(name: &str, operation: &str) -> String {
    format!("/api/v1/groups/orders/locks/lock%3A{name}/{operation}")
}

#[tokio::test]
async fn a_failover_is_followed_within_five_seconds() {
    let mut deployment = SentinelDeployment::start().await;
    let console = TestConsole::start(vec![deployment.config()]).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000, "auto_renew": true});
    let renewed = wait_for("the primary is found", async || {
        let response = api
            .post(&lock_path("renewed", "acquire"), body.clone())
            .await;
        (response.status == 201).then_some(response)
    })
    .await;
    let busy = BusyClient::start(&api);
    busy.wait_for_acquires(20).await;

    let before = deployment.servers[0].port();
    // Writes that are not replicated yet are lost with the primary.
    let mut replica = deployment.servers[1].client().await;
    wait_until("the lock is replicated", async || {
        replica.exists("lock:renewed").await.unwrap()
    })
    .await;
    deployment.servers[0].kill().await;
    wait_until("the console marks the node as down", async || {
        api.first_node().await["state"] == "down"
    })
    .await;
    deployment.wait_for_primary_other_than(before).await;
    let promoted_at = Instant::now();
    busy.wait_for_acquires(1).await;
    let recovery_time = promoted_at.elapsed();
    assert!(recovery_time < MAX_RECOVERY_TIME, "{recovery_time:?}");
    println!("locks were acquired again {recovery_time:?} after the new primary accepted writes");

    // A second failover may happen on a busy machine.
    let node = wait_for("the console shows the new primary", async || {
        let (node, address) = (api.first_node().await, deployment.primary_address().await?);
        (node["state"] == "up" && node["address"] == address).then_some(node)
    })
    .await;
    assert_ne!(node["address"], format!("127.0.0.1:{before}"));
    assert!(node["moved"]["previous_address"].is_string(), "{node}");
    assert!(
        node["hazard_until"].is_string(),
        "the new primary may lack locks: {node}"
    );
    let lock = wait_for("the lock is read from the new primary", async || {
        let lock = api.get("/api/v1/groups/orders/locks/lock%3Arenewed").await;
        (lock.status == 200).then(|| lock.json())
    })
    .await;
    assert_eq!(lock["owner"]["fingerprint"], renewed.json()["fingerprint"]);
    assert_eq!(lock["verdict"], "held");
    let operations = busy.stop_and_verify_audit(&console).await;
    println!("{operations} operations, each with an audit entry");
}

#[tokio::test]
async fn a_manual_failover_is_followed_although_the_old_primary_stays_up() {
    let deployment = SentinelDeployment::start().await;
    let group = TestGroup::start(deployment.config());
    group.wait_until_up().await;
    let before = deployment.servers[0].port();
    deployment.sentinels[0].fail_over().await;
    let now = deployment.wait_for_primary_other_than(before).await;
    let view = group
        .wait_for_node(0, |view| {
            view.state == NodeState::Up && view.address == format!("127.0.0.1:{now}")
        })
        .await;
    assert_eq!(
        view.moved.unwrap().previous_address,
        format!("127.0.0.1:{before}")
    );
}

#[tokio::test]
async fn without_sentinels_a_known_primary_is_kept_and_an_unknown_one_is_reported() {
    let mut deployment = SentinelDeployment::start().await;
    let group = TestGroup::start(deployment.config());
    group.wait_until_up().await;
    for sentinel in &mut deployment.sentinels {
        sentinel.kill().await;
    }
    let started_later = TestGroup::start(deployment.config());
    let view = started_later
        .wait_for_node(0, |view| {
            matches!(
                &view.reason,
                Some(Reason::SentinelsSilent { sentinels, .. })
                    if sentinels.iter().any(|sentinel| *sentinel.reply == Reason::ConnectionRefused)
            )
        })
        .await;
    let Some(Reason::SentinelsSilent { primary, .. }) = &view.reason else {
        panic!("{:?}", view.reason)
    };
    assert_eq!(primary, "mymaster");
    assert_eq!(view.address, "mymaster");
    assert_eq!(group.node_views()[0].state, NodeState::Up);
}

#[tokio::test]
async fn a_single_sentinel_with_a_wrong_address_is_outvoted() {
    let deployment = SentinelDeployment::start().await;
    let another = RedisNode::start().await;
    let wrong_sentinel = FakeServer::sentinel_with_primary(another.port()).await;
    let mut config = deployment.config();
    config.sentinels[0] = NodeConfig::new("s0", url(&wrong_sentinel.url()));
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    wait_until("a lock is acquired", async || {
        let body = json!({"ttl_ms": 60_000});
        api.post(&lock_path("a", "acquire"), body).await.status == 201
    })
    .await;
    let mut primary = deployment.servers[0].client().await;
    assert!(primary.exists::<_, bool>("lock:a").await.unwrap());
    let mut other_client = another.client().await;
    assert!(!other_client.exists::<_, bool>("lock:a").await.unwrap());
    assert_eq!(
        api.first_node().await["address"],
        format!("127.0.0.1:{}", deployment.servers[0].port())
    );
}
