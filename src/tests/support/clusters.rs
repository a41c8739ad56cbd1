//! A Redis Cluster of real servers on loopback: three primaries and, optionally, a replica of each.

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::GroupConfig;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisResult};

use super::redis_nodes::{RedisNode, free_port};
use super::wait_until;

/// The number of hash slots of a cluster.
const SLOTS: u32 = 16_384;

pub struct RedisCluster {
    /// The three initial primaries, then their replicas in the same order, then servers added
    /// later.
    pub servers: Vec<RedisNode>,
}

impl RedisCluster {
    /// Starts three primaries with a third of the slots each.
    pub async fn start() -> Self {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(start_server().await);
        }
        Self::from_servers(servers).await
    }

    /// Starts three Valkey 9 primaries, which support atomic slot migration.
    pub async fn start_valkey() -> Self {
        let mut servers = Vec::new();
        for _ in 0..3 {
            let bus_port = free_port().to_string();
            servers.push(RedisNode::start_valkey_with(&cluster_arguments(&bus_port)).await);
        }
        Self::from_servers(servers).await
    }

    async fn from_servers(servers: Vec<RedisNode>) -> Self {
        let cluster = Self { servers };
        for n in 0..3u32 {
            let (first, last) = (SLOTS * n / 3, SLOTS * (n + 1) / 3 - 1);
            let range = [first.to_string(), last.to_string()];
            let range = ["ADDSLOTSRANGE", &range[0], &range[1]];
            cluster
                .cluster_command::<()>(n as usize, &range)
                .await
                .unwrap();
            let epoch = (n + 1).to_string();
            let epoch = ["SET-CONFIG-EPOCH", &epoch];
            cluster
                .cluster_command::<()>(n as usize, &epoch)
                .await
                .unwrap();
        }
        for n in 1..3 {
            cluster.meet(n).await;
        }
        cluster.wait_until_healthy().await;
        cluster
    }

    /// Starts three primaries with one replica each.
    pub async fn start_with_replicas() -> Self {
        let mut cluster = Self::start().await;
        for n in 0..3 {
            cluster.servers.push(start_server().await);
            cluster.meet(n + 3).await;
            let primary = cluster.node_id(n).await;
            // CLUSTER REPLICATE fails until the gossip has introduced the primary.
            wait_until("the replica accepts its primary", async || {
                let replicate = ["REPLICATE", &primary];
                cluster
                    .cluster_command::<()>(n + 3, &replicate)
                    .await
                    .is_ok()
            })
            .await;
        }
        for n in 0..3 {
            let mut replica = cluster.servers[n + 3].client().await;
            wait_until("the replica is in sync with its primary", async || {
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
        cluster.wait_until_healthy().await;
        cluster
    }

    /// Adds a server without slots and returns its index.
    pub async fn add_server(&mut self) -> usize {
        self.servers.push(start_server().await);
        let n = self.servers.len() - 1;
        self.meet(n).await;
        self.wait_until_healthy().await;
        n
    }

    /// The configuration of a group that names only the first server.
    pub fn config(&self) -> GroupConfig {
        let mut config = GroupConfig::new("orders", [self.servers[0].url()]);
        config.kind = GroupKind::Cluster;
        config
    }

    /// Sends a `CLUSTER` subcommand to one server.
    pub async fn cluster_command<T: FromRedisValue>(
        &self,
        n: usize,
        arguments: &[&str],
    ) -> RedisResult<T> {
        let mut client = self.servers[n].client().await;
        redis::cmd("CLUSTER")
            .arg(arguments)
            .query_async(&mut client)
            .await
    }

    /// The hash slot of a key, as a decimal number.
    pub async fn key_slot(&self, key: &str) -> String {
        let slot: u16 = self.cluster_command(0, &["KEYSLOT", key]).await.unwrap();
        slot.to_string()
    }

    /// The index of the primary that initially serves a key.
    pub async fn initial_owner(&self, key: &str) -> usize {
        let slot: u32 = self.key_slot(key).await.parse().unwrap();
        (0..3).find(|n| slot < SLOTS * (*n as u32 + 1) / 3).unwrap()
    }

    /// A client of the primary that initially serves a key.
    pub async fn client_for_key(&self, key: &str) -> MultiplexedConnection {
        self.servers[self.initial_owner(key).await].client().await
    }

    /// Marks the slot of a key as migrating from one server and importing to the other.
    pub async fn begin_slot_migration(&self, key: &str, from: usize, to: usize) {
        let slot = self.key_slot(key).await;
        let (source, target) = (self.node_id(from).await, self.node_id(to).await);
        let importing = ["SETSLOT", &slot, "IMPORTING", &source];
        self.cluster_command::<()>(to, &importing).await.unwrap();
        let migrating = ["SETSLOT", &slot, "MIGRATING", &target];
        self.cluster_command::<()>(from, &migrating).await.unwrap();
    }

    /// Migrates all keys of the slot of a key.
    pub async fn migrate_keys(&self, key: &str, from: usize, to: usize) {
        let slot = self.key_slot(key).await;
        let keys = ["GETKEYSINSLOT", &slot, "1000"];
        let keys: Vec<Vec<u8>> = self.cluster_command(from, &keys).await.unwrap();
        if keys.is_empty() {
            return;
        }
        let mut client = self.servers[from].client().await;
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(self.servers[to].port());
        migrate.arg("").arg(0).arg(5_000).arg("KEYS").arg(keys);
        let () = migrate.query_async(&mut client).await.unwrap();
    }

    /// Assigns the slot of a key to its new server on both servers.
    pub async fn finish_slot_migration(&self, key: &str, from: usize, to: usize) {
        let (slot, target) = (self.key_slot(key).await, self.node_id(to).await);
        let set_slot = ["SETSLOT", &slot, "NODE", &target];
        for n in [to, from] {
            self.cluster_command::<()>(n, &set_slot).await.unwrap();
        }
    }

    /// Migrates the slot of a key with Valkey's atomic slot migration and waits until both servers
    /// report the new owner.
    pub async fn migrate_slot_atomically(&self, key: &str, from: usize, to: usize) {
        let (slot, target) = (self.key_slot(key).await, self.node_id(to).await);
        let migrate = ["MIGRATESLOTS", "SLOTSRANGE", &slot, &slot, "NODE", &target];
        self.cluster_command::<()>(from, &migrate).await.unwrap();
        for n in [from, to] {
            wait_until("the slot has moved", async || {
                let nodes: String = self.cluster_command(n, &["NODES"]).await.unwrap();
                let target_line = nodes
                    .lines()
                    .find(|line| line.starts_with(&target))
                    .unwrap();
                target_line.split(' ').skip(8).any(|served| *served == slot)
            })
            .await;
        }
    }

    async fn node_id(&self, n: usize) -> String {
        self.cluster_command(n, &["MYID"]).await.unwrap()
    }

    async fn meet(&self, n: usize) {
        let port = self.servers[0].port().to_string();
        // The test uses a free bus port instead of port + 10000, so CLUSTER MEET must name it.
        let mut client = self.servers[0].client().await;
        let mut config_get = redis::cmd("CONFIG");
        let bus: Vec<String> = config_get
            .arg("GET")
            .arg("cluster-port")
            .query_async(&mut client)
            .await
            .unwrap();
        let meet = ["MEET", "127.0.0.1", &port, &bus[1]];
        self.cluster_command::<()>(n, &meet).await.unwrap();
    }

    async fn wait_until_healthy(&self) {
        let known_nodes = format!("cluster_known_nodes:{}\r\n", self.servers.len());
        for n in 0..self.servers.len() {
            wait_until("the cluster is healthy", async || {
                let info: String = self.cluster_command(n, &["INFO"]).await.unwrap();
                info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && info.contains(&known_nodes)
            })
            .await;
        }
    }
}

async fn start_server() -> RedisNode {
    let bus_port = free_port().to_string();
    RedisNode::start_with(&cluster_arguments(&bus_port)).await
}

fn cluster_arguments(bus_port: &str) -> [&str; 10] {
    [
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "1500",
        "--cluster-port",
        bus_port,
        "--repl-diskless-sync-delay",
        "0",
        // Otherwise a primary that migrates its last slot becomes a replica.
        "--cluster-allow-replica-migration",
        "no",
    ]
}
