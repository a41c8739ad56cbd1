//! Redis servers and a console for a benchmark. They are stopped at its end, even if it is killed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::stores::redis::nodes::Group;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::BenchError;
use super::cpu::{self, CpuTime, of_children};
use super::delay_proxy::DelayProxy;
use super::load::Load;
use super::webdis;

/// How long a server or console may take to start.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The one-way network delay of a delayed node.
const DELAY: Duration = Duration::from_millis(2);

/// The programs that the benchmark starts.
pub struct Programs {
    /// `redis-server`, or `valkey-server` if it is missing.
    pub server: &'static str,
    pub server_version: String,
    pub console: PathBuf,
    /// `webdis`, if it is installed.
    pub webdis: Option<PathBuf>,
}

impl Programs {
    /// Finds the programs.
    pub async fn find(console: Option<PathBuf>) -> Result<Self, BenchError> {
        let (server, output) = match version_of("redis-server").await {
            Ok(output) => ("redis-server", output),
            Err(_) => match version_of("valkey-server").await {
                Ok(output) => ("valkey-server", output),
                Err(_) => return Err("neither redis-server nor valkey-server is on PATH".into()),
            },
        };
        let console = match console {
            Some(path) => path,
            // target/release/examples/bench, target/release/lockkeeper
            None => std::env::current_exe()?
                .ancestors()
                .nth(2)
                .ok_or("the path of this program has no target directory")?
                .join("lockkeeper"),
        };
        if !console.is_file() {
            let console = console.display();
            return Err(format!("{console} does not exist. Build it with `make bench`.").into());
        }
        Ok(Self {
            server,
            server_version: output
                .split_whitespace()
                .find_map(|word| word.strip_prefix("v="))
                .unwrap_or("(unknown version)")
                .to_owned(),
            console,
            webdis: find_on_path("webdis"),
        })
    }
}

fn find_on_path(name: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

async fn version_of(name: &str) -> std::io::Result<String> {
    let output = Command::new(name).arg("--version").output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program that ends with this process: the demo's watchdog kills it when its standard input is
/// closed, which happens even if this process is killed.
pub(super) struct Process {
    watchdog: Child,
    stdin: ChildStdin,
}

impl Process {
    pub(super) fn start(
        directory: &Path,
        program: &Path,
        arguments: &[String],
    ) -> Result<Self, BenchError> {
        let mut watchdog = Command::new("/bin/sh")
            .args(["-c", include_str!("../server/demo/watchdog.sh"), "sh"])
            .args([directory, program])
            .args(arguments)
            // The audit log is deleted with the directory.
            .env("STATE_DIRECTORY", directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The console writes a log line for every operation, as in production.
            .stderr(Stdio::null())
            // Ctrl-C must reach this process only, which then stops the program.
            .process_group(0)
            .spawn()?;
        let stdin = watchdog.stdin.take().expect("the stream is piped");
        Ok(Self { watchdog, stdin })
    }

    /// The process ID of the program; `None` after its end.
    pub(super) fn pid(&self) -> Option<u32> {
        cpu::first_child(self.watchdog.id()?)
    }

    /// CPU time used so far.
    pub(super) fn cpu_time(&self) -> Duration {
        self.watchdog.id().map_or(Duration::ZERO, of_children)
    }

    /// Stops the program and waits for its end.
    pub(super) async fn stop(self) {
        let Self {
            mut watchdog,
            stdin,
        } = self;
        drop(stdin);
        let _exit_status = watchdog.wait().await;
    }
}

/// The Redis servers, the console and the group of a load.
pub struct Testbed {
    /// The ports of the nodes: of the servers, or of the proxies in front of them.
    ports: Vec<u16>,
    servers: Vec<Process>,
    console: (Process, SocketAddr),
    /// In front of the first node.
    webdis: Option<(Process, u16)>,
    group: Arc<Group>,
    _stop_group: DropGuard,
    _delay_proxy: Option<DelayProxy>,
    _directory: TempDir,
}

impl Testbed {
    /// Starts everything and waits until it is ready.
    pub async fn start(programs: &Programs, load: Load) -> Result<Self, BenchError> {
        let directory = tempfile::Builder::new()
            .prefix("lockkeeper-bench-")
            .tempdir()?;
        let root = directory.path().canonicalize()?;
        let starts = (0..load.nodes)
            .map(|n| start_redis_server(programs.server, root.join(format!("node-{n}"))));
        let (servers, mut ports): (Vec<Process>, Vec<u16>) =
            try_join_all(starts).await?.into_iter().unzip();
        let delay_proxy = load
            .delayed
            .then(|| DelayProxy::start(&ports, DELAY))
            .transpose()?;
        if let Some(proxy) = &delay_proxy {
            ports.clone_from(&proxy.ports);
        }

        let urls: Vec<String> = ports
            .iter()
            .map(|port| format!("redis://127.0.0.1:{port}"))
            .collect();
        let console = start_console(&programs.console, root.join("console"), &urls).await?;
        let webdis = match &programs.webdis {
            Some(program) if load.nodes == 1 => {
                Some(webdis::start(program, &root.join("webdis"), ports[0]).await?)
            }
            Some(_) | None => None,
        };
        let parsed = urls.iter().map(|url| RedisUrl::parse(url));
        let config = GroupConfig::new("default", parsed.collect::<Result<Vec<_>, _>>()?);
        let stop = CancellationToken::new();
        let group = Group::start(config, Clock::system(), stop.clone());
        group.wait_for_first_attempts().await;
        Ok(Self {
            ports,
            servers,
            console,
            webdis,
            group,
            _stop_group: stop.drop_guard(),
            _delay_proxy: delay_proxy,
            _directory: directory,
        })
    }

    /// The ports of the nodes.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The address of the console.
    pub fn console(&self) -> SocketAddr {
        self.console.1
    }

    /// The address of webdis, if it is installed.
    pub fn webdis(&self) -> Option<SocketAddr> {
        let (_, port) = self.webdis.as_ref()?;
        Some(SocketAddr::from(([127, 0, 0, 1], *port)))
    }

    /// The nodes as a group, for the locking code.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The median round trip time of a PING to the first node.
    pub async fn round_trip(&self) -> Result<Duration, BenchError> {
        let port = self.ports[0];
        tokio::task::spawn_blocking(move || super::delay_proxy::round_trip(port)).await?
    }

    /// CPU time used so far.
    pub fn cpu_time(&self) -> CpuTime {
        CpuTime {
            bench: cpu::of_this_process(),
            gateway: self.console.0.cpu_time() + self.webdis_cpu_time(),
            servers: self.servers.iter().map(Process::cpu_time).sum(),
            machine: cpu::of_machine(),
        }
    }

    fn webdis_cpu_time(&self) -> Duration {
        let process = self.webdis.as_ref().map(|(process, _)| process);
        process.map_or(Duration::ZERO, Process::cpu_time)
    }

    /// Stops all processes and waits for their end.
    pub async fn stop(self) {
        self.console.0.stop().await;
        if let Some((webdis, _)) = self.webdis {
            webdis.stop().await;
        }
        for server in self.servers {
            server.stop().await;
        }
    }
}

/// Starts a Redis server on a free port.
pub(super) async fn start_redis_server(
    program: &str,
    directory: PathBuf,
) -> Result<(Process, u16), BenchError> {
    std::fs::create_dir(&directory)?;
    let mut attempts = 0;
    loop {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let arguments = format!(
            "--port {port} --bind 127.0.0.1 --save  --appendonly no --loglevel warning --dir"
        );
        let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        arguments.push(directory.display().to_string());
        let mut server = Process::start(&directory, Path::new(program), &arguments)?;
        tokio::select! {
            // Another process may have taken the port in the meantime.
            ended = server.watchdog.wait() => {
                attempts += 1;
                if attempts == 8 {
                    return Err(format!("{program} exited immediately with {}", ended?).into());
                }
            }
            is_ready = timeout(START_TIMEOUT, wait_for_own_server(port, &directory)) => {
                is_ready.map_err(|_| format!("{program} does not respond"))?;
                return Ok((server, port));
            }
        }
    }
}

/// Waits until the server at this port reports this directory. A server of another process, which
/// may have the same port, has a different one.
async fn wait_for_own_server(port: u16, directory: &Path) {
    let send_request = async || -> redis::RedisResult<(String, String)> {
        let client = redis::Client::open(("127.0.0.1", port))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut request = redis::cmd("CONFIG");
        request.arg("GET").arg("dir");
        request.query_async(&mut connection).await
    };
    while !matches!(send_request().await, Ok((_, dir)) if Path::new(&dir) == directory) {
        sleep(Duration::from_millis(20)).await;
    }
}

async fn start_console(
    program: &Path,
    directory: PathBuf,
    urls: &[String],
) -> Result<(Process, SocketAddr), BenchError> {
    let nodes = urls
        .iter()
        .flat_map(|url| ["--redis".to_owned(), url.clone()]);
    start_console_with(program, directory, nodes.collect()).await
}

/// Starts a console with additional arguments.
pub(super) async fn start_console_with(
    program: &Path,
    directory: PathBuf,
    extra_arguments: Vec<String>,
) -> Result<(Process, SocketAddr), BenchError> {
    std::fs::create_dir(&directory)?;
    let mut arguments = vec![
        "serve".to_owned(),
        "--listen".to_owned(),
        "127.0.0.1:0".to_owned(),
    ];
    arguments.extend(extra_arguments);
    let mut console = Process::start(&directory, program, &arguments)?;
    let output = console.watchdog.stdout.take().expect("the stream is piped");
    let mut line = String::new();
    timeout(START_TIMEOUT, BufReader::new(output).read_line(&mut line)).await??;
    let address = line
        .trim()
        .rsplit_once("http://")
        .map(|(_, address)| address);
    let address: SocketAddr = address
        .ok_or_else(|| format!("the console printed {line:?} instead of its address"))?
        .parse()?;
    timeout(START_TIMEOUT, wait_until_ready(address))
        .await
        .map_err(|_| "the console is not ready in time")?;
    Ok((console, address))
}

async fn wait_until_ready(address: SocketAddr) {
    let send_request = async || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        Ok(response)
    };
    while !matches!(send_request().await, Ok(response) if response.starts_with("HTTP/1.1 200")) {
        sleep(Duration::from_millis(20)).await;
    }
}
