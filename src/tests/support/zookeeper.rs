//! Real ZooKeeper servers as child processes on free loopback ports. They are killed with the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::{GroupConfig, ServiceConfig, ServiceCredentials, ZookeeperConfig};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::redis_nodes::free_port;
use super::{wait_for, wait_until};

/// The directory of Debian's Java libraries.
pub const JARS: &str = "/usr/share/java";

/// How long a reply to a four-letter word is waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// A server or an ensemble.
pub struct ZookeeperServers {
    pub servers: Vec<ZookeeperServer>,
}

/// One server.
pub struct ZookeeperServer {
    port: u16,
    directory: TempDir,
    child: Option<Child>,
}

impl ZookeeperServers {
    /// Starts one server, or an ensemble of several, and waits until clients are served.
    pub async fn start(count: usize) -> Self {
        Self::start_with(count, "").await
    }

    /// Starts them with additional lines of configuration. All four-letter words are permitted
    /// unless the lines say otherwise.
    pub async fn start_with(count: usize, lines: &str) -> Self {
        let peer_ports: Vec<(u16, u16)> = (0..count).map(|_| (free_port(), free_port())).collect();
        let mut servers = Vec::new();
        for id in 1..=count {
            let directory = tempfile::tempdir().unwrap();
            let port = free_port();
            let config = configuration(directory.path(), port, &peer_ports, lines);
            std::fs::write(directory.path().join("zoo.cfg"), config).unwrap();
            std::fs::create_dir(directory.path().join("data")).unwrap();
            std::fs::write(directory.path().join("data/myid"), id.to_string()).unwrap();
            servers.push(ZookeeperServer {
                port,
                child: None,
                directory,
            });
        }
        let mut servers = Self { servers };
        for server in &mut servers.servers {
            server.spawn();
        }
        servers.wait_until_serving().await;
        servers
    }

    /// Waits until every running server serves clients.
    pub async fn wait_until_serving(&self) {
        for server in self.servers.iter().filter(|server| server.child.is_some()) {
            wait_until("the ZooKeeper server serves clients", async || {
                server.mode().await.is_some()
            })
            .await;
        }
    }

    /// The addresses as clients write them: `host:port,host:port`.
    pub fn connect_string(&self) -> String {
        let addresses: Vec<String> = self.servers.iter().map(ZookeeperServer::address).collect();
        addresses.join(",")
    }

    /// The configuration of a group "zk" of these servers with the root `/locks`.
    pub fn config(&self) -> GroupConfig {
        self.config_with_roots(&["/locks"])
    }

    /// The configuration of a group with these roots.
    pub fn config_with_roots(&self, roots: &[&str]) -> GroupConfig {
        let mut config = GroupConfig::new("zk", []);
        config.kind = GroupKind::Zookeeper;
        // The machine may be busy.
        config.command_timeout = Duration::from_secs(2);
        config.connect_timeout = Duration::from_secs(2);
        config.service = ServiceConfig::Zookeeper(ZookeeperConfig {
            servers: self.servers.iter().map(ZookeeperServer::address).collect(),
            roots: roots.iter().map(ToString::to_string).collect(),
            tls: false,
            admin_port: None,
            credentials: ServiceCredentials::default(),
        });
        config
    }

    /// The index of the leader.
    pub async fn leader(&self) -> usize {
        wait_for("a leader is elected", async || {
            for (index, server) in self.servers.iter().enumerate() {
                if server.mode().await.as_deref() == Some("leader") {
                    return Some(index);
                }
            }
            None
        })
        .await
    }
}

impl ZookeeperServer {
    /// `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills the server with SIGKILL.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// Starts the server again with its data.
    pub fn restart(&mut self) {
        self.spawn();
    }

    /// The role that the server reports; `None` if it does not serve clients.
    pub async fn mode(&self) -> Option<String> {
        let text = self.four_letter_word("srvr").await?;
        let mode = text.lines().find_map(|line| line.strip_prefix("Mode: "))?;
        Some(mode.to_owned())
    }

    /// The reply to a four-letter word.
    pub async fn four_letter_word(&self, word: &str) -> Option<String> {
        let exchange = async {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
            stream.write_all(word.as_bytes()).await.ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await.ok()?;
            Some(text)
        };
        // A server that is starting accepts connections that it never replies to.
        timeout(REPLY_TIMEOUT, exchange).await.ok()?
    }

    fn spawn(&mut self) {
        let jars = ["zookeeper", "slf4j-nop", "servlet-api"];
        let child = Command::new("java")
            // Small, and started quickly rather than optimised.
            .args([
                "-Xms16m",
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
            ])
            .arg("-Dzookeeper.preAllocSize=1024")
            .args(["-cp", &format!("{}:{}", class_path(&jars), netty())])
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(self.directory.path().join("zoo.cfg"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        self.child = Some(child.unwrap());
    }
}

/// The class path of these libraries.
pub fn class_path(jars: &[&str]) -> String {
    let path = |name: &&str| {
        let path = PathBuf::from(JARS).join(format!("{name}.jar"));
        assert!(
            path.exists(),
            "{} is not installed; `make setup` installs it",
            path.display()
        );
        path.display().to_string()
    };
    jars.iter().map(path).collect::<Vec<_>>().join(":")
}

/// The class path of the network library that ZooKeeper needs for TLS, which Debian splits into many
/// files.
fn netty() -> String {
    let files = std::fs::read_dir(JARS).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_netty = |name: &String| name.starts_with("netty-") && !name.contains(".Final");
    let paths = names.filter(is_netty).map(|name| format!("{JARS}/{name}"));
    paths.collect::<Vec<_>>().join(":")
}

fn configuration(
    directory: &Path,
    port: u16,
    peer_ports: &[(u16, u16)],
    additional_lines: &str,
) -> String {
    let mut lines = vec![
        // Short ticks end sessions early: the shortest session has two ticks.
        "tickTime=500".to_owned(),
        "initLimit=40".to_owned(),
        "syncLimit=20".to_owned(),
        format!("dataDir={}", directory.join("data").display()),
        format!("clientPort={port}"),
        "clientPortAddress=127.0.0.1".to_owned(),
        "admin.enableServer=false".to_owned(),
        "maxClientCnxns=0".to_owned(),
        "maxSessionTimeout=60000".to_owned(),
        "forceSync=no".to_owned(),
    ];
    if peer_ports.len() > 1 {
        let server = |(index, (peer, election)): (usize, &(u16, u16))| {
            format!("server.{}=127.0.0.1:{peer}:{election}", index + 1)
        };
        lines.extend(peer_ports.iter().enumerate().map(server));
    }
    if !additional_lines.contains("4lw.commands.whitelist") {
        lines.push("4lw.commands.whitelist=*".to_owned());
    }
    lines.push(additional_lines.to_owned());
    lines.join("\n")
}
