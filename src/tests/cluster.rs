//! Groups of kind `cluster`: every primary is observed, and each lock is on the primary that serves
//! its slot.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockkeeper::domain::NodeState;
use lockkeeper::domain::reason::Reason;
use lockkeeper::server::config::GroupConfig;
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::busy_client::BusyClient;
use crate::support::clusters::RedisCluster;
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::{RedisNode, TestGroup};
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

/// The time within which the console recovers after the cluster has recovered.
pub const MAX_RECOVERY_TIME: Duration = Duration::from_secs(5);

pub fn operation_path(name: &str, operation: &str) -> String {
    let name = name.replace('{', "%7B").replace('}', "%7D");
    format!("/api/v1/groups/orders/locks/{name}/{operation}")
}

pub async fn fetch_lock(api: &ApiClient, name: &str) -> Option<Value> {
    let response = api
        .get(&format!("/api/v1/groups/orders/locks/{name}"))
        .await;
    (response.status == 200).then(|| response.json())
}

pub async fn acquire(api: &ApiClient, name: &str, params: Value) -> Value {
    let acquired = api.post(&operation_path(name, "acquire"), params).await;
    assert_eq!(acquired.status, 201, "{name}: {}", acquired.text);
    acquired.json()
}

async fn fetch_nodes(api: &ApiClient) -> Vec<Value> {
    let groups = api.get("/api/v1/groups").await.json();
    groups["groups"][0]["nodes"].as_array().unwrap().clone()
}

/// Starts a console and waits until it tracks every primary.
pub async fn start_console(cluster: &RedisCluster, primaries: usize) -> (TestConsole, ApiClient) {
    let console = TestConsole::start(vec![cluster.config()]).await;
    let api = console.api();
    wait_until("every primary is known and tracked", async || {
        let nodes = fetch_nodes(&api).await;
        nodes.len() == primaries && nodes.iter().all(|node| node["feed"] == "tracking")
    })
    .await;
    (console, api)
}

#[tokio::test]
async fn locks_on_every_primary_are_listed_acquired_extended_and_released() {
    let cluster = RedisCluster::start().await;
    let (_console, api) = start_console(&cluster, 3).await;
    let names: Vec<String> = (0..12).map(|n| format!("lock:{n}")).collect();
    let mut owners = BTreeSet::new();
    for name in &names {
        owners.insert(cluster.initial_owner(name).await);
        let mut client = cluster.client_for_key(name).await;
        let () = client.pset_ex(name, "client-1", 60_000).await.unwrap();
    }
    assert_eq!(owners.len(), 3, "there is a lock on every primary");
    wait_until("all are listed as held", async || {
        let locks = api.get("/api/v1/locks?verdict=held").await.json();
        locks["total"] == names.len()
    })
    .await;
    let group = &api.get("/api/v1/groups").await.json()["groups"][0];
    assert_eq!(
        (&group["kind"], &group["quorum"]),
        (&json!("cluster"), &json!(1))
    );

    for name in (0..12).map(|n| format!("lock:mine:{n}")) {
        let acquired = acquire(&api, &name, json!({"ttl_ms": 20_000})).await;
        assert!(acquired["fencing_token"].is_u64(), "{acquired}");
        let mut client = cluster.client_for_key(&name).await;
        assert_eq!(
            client.get::<_, String>(&name).await.unwrap(),
            acquired["token"]
        );
        let conflict = api
            .post(&operation_path(&name, "acquire"), json!({"ttl_ms": 20_000}))
            .await;
        assert_eq!(conflict.problem_code(), "held");
        let token = json!({"token": acquired["token"], "ttl_ms": 50_000});
        let extended = api.post(&operation_path(&name, "extend"), token).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        assert_eq!(extended.json()["nodes"].as_array().unwrap().len(), 1);
        let token = json!({"token": acquired["token"]});
        let released = api.post(&operation_path(&name, "release"), token).await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert!(!client.exists::<_, bool>(&name).await.unwrap());
    }
}

#[tokio::test]
async fn a_failover_is_followed_within_five_seconds_and_other_primaries_are_unaffected() {
    let mut cluster = RedisCluster::start_with_replicas().await;
    let (console, api) = start_console(&cluster, 3).await;
    let busy = BusyClient::start(&api);
    busy.wait_for_acquires(20).await;
    let lost_lock = "lock:a";
    let lost_primary = cluster.initial_owner(lost_lock).await;
    let mut names = (0..).map(|n| format!("lock:other:{n}"));
    let other_lock = loop {
        let name = names.next().unwrap();
        if cluster.initial_owner(&name).await != lost_primary {
            break name;
        }
    };
    let acquired = acquire(&api, lost_lock, json!({"ttl_ms": 60_000})).await;
    acquire(
        &api,
        &other_lock,
        json!({"ttl_ms": 60_000, "auto_renew": true}),
    )
    .await;
    let mut replica = cluster.servers[lost_primary + 3].client().await;
    let () = run_command(&mut replica, "READONLY").await;
    wait_until("the replica has the lock", async || {
        replica.exists(lost_lock).await.unwrap()
    })
    .await;

    cluster.servers[lost_primary].kill().await;
    wait_until("the verdict is unknown", async || {
        let response = api
            .get(&format!("/api/v1/groups/orders/locks/{lost_lock}"))
            .await;
        response.status == 503 || response.json()["verdict"] == "unknown"
    })
    .await;
    assert_eq!(
        fetch_lock(&api, &other_lock).await.unwrap()["verdict"],
        "held"
    );
    wait_until("the replica accepts writes", async || {
        let result: redis::RedisResult<()> = replica.pexpire(lost_lock, 60_000).await;
        result.is_ok()
    })
    .await;
    let recovered_at = Instant::now();
    let observed = wait_for("the lock is observed on the new primary", async || {
        fetch_lock(&api, lost_lock)
            .await
            .filter(|lock| lock["verdict"] == "held")
    })
    .await;
    let released = wait_for("the lock can be released", async || {
        let token = json!({"token": acquired["token"]});
        let released = api.post(&operation_path(lost_lock, "release"), token).await;
        (released.status == 200).then_some(released)
    })
    .await;
    let elapsed = recovered_at.elapsed();
    assert!(elapsed < MAX_RECOVERY_TIME, "{elapsed:?}");
    println!(
        "the lock was observed and released {elapsed:?} after its new primary accepted writes"
    );
    assert_eq!(observed["owner"]["fingerprint"], acquired["fingerprint"]);
    let new_primary = format!("127.0.0.1:{}", cluster.servers[lost_primary + 3].port());
    assert_eq!(released.json()["nodes"][0]["node"], new_primary);
    wait_until("the nodes are the current primaries", async || {
        let nodes = fetch_nodes(&api).await;
        nodes.len() == 3
            && nodes
                .iter()
                .all(|node| node["state"] == "up" && node["role"] == "primary")
    })
    .await;
    assert_eq!(
        fetch_lock(&api, &other_lock).await.unwrap()["verdict"],
        "held"
    );
    busy.wait_for_acquires(20).await;
    let operation_count = busy.stop_and_verify_audit(&console).await;
    println!("{operation_count} operations, each with its audit entry");
}

#[tokio::test]
async fn a_server_that_joins_and_takes_over_slots_is_observed() {
    let mut cluster = RedisCluster::start().await;
    let (console, api) = start_console(&cluster, 3).await;
    let busy = BusyClient::start(&api);
    let name = "lock:new-home";
    let from = cluster.initial_owner(name).await;
    let mut client = cluster.client_for_key(name).await;
    let () = client.pset_ex(name, "client-1", 60_000).await.unwrap();
    let to = cluster.add_server().await;
    cluster.begin_slot_migration(name, from, to).await;
    cluster.migrate_keys(name, from, to).await;
    cluster.finish_slot_migration(name, from, to).await;
    let moved = Instant::now();
    let new_node = format!("127.0.0.1:{}", cluster.servers[to].port());
    wait_until("the new node is listed and tracked", async || {
        let nodes = fetch_nodes(&api).await;
        nodes
            .iter()
            .any(|node| node["name"] == new_node && node["feed"] == "tracking")
    })
    .await;
    let elapsed = moved.elapsed();
    assert!(elapsed < MAX_RECOVERY_TIME, "{elapsed:?}");
    println!("the new node was tracked {elapsed:?} after it received its first slot");
    assert_eq!(
        fetch_lock(&api, name).await.unwrap()["nodes"][0]["node"],
        new_node
    );

    cluster.begin_slot_migration(name, to, from).await;
    cluster.migrate_keys(name, to, from).await;
    cluster.finish_slot_migration(name, to, from).await;
    wait_until(
        "a node without slots is removed after a while",
        async || {
            !fetch_nodes(&api)
                .await
                .iter()
                .any(|node| node["name"] == new_node)
        },
    )
    .await;
    assert_eq!(fetch_lock(&api, name).await.unwrap()["verdict"], "held");
    busy.wait_for_acquires(20).await;
    busy.stop_and_verify_audit(&console).await;
}

#[tokio::test]
async fn a_server_that_does_not_match_the_kind_of_its_group_is_refused_with_advice() {
    let cluster = RedisCluster::start().await;
    let standalone = TestGroup::start(GroupConfig::new("orders", [cluster.servers[0].url()]));
    let view = standalone
        .wait_for_node(0, |view| view.since.is_some())
        .await;
    assert_eq!(view.state, NodeState::Refused);
    assert_eq!(view.reason, Some(Reason::UnexpectedClusterNode));

    let node = RedisNode::start().await;
    let mut config = cluster.config();
    config.nodes[0].url = node.url();
    let group = TestGroup::start(config);
    let view = group.wait_for_node(0, |view| view.since.is_some()).await;
    assert_eq!(view.state, NodeState::Refused);
    assert_eq!(view.reason, Some(Reason::NotAClusterNode));
}
