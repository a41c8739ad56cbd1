//! What other programs do to the nodes, and what is really on them.

use std::collections::{BTreeMap, BTreeSet};

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::RedisUrl;
use redis::AsyncCommands as _;

use super::redis_nodes::RedisNodes;
use super::{ask, eventually_is};

impl RedisNodes {
    /// Where the nodes are.
    pub fn urls(&self) -> Vec<RedisUrl> {
        self.0.iter().map(|node| node.url()).collect()
    }

    /// Sets a string on one node, with or without a time to live in milliseconds.
    pub async fn set(&self, n: usize, key: &[u8], value: &[u8], px: Option<u64>) {
        let mut client = self.0[n].client().await;
        let mut set = redis::cmd("SET");
        set.arg(key).arg(value);
        if let Some(px) = px {
            set.arg("PX").arg(px);
        }
        set.query_async::<()>(&mut client).await.unwrap();
    }

    /// Sets the same string on each of the first nodes.
    pub async fn set_first(&self, nodes: usize, key: &[u8], value: &[u8], px: Option<u64>) {
        for n in 0..nodes {
            self.set(n, key, value, px).await;
        }
    }

    /// Sets a field of a hash on one node.
    pub async fn hash(&self, n: usize, key: &[u8], field: &[u8], value: &[u8]) {
        self.0[n]
            .client()
            .await
            .hset::<_, _, _, ()>(key, field, value)
            .await
            .unwrap();
    }

    /// The string that each of these nodes has.
    pub async fn values(
        &self,
        nodes: std::ops::Range<usize>,
        key: &LockKey,
    ) -> Vec<Option<Vec<u8>>> {
        futures::future::join_all(nodes.map(|n| self.get(n, key.as_bytes()))).await
    }

    /// The string that one node has.
    pub async fn get(&self, n: usize, key: &[u8]) -> Option<Vec<u8>> {
        self.0[n].client().await.get(key).await.unwrap()
    }

    /// Waits until every node has this string, or none. An answer comes when a quorum has it; the others follow.
    pub async fn all_come_to(&self, key: &[u8], value: Option<&[u8]>) {
        eventually_is("the last node follows", async || {
            let each = (0..self.0.len()).map(|n| self.get(n, key));
            let values = futures::future::join_all(each).await;
            values.iter().all(|found| found.as_deref() == value)
        })
        .await;
    }

    /// Deletes a key on one node.
    pub async fn delete(&self, n: usize, key: &[u8]) {
        self.0[n].client().await.del::<_, ()>(key).await.unwrap();
    }

    /// Everything on one node: each key with its serialised value.
    pub async fn dump(&self, n: usize) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut client = self.0[n].client().await;
        let keys: Vec<Vec<u8>> = ask(&mut client, "KEYS *").await;
        let mut found = BTreeMap::new();
        for key in keys {
            let kind: String = client.key_type(&key).await.unwrap();
            // A server keeps hashes and sets in whichever order they came about.
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
            found.insert(key, value);
        }
        found
    }
}
