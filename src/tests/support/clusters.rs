//! A Redis Cluster of real servers on loopback: three primaries and, where wanted, a replica of each.

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisResult};

use super::eventually_is;
use super::redis_nodes::{RedisNode, free_port};

/// How many slots there are.
const SLOTS: u32 = 16_384;

/// A cluster.
pub struct RedisCluster {
    /// Three primaries at first, then their replicas, in the same order; others join at the end.
    pub servers: Vec<RedisNode>,
}

impl RedisCluster {
    /// Three primaries that share the slots in equal parts.
    pub async fn start() -> Self {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(server().await);
        }
        Self::of(servers).await
    }

    /// The same of Valkey 9, which moves slots by itself.
    pub async fn start_valkey() -> Self {
        let mut servers = Vec::new();
        for _ in 0..3 {
            let bus = free_port().to_string();
            servers.push(RedisNode::start_valkey_with(&settings(&bus)).await);
        }
        Self::of(servers).await
    }

    async fn of(servers: Vec<RedisNode>) -> Self {
        let cluster = Self { servers };
        for n in 0..3u32 {
            let (first, last) = (SLOTS * n / 3, SLOTS * (n + 1) / 3 - 1);
            let range = [first.to_string(), last.to_string()];
            let range = ["ADDSLOTSRANGE", &range[0], &range[1]];
            cluster.ask::<()>(n as usize, &range).await.unwrap();
            let epoch = (n + 1).to_string();
            let epoch = ["SET-CONFIG-EPOCH", &epoch];
            cluster.ask::<()>(n as usize, &epoch).await.unwrap();
        }
        for n in 1..3 {
            cluster.meet(n).await;
        }
        cluster.is_well().await;
        cluster
    }

    /// The same with a replica of each.
    pub async fn start_with_replicas() -> Self {
        let mut cluster = Self::start().await;
        for n in 0..3 {
            cluster.servers.push(server().await);
            cluster.meet(n + 3).await;
            let primary = cluster.id(n).await;
            eventually_is("the replica knows its primary", async || {
                let follow = ["REPLICATE", &primary];
                cluster.ask::<()>(n + 3, &follow).await.is_ok()
            })
            .await;
        }
        for n in 0..3 {
            let mut replica = cluster.servers[n + 3].client().await;
            eventually_is("the replica has what its primary has", async || {
                let mut info = redis::cmd("INFO");
                let info: String = info
                    .arg("replication")
                    .query_async(&mut replica)
                    .await
                    .unwrap();
                info.contains("master_link_status:up")
            })
            .await;
        }
        cluster.is_well().await;
        cluster
    }

    /// A server that serves no slots yet joins.
    pub async fn join(&mut self) -> usize {
        self.servers.push(server().await);
        let n = self.servers.len() - 1;
        self.meet(n).await;
        self.is_well().await;
        n
    }

    /// The group of it, of which the configuration names the first server.
    pub fn config(&self) -> GroupConfig {
        let mut config = GroupConfig::new("orders", [self.servers[0].url()]);
        config.kind = GroupKind::Cluster;
        config
    }

    /// Asks a server about the cluster, or tells it something.
    pub async fn ask<T: FromRedisValue>(&self, n: usize, words: &[&str]) -> RedisResult<T> {
        let mut client = self.servers[n].client().await;
        redis::cmd("CLUSTER")
            .arg(words)
            .query_async(&mut client)
            .await
    }

    /// The slot of a key.
    pub async fn slot(&self, key: &str) -> String {
        let slot: u16 = self.ask(0, &["KEYSLOT", key]).await.unwrap();
        slot.to_string()
    }

    /// Which of the first three has a key, at first.
    pub async fn home(&self, key: &str) -> usize {
        let slot: u32 = self.slot(key).await.parse().unwrap();
        (0..3).find(|n| slot < SLOTS * (*n as u32 + 1) / 3).unwrap()
    }

    /// A client of the server that has a key at first.
    pub async fn client_of(&self, key: &str) -> MultiplexedConnection {
        self.servers[self.home(key).await].client().await
    }

    /// Begins to move the slot of a key from one server to another.
    pub async fn begin_to_move(&self, key: &str, from: usize, to: usize) {
        let slot = self.slot(key).await;
        let (source, target) = (self.id(from).await, self.id(to).await);
        let importing = ["SETSLOT", &slot, "IMPORTING", &source];
        self.ask::<()>(to, &importing).await.unwrap();
        let migrating = ["SETSLOT", &slot, "MIGRATING", &target];
        self.ask::<()>(from, &migrating).await.unwrap();
    }

    /// Moves all keys of the slot of a key.
    pub async fn move_keys(&self, key: &str, from: usize, to: usize) {
        let slot = self.slot(key).await;
        let keys = ["GETKEYSINSLOT", &slot, "1000"];
        let keys: Vec<Vec<u8>> = self.ask(from, &keys).await.unwrap();
        if keys.is_empty() {
            return;
        }
        let mut client = self.servers[from].client().await;
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(self.servers[to].port());
        migrate.arg("").arg(0).arg(5_000).arg("KEYS").arg(keys);
        let () = migrate.query_async(&mut client).await.unwrap();
    }

    /// Has everybody know that the slot of a key has moved.
    pub async fn end_move(&self, key: &str, from: usize, to: usize) {
        let (slot, target) = (self.slot(key).await, self.id(to).await);
        let moved = ["SETSLOT", &slot, "NODE", &target];
        for n in [to, from] {
            self.ask::<()>(n, &moved).await.unwrap();
        }
    }

    /// Has a Valkey move the slot of a key, with everything in it, to another server; ends when everybody knows.
    pub async fn move_at_once(&self, key: &str, from: usize, to: usize) {
        let (slot, target) = (self.slot(key).await, self.id(to).await);
        let moving = ["MIGRATESLOTS", "SLOTSRANGE", &slot, &slot, "NODE", &target];
        self.ask::<()>(from, &moving).await.unwrap();
        for n in [from, to] {
            eventually_is("the slot has moved", async || {
                let nodes: String = self.ask(n, &["NODES"]).await.unwrap();
                let theirs = nodes
                    .lines()
                    .find(|line| line.starts_with(&target))
                    .unwrap();
                theirs.split(' ').skip(8).any(|served| *served == slot)
            })
            .await;
        }
    }

    async fn id(&self, n: usize) -> String {
        self.ask(n, &["MYID"]).await.unwrap()
    }

    async fn meet(&self, n: usize) {
        let port = self.servers[0].port().to_string();
        // The port of its own on which servers talk is told with the other one.
        let mut client = self.servers[0].client().await;
        let mut get = redis::cmd("CONFIG");
        let bus: Vec<String> = get
            .arg("GET")
            .arg("cluster-port")
            .query_async(&mut client)
            .await
            .unwrap();
        let meet = ["MEET", "127.0.0.1", &port, &bus[1]];
        self.ask::<()>(n, &meet).await.unwrap();
    }

    async fn is_well(&self) {
        let everybody = format!("cluster_known_nodes:{}\r\n", self.servers.len());
        for n in 0..self.servers.len() {
            eventually_is("the cluster is well", async || {
                let info: String = self.ask(n, &["INFO"]).await.unwrap();
                info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && info.contains(&everybody)
            })
            .await;
        }
    }
}

async fn server() -> RedisNode {
    let bus = free_port().to_string();
    RedisNode::start_with(&settings(&bus)).await
}

fn settings(bus: &str) -> [&str; 10] {
    [
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "1500",
        "--cluster-port",
        bus,
        "--repl-diskless-sync-delay",
        "0",
        // Whoever gives its last slot away stays what it is.
        "--cluster-allow-replica-migration",
        "no",
    ]
}
