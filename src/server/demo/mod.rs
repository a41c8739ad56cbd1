//! `lockkeeper demo`: starts real Redis servers and simulated clients that use real locks on them.
//!
//! Five servers form the production group `orders`, a sixth is the development group `jobs`. The
//! console itself runs unmodified. Its history contains a week that is made up (`past_week`). An etcd cluster and a ZooKeeper ensemble run beside them where their
//! programs are installed. Servers and clients end with the console, even if it is killed.

mod clients;
pub mod lock_services;
mod past_week;
mod servers;

use std::net::SocketAddr;
use std::path::PathBuf;

use futures::future::try_join_all;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::domain::{Environment, GroupKind};
use crate::server::clock::Clock;
use crate::server::config::{Config, GroupConfig, NodeConfig, RedisUrl, StorageConfig};
use crate::server::storage::StorageError;
use servers::{DemoServer, Program};

/// Options of the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The address of the console.
    pub listen: SocketAddr,
    /// The server program. Default: `redis-server` or `valkey-server` on `PATH`.
    pub redis_server: Option<PathBuf>,
    /// Start neither an etcd cluster nor a ZooKeeper ensemble.
    pub redis_only: bool,
}

/// Why the demo could not start. One sentence each, for the terminal.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No server program was found.
    #[error(
        "neither redis-server nor valkey-server was found on PATH. Install one (for example with \
         `apt-get install redis-server`) or pass --redis-server PATH"
    )]
    NoServer,
    /// The given program is not a server.
    #[error("{} is not a Redis or Valkey server: {reason}", path.display())]
    NotAServer {
        /// The given path.
        path: PathBuf,
        /// The result of running it with `--version`.
        reason: String,
    },
    /// A server did not start.
    #[error("demo server {name} failed to start: {reason}")]
    StartFailed {
        /// The name of its node.
        name: String,
        /// The cause.
        reason: String,
    },
    /// The history before the demo could not be written.
    #[error("cannot write the history of the demo: {0}")]
    History(#[from] StorageError),
    /// The temporary folder for the servers could not be created.
    #[error("cannot create a temporary folder for the demo servers: {0}")]
    TempFolder(#[from] std::io::Error),
}

/// A running demo. Dropping it stops servers and clients; `shut_down` also waits for them.
#[derive(Debug)]
pub struct RunningDemo {
    /// The configuration of the console.
    pub config: Config,
    /// The servers in the order of the configuration.
    pub nodes: Vec<DemoNode>,
    tasks: TaskTracker,
    stop_guard: DropGuard,
    // Dropped last, because the servers use it.
    _folder: tempfile::TempDir,
}

/// One server of the demo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoNode {
    /// The name of its group.
    pub group: &'static str,
    /// The name of the node.
    pub name: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The process id, for users who want to kill a node.
    pub pid: u32,
}

/// The demo's nodes: a Redlock group of five and one standalone server.
const NODES: [(&str, &str); 6] = [
    (clients::ORDERS, "a"),
    (clients::ORDERS, "b"),
    (clients::ORDERS, "c"),
    (clients::ORDERS, "d"),
    (clients::ORDERS, "e"),
    (clients::JOBS, "main"),
];

/// Starts servers and clients. Everything stops when `stop` is cancelled.
pub async fn start(
    options: DemoOptions,
    stop: CancellationToken,
) -> Result<RunningDemo, DemoError> {
    let program = Program::find(options.redis_server).await?;
    let folder = tempfile::Builder::new()
        .prefix("lockkeeper-demo-")
        .tempdir()?;
    let stop_guard = stop.child_token();
    let tasks = TaskTracker::new();
    let servers = try_join_all(NODES.iter().map(|(group, name)| {
        let name = format!("{group}-{name}");
        DemoServer::start(&program, folder.path().join(&name), name)
    }))
    .await?;

    let mut nodes = Vec::new();
    for ((group, name), server) in NODES.into_iter().zip(servers) {
        tracing::info!(node = %format!("{group}/{name}"), port = server.port, pid = server.pid, "demo server started");
        nodes.push(DemoNode {
            group,
            name,
            port: server.port,
            pid: server.pid,
        });
        tasks.spawn(server.run_until(stop_guard.clone()));
    }
    clients::start(&nodes, &tasks, &stop_guard);
    let services = if options.redis_only {
        Vec::new()
    } else {
        lock_services::start(&lock_services::Processes {
            folder: folder.path(),
            tasks: &tasks,
            stop: &stop_guard,
        })
        .await
    };
    tasks.close();
    let mut config = config(options.listen, &nodes);
    config.groups.extend(services);
    config.storage = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
    let made_up_until = past_week::write(&config.storage, Clock::system().now()).await?;
    config.made_up_until = Some(made_up_until);
    Ok(RunningDemo {
        config,
        nodes,
        tasks,
        stop_guard: stop_guard.drop_guard(),
        _folder: folder,
    })
}

impl RunningDemo {
    /// Stops servers and clients and waits until they have ended.
    pub async fn shut_down(self) {
        let Self {
            config: _,
            nodes: _,
            tasks,
            stop_guard,
            _folder,
        } = self;
        drop(stop_guard);
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
        ..Config::with_groups(vec![orders, jobs])
    }
}

fn group(
    name: &str,
    kind: GroupKind,
    environment: Environment,
    keys: &[&str],
    nodes: &[DemoNode],
) -> GroupConfig {
    let group_nodes = nodes.iter().filter(|node| node.group == name);
    GroupConfig {
        kind,
        environment,
        keys: keys.iter().map(|&pattern| pattern.to_owned()).collect(),
        keys_are_explicit: true,
        nodes: group_nodes
            .map(|node| NodeConfig::new(node.name, node.url()))
            .collect(),
        ..GroupConfig::new(name, [])
    }
}

impl DemoNode {
    /// The URL of the node.
    fn url(&self) -> RedisUrl {
        RedisUrl::parse(&format!("redis://127.0.0.1:{}", self.port))
            .expect("host and port form a valid URL")
    }
}
