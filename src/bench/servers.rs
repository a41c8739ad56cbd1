//! What is measured against: redis-servers and a console of its own, which never outlive the measurement.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::nodes::Group;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Failure;
use super::delay::Delay;
use super::processors::{self, Spent, of_children};
use super::work::Load;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// How far away a delayed node is, each way.
const DELAY: Duration = Duration::from_millis(2);

/// The programs that are started.
pub struct Programs {
    /// The server: Redis, or else Valkey.
    pub server: &'static str,
    /// What it says its version is.
    pub server_version: String,
    /// The console.
    pub console: PathBuf,
}

impl Programs {
    /// Finds them, or says what is missing.
    pub async fn find(console: Option<PathBuf>) -> Result<Self, Failure> {
        let (server, said) = match version("redis-server").await {
            Ok(said) => ("redis-server", said),
            Err(_) => match version("valkey-server").await {
                Ok(said) => ("valkey-server", said),
                Err(_) => return Err("neither redis-server nor valkey-server is on PATH".into()),
            },
        };
        let console = match console {
            Some(named) => named,
            // target/release/examples/bench, target/release/lockkeeper
            None => std::env::current_exe()?
                .ancestors()
                .nth(2)
                .ok_or("this program is nowhere")?
                .join("lockkeeper"),
        };
        if !console.is_file() {
            let console = console.display();
            return Err(format!("there is no console at {console}; `make bench` builds it").into());
        }
        Ok(Self {
            server,
            server_version: said
                .split_whitespace()
                .find_map(|word| word.strip_prefix("v="))
                .unwrap_or("of an unknown version")
                .to_owned(),
            console,
        })
    }
}

async fn version(name: &str) -> std::io::Result<String> {
    let output = Command::new(name).arg("--version").output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program that ends with us, however we end: it runs under the demo's watchdog, which kills it once the other end of
/// its standard input is closed.
pub(super) struct Kept {
    watchdog: Child,
    alive: ChildStdin,
}

impl Kept {
    fn start(folder: &Path, program: &Path, arguments: &[String]) -> Result<Self, Failure> {
        let mut watchdog = Command::new("/bin/sh")
            .args(["-c", include_str!("../server/demo/watchdog.sh"), "sh"])
            .args([folder, program])
            .args(arguments)
            // Its audit goes with the folder, and is no part of this machine's.
            .env("STATE_DIRECTORY", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The console logs every act there, as it does under a service manager that keeps no log.
            .stderr(Stdio::null())
            // Ctrl-C is for us.
            .process_group(0)
            .spawn()?;
        let alive = watchdog.stdin.take().expect("it was asked for");
        Ok(Self { watchdog, alive })
    }

    /// The program itself; nothing once it has ended.
    pub(super) fn pid(&self) -> Option<u32> {
        processors::child(self.watchdog.id()?)
    }

    /// Processor time so far.
    pub(super) fn spent(&self) -> Duration {
        self.watchdog.id().map_or(Duration::ZERO, of_children)
    }

    /// Ends it and waits until it is gone.
    pub(super) async fn end(self) {
        let Self {
            mut watchdog,
            alive,
        } = self;
        drop(alive);
        let _ended_either_way = watchdog.wait().await;
    }
}

/// Servers, console and group for the loads that are measured on them.
pub struct Bed {
    /// Where clients find the nodes: the servers themselves, or the delay before them.
    ports: Vec<u16>,
    servers: Vec<Kept>,
    console: (Kept, SocketAddr),
    group: Arc<Group>,
    _stops_the_group: DropGuard,
    _delay: Option<Delay>,
    _folder: TempDir,
}

impl Bed {
    /// Starts them and waits until they can be used.
    pub async fn start(programs: &Programs, load: Load) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lockkeeper-bench-")
            .tempdir()?;
        let root = folder.path().canonicalize()?;
        let starting =
            (0..load.nodes).map(|n| redis_server(programs.server, root.join(format!("node-{n}"))));
        let (servers, mut ports): (Vec<Kept>, Vec<u16>) =
            try_join_all(starting).await?.into_iter().unzip();
        let delay = load
            .delayed
            .then(|| Delay::start(&ports, DELAY))
            .transpose()?;
        if let Some(delay) = &delay {
            ports.clone_from(&delay.ports);
        }

        let urls: Vec<String> = ports
            .iter()
            .map(|port| format!("redis://127.0.0.1:{port}"))
            .collect();
        let console = console(&programs.console, root.join("console"), &urls).await?;
        let parsed = urls.iter().map(|url| RedisUrl::parse(url));
        let config = GroupConfig::new("default", parsed.collect::<Result<Vec<_>, _>>()?);
        let stop = CancellationToken::new();
        let group = Group::start(config, Clock::real(), stop.clone());
        group.first_attempts().await;
        Ok(Self {
            ports,
            servers,
            console,
            group,
            _stops_the_group: stop.drop_guard(),
            _delay: delay,
            _folder: folder,
        })
    }

    /// Where clients find the nodes.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Where the console listens.
    pub fn console(&self) -> SocketAddr {
        self.console.1
    }

    /// The same nodes for our locking code.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The median time of a PING to the first node, without any library.
    pub async fn round_trip(&self) -> Result<Duration, Failure> {
        let port = self.ports[0];
        tokio::task::spawn_blocking(move || super::delay::round_trip(port)).await?
    }

    /// Processor time of everybody so far.
    pub fn spent(&self) -> Spent {
        Spent {
            here: processors::here(),
            console: self.console.0.spent(),
            servers: self.servers.iter().map(Kept::spent).sum(),
            machine: processors::of_the_machine(),
        }
    }

    /// Ends everything and waits until it is gone.
    pub async fn end(self) {
        self.console.0.end().await;
        for server in self.servers {
            server.end().await;
        }
    }
}

/// Starts a server.
pub(super) async fn redis_server(program: &str, folder: PathBuf) -> Result<(Kept, u16), Failure> {
    std::fs::create_dir(&folder)?;
    let mut tries = 0;
    loop {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let arguments = format!(
            "--port {port} --bind 127.0.0.1 --save  --appendonly no --loglevel warning --dir"
        );
        let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        arguments.push(folder.display().to_string());
        let mut server = Kept::start(&folder, Path::new(program), &arguments)?;
        tokio::select! {
            // Somebody was faster to take the port.
            ended = server.watchdog.wait() => {
                tries += 1;
                if tries == 8 {
                    return Err(format!("{program} ended at once with {}", ended?).into());
                }
            }
            answered = timeout(PATIENCE, is_in(port, &folder)) => {
                answered.map_err(|_| format!("{program} does not answer"))?;
                return Ok((server, port));
            }
        }
    }
}

/// Waits until the server with this folder, which only ours has, answers at this port.
async fn is_in(port: u16, folder: &Path) {
    let ask = async || -> redis::RedisResult<(String, String)> {
        let client = redis::Client::open(("127.0.0.1", port))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut question = redis::cmd("CONFIG");
        question.arg("GET").arg("dir");
        question.query_async(&mut connection).await
    };
    while !matches!(ask().await, Ok((_, its)) if Path::new(&its) == folder) {
        sleep(Duration::from_millis(20)).await;
    }
}

async fn console(
    program: &Path,
    folder: PathBuf,
    urls: &[String],
) -> Result<(Kept, SocketAddr), Failure> {
    let nodes = urls
        .iter()
        .flat_map(|url| ["--redis".to_owned(), url.clone()]);
    console_with(program, folder, nodes.collect()).await
}

/// Starts a console with these arguments.
pub(super) async fn console_with(
    program: &Path,
    folder: PathBuf,
    more: Vec<String>,
) -> Result<(Kept, SocketAddr), Failure> {
    std::fs::create_dir(&folder)?;
    let mut arguments = vec![
        "serve".to_owned(),
        "--listen".to_owned(),
        "127.0.0.1:0".to_owned(),
    ];
    arguments.extend(more);
    let mut console = Kept::start(&folder, program, &arguments)?;
    let said = console.watchdog.stdout.take().expect("it was asked for");
    let mut line = String::new();
    timeout(PATIENCE, BufReader::new(said).read_line(&mut line)).await??;
    let address = line
        .trim()
        .rsplit_once("http://")
        .map(|(_, address)| address);
    let address: SocketAddr = address
        .ok_or_else(|| format!("the console ended, or said {line:?} instead of its address"))?
        .parse()?;
    timeout(PATIENCE, is_ready(address))
        .await
        .map_err(|_| "the console does not get ready")?;
    Ok((console, address))
}

async fn is_ready(address: SocketAddr) {
    let ask = async || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address).await?;
        let question =
            format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(question.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    while !matches!(ask().await, Ok(answer) if answer.starts_with("HTTP/1.1 200")) {
        sleep(Duration::from_millis(20)).await;
    }
}
