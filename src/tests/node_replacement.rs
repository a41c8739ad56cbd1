//! Nodes of a Redlock group are replaced by empty ones, one after the other, under constant
//! acquires.

use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::{Value, json};

use crate::api::{group_config, lock_path};
use crate::support::busy_client::BusyClient;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Maximum time until the console uses a node that is reachable again; on an idle machine it takes
/// a tenth of a second.
const MAX_RECOVERY_TIME: Duration = Duration::from_secs(5);
/// A node that may have lost locks does not count for the quorum for this long.
const MAX_LEASE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn replacing_nodes_one_by_one_keeps_locks_available_and_the_audit_log_complete() {
    let mut nodes = RedisNodes::start(5).await;
    let mut config = GroupConfig {
        environment: lockkeeper::domain::Environment::Development,
        ..group_config("orders", &nodes)
    };
    config.locking.max_lease = MAX_LEASE;
    let console = TestConsole::start(vec![config])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let node = async |n: usize| -> Value {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"][0]["nodes"][n].clone()
    };
    let body = json!({"ttl_ms": 10_000, "auto_renew": true});
    let path = lock_path("orders", b"lock:renewed", "/acquire");
    let renewed = api.post(&path, body).await;
    assert_eq!(renewed.status, 201, "{}", renewed.text);
    let busy = BusyClient::start(&api);
    busy.wait_for_acquires(20).await;

    // Two of five nodes: with a third one excluded from the quorum, no majority would be left.
    for n in [1, 3] {
        let before = node(n).await["run_id"].clone();
        nodes.0[n].kill().await;
        wait_until("the console marks the node as down", async || {
            node(n).await["state"] == "down"
        })
        .await;
        busy.wait_for_acquires(10).await;
        nodes.0[n].restart_empty().await;
        let reachable_since = Instant::now();
        wait_until("the new node is used", async || {
            let node = node(n).await;
            node["state"] == "up" && node["run_id"] != before
        })
        .await;
        let recovery_time = reachable_since.elapsed();
        assert!(recovery_time < MAX_RECOVERY_TIME, "{recovery_time:?}");
        println!(
            "node {n} was replaced and in use {recovery_time:?} after the new server was reachable"
        );
        assert_eq!(
            node(n).await["quorum_eligible"],
            false,
            "the node may have lost locks"
        );
        busy.wait_for_acquires(10).await;
    }
    for n in [1, 3] {
        wait_until("the node counts for the quorum again", async || {
            node(n).await["quorum_eligible"] == true
        })
        .await;
    }
    busy.wait_for_acquires(10).await;
    let lock = api
        .get(&lock_path("orders", b"lock:renewed", ""))
        .await
        .json();
    assert_eq!(lock["verdict"], "held", "{lock}");
    assert_eq!(lock["owner"]["fingerprint"], renewed.json()["fingerprint"]);
    let operations = busy.stop_and_verify_audit(&console).await;
    println!("{operations} operations, each with an audit entry");
}
