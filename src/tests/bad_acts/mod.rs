//! Acts that cannot be done: a clear answer, and nothing left behind on any node (by looking at each of them).

mod nodes;
mod tokens;

use std::collections::BTreeMap;

use crate::api::lock_path;
use crate::support::console::{Answer, Person};
use crate::support::redis_nodes::RedisNodes;

/// Each key with its value and the moment at which it ends.
type Everything = BTreeMap<Vec<u8>, (Vec<u8>, i64)>;

/// The counters beside the locks outlive them on purpose.
const FENCE: &[u8] = b"lockkeeper:fence:";

/// Everything on a node but the counters: each key with its value and the moment at which it ends.
async fn everything(nodes: &RedisNodes, n: usize) -> Everything {
    let mut client = nodes.0[n].client().await;
    let mut found = BTreeMap::new();
    for (key, value) in nodes.dump(n).await {
        if key.starts_with(FENCE) {
            continue;
        }
        let ends: i64 = redis::cmd("PEXPIRETIME")
            .arg(&key)
            .query_async(&mut client)
            .await
            .unwrap();
        found.insert(key, (value, ends));
    }
    found
}

async fn everywhere(nodes: &RedisNodes) -> Vec<Everything> {
    futures::future::join_all((0..nodes.0.len()).map(|n| everything(nodes, n))).await
}

/// Neither lock nor counter: the request was refused before any node was asked.
async fn untouched(nodes: &RedisNodes) -> bool {
    let dumps = futures::future::join_all((0..nodes.0.len()).map(|n| nodes.dump(n))).await;
    dumps.iter().all(BTreeMap::is_empty)
}

/// Posts these bytes as JSON.
async fn post(person: &Person, lock: &[u8], verb: &str, body: impl Into<Vec<u8>>) -> Answer {
    let path = lock_path("orders", lock, verb);
    let headers = [("content-type", "application/json")];
    person.send("POST", &path, &headers, body).await
}
