//! A console in a separate process: its log, its memory and its exit.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::WAIT_TIMEOUT;
use super::console::ApiClient;
use super::redis_nodes::{RedisNode, RedisNodes};

/// A console in a separate process. It is killed when this is dropped.
pub struct ConsoleProcess {
    pub api: ApiClient,
    child: Child,
    log: JoinHandle<String>,
    data_dir: TempDir,
}

impl ConsoleProcess {
    /// Starts `lockkeeper serve` on a free port with these additional arguments.
    pub async fn start(arguments: &[&str]) -> Self {
        Self::start_with_env(&[], arguments).await
    }

    /// Starts it with one group, "default", of these nodes.
    pub async fn start_with_nodes(nodes: &RedisNodes, arguments: &[&str]) -> Self {
        let url = |node: &RedisNode| format!("redis://127.0.0.1:{}", node.port());
        let urls: Vec<String> = nodes.0.iter().map(url).collect();
        let node_arguments = urls.iter().flat_map(|url| ["--redis", url]);
        Self::start(
            &node_arguments
                .chain(arguments.iter().copied())
                .collect::<Vec<_>>(),
        )
        .await
    }

    /// Starts it with these environment variables.
    pub async fn start_with_env(environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(data_dir.path())
            .env("XDG_STATE_HOME", data_dir.path())
            .env("XDG_CONFIG_HOME", data_dir.path())
            .env_remove("STATE_DIRECTORY")
            .env_remove("LOCKKEEPER_LOG_FORMAT")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = tokio::spawn(async move {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).await.unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(WAIT_TIMEOUT, stdout.next_line()).await;
        let line = line
            .expect("the console prints its address")
            .unwrap()
            .unwrap();
        Self {
            api: ApiClient::new(line.rsplit("http://").next().unwrap().parse().unwrap()),
            child,
            log,
            data_dir,
        }
    }

    /// The resident memory of the process, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let pid = self.child.id().unwrap();
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        let pages = statm
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap() * u64::try_from(rustix::param::page_size()).unwrap()
    }

    /// Stops the console with SIGTERM and returns its log.
    pub async fn stop(self) -> String {
        self.stop_and_keep_data().await.0
    }

    /// Stops the console and returns its log and its data directory.
    pub async fn stop_and_keep_data(mut self) -> (String, TempDir) {
        let pid = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status();
        assert!(sent.unwrap().success());
        let status = timeout(WAIT_TIMEOUT, self.child.wait()).await;
        assert_eq!(status.unwrap().unwrap().code(), Some(0));
        (self.log.await.unwrap(), self.data_dir)
    }
}
