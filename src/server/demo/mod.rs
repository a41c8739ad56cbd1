//! `lockkeeper demo`: real Redis servers of its own, and made-up clients that keep real locks on them.
//!
//! Five servers make the production group `orders`, a sixth is the development group `jobs`. Nothing is simulated: the
//! console that shows them does not know that it is a demo. Everything ends with the console, however that ends.

mod clients;
mod servers;

use std::net::SocketAddr;
use std::path::PathBuf;

use futures::future::try_join_all;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::domain::{Environment, GroupKind};
use crate::server::config::{Config, GroupConfig, NodeConfig, RedisUrl, StorageConfig};
use servers::{Program, Server};

/// What the demo is told.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Where the console listens.
    pub listen: SocketAddr,
    /// The server program; `redis-server` or `valkey-server` on `PATH` if it is not named.
    pub redis_server: Option<PathBuf>,
}

/// Why there is no demo. One sentence each, for the terminal.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There is no server program.
    #[error(
        "neither redis-server nor valkey-server is on PATH: install one (`make setup` does, or `apt-get install \
         redis-server`), or say where it is with --redis-server PATH"
    )]
    NoServer,
    /// The program that was named is none.
    #[error("{} is not a Redis or Valkey server: {reason}", path.display())]
    NotAServer {
        /// What was named.
        path: PathBuf,
        /// What happened when it was asked for its version.
        reason: String,
    },
    /// A server did not come up.
    #[error("the demo's server {name} did not come up: {reason}")]
    NotUp {
        /// Its node's name.
        name: String,
        /// What happened.
        reason: String,
    },
    /// There is no place for the servers' folders.
    #[error("there is no temporary folder for the demo's servers: {0}")]
    NoFolder(#[from] std::io::Error),
}

/// A running demo. Dropping it ends servers and clients; [`Demo::end`] also waits until they are gone.
#[derive(Debug)]
pub struct Demo {
    /// What the console has to be told to show it.
    pub config: Config,
    /// The servers, in the order of the configuration.
    pub nodes: Vec<DemoNode>,
    tasks: TaskTracker,
    running: DropGuard,
    // Dropped last: the servers live in it.
    _folder: tempfile::TempDir,
}

/// One of the demo's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoNode {
    /// Its group's name.
    pub group: &'static str,
    /// Its own name.
    pub name: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its process, for a visitor who wants to see what happens when a node dies.
    pub pid: u32,
}

/// The demo's nodes: a Redlock group of five, and one server alone.
const NODES: [(&str, &str); 6] = [
    (clients::ORDERS, "a"),
    (clients::ORDERS, "b"),
    (clients::ORDERS, "c"),
    (clients::ORDERS, "d"),
    (clients::ORDERS, "e"),
    (clients::JOBS, "main"),
];

/// Starts the servers, waits until they answer, and sets the clients on them. Everything ends when `stop` is cancelled.
pub async fn start(options: DemoOptions, stop: CancellationToken) -> Result<Demo, DemoError> {
    let program = Program::find(options.redis_server).await?;
    let folder = tempfile::Builder::new()
        .prefix("lockkeeper-demo-")
        .tempdir()?;
    let running = stop.child_token();
    let tasks = TaskTracker::new();
    let servers = try_join_all(NODES.iter().map(|(group, name)| {
        let name = format!("{group}-{name}");
        Server::start(&program, folder.path().join(&name), name)
    }))
    .await?;

    let mut nodes = Vec::new();
    for ((group, name), server) in NODES.into_iter().zip(servers) {
        tracing::info!(node = %format!("{group}/{name}"), port = server.port, pid = server.pid, "demo server is up");
        nodes.push(DemoNode {
            group,
            name,
            port: server.port,
            pid: server.pid,
        });
        tasks.spawn(server.live(running.clone()));
    }
    clients::start(&nodes, &tasks, &running);
    tasks.close();
    Ok(Demo {
        config: Config {
            storage: StorageConfig::file(folder.path().join("lockkeeper.db")),
            ..config(options.listen, &nodes)
        },
        nodes,
        tasks,
        running: running.drop_guard(),
        _folder: folder,
    })
}

impl Demo {
    /// Ends servers and clients and waits until they are gone.
    pub async fn end(self) {
        let Self {
            config: _,
            nodes: _,
            tasks,
            running,
            _folder,
        } = self;
        drop(running);
        tasks.wait().await;
    }
}

fn config(listen: SocketAddr, nodes: &[DemoNode]) -> Config {
    let orders = group(
        clients::ORDERS,
        GroupKind::Redlock,
        Environment::Production,
        &["lock:*"],
        nodes,
    );
    let patterns = [
        "lock:*",
        "job-lock:*",
        "redisson:*",
        "semaphore:*",
        "bull:*:lock",
        "laravel_unique_job:*",
    ];
    let jobs = group(
        clients::JOBS,
        GroupKind::Standalone,
        Environment::Development,
        &patterns,
        nodes,
    );
    Config {
        listen,
        ..Config::of(vec![orders, jobs])
    }
}

fn group(
    name: &str,
    kind: GroupKind,
    environment: Environment,
    keys: &[&str],
    nodes: &[DemoNode],
) -> GroupConfig {
    let mine = nodes.iter().filter(|node| node.group == name);
    GroupConfig {
        kind,
        environment,
        keys: keys.iter().map(|&pattern| pattern.to_owned()).collect(),
        keys_are_explicit: true,
        nodes: mine
            .map(|node| NodeConfig::new(node.name, node.url()))
            .collect(),
        ..GroupConfig::new(name, [])
    }
}

impl DemoNode {
    /// Where it is.
    fn url(&self) -> RedisUrl {
        RedisUrl::parse(&format!("redis://127.0.0.1:{}", self.port))
            .expect("a host and a port are a URL")
    }
}
