//! Reads and writes keys on the nodes directly, as other programs would.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use lockkeeper::domain::LockKey;
use lockkeeper::server::config::RedisUrl;
use redis::AsyncCommands as _;

use super::redis_nodes::RedisNodes;
use super::{run_command, wait_until};

impl RedisNodes {
    /// The URLs of the nodes.
    pub fn urls(&self) -> Vec<RedisUrl> {
        self.0.iter().map(|node| node.url()).collect()
    }

    /// Sets a string on one node, with an optional TTL in milliseconds.
    pub async fn set(&self, n: usize, key: &[u8], value: &[u8], ttl_ms: Option<u64>) {
        let mut client = self.0[n].client().await;
        let set = set_command(key, value, ttl_ms);
        set.query_async::<()>(&mut client).await.unwrap();
    }

    /// Sets the same string on each of the first `nodes` nodes, at nearly the same time as a client
    /// of Redlock would.
    pub async fn set_on_first(&self, nodes: usize, key: &[u8], value: &[u8], ttl_ms: Option<u64>) {
        self.run_on_first(nodes, &set_command(key, value, ttl_ms))
            .await;
    }

    /// Deletes the key on each of the first `nodes` nodes, at nearly the same time.
    pub async fn delete_on_first(&self, nodes: usize, key: &[u8]) {
        let mut delete = redis::cmd("DEL");
        delete.arg(key);
        self.run_on_first(nodes, &delete).await;
    }

    async fn run_on_first(&self, nodes: usize, command: &redis::Cmd) {
        // Connected first: connecting may take longer on one node than on another.
        let mut clients = join_all(self.0[..nodes].iter().map(|node| node.client())).await;
        let requests = clients
            .iter_mut()
            .map(|client| command.query_async::<()>(client));
        for reply in join_all(requests).await {
            reply.unwrap();
        }
    }

    /// Sets a field of a hash on one node.
    pub async fn hset(&self, n: usize, key: &[u8], field: &[u8], value: &[u8]) {
        self.0[n]
            .client()
            .await
            .hset::<_, _, _, ()>(key, field, value)
            .await
            .unwrap();
    }

    /// The string on each of these nodes.
    pub async fn values(
        &self,
        nodes: std::ops::Range<usize>,
        key: &LockKey,
    ) -> Vec<Option<Vec<u8>>> {
        join_all(nodes.map(|n| self.get(n, key.as_bytes()))).await
    }

    /// The string on one node.
    pub async fn get(&self, n: usize, key: &[u8]) -> Option<Vec<u8>> {
        self.0[n].client().await.get(key).await.unwrap()
    }

    /// Waits until every node has this string, or no string. An operation returns as soon as a
    /// quorum has replied; the other nodes may be behind.
    pub async fn wait_for_value_on_all(&self, key: &[u8], value: Option<&[u8]>) {
        wait_until("every node has the value", async || {
            let reads = (0..self.0.len()).map(|n| self.get(n, key));
            let values = futures::future::join_all(reads).await;
            values.iter().all(|stored| stored.as_deref() == value)
        })
        .await;
    }

    /// Deletes a key on one node.
    pub async fn delete(&self, n: usize, key: &[u8]) {
        self.0[n].client().await.del::<_, ()>(key).await.unwrap();
    }

    /// All keys on one node with their serialised values.
    pub async fn dump(&self, n: usize) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut client = self.0[n].client().await;
        let keys: Vec<Vec<u8>> = run_command(&mut client, "KEYS *").await;
        let mut entries = BTreeMap::new();
        for key in keys {
            let kind: String = client.key_type(&key).await.unwrap();
            // DUMP of a hash or set depends on the insertion order, so two equal ones could differ.
            let value = match kind.as_str() {
                "hash" => {
                    let fields: BTreeMap<Vec<u8>, Vec<u8>> = client.hgetall(&key).await.unwrap();
                    format!("{fields:?}").into_bytes()
                }
                "set" => {
                    let members: BTreeSet<Vec<u8>> = client.smembers(&key).await.unwrap();
                    format!("{members:?}").into_bytes()
                }
                _ => {
                    let dump = redis::cmd("DUMP").arg(&key).to_owned();
                    dump.query_async(&mut client).await.unwrap()
                }
            };
            entries.insert(key, value);
        }
        entries
    }
}

fn set_command(key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> redis::Cmd {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(value);
    if let Some(ttl_ms) = ttl_ms {
        set.arg("PX").arg(ttl_ms);
    }
    set
}
