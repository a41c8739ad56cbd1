//! The program is killed at any moment of hundreds of acts: what changed a node is in the audit, and nothing is left open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use tokio::time::timeout;

use lockkeeper::server::audit::verify;

use super::{Served, acts, configure, serve};
use crate::api::lock_path;
use crate::support::console::Person;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

/// Acts without end, each on a lock of its own: acquires, and releases of locks of others.
async fn act_on(person: Person, name: String, foreign: Vec<(String, Value)>) {
    for (n, (stuck, fingerprint)) in foreign.into_iter().enumerate() {
        let key = format!("lock:ours:{name}:{n}");
        let acquire = lock_path("orders", key.as_bytes(), "/acquire");
        person.post(&acquire, json!({"ttl_ms": 3_600_000})).await;
        let force = lock_path("orders", stuck.as_bytes(), "/force-release");
        let body = json!({"fingerprint": fingerprint, "reason": "it is stuck"});
        person.post(&force, body).await;
    }
}

#[tokio::test]
async fn after_a_kill_every_act_that_changed_a_node_has_its_line_and_its_end() {
    const ACTS: usize = 500;
    const WORKERS: usize = 4;
    const EACH: usize = 25;
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &nodes, "file = \"audit.jsonl\"");
    let file = folder.path().join("audit.jsonl");
    let mut stuck = Vec::new();
    let mut rounds = 0;
    while count(&file, "begin") < ACTS {
        let round = rounds;
        rounds += 1;
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
        stuck.extend(rest.clone());
        let mut served = Served::start(serve(), folder.path()).await;
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            let theirs = rest.split_off(rest.len() - EACH);
            let person = served.person.calling_from([127, 0, 0, 1]);
            workers.spawn(act_on(person, format!("{round}:{worker}"), theirs));
        }
        // Anywhere between the first act and the last: each worker does two at a time, and each has a beginning and an end.
        let lines_then = rand::random_range(1..4 * WORKERS * EACH);
        let before = count_lines(&file);
        let so_much_is_written = async {
            while count_lines(&file) < before + lines_then {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, so_much_is_written).await.unwrap();
        served.child.kill().await.unwrap();
        workers.abort_all();
        while workers.join_next().await.is_some() {}
    }

    let served = Served::start(serve(), folder.path()).await;
    let marks = || {
        let names = std::fs::read_dir(folder.path()).unwrap().flatten();
        names
            .filter(|entry| entry.file_name().to_string_lossy().contains(".run-"))
            .count()
    };
    // The program that lives has its own.
    eventually_is("every act has an end and no mark is left", async || {
        marks() <= 1 && open(&file).is_empty()
    })
    .await;
    let verified = verify(file.clone(), None).unwrap();
    assert!(verified.is_whole(), "{verified:?}");

    let told = acts(&served.person, "?limit=1000").await;
    let on = |kind: &str| -> BTreeSet<String> {
        told.iter()
            .filter(|act| act["act"] == kind && act["end"] != "refused")
            .map(|act| act["key"].as_str().unwrap().to_owned())
            .collect()
    };
    let keys = nodes.dump(0).await;
    let acquired = on("acquire");
    let ours = keys.keys().filter(|key| key.starts_with(b"lock:ours:"));
    let mut changed = 0;
    for key in ours {
        let key = String::from_utf8_lossy(key).into_owned();
        assert!(
            acquired.contains(&key),
            "{key} was taken and is not in the audit"
        );
        changed += 1;
    }
    let forced = on("force-release");
    for (key, _) in &stuck {
        if !keys.contains_key(key.as_bytes()) {
            assert!(
                forced.contains(key),
                "{key} was released and is not in the audit"
            );
            changed += 1;
        }
    }
    // Of those that were cut short, at most as many as there were workers a round.
    assert!(told.len() >= ACTS, "{} acts were tried", told.len());
    let cut = rounds * WORKERS;
    assert!(
        changed >= told.len() - cut,
        "{changed} locks were changed by {} acts",
        told.len()
    );
    let unknown: Vec<&Value> = told.iter().filter(|act| act["end"] == "unknown").collect();
    for act in unknown {
        let seen = act["seen"]
            .as_array()
            .expect("what was found afterwards is told");
        let key = act["key"].as_str().unwrap();
        let holds = seen[0]["outcome"] == "holds";
        assert_eq!(holds, keys.contains_key(key.as_bytes()), "{act}");
    }
}

fn count_lines(file: &Path) -> usize {
    let text = std::fs::read(file).unwrap_or_default();
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// How many lines of this kind there are.
fn count(file: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["line"] == kind).count()
}

/// The acts that were begun and have no end.
fn open(file: &Path) -> BTreeMap<String, String> {
    let mut open = BTreeMap::new();
    // The last line may be on its way.
    let text = std::fs::read_to_string(file).unwrap();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let id = line["id"].as_str().unwrap().to_owned();
        match line["line"].as_str() {
            Some("begin") => drop(open.insert(id, line.to_string())),
            _ => drop(open.remove(&id)),
        }
    }
    open
}
