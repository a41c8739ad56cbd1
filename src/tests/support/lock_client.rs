//! Clients of real libraries in processes of their own: kazoo and Curator for ZooKeeper, psycopg for
//! PostgreSQL.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::WAIT_TIMEOUT;
use super::programs::{client_script, python_with_lock_clients};
use super::zookeeper::{ZookeeperServers, class_path};

/// A client process that takes one command per line. It is killed when this is dropped.
pub struct LockClient {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// Lines that were read while another one was expected.
    unexpected: Vec<String>,
}

impl LockClient {
    /// A process with kazoo.
    pub async fn kazoo(servers: &ZookeeperServers) -> Self {
        let mut command = Command::new(python_with_lock_clients());
        command.arg(client_script("kazoo_client.py"));
        Self::start(command, &servers.connect_string()).await
    }

    /// A process with Curator.
    pub async fn curator(servers: &ZookeeperServers) -> Self {
        let jars = [
            "curator-recipes",
            "curator-framework",
            "curator-client",
            "zookeeper",
            "guava",
            "slf4j-nop",
            "netty-all",
        ];
        let mut command = Command::new("java");
        command.args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
        command.args(["-cp", &class_path(&jars)]);
        command.arg(client_script("CuratorClient.java"));
        Self::start(command, &servers.connect_string()).await
    }

    /// A process with psycopg.
    pub async fn psycopg(url: &str) -> Self {
        let mut command = Command::new(python_with_lock_clients());
        command.arg(client_script("psycopg_client.py"));
        Self::start(command, url).await
    }

    /// Starts a process that connects to this server.
    async fn start(mut command: Command, server: &str) -> Self {
        let mut child = command
            .arg(server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Self {
            child,
            stdin,
            lines,
            unexpected: Vec::new(),
        };
        client.wait_for("ready").await;
        client
    }

    /// Sends a command, which is described in the client's source.
    pub async fn send(&mut self, command: &str) {
        self.stdin
            .write_all(format!("{command}\n").as_bytes())
            .await
            .unwrap();
        self.stdin.flush().await.unwrap();
    }

    /// Acquires a lock, and waits until the client has it.
    pub async fn hold(&mut self, kind: &str, path: &str, identifier: &str) {
        self.send(&format!("{kind} {path} {identifier}")).await;
        self.wait_for(&format!("held {identifier}")).await;
    }

    /// Waits until the client prints this line.
    pub async fn wait_for(&mut self, expected: &str) {
        if let Some(index) = self.unexpected.iter().position(|line| line == expected) {
            self.unexpected.remove(index);
            return;
        }
        loop {
            let line = timeout(WAIT_TIMEOUT, self.lines.next_line()).await;
            let line =
                line.unwrap_or_else(|_| panic!("no line {expected:?} after {:?}", self.unexpected));
            let line = line.unwrap().expect("the client has exited");
            assert!(!line.starts_with("failed"), "{line}");
            if line == expected {
                return;
            }
            self.unexpected.push(line);
        }
    }

    /// Fails if the client has reported a failure so far.
    pub async fn assert_no_failure(&mut self) {
        self.send("deleted").await;
        self.wait_for("deleted 0").await;
    }

    /// Whether the client has printed this line.
    pub fn has_printed(&self, line: &str) -> bool {
        self.unexpected.iter().any(|printed| printed == line)
    }

    /// Kills the client with SIGKILL: its session stays until its timeout.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
