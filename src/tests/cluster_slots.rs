//! Slot migration while locks are held: a migration is not a release, and a lock remains usable at
//! every step.

use std::time::Instant;

use redis::AsyncCommands as _;
use serde_json::json;

use crate::cluster::{MAX_RECOVERY_TIME, acquire, fetch_lock, operation_path, start_console};
use crate::support::busy_client::BusyClient;
use crate::support::clusters::RedisCluster;
use crate::support::console::{EventStream, TestConsole};
use crate::support::{wait_for, wait_until};

/// Collects the events of the lock `name` until an event of the lock `end` arrives.
async fn events_until(events: &mut EventStream, name: &str, end: &str) -> Vec<String> {
    let mut collected = Vec::new();
    loop {
        let event = events.next().await.expect("the event stream is open");
        let text = event.data.to_string();
        if text.contains(&format!("\"{end}\"")) {
            return collected;
        }
        if text.contains(&format!("\"{name}\"")) {
            collected.push(text);
        }
    }
}

#[tokio::test]
async fn a_migrated_slot_is_not_a_release_and_its_lock_remains_usable() {
    let cluster = RedisCluster::start().await;
    let (console, api) = start_console(&cluster, 3).await;
    let name = "lock:moving";
    let from = cluster.initial_owner(name).await;
    let to = (from + 1) % 3;
    let params = json!({"ttl_ms": 4_500, "auto_renew": true});
    let acquired = acquire(&api, name, params).await;
    let before = wait_for("the lock is observed", async || {
        fetch_lock(&api, name).await
    })
    .await;
    let assert_unchanged = async |step: &str| {
        let now = fetch_lock(&api, name).await;
        let now = now.unwrap_or_else(|| panic!("{step}: the lock is not observed"));
        assert_eq!(now["verdict"], "held", "{step}: {now}");
        assert_eq!(now["owner"], before["owner"], "{step}");
        assert_eq!(now["acquired_at"], before["acquired_at"], "{step}");
        let conflict = api
            .post(&operation_path(name, "acquire"), json!({"ttl_ms": 1_000}))
            .await;
        assert_eq!(conflict.problem_code(), "held", "{step}");
    };
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();

    cluster.begin_slot_migration(name, from, to).await;
    assert_unchanged("the migration has begun").await;
    cluster.migrate_keys(name, from, to).await;
    assert_unchanged("the key has been migrated, the slot has not").await;
    let token = json!({"token": acquired["token"], "ttl_ms": 3_000});
    let extended = api.post(&operation_path(name, "extend"), token).await;
    assert_eq!(
        extended.status, 200,
        "during the migration: {}",
        extended.text
    );
    cluster.finish_slot_migration(name, from, to).await;
    assert_unchanged("the migration is finished").await;
    wait_until("the lock is renewed on the new primary", async || {
        let lock = fetch_lock(&api, name).await.unwrap();
        let target = format!("127.0.0.1:{}", cluster.servers[to].port());
        let node = lock["nodes"][0]["node"].as_str().unwrap();
        node == target || node == "a" && to == 0
    })
    .await;

    let mut other_client = cluster.client_for_key("lock:end").await;
    let () = other_client.pset_ex("lock:end", "x", 60_000).await.unwrap();
    for event in events_until(&mut events, name, "lock:end").await {
        assert!(!event.contains("\"gone\""), "{event}");
        assert!(!event.contains("owner-changed"), "{event}");
    }
    let released = api
        .post(
            &operation_path(name, "release"),
            json!({"token": acquired["token"]}),
        )
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn locks_are_acquired_in_a_slot_while_it_is_migrated() {
    let cluster = RedisCluster::start().await;
    let (console, api) = start_console(&cluster, 3).await;
    let busy = BusyClient::start_with_prefix(&api, "lock:{moving}:");
    busy.wait_for_acquires(20).await;
    let name = "lock:{moving}:";
    let source = cluster.initial_owner(name).await;
    for (from, to) in [(source, (source + 1) % 3), ((source + 1) % 3, source)] {
        cluster.begin_slot_migration(name, from, to).await;
        cluster.migrate_keys(name, from, to).await;
        cluster.finish_slot_migration(name, from, to).await;
        let moved = Instant::now();
        busy.wait_for_acquires(1).await;
        let elapsed = moved.elapsed();
        assert!(elapsed < MAX_RECOVERY_TIME, "{elapsed:?}");
        println!("a lock was acquired in the slot {elapsed:?} after its migration");
        busy.wait_for_acquires(20).await;
    }
    let operation_count = busy.stop_and_verify_audit(&console).await;
    println!("{operation_count} operations, each with its audit entry");
}

#[tokio::test]
async fn an_atomic_slot_migration_of_valkey_is_not_a_release() {
    let cluster = RedisCluster::start_valkey().await;
    let (console, api) = start_console(&cluster, 3).await;
    let name = "lock:moving";
    let from = cluster.initial_owner(name).await;
    let to = (from + 1) % 3;
    let acquired = acquire(&api, name, json!({"ttl_ms": 60_000})).await;
    let before = wait_for("the lock is observed", async || {
        fetch_lock(&api, name).await
    })
    .await;
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();

    cluster.migrate_slot_atomically(name, from, to).await;
    let now = fetch_lock(&api, name).await.expect("the lock is observed");
    assert_eq!(
        (&now["owner"], &now["verdict"]),
        (&before["owner"], &json!("held"))
    );
    assert_eq!(now["acquired_at"], before["acquired_at"]);
    let mut other_client = cluster.client_for_key("lock:end").await;
    let () = other_client.pset_ex("lock:end", "x", 60_000).await.unwrap();
    for event in events_until(&mut events, name, "lock:end").await {
        assert!(!event.contains("\"gone\""), "{event}");
        assert!(!event.contains("owner-changed"), "{event}");
    }
    let token = json!({"token": acquired["token"]});
    let released = api.post(&operation_path(name, "release"), token).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_free_lock_without_fencing_is_acquired_while_its_slot_is_migrated() {
    let cluster = RedisCluster::start().await;
    let mut unfenced = cluster.config();
    unfenced.locking.fencing = false;
    let console = TestConsole::start(vec![unfenced]).await;
    let api = console.api();
    let name = "lock:new";
    let from = cluster.initial_owner(name).await;
    let to = (from + 1) % 3;
    cluster.begin_slot_migration(name, from, to).await;
    acquire(&api, name, json!({"ttl_ms": 30_000})).await;

    // A fencing token needs a second key, and Redis rejects multi-key commands with missing keys
    // (TRYAGAIN) in a slot that is being migrated.
    let fenced = TestConsole::start(vec![cluster.config()]).await;
    let (api, name) = (fenced.api(), "{lock:new}:beside");
    let params = json!({"ttl_ms": 30_000});
    let rejected = api
        .post(&operation_path(name, "acquire"), params.clone())
        .await;
    assert_eq!(rejected.problem_code(), "no-quorum");
    assert!(
        rejected.text.contains("being migrated"),
        "{}",
        rejected.text
    );
    cluster.migrate_keys(name, from, to).await;
    cluster.finish_slot_migration(name, from, to).await;
    acquire(&api, name, params).await;
}

#[tokio::test]
async fn a_migrated_lock_is_force_released_on_the_node_that_has_it() {
    let cluster = RedisCluster::start().await;
    let (_console, api) = start_console(&cluster, 3).await;
    let name = "lock:stuck";
    let from = cluster.initial_owner(name).await;
    let to = (from + 1) % 3;
    let mut client = cluster.client_for_key(name).await;
    let () = client.pset_ex(name, "client-1", 60_000).await.unwrap();
    cluster.begin_slot_migration(name, from, to).await;
    cluster.migrate_keys(name, from, to).await;
    let observed = wait_for("the lock is observed", async || {
        fetch_lock(&api, name).await
    })
    .await;
    let forced = api
        .post(
            &operation_path(name, "force-release"),
            json!({"fingerprint": observed["owner"]["fingerprint"], "reason": "stuck"}),
        )
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(fetch_lock(&api, name).await, None);
}
