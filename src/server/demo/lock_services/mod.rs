//! The demo's lock services beside Redis: an etcd cluster and a ZooKeeper ensemble, if their programs
//! are installed. They have clients that lock, wait, and leave locks behind.

pub mod etcd;
pub mod zookeeper;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::servers::watchdog;
use crate::domain::Environment;
use crate::server::config::{GroupConfig, ServiceConfig};

/// The number of servers of a cluster or ensemble.
const SERVERS: usize = 3;
/// How long a cluster may take to elect a leader. Generous, for machines under load.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// What starts and stops the processes of the lock services.
pub struct Processes<'a> {
    /// A folder in which each process has one of its own.
    pub folder: &'a Path,
    /// The tasks that stop the processes.
    pub tasks: &'a TaskTracker,
    /// Cancelled when they must stop.
    pub stop: &'a CancellationToken,
}

/// Starts the services that are installed and returns their groups.
pub async fn start(processes: &Processes<'_>) -> Vec<GroupConfig> {
    let (zookeeper, etcd) = tokio::join!(zookeeper::start(processes), etcd::start(processes));
    let mut groups = Vec::new();
    for (service, started) in [("ZooKeeper", zookeeper), ("etcd", etcd)] {
        match started {
            Ok(group) => groups.push(group),
            Err(reason) => eprintln!("The demo runs without {service}: {reason}."),
        }
    }
    groups
}

impl Processes<'_> {
    /// Runs a program until the demo stops. `name` is the name of its folder.
    fn spawn(&self, name: &str, program: &OsStr, arguments: Vec<OsString>) -> Result<(), String> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
        let mut process = watchdog(program, &folder, arguments)
            .spawn()
            .map_err(|why| why.to_string())?;
        let lifeline = process.stdin.take().expect("stdin is piped");
        let task = run_until(process, lifeline, self.stop.clone(), name.to_owned());
        self.tasks.spawn(task);
        Ok(())
    }

    fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

async fn run_until(
    mut process: Child,
    lifeline: ChildStdin,
    stop: CancellationToken,
    name: String,
) {
    tokio::select! {
        _ = process.wait() => tracing::warn!(name, "demo process exited"),
        () = stop.cancelled() => {
            drop(lifeline);
            if let Err(error) = process.wait().await {
                tracing::warn!(name, %error, "stopping a demo process failed");
            }
        }
    }
}

/// A program on `PATH`.
fn find_program(name: &str) -> Result<PathBuf, String> {
    let path = crate::server::config::os_env_var("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| format!("`{name}` was not found on PATH"))
}

/// Waits until every port replies to `request` with a text that contains `expected`.
async fn wait_until_ready(ports: &[u16], request: &str, expected: &str) -> Result<(), String> {
    let all_ready = async {
        for port in ports {
            while !replies(*port, request, expected).await.unwrap_or(false) {
                sleep(Duration::from_millis(50)).await;
            }
        }
    };
    let seconds = START_TIMEOUT.as_secs();
    timeout(START_TIMEOUT, all_ready)
        .await
        .map_err(|_| format!("its servers did not reply within {seconds} s"))
}

async fn replies(port: u16, request: &str, expected: &str) -> std::io::Result<bool> {
    let exchange = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut reply = Vec::new();
        // The replies have less than a kilobyte, and the server closes the connection.
        stream.take(64 << 10).read_to_end(&mut reply).await?;
        Ok(String::from_utf8_lossy(&reply).contains(expected))
    };
    timeout(Duration::from_secs(1), exchange).await?
}

/// A group in development whose locks are in this service.
fn group(name: &str, kind: crate::domain::GroupKind, service: ServiceConfig) -> GroupConfig {
    GroupConfig {
        kind,
        environment: Environment::Development,
        service,
        ..GroupConfig::new(name, [])
    }
}
