//! Rejected operations: a clear error, and no change on any node, verified on each of them.

mod nodes;
mod tokens;

use std::collections::BTreeMap;

use crate::api::lock_path;
use crate::support::console::{ApiClient, ApiResponse};
use crate::support::redis_nodes::RedisNodes;

/// Each key with its value and its expiry, in Unix milliseconds.
type NodeContents = BTreeMap<Vec<u8>, (Vec<u8>, i64)>;

/// The prefix of the fencing counters, which outlive their locks on purpose.
const FENCE: &[u8] = b"lockkeeper:fence:";

/// The contents of a node without the fencing counters.
async fn node_contents(nodes: &RedisNodes, n: usize) -> NodeContents {
    let mut client = nodes.0[n].client().await;
    let mut contents = BTreeMap::new();
    for (key, value) in nodes.dump(n).await {
        if key.starts_with(FENCE) {
            continue;
        }
        let expires_at: i64 = redis::cmd("PEXPIRETIME")
            .arg(&key)
            .query_async(&mut client)
            .await
            .unwrap();
        contents.insert(key, (value, expires_at));
    }
    contents
}

async fn all_contents(nodes: &RedisNodes) -> Vec<NodeContents> {
    futures::future::join_all((0..nodes.0.len()).map(|n| node_contents(nodes, n))).await
}

/// Returns whether no node has any key, not even a counter: the request was rejected before it
/// reached the nodes.
async fn all_are_empty(nodes: &RedisNodes) -> bool {
    let dumps = futures::future::join_all((0..nodes.0.len()).map(|n| nodes.dump(n))).await;
    dumps.iter().all(BTreeMap::is_empty)
}

/// Sends these bytes as a JSON body.
async fn post(api: &ApiClient, lock: &[u8], action: &str, body: impl Into<Vec<u8>>) -> ApiResponse {
    let path = lock_path("orders", lock, action);
    let headers = [("content-type", "application/json")];
    api.send("POST", &path, &headers, body).await
}
