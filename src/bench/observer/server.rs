//! A Redis server filled with keys, and consoles that observe it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpSocket;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{interval, sleep};

use super::super::BenchError;
use super::super::cpu;
use super::super::testbed::{Process, Programs, start_console_with, start_redis_server};

/// The number of commands in a pipeline that fills the server.
const PIPELINE_SIZE: u32 = 10_000;
/// How long a reply of the server may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// A Redis server.
pub struct Server {
    process: Process,
    pub port: u16,
    directory: TempDir,
    consoles: std::cell::Cell<u32>,
}

impl Server {
    /// Starts the server and fills it with locks and other keys.
    pub async fn start_filled(
        programs: &Programs,
        other_keys: u32,
        locks: u32,
    ) -> Result<Self, BenchError> {
        let directory = tempfile::Builder::new()
            .prefix("lockkeeper-bench-")
            .tempdir()?;
        let root = directory.path().canonicalize()?;
        let (process, port) = start_redis_server(programs.server, root.join("node")).await?;
        let server = Self {
            process,
            port,
            directory,
            consoles: std::cell::Cell::new(0),
        };
        let mut client = server.connect().await?;
        let value = |n: u32| format!("{:016x}{n:016x}", n.wrapping_mul(2_654_435_761));
        let name = |n| format!("user:{n}:profile");
        fill(&mut client, other_keys, name, value, None).await?;
        let name = |n| format!("lock:{n}");
        fill(&mut client, locks, name, value, Some(3_600_000)).await?;
        Ok(server)
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Result<MultiplexedConnection, BenchError> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        // A load must not end because other processes delayed one reply.
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(RESPONSE_TIMEOUT));
        Ok(client
            .get_multiplexed_async_connection_with_config(&config)
            .await?)
    }

    /// Starts a console that observes the server.
    pub async fn start_console(&self, programs: &Programs) -> Result<Console, BenchError> {
        let index = self.consoles.get();
        self.consoles.set(index + 1);
        let directory = self.directory.path().join(format!("console-{index}"));
        let url = format!("redis://127.0.0.1:{}", self.port);
        let arguments = vec!["--redis".to_owned(), url];
        let (process, address) =
            start_console_with(&programs.console, directory, arguments).await?;
        Ok(Console { process, address })
    }

    /// Starts a console that observes the server as a group with these settings.
    pub async fn start_console_with_group(
        &self,
        programs: &Programs,
        settings: &str,
    ) -> Result<Console, BenchError> {
        let index = self.consoles.get();
        self.consoles.set(index + 1);
        let directory = self.directory.path().join(format!("console-{index}"));
        let file = self.directory.path().join(format!("console-{index}.toml"));
        let port = self.port;
        let config = format!(
            "[[group]]\nname = \"default\"\nkind = \"standalone\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n{settings}\n"
        );
        std::fs::write(&file, config)?;
        Console::start(programs, directory, &file).await
    }

    /// Starts a console that observes the server and accepts `max_clients` connections.
    pub async fn start_console_with_limits(
        &self,
        programs: &Programs,
        max_clients: u32,
    ) -> Result<Console, BenchError> {
        let file = self.directory.path().join("limits.toml");
        let (port, max_queued) = (self.port, max_clients / 2);
        let config = format!(
            "[limits]\nmax_connections = {max_clients}\nmax_connections_per_client = {max_clients}\nmax_requests = {max_clients}\nmax_queued_acquires = {max_queued}\nmax_queued_acquires_per_client = {max_queued}\nmax_streams = {max_clients}\nmax_streams_per_client = {max_clients}\n\
             [[group]]\nname = \"default\"\nkind = \"standalone\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n"
        );
        std::fs::write(&file, config)?;
        let directory = self.directory.path().join("console-with-limits");
        Console::start(programs, directory, &file).await
    }

    /// Stops the process and waits for its end.
    pub async fn stop(self) {
        self.process.stop().await;
    }
}

/// Writes strings, with this expiry in milliseconds.
pub async fn fill(
    client: &mut MultiplexedConnection,
    count: u32,
    name: impl Fn(u32) -> String,
    value: impl Fn(u32) -> String,
    lease_ms: Option<u32>,
) -> Result<(), BenchError> {
    let mut next = 0;
    while next < count {
        let mut pipe = redis::pipe();
        for n in next..(next + PIPELINE_SIZE).min(count) {
            let set = pipe.cmd("SET").arg(name(n)).arg(value(n));
            if let Some(lease_ms) = lease_ms {
                set.arg("PX").arg(lease_ms);
            }
            set.ignore();
        }
        let () = pipe.query_async(client).await?;
        next += PIPELINE_SIZE;
    }
    Ok(())
}

/// CPU time used by the server in seconds, as reported by `INFO`.
pub async fn server_cpu_seconds(client: &mut MultiplexedConnection) -> Result<f64, BenchError> {
    let info: String = redis::cmd("INFO").arg("cpu").query_async(client).await?;
    let field = |name: &str| -> Option<f64> {
        let line = info.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    let times = field("used_cpu_user").zip(field("used_cpu_sys"));
    let (user, system) = times.ok_or("`INFO cpu` has no used_cpu_user or used_cpu_sys")?;
    Ok(user + system)
}

/// Extends locks in turn for a duration. Returns the share of a core that the server uses
/// meanwhile.
pub async fn renew_locks(
    client: &mut MultiplexedConnection,
    locks: u32,
    per_second: u32,
    duration: Duration,
) -> Result<f64, BenchError> {
    let before = server_cpu_seconds(client).await?;
    let started = Instant::now();
    let mut tick = interval(Duration::from_millis(10));
    let mut n = 0;
    while started.elapsed() < duration {
        tick.tick().await;
        let mut pipe = redis::pipe();
        for _ in 0..per_second.div_ceil(100) {
            let renewal = pipe.cmd("PEXPIRE").arg(format!("lock:{}", n % locks));
            renewal.arg(3_600_000 + n % 60_000 * 1_000).ignore();
            n = n.wrapping_add(1);
        }
        let () = pipe.query_async(client).await?;
    }
    Ok((server_cpu_seconds(client).await? - before) / started.elapsed().as_secs_f64())
}

/// A console process.
pub struct Console {
    process: Process,
    address: SocketAddr,
}

impl Console {
    /// Starts a console with this configuration file.
    pub async fn start(
        programs: &Programs,
        directory: PathBuf,
        config: &Path,
    ) -> Result<Self, BenchError> {
        let arguments = vec!["--config".to_owned(), config.display().to_string()];
        let (process, address) =
            start_console_with(&programs.console, directory, arguments).await?;
        Ok(Self { process, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a GET request and returns the JSON body.
    pub async fn get(&self, path: &str) -> Result<serde_json::Value, BenchError> {
        self.get_from(Ipv4Addr::LOCALHOST, path).await
    }

    /// Sends a GET request from a loopback address and returns the JSON body.
    pub async fn get_from(
        &self,
        client: Ipv4Addr,
        path: &str,
    ) -> Result<serde_json::Value, BenchError> {
        Ok(serde_json::from_slice(
            &self.body_from(client, path).await?,
        )?)
    }

    /// Sends a GET request and returns the body.
    pub async fn body(&self, path: &str) -> Result<Vec<u8>, BenchError> {
        self.body_from(Ipv4Addr::LOCALHOST, path).await
    }

    async fn body_from(&self, client: Ipv4Addr, path: &str) -> Result<Vec<u8>, BenchError> {
        let mut stream = self.send_get(client, path).await?;
        let mut response = Vec::new();
        stream.0.read_to_end(&mut response).await?;
        let head_end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        Ok(head_end.map_or(Vec::new(), |end| response.split_off(end + 4)))
    }

    /// Waits until the API lists this number of locks.
    pub async fn wait_until_listed(&self, count: u32) -> Result<(), BenchError> {
        while self.get("/api/v1/locks?limit=1").await?["total"] != count {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Opens an event stream.
    pub async fn subscribe(&self, query: &str) -> Result<Events, BenchError> {
        let (lines, write) = self
            .send_get(Ipv4Addr::LOCALHOST, &format!("/api/v1/events{query}"))
            .await?;
        Ok(Events {
            lines,
            _write: write,
        })
    }

    async fn send_get(
        &self,
        client: Ipv4Addr,
        path: &str,
    ) -> Result<(BufReader<OwnedReadHalf>, OwnedWriteHalf), BenchError> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((client, 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (read, mut write) = stream.into_split();
        let host = self.address;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        write.write_all(request.as_bytes()).await?;
        Ok((BufReader::new(read), write))
    }

    /// CPU time used so far.
    pub fn cpu_time(&self) -> Duration {
        self.process.cpu_time()
    }

    /// Resident memory in bytes: current and peak.
    pub fn memory(&self) -> Result<(u64, u64), BenchError> {
        let memory = self.process.pid().and_then(cpu::memory_of);
        Ok(memory.ok_or("the memory of the console cannot be read")?)
    }

    /// Stops the process and waits for its end.
    pub async fn stop(self) {
        self.process.stop().await;
    }
}

/// A stream of server-sent events.
pub struct Events {
    lines: BufReader<OwnedReadHalf>,
    _write: OwnedWriteHalf,
}

/// A server-sent event.
#[derive(Debug, Default)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: String,
}

impl Events {
    /// Receives the next event.
    pub async fn next(&mut self) -> Result<Event, BenchError> {
        let mut event = Event::default();
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).await? == 0 {
                return Err("the event stream ended".into());
            }
            let field = line.trim_end();
            // Chunk sizes of the chunked encoding are on separate lines and match no field.
            if let Some(name) = field.strip_prefix("event: ") {
                name.clone_into(&mut event.name);
            } else if let Some(id) = field.strip_prefix("id: ") {
                id.clone_into(&mut event.id);
            } else if let Some(data) = field.strip_prefix("data: ") {
                data.clone_into(&mut event.data);
            } else if field.is_empty() && !event.name.is_empty() && !event.data.is_empty() {
                return Ok(event);
            }
        }
    }
}
