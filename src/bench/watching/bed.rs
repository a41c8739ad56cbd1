//! One server full of keys, and a console that watches it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpSocket;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{interval, sleep};

use super::super::Failure;
use super::super::processors;
use super::super::servers::{Kept, Programs, console_with, redis_server};

/// So many commands go to the server at once while it is filled.
const AT_ONCE: u32 = 10_000;

/// A server.
pub struct Server {
    kept: Kept,
    pub port: u16,
    folder: TempDir,
    consoles: std::cell::Cell<u32>,
}

impl Server {
    /// Starts it and fills it.
    pub async fn full(programs: &Programs, others: u32, locks: u32) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lockkeeper-bench-")
            .tempdir()?;
        let root = folder.path().canonicalize()?;
        let (kept, port) = redis_server(programs.server, root.join("node")).await?;
        let server = Self {
            kept,
            port,
            folder,
            consoles: std::cell::Cell::new(0),
        };
        let mut client = server.client().await?;
        fill(&mut client, others, |n| (format!("user:{n}:profile"), None)).await?;
        let lease = Some(3_600_000);
        fill(&mut client, locks, |n| (format!("lock:{n}"), lease)).await?;
        Ok(server)
    }

    /// A connection.
    pub async fn client(&self) -> Result<MultiplexedConnection, Failure> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        Ok(client.get_multiplexed_async_connection().await?)
    }

    /// A console that watches it.
    pub async fn console(&self, programs: &Programs) -> Result<Console, Failure> {
        let nth = self.consoles.get();
        self.consoles.set(nth + 1);
        let folder = self.folder.path().join(format!("console-{nth}"));
        let url = format!("redis://127.0.0.1:{}", self.port);
        let arguments = vec!["--redis".to_owned(), url];
        let (kept, address) = console_with(&programs.console, folder, arguments).await?;
        Ok(Console { kept, address })
    }

    /// A console that watches it and lets this many in.
    pub async fn crowded_console(
        &self,
        programs: &Programs,
        many: u32,
    ) -> Result<Console, Failure> {
        let file = self.folder.path().join("crowded.toml");
        let (port, waiting) = (self.port, many / 2);
        let config = format!(
            "[limits]\nconnections = {many}\nconnections_per_client = {many}\nrequests = {many}\nwaiting = {waiting}\nwaiting_per_client = {waiting}\nstreams = {many}\nstreams_per_client = {many}\n\
             [[group]]\nname = \"default\"\nkind = \"standalone\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n"
        );
        std::fs::write(&file, config)?;
        let folder = self.folder.path().join("crowded");
        let arguments = vec!["--config".to_owned(), file.display().to_string()];
        let (kept, address) = console_with(&programs.console, folder, arguments).await?;
        Ok(Console { kept, address })
    }

    /// Ends it and waits until it is gone.
    pub async fn end(self) {
        self.kept.end().await;
    }
}

async fn fill(
    client: &mut MultiplexedConnection,
    many: u32,
    key: impl Fn(u32) -> (String, Option<u32>),
) -> Result<(), Failure> {
    let mut next = 0;
    while next < many {
        let mut pipe = redis::pipe();
        for n in next..(next + AT_ONCE).min(many) {
            let (key, lease) = key(n);
            let set = pipe.cmd("SET").arg(key);
            set.arg(format!("{:016x}{n:016x}", n.wrapping_mul(2_654_435_761)));
            if let Some(lease) = lease {
                set.arg("PX").arg(lease);
            }
            set.ignore();
        }
        let () = pipe.query_async(client).await?;
        next += AT_ONCE;
    }
    Ok(())
}

/// Processor seconds that the server has spent, by its own account.
pub async fn processor(client: &mut MultiplexedConnection) -> Result<f64, Failure> {
    let told: String = redis::cmd("INFO").arg("cpu").query_async(client).await?;
    let field = |name: &str| -> Option<f64> {
        let line = told.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    let both = field("used_cpu_user").zip(field("used_cpu_sys"));
    let (user, system) = both.ok_or("the server does not tell its processor time")?;
    Ok(user + system)
}

/// Renews locks one after another, so many a second for so long; the share of a core that the server spends meanwhile.
pub async fn renew(
    client: &mut MultiplexedConnection,
    locks: u32,
    a_second: u32,
    long: Duration,
) -> Result<f64, Failure> {
    let before = processor(client).await?;
    let began = Instant::now();
    let mut tick = interval(Duration::from_millis(10));
    let mut n = 0;
    while began.elapsed() < long {
        tick.tick().await;
        let mut pipe = redis::pipe();
        for _ in 0..a_second.div_ceil(100) {
            let renew = pipe.cmd("PEXPIRE").arg(format!("lock:{}", n % locks));
            renew.arg(3_600_000 + n % 60_000 * 1_000).ignore();
            n = n.wrapping_add(1);
        }
        let () = pipe.query_async(client).await?;
    }
    Ok((processor(client).await? - before) / began.elapsed().as_secs_f64())
}

/// A console.
pub struct Console {
    kept: Kept,
    address: SocketAddr,
}

impl Console {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it answers.
    pub async fn get(&self, path: &str) -> Result<serde_json::Value, Failure> {
        self.get_from(Ipv4Addr::LOCALHOST, path).await
    }

    /// What it answers to a client at this address.
    pub async fn get_from(
        &self,
        client: Ipv4Addr,
        path: &str,
    ) -> Result<serde_json::Value, Failure> {
        Ok(serde_json::from_slice(
            &self.text_from(client, path).await?,
        )?)
    }

    /// The same as it comes.
    pub async fn text(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.text_from(Ipv4Addr::LOCALHOST, path).await
    }

    async fn text_from(&self, client: Ipv4Addr, path: &str) -> Result<Vec<u8>, Failure> {
        let mut stream = self.ask(client, path).await?;
        let mut answer = Vec::new();
        stream.0.read_to_end(&mut answer).await?;
        let at = answer.windows(4).position(|four| four == b"\r\n\r\n");
        Ok(at.map_or(Vec::new(), |at| answer.split_off(at + 4)))
    }

    /// Waits until it lists so many locks.
    pub async fn lists(&self, many: u32) -> Result<(), Failure> {
        while self.get("/api/v1/locks?limit=1").await?["total"] != many {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Its events.
    pub async fn events(&self, query: &str) -> Result<Events, Failure> {
        let (lines, open) = self
            .ask(Ipv4Addr::LOCALHOST, &format!("/api/v1/events{query}"))
            .await?;
        Ok(Events { lines, _open: open })
    }

    async fn ask(
        &self,
        client: Ipv4Addr,
        path: &str,
    ) -> Result<(BufReader<OwnedReadHalf>, OwnedWriteHalf), Failure> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((client, 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (read, mut write) = stream.into_split();
        let host = self.address;
        let question = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        write.write_all(question.as_bytes()).await?;
        Ok((BufReader::new(read), write))
    }

    /// Processor time so far.
    pub fn spent(&self) -> Duration {
        self.kept.spent()
    }

    /// Its memory in bytes: now, and the most so far.
    pub fn memory(&self) -> Result<(u64, u64), Failure> {
        let told = self.kept.pid().and_then(processors::memory_of);
        Ok(told.ok_or("the console's memory cannot be told")?)
    }

    /// Ends it and waits until it is gone.
    pub async fn end(self) {
        self.kept.end().await;
    }
}

/// Server-sent events.
pub struct Events {
    lines: BufReader<OwnedReadHalf>,
    _open: OwnedWriteHalf,
}

/// One of them.
#[derive(Debug, Default)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: String,
}

impl Events {
    /// The next one.
    pub async fn next(&mut self) -> Result<Event, Failure> {
        let mut event = Event::default();
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).await? == 0 {
                return Err("the stream of events ended".into());
            }
            let said = line.trim_end();
            // The frames of chunked transfer stand on lines of their own.
            if let Some(name) = said.strip_prefix("event: ") {
                name.clone_into(&mut event.name);
            } else if let Some(id) = said.strip_prefix("id: ") {
                id.clone_into(&mut event.id);
            } else if let Some(data) = said.strip_prefix("data: ") {
                data.clone_into(&mut event.data);
            } else if said.is_empty() && !event.name.is_empty() && !event.data.is_empty() {
                return Ok(event);
            }
        }
    }
}
