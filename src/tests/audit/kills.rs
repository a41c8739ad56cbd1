//! The program is killed twenty times in the middle of two thousand operations: what changed a node is in the audit, nothing that was
//! committed is lost, and nothing is left open.

use std::collections::BTreeSet;
use std::path::Path;

use lockkeeper::server::config::StorageConfig;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Served, configure, serve};
use crate::api::lock_path;
use crate::support::audit::{entries, verified};
use crate::support::console::Person;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

const KILLS: usize = 20;
const WORKERS: usize = 4;
/// Each worker acquires and releases by force as often as this in a round.
const EACH: usize = 13;

/// Acquires, and releases of locks of others; says which requests were answered.
async fn act_on(
    person: Person,
    name: String,
    foreign: Vec<(String, Value)>,
    answered: tokio::sync::mpsc::UnboundedSender<String>,
) {
    for (n, (stuck, fingerprint)) in foreign.into_iter().enumerate() {
        let key = format!("lock:ours:{name}:{n}");
        let acquire = lock_path("orders", key.as_bytes(), "/acquire");
        if person
            .post(&acquire, json!({"ttl_ms": 3_600_000}))
            .await
            .status
            == 201
        {
            answered.send(key).unwrap();
        }
        let force = lock_path("orders", stuck.as_bytes(), "/force-release");
        let body = json!({"fingerprint": fingerprint, "reason": "it is stuck"});
        if person.post(&force, body).await.status == 200 {
            answered.send(stuck).unwrap();
        }
    }
}

async fn count(file: &Path) -> usize {
    entries(file).await.len()
}

#[tokio::test]
async fn after_twenty_kills_every_operation_that_changed_a_node_has_its_entry_and_its_end() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &nodes, "sqlite:lockkeeper.db");
    let file = folder.path().join("lockkeeper.db");
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    for round in 0..KILLS {
        let mut rest = Vec::new();
        for n in 0..WORKERS * EACH {
            let (key, owner) = (
                format!("lock:stuck:{round}:{n}"),
                format!("dead-{round}-{n}"),
            );
            nodes.set(0, key.as_bytes(), owner.as_bytes(), None).await;
            let fingerprint = lockkeeper::server::formats::fingerprint(owner.as_bytes());
            rest.push((key, json!(fingerprint)));
        }
        let mut served = Served::start(serve(), folder.path()).await;
        let before = count(&file).await;
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            let theirs = rest.split_off(rest.len() - EACH);
            let person = served.person.calling_from([127, 0, 0, 1]);
            workers.spawn(act_on(
                person,
                format!("{round}:{worker}"),
                theirs,
                tell.clone(),
            ));
        }
        // Anywhere between the first and the last: each has a beginning and an end.
        let more = rand::random_range(1..4 * WORKERS * EACH - 8);
        let so_much_is_written = async {
            while count(&file).await < before + more {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, so_much_is_written).await.unwrap();
        served.child.kill().await.unwrap();
        workers.abort_all();
        while workers.join_next().await.is_some() {}
    }
    drop(tell);

    let _served = Served::start(serve(), folder.path()).await;
    eventually_is("every operation has an end", async || {
        open(&entries(&file).await).is_empty()
    })
    .await;
    let config = StorageConfig::file(&file);
    let verified = verified(&config).await;
    assert!(verified.is_whole(), "{verified:?}");

    let entries = entries(&file).await;
    let ended = entries
        .iter()
        .filter(|entry| entry["line"] == "end" && entry["end"] != "refused");
    let ended: BTreeSet<&str> = ended.map(|entry| entry["key"].as_str().unwrap()).collect();
    while let Some(key) = told.recv().await {
        assert!(
            ended.contains(&*key),
            "{key} was answered and is not in the audit"
        );
    }
    let keys = nodes.dump(0).await;
    for key in keys.keys().filter(|key| key.starts_with(b"lock:ours:")) {
        let key = String::from_utf8_lossy(key);
        assert!(
            ended.contains(&*key),
            "{key} was taken and is not in the audit"
        );
    }
    for round in 0..KILLS {
        for n in 0..WORKERS * EACH {
            let key = format!("lock:stuck:{round}:{n}");
            let is_there = keys.contains_key(key.as_bytes());
            assert!(
                is_there || ended.contains(&*key),
                "{key} was released and is not in the audit"
            );
        }
    }
    for entry in entries.iter().filter(|entry| entry["end"] == "unknown") {
        let seen = entry["seen"]
            .as_array()
            .expect("what was found afterwards is told");
        let holds = seen[0]["outcome"] == "holds";
        let key = entry["key"].as_str().unwrap();
        assert_eq!(holds, keys.contains_key(key.as_bytes()), "{entry}");
    }
}

/// The operations that were begun and have no end.
fn open(entries: &[Value]) -> BTreeSet<&str> {
    let of = |kind: &'static str| {
        let of_kind = entries.iter().filter(move |entry| entry["line"] == kind);
        of_kind.map(|entry| entry["id"].as_str().unwrap())
    };
    let ended: BTreeSet<&str> = of("end").collect();
    of("begin").filter(|id| !ended.contains(id)).collect()
}
