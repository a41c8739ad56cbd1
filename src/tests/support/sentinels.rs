//! A primary, its replicas, and sentinels that watch over them: real processes on loopback.

use std::process::Stdio;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::{GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::redis_nodes::{RedisNode, free_port, url};
use super::{eventually, eventually_is};

/// The name that the sentinels have for the primary.
pub const PRIMARY: &str = "mymaster";

/// One primary at first, two replicas, three sentinels.
pub struct Watched {
    pub servers: Vec<RedisNode>,
    pub sentinels: Vec<Sentinel>,
}

/// One sentinel.
pub struct Sentinel {
    port: u16,
    child: Child,
    _folder: TempDir,
}

impl Watched {
    /// Starts them, and waits until the sentinels know one another and the replicas.
    pub async fn start() -> Self {
        let primary = RedisNode::start().await;
        let port = primary.port().to_string();
        let mut servers = vec![primary];
        for _ in 0..2 {
            servers.push(RedisNode::start_with(&["--replicaof", "127.0.0.1", &port]).await);
        }
        let sentinels = (0..3).map(|_| Sentinel::start(&port)).collect();
        let watched = Self { servers, sentinels };
        for sentinel in &watched.sentinels {
            eventually_is("the sentinels know everybody", async || {
                let known = sentinel.tells("MASTER").await;
                known.contains("num-slaves 2") && known.contains("num-other-sentinels 2")
            })
            .await;
        }
        watched
    }

    /// The group that follows them.
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

    /// Where most of the sentinels say that the primary is.
    pub async fn address(&self) -> Option<String> {
        let mut told = Vec::new();
        for sentinel in &self.sentinels {
            let address = sentinel.tells("GET-MASTER-ADDR-BY-NAME").await;
            let address = address.replace(' ', ":");
            if told.contains(&address) {
                return Some(address);
            }
            told.push(address);
        }
        None
    }

    /// The port of the server, other than this one, that takes writes and that most sentinels name as the primary. One that
    /// takes writes alone may be put back again: a failover can be called off half-way.
    pub async fn primary_other_than(&self, before: u16) -> u16 {
        eventually("another server is the primary", async || {
            let address = self.address().await?;
            let is_it = |server: &&RedisNode| address == format!("127.0.0.1:{}", server.port());
            let server = self.servers.iter().find(is_it)?;
            let client = redis::Client::open(server.url().connection().clone()).ok()?;
            let mut client = client.get_multiplexed_async_connection().await.ok()?;
            let () = client.set("written", "by the test").await.ok()?;
            (server.port() != before).then(|| server.port())
        })
        .await
    }
}

impl Sentinel {
    fn start(primary: &str) -> Self {
        let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
        let file = folder.path().join("sentinel.conf");
        let settings = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsentinel monitor {PRIMARY} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {PRIMARY} 1500\nsentinel failover-timeout {PRIMARY} 4000\n",
            folder.path().display()
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
            _folder: folder,
        }
    }

    /// Asks it about the primary: the words of its answer, one space between two.
    pub async fn tells(&self, what: &str) -> String {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let Ok(mut client) = client.get_multiplexed_async_connection().await else {
            return String::new();
        };
        let mut ask = redis::cmd("SENTINEL");
        let told: redis::RedisResult<Vec<String>> =
            ask.arg(what).arg(PRIMARY).query_async(&mut client).await;
        told.map(|words| words.join(" ")).unwrap_or_default()
    }

    /// Has the sentinels make another server the primary.
    pub async fn fail_over(&self) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut client = client.get_multiplexed_async_connection().await.unwrap();
        let mut ask = redis::cmd("SENTINEL");
        let () = ask
            .arg("FAILOVER")
            .arg(PRIMARY)
            .query_async(&mut client)
            .await
            .unwrap();
    }

    /// Types a line as an operator would.
    pub async fn type_in(&self, line: &str) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut client = client.get_multiplexed_async_connection().await.unwrap();
        let mut words = line.split_whitespace();
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        let () = command.query_async(&mut client).await.unwrap();
    }

    /// Ends it.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}
