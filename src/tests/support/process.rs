//! A console as a process of its own: what it says, what it holds, and how it ends.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::PATIENCE;
use super::console::Person;
use super::redis_nodes::{RedisNode, RedisNodes};

/// A console as a process of its own. It is killed with the test.
pub struct Process {
    /// Somebody who talks to it.
    pub person: Person,
    process: Child,
    log: JoinHandle<String>,
    folder: TempDir,
}

impl Process {
    /// `lockkeeper serve` on a free port, with these arguments besides.
    pub async fn serve(arguments: &[&str]) -> Self {
        Self::serve_in(&[], arguments).await
    }

    /// The same on these nodes, one group called "default".
    pub async fn on(nodes: &RedisNodes, arguments: &[&str]) -> Self {
        let url = |node: &RedisNode| format!("redis://127.0.0.1:{}", node.port());
        let urls: Vec<String> = nodes.0.iter().map(url).collect();
        let named = urls.iter().flat_map(|url| ["--redis", url]);
        Self::serve(&named.chain(arguments.iter().copied()).collect::<Vec<_>>()).await
    }

    /// The same with these variables in its environment.
    pub async fn serve_in(environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path())
            .env_remove("STATE_DIRECTORY")
            .env_remove("LOCKKEEPER_LOG_FORMAT")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stderr = process.stderr.take().unwrap();
        let log = tokio::spawn(async move {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).await.unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, said.next_line()).await;
        let line = line.expect("it says where it is").unwrap().unwrap();
        Self {
            person: Person::of(line.rsplit("http://").next().unwrap().parse().unwrap()),
            process,
            log,
            folder,
        }
    }

    /// The memory that it holds, in bytes.
    pub fn memory(&self) -> u64 {
        let pid = self.process.id().unwrap();
        let told = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        let pages = told
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap() * u64::try_from(rustix::param::page_size()).unwrap()
    }

    /// Everything that it said until it was stopped.
    pub async fn stop(self) -> String {
        self.stop_and_keep().await.0
    }

    /// The same, and the folder with what it wrote.
    pub async fn stop_and_keep(mut self) -> (String, TempDir) {
        let pid = self.process.id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status();
        assert!(sent.unwrap().success());
        let ended = timeout(PATIENCE, self.process.wait()).await;
        assert_eq!(ended.unwrap().unwrap().code(), Some(0));
        (self.log.await.unwrap(), self.folder)
    }
}
