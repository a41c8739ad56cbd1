//! The console is killed twenty times during two thousand operations: every change of a node is in
//! the audit log, no committed entry is lost, and every operation gets an end.

use std::collections::BTreeSet;

use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::Storage;
use serde_json::{Value, json};
use sqlx::Row as _;
use tokio::time::sleep;

use super::{ServeProcess, serve_command, write_config};
use crate::api::lock_path;
use crate::support::audit::{entries, verify_chain};
use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{WAIT_TIMEOUT, wait_for, wait_until};

const KILLS: usize = 20;
const WORKERS: usize = 4;
/// The number of acquires, and of force-releases, of each worker in a round.
const OPERATIONS_PER_WORKER: usize = 13;

/// Acquires new locks, force-releases stuck ones, and sends the key of each successful request.
async fn acquire_and_force_release(
    api: ApiClient,
    name: String,
    stuck_locks: Vec<(String, Value)>,
    succeeded: tokio::sync::mpsc::UnboundedSender<String>,
) {
    for (n, (stuck, fingerprint)) in stuck_locks.into_iter().enumerate() {
        let key = format!("lock:ours:{name}:{n}");
        let acquire = lock_path("orders", key.as_bytes(), "/acquire");
        if api
            .post(&acquire, json!({"ttl_ms": 3_600_000}))
            .await
            .status
            == 201
        {
            succeeded.send(key).unwrap();
        }
        let force = lock_path("orders", stuck.as_bytes(), "/force-release");
        let body = json!({"fingerprint": fingerprint, "reason": "it is stuck"});
        if api.post(&force, body).await.status == 200 {
            succeeded.send(stuck).unwrap();
        }
    }
}

/// The number of entries; `None` while the storage cannot be read. It stays open, because opening it
/// takes longer than a request.
async fn count_entries(storage: &Storage) -> Option<i64> {
    let mut db = storage.read().await.ok()?;
    let count = sqlx::query("SELECT COUNT(*) FROM audit_entry");
    Some(count.fetch_one(&mut *db).await.unwrap().get(0))
}

#[tokio::test]
async fn after_twenty_kills_every_operation_that_changed_a_node_has_a_begin_and_an_end() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    write_config(directory.path(), &nodes, "sqlite:lockkeeper.db");
    let file = directory.path().join("lockkeeper.db");
    let (success_sender, mut successes) = tokio::sync::mpsc::unbounded_channel();
    for round in 0..KILLS {
        let mut stuck_locks = Vec::new();
        for n in 0..WORKERS * OPERATIONS_PER_WORKER {
            let (key, owner) = (
                format!("lock:stuck:{round}:{n}"),
                format!("dead-{round}-{n}"),
            );
            nodes.set(0, key.as_bytes(), owner.as_bytes(), None).await;
            let fingerprint =
                lockkeeper::server::stores::redis::formats::fingerprint(owner.as_bytes());
            stuck_locks.push((key, json!(fingerprint)));
        }
        let mut console = ServeProcess::start(serve_command(), directory.path()).await;
        let storage = Storage::new(&StorageConfig::sqlite(&file), false);
        let before = wait_for("the entries", async || count_entries(&storage).await).await;
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            let stuck_locks = stuck_locks.split_off(stuck_locks.len() - OPERATIONS_PER_WORKER);
            let api = console.api.with_local_address([127, 0, 0, 1]);
            workers.spawn(acquire_and_force_release(
                api,
                format!("{round}:{worker}"),
                stuck_locks,
                success_sender.clone(),
            ));
        }
        // Kill at a random entry between the first and the last. Each operation writes two entries,
        // or fewer if it is rejected, because a busy machine did not record its start in time.
        let all_entries = i64::try_from(4 * WORKERS * OPERATIONS_PER_WORKER).unwrap();
        let new_entries = rand::random_range(1..all_entries - 8);
        let wait_for_entries = async {
            let has_too_few = |count| count < before + new_entries;
            while count_entries(&storage).await.is_none_or(has_too_few) {
                tokio::task::yield_now().await;
            }
        };
        let all_requests = async {
            while let Some(worker) = workers.join_next().await {
                worker.expect("every request has a response before the kill");
            }
        };
        tokio::select! {
            () = wait_for_entries => {}
            () = all_requests => {}
            () = sleep(WAIT_TIMEOUT) => panic!("neither the entries nor the requests are complete"),
        }
        console.child.kill().await.unwrap();
        workers.abort_all();
        while workers.join_next().await.is_some() {}
    }
    drop(success_sender);
    let _console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until("every operation has an end", async || {
        open_operations(&entries(&file).await).is_empty()
    })
    .await;
    let config = StorageConfig::sqlite(&file);
    let report = verify_chain(&config).await;
    assert!(report.is_intact(), "{report:?}");

    let entries = entries(&file).await;
    let ended = entries
        .iter()
        .filter(|entry| entry["kind"] == "end" && entry["result"] != "refused");
    let ended: BTreeSet<&str> = ended.map(|entry| entry["key"].as_str().unwrap()).collect();
    while let Some(key) = successes.recv().await {
        assert!(
            ended.contains(&*key),
            "the request for {key} succeeded and is not in the audit log"
        );
    }
    let keys = nodes.dump(0).await;
    for key in keys.keys().filter(|key| key.starts_with(b"lock:ours:")) {
        let key = String::from_utf8_lossy(key);
        assert!(
            ended.contains(&*key),
            "{key} was acquired and is not in the audit log"
        );
    }
    for round in 0..KILLS {
        for n in 0..WORKERS * OPERATIONS_PER_WORKER {
            let key = format!("lock:stuck:{round}:{n}");
            let exists = keys.contains_key(key.as_bytes());
            assert!(
                exists || ended.contains(&*key),
                "{key} was released and is not in the audit log"
            );
        }
    }
    for entry in entries.iter().filter(|entry| entry["result"] == "unknown") {
        let observed = entry["observed_after"]
            .as_array()
            .expect("an unknown end has the state that was read afterwards");
        let holds = observed[0]["outcome"] == "holds";
        let key = entry["key"].as_str().unwrap();
        assert_eq!(holds, keys.contains_key(key.as_bytes()), "{entry}");
    }
}

/// The IDs of operations with a begin entry and no end entry.
fn open_operations(entries: &[Value]) -> BTreeSet<&str> {
    let ids = |kind: &'static str| {
        let entries = entries.iter().filter(move |entry| entry["kind"] == kind);
        entries.map(|entry| entry["id"].as_str().unwrap())
    };
    let ended: BTreeSet<&str> = ids("end").collect();
    ids("begin").filter(|id| !ended.contains(id)).collect()
}
