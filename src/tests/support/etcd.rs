//! Real etcd clusters as child processes on free loopback ports, and their clients. They are killed
//! with the test.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{
    CredentialFiles, EtcdConfig, GroupConfig, ServiceConfig, ServiceCredentials,
};
use lockkeeper::server::stores::etcd::client::{ClientOptions, EtcdClient};
use lockkeeper::server::stores::redis::nodes::restart_history::RestartHistory;
use lockkeeper::server::stores::{Group, GroupOptions, Observations};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::certificates::{CertificateAuthority, path_str};
use super::programs::client_script;
use super::redis_nodes::free_port;
use super::{tool_dir, wait_until};

/// A cluster of one or several members.
pub struct EtcdCluster {
    pub members: Vec<EtcdMember>,
    /// `http` or `https`.
    scheme: &'static str,
    /// What clients need to connect.
    credentials: ServiceCredentials,
}

/// One member.
pub struct EtcdMember {
    port: u16,
    arguments: Vec<String>,
    child: Mutex<Option<Child>>,
    _data_dir: TempDir,
}

/// A group of this cluster. Its connections are closed when this is dropped.
pub struct EtcdGroup {
    pub group: Arc<Group>,
    _stop: DropGuard,
}

/// A client that holds a lock or waits for it. It is killed when this is dropped.
pub struct EtcdProcess {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl EtcdCluster {
    /// Starts a cluster and waits until it has a leader.
    pub async fn start(count: usize) -> Self {
        Self::start_with(count, &[]).await
    }

    /// Starts a cluster whose members get these arguments, too.
    pub async fn start_with(count: usize, arguments: &[&str]) -> Self {
        Self::start_at("http", count, arguments, ServiceCredentials::default()).await
    }

    /// Starts a member that requires TLS with a client certificate of this authority.
    pub async fn start_with_tls(authority: &CertificateAuthority) -> Self {
        let server = authority.issue("etcd");
        let client = authority.issue("console");
        let ca = authority.ca_file();
        let arguments = [
            "--client-cert-auth",
            "--cert-file",
            path_str(&server.certificate),
            "--key-file",
            path_str(&server.key),
            "--trusted-ca-file",
            path_str(&ca),
        ];
        let credentials = ServiceCredentials {
            files: CredentialFiles {
                ca: Some(ca.clone()),
                identity: Some((client.certificate, client.key)),
                ..CredentialFiles::default()
            },
            ..ServiceCredentials::default()
        };
        Self::start_at("https", 1, &arguments, credentials).await
    }

    async fn start_at(
        scheme: &'static str,
        count: usize,
        arguments: &[&str],
        credentials: ServiceCredentials,
    ) -> Self {
        let peers: Vec<String> = (0..count).map(|_| url(free_port())).collect();
        let named = (1..).zip(&peers);
        let initial: Vec<String> = named.map(|(n, peer)| format!("n{n}={peer}")).collect();
        let members = (1..).zip(&peers).map(|(n, peer)| {
            let (port, data_dir) = (free_port(), tempfile::tempdir().unwrap());
            let options = [
                ("--name", format!("n{n}")),
                ("--data-dir", data_dir.path().display().to_string()),
                (
                    "--listen-client-urls",
                    format!("{scheme}://127.0.0.1:{port}"),
                ),
                (
                    "--advertise-client-urls",
                    format!("{scheme}://127.0.0.1:{port}"),
                ),
                ("--listen-peer-urls", peer.clone()),
                ("--initial-advertise-peer-urls", peer.clone()),
                ("--initial-cluster", initial.join(",")),
                ("--initial-cluster-state", "new".to_owned()),
                ("--log-level", "error".to_owned()),
            ];
            let options = options.into_iter();
            let mut all: Vec<String> = options
                .flat_map(|(option, value)| [option.to_owned(), value])
                .collect();
            all.extend(arguments.iter().map(|&argument| argument.to_owned()));
            EtcdMember {
                port,
                arguments: all,
                child: Mutex::new(None),
                _data_dir: data_dir,
            }
        });
        let cluster = Self {
            members: members.collect(),
            scheme,
            credentials,
        };
        for member in &cluster.members {
            member.spawn();
        }
        cluster.wait_until_serving().await;
        cluster
    }

    /// Waits until every member has a leader.
    pub async fn wait_until_serving(&self) {
        let client = self.client();
        for member in 0..self.members.len() {
            wait_until("the member has a leader", async || {
                let status = client.status(member).await;
                status.is_ok_and(|status| status.leader != 0)
            })
            .await;
        }
    }

    /// The index of the leader, which must exist.
    pub async fn leader(&self) -> usize {
        let client = self.client();
        for member in 0..self.members.len() {
            let status = client.status(member).await.unwrap();
            if status.leader == status.header.member_id {
                return member;
            }
        }
        panic!("no member is the leader");
    }

    /// The addresses of the members.
    pub fn endpoints(&self) -> Vec<String> {
        let scheme = self.scheme;
        let members = self.members.iter();
        members
            .map(|member| format!("{scheme}://127.0.0.1:{}", member.port))
            .collect()
    }

    /// What clients need to connect.
    pub fn credentials(&self) -> ServiceCredentials {
        self.credentials.clone()
    }

    /// A client of all members.
    pub fn client(&self) -> EtcdClient {
        EtcdClient::new(ClientOptions {
            urls: self.endpoints(),
            credentials: self.credentials(),
            connect_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(5),
        })
    }

    /// The configuration of a group with the locks under these prefixes.
    pub fn config(&self, prefixes: &[&str]) -> GroupConfig {
        config(self.endpoints(), prefixes, self.credentials())
    }

    /// Connects to the cluster and waits until a member serves requests.
    pub async fn group(&self, prefixes: &[&str]) -> EtcdGroup {
        EtcdGroup::start(self.config(prefixes)).await
    }

    /// Runs `etcdctl` with these arguments and returns its output. Panics if it fails.
    pub async fn etcdctl(&self, arguments: &[&str]) -> String {
        let output = self.etcdctl_command(arguments).output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `etcdctl` with these arguments. Returns whether it succeeded.
    pub async fn try_etcdctl(&self, arguments: &[&str]) -> bool {
        let output = self.etcdctl_command(arguments).output().await.unwrap();
        output.status.success()
    }

    /// Starts `etcdctl`, which holds a lock until it is stopped or dropped.
    pub fn spawn_etcdctl(&self, arguments: &[&str]) -> EtcdProcess {
        EtcdProcess::spawn(self.etcdctl_command(arguments))
    }

    /// Starts a client of `etcd3gw`, which holds a lock until it is stopped or dropped.
    pub fn spawn_etcd3gw(&self, name: &str, ttl: &str) -> EtcdProcess {
        let python = tool_dir("etcd-python").join("bin/python3");
        assert!(
            python.exists(),
            "the Python client of etcd is not installed; `make setup` installs it"
        );
        let mut command = Command::new(python);
        command.arg(client_script("etcd_client.py"));
        command.args([&self.members[0].port.to_string(), name, ttl]);
        EtcdProcess::spawn(command)
    }

    fn etcdctl_command(&self, arguments: &[&str]) -> Command {
        let program = tool_dir("etcd-client").join("usr/bin/etcdctl");
        assert!(
            program.exists(),
            "etcdctl is not installed; `make setup` installs it"
        );
        let mut command = Command::new(program);
        command.env("ETCDCTL_API", "3");
        command.arg(format!("--endpoints={}", self.endpoints().join(",")));
        command.args(arguments).kill_on_drop(true);
        command
    }
}

impl EtcdMember {
    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the member. Its data stays.
    pub async fn kill(&self) {
        let child = self.child.lock().unwrap().take();
        if let Some(mut child) = child {
            child.kill().await.unwrap();
        }
    }

    /// Starts the member again.
    pub fn spawn(&self) {
        let program = tool_dir("etcd-server").join("usr/bin/etcd");
        assert!(
            program.exists(),
            "etcd is not installed; `make setup` installs it"
        );
        let child = Command::new(program)
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        *self.child.lock().unwrap() = Some(child.unwrap());
    }
}

impl EtcdGroup {
    /// Connects to the servers of this configuration.
    pub async fn start(config: GroupConfig) -> Self {
        let stop = CancellationToken::new();
        let options = GroupOptions {
            closing: CancellationToken::new(),
            stop: stop.clone(),
            history: RestartHistory::default(),
            observations: Observations::default(),
        };
        let group = Group::start(config, options, Clock::system());
        group.wait_for_quorum().await;
        Self {
            group,
            _stop: stop.drop_guard(),
        }
    }
}

impl std::ops::Deref for EtcdGroup {
    type Target = Group;

    fn deref(&self) -> &Group {
        &self.group
    }
}

impl EtcdProcess {
    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, output }
    }

    /// The next line of the output. `etcdctl` prints the key of the lock as soon as it holds it.
    pub async fn next_line(&mut self) -> String {
        let line = tokio::time::timeout(super::WAIT_TIMEOUT, self.output.next_line());
        line.await
            .expect("the client prints a line")
            .unwrap()
            .unwrap()
    }

    /// Kills the client, so that it does not release its lock.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Ends the client, which releases its lock.
    pub async fn interrupt(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().unwrap().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        self.child.wait().await.unwrap();
    }
}

/// The configuration of a group with the locks under these prefixes.
pub fn config(
    endpoints: Vec<String>,
    prefixes: &[&str],
    credentials: ServiceCredentials,
) -> GroupConfig {
    let service = ServiceConfig::Etcd(EtcdConfig {
        endpoints,
        prefixes: prefixes.iter().map(|&prefix| prefix.to_owned()).collect(),
        credentials,
    });
    GroupConfig {
        kind: GroupKind::Etcd,
        command_timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_secs(2),
        service,
        ..GroupConfig::new("leases", [])
    }
}

/// The address of a member on this port.
pub fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
