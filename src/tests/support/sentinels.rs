//! A primary, its replicas and the sentinels that monitor them: real processes on loopback.

use std::process::Stdio;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::{GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::redis_nodes::{RedisNode, free_port, url};
use super::{wait_for, wait_until};

/// The name under which the sentinels monitor the primary.
pub const PRIMARY: &str = "mymaster";

/// Initially one primary, two replicas and three sentinels.
pub struct SentinelDeployment {
    pub servers: Vec<RedisNode>,
    pub sentinels: Vec<Sentinel>,
}

/// One sentinel process.
pub struct Sentinel {
    port: u16,
    child: Child,
    _data_dir: TempDir,
}

impl SentinelDeployment {
    /// Starts all processes and waits until the sentinels have discovered each other and the
    /// replicas.
    pub async fn start() -> Self {
        let primary = RedisNode::start().await;
        let port = primary.port().to_string();
        let mut servers = vec![primary];
        for _ in 0..2 {
            servers.push(RedisNode::start_with(&["--replicaof", "127.0.0.1", &port]).await);
        }
        let sentinels = (0..3).map(|_| Sentinel::start(&port)).collect();
        let deployment = Self { servers, sentinels };
        for sentinel in &deployment.sentinels {
            wait_until("the sentinel has discovered all servers", async || {
                let info = sentinel.query("MASTER").await;
                info.contains("num-slaves 2") && info.contains("num-other-sentinels 2")
            })
            .await;
        }
        deployment
    }

    /// The configuration of a group with these sentinels.
    pub fn config(&self) -> GroupConfig {
        let sentinels = self.sentinels.iter().enumerate().map(|(n, sentinel)| {
            let address = format!("redis://127.0.0.1:{}", sentinel.port);
            NodeConfig::new(format!("s{n}"), url(&address))
        });
        GroupConfig {
            kind: GroupKind::Sentinel,
            sentinels: sentinels.collect(),
            nodes: vec![NodeConfig::new(
                "primary",
                url(&format!("redis://{PRIMARY}")),
            )],
            ..GroupConfig::new("orders", [url("redis://127.0.0.1:1")])
        }
    }

    /// The address of the primary on which a majority of the sentinels agree.
    pub async fn primary_address(&self) -> Option<String> {
        let mut reported = Vec::new();
        for sentinel in &self.sentinels {
            let address = sentinel.query("GET-MASTER-ADDR-BY-NAME").await;
            let address = address.replace(' ', ":");
            // Two of three sentinels are a majority.
            if reported.contains(&address) {
                return Some(address);
            }
            reported.push(address);
        }
        None
    }

    /// Waits until a server other than this one accepts writes and a majority of the sentinels
    /// report it as the primary, and returns its port. A server that only accepts writes may be
    /// demoted again: a failover can be aborted.
    pub async fn wait_for_primary_other_than(&self, before: u16) -> u16 {
        wait_for("another server is the primary", async || {
            let address = self.primary_address().await?;
            let is_primary =
                |server: &&RedisNode| address == format!("127.0.0.1:{}", server.port());
            let server = self.servers.iter().find(is_primary)?;
            let client = redis::Client::open(server.url().connection_info().clone()).ok()?;
            let mut client = client.get_multiplexed_async_connection().await.ok()?;
            let () = client.set("written", "by the test").await.ok()?;
            (server.port() != before).then(|| server.port())
        })
        .await
    }
}

impl Sentinel {
    fn start(primary: &str) -> Self {
        let (port, data_dir) = (free_port(), tempfile::tempdir().unwrap());
        let file = data_dir.path().join("sentinel.conf");
        let settings = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsentinel monitor {PRIMARY} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {PRIMARY} 1500\nsentinel failover-timeout {PRIMARY} 4000\n",
            data_dir.path().display()
        );
        std::fs::write(&file, settings).unwrap();
        let child = Command::new("redis-server")
            .arg(&file)
            .arg("--sentinel")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the tests need redis-server on the PATH");
        Self {
            port,
            child,
            _data_dir: data_dir,
        }
    }

    /// Sends `SENTINEL <subcommand> <primary>` and returns the elements of the reply, joined by
    /// spaces. Empty if the sentinel does not reply or rejects the command.
    pub async fn query(&self, subcommand: &str) -> String {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let Ok(mut client) = client.get_multiplexed_async_connection().await else {
            return String::new();
        };
        let mut command = redis::cmd("SENTINEL");
        let reply: redis::RedisResult<Vec<String>> = command
            .arg(subcommand)
            .arg(PRIMARY)
            .query_async(&mut client)
            .await;
        reply.map(|words| words.join(" ")).unwrap_or_default()
    }

    /// Starts a failover to another server.
    pub async fn fail_over(&self) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut client = client.get_multiplexed_async_connection().await.unwrap();
        let mut command = redis::cmd("SENTINEL");
        let () = command
            .arg("FAILOVER")
            .arg(PRIMARY)
            .query_async(&mut client)
            .await
            .unwrap();
    }

    /// Sends one command line, split at spaces.
    pub async fn run_command(&self, line: &str) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut client = client.get_multiplexed_async_connection().await.unwrap();
        let mut words = line.split_whitespace();
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        let () = command.query_async(&mut client).await.unwrap();
    }

    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}
