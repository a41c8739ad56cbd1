//! Soak test of the executable with all faults at the same time: consoles restart, reload their
//! configuration and have their wall clocks stepped; servers are killed and restart with or without
//! their data; the network has a latency of 5 to 200 ms; clients hold locks from 50 ms to ten
//! minutes over the JSON API.
//!
//! `LOCKKEEPER_SOAK_SECONDS` sets the duration (`make soak`; without it the test is skipped),
//! `LOCKKEEPER_SEED` repeats the random choices of an earlier run. Invariants: the clients' own
//! record of their critical sections has no overlap, fencing tokens increase, and at the end no
//! lock is left on any node.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use redis::AsyncCommands as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::api::lock_path;
use crate::support::WAIT_TIMEOUT;
use crate::support::critical_sections::{SectionLog, assert_mutual_exclusion};
use crate::support::process::ConsoleProcess;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

type Http = HttpClient<HttpConnector, Full<hyper::body::Bytes>>;

const CONSOLES: usize = 2;
const CLIENTS: usize = 24;
/// Longer than any response takes, including `wait_ms`.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The locks and the range of leases that clients request, in milliseconds: 50 ms to 10 minutes.
const LOCKS: [(&str, std::ops::Range<u64>); 6] = [
    ("lock:shortest", 50..400),
    ("lock:short", 300..3_000),
    ("lock:medium", 2_000..20_000),
    ("lock:medium-other", 2_000..20_000),
    ("lock:long", 20_000..600_000),
    ("lock:long-other", 60_000..600_001),
];

/// Faults and the results of each token's requests with their times, printed if a lock is left at
/// the end.
struct EventLog {
    started_at: Instant,
    lines: Mutex<Vec<String>>,
}

impl EventLog {
    fn new() -> Self {
        Self {
            started_at: Instant::now(),
            lines: Mutex::default(),
        }
    }

    fn record(&self, event: impl std::fmt::Display) {
        let line = format!("{:9.3} {event}", self.started_at.elapsed().as_secs_f64());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }

    /// The lines that contain this token, with the faults within 200 lines of them.
    fn excerpt(&self, token: &str) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let first = lines.iter().position(|line| line.contains(token));
        let last = lines.iter().rposition(|line| line.contains(token));
        let (Some(first), Some(last)) = (first, last) else {
            return format!("{token} was never sent");
        };
        let range = first.saturating_sub(200)..lines.len().min(last + 200);
        let relevant = lines[range]
            .iter()
            .filter(|line| line.contains(token) || !line.contains("client-"));
        relevant.fold(String::new(), |text, line| text + line + "\n")
    }
}

/// Counters, printed at the end.
#[derive(Default)]
struct Counts {
    reloads: AtomicUsize,
    clock_steps: AtomicUsize,
    node_restarts: AtomicUsize,
    console_restarts: AtomicUsize,
    latencies: AtomicUsize,
    granted: AtomicUsize,
    rejected: AtomicUsize,
    without_response: AtomicUsize,
    too_short: AtomicUsize,
}

fn increment(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_clients_hold_a_lock_while_consoles_clocks_servers_and_networks_change() {
    let seed = number_from_env("LOCKKEEPER_SEED").unwrap_or_else(rand::random);
    let Some(seconds) = number_from_env("LOCKKEEPER_SOAK_SECONDS") else {
        eprintln!("a soak runs with `make soak`");
        return;
    };
    eprintln!("LOCKKEEPER_SEED={seed} LOCKKEEPER_SOAK_SECONDS={seconds}");

    // Three nodes persist every write, two lose their data on restart: a majority always has the
    // locks.
    let (persistent, volatile) =
        tokio::join!(RedisNodes::start_with(3, &PERSISTENT), RedisNodes::start(2));
    let mut nodes = RedisNodes(persistent.0.into_iter().chain(volatile.0).collect());
    let counts = Arc::new(Counts::default());
    let event_log = Arc::new(EventLog::new());
    let mut consoles = Vec::new();
    for n in 0..CONSOLES {
        consoles.push(Arc::new(
            RestartableConsole::start(n, nodes.proxies().await).await,
        ));
    }
    let sections = Arc::new(SectionLog::default());
    let until = Instant::now() + Duration::from_secs(seconds);
    let is_over = Arc::new(AtomicBool::new(false));

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = SoakClient {
                number,
                consoles: consoles.clone(),
                sections: Arc::clone(&sections),
                counts: Arc::clone(&counts),
                event_log: Arc::clone(&event_log),
                is_over: Arc::clone(&is_over),
            };
            tokio::spawn(client.run(seed))
        })
        .collect();
    // Consoles and servers never restart at the same time: a rollback that is pending on a server
    // that is down is lost with the console's process.
    let restarts = tokio::sync::Mutex::new(());
    let faults = async {
        tokio::join!(
            restart_nodes(&mut nodes, &restarts, seed, until, &counts, &event_log),
            restart_consoles(&consoles, &restarts, seed, until, &counts, &event_log),
            change_latency(&consoles, seed, until, &counts),
            step_clocks(&consoles, seed, until, &counts),
            reload_configs(&consoles, seed, until, &counts),
        );
    };
    faults.await;
    for console in &consoles {
        console.network.iter().for_each(Proxy::heal);
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }

    assert_mutual_exclusion(&sections.all(), &format!("seed {seed}"));
    let started_at = Instant::now();
    loop {
        let remaining = remaining_locks(&nodes).await;
        if remaining.is_empty() {
            break;
        }
        assert!(
            started_at.elapsed() < WAIT_TIMEOUT,
            "seed {seed}: locks left:\n{}",
            remaining.iter().fold(String::new(), |text, (lock, token)| {
                format!("{text}{lock}\n{}", event_log.excerpt(token))
            })
        );
        sleep(Duration::from_millis(100)).await;
    }
    let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    eprintln!(
        "{seconds} s: {} sections, {} grants, {} rejections, {} leases too short for the network, {} requests without a response; \
         {} reloads, {} clock steps, {} restarts of nodes, {} of consoles, {} changes of latency; clean after {:?}",
        sections.all().len(),
        read(&counts.granted),
        read(&counts.rejected),
        read(&counts.too_short),
        read(&counts.without_response),
        read(&counts.reloads),
        read(&counts.clock_steps),
        read(&counts.node_restarts),
        read(&counts.console_restarts),
        read(&counts.latencies),
        started_at.elapsed(),
    );
    assert!(read(&counts.granted) > 0, "no client acquired a lock");
    for console in consoles {
        console.stop().await;
    }
}

/// The locks that are left on each node, with their tokens.
async fn remaining_locks(nodes: &RedisNodes) -> Vec<(String, String)> {
    let mut remaining = Vec::new();
    for (n, node) in nodes.0.iter().enumerate() {
        let mut client = node.client().await;
        for (lock, _) in LOCKS {
            let pttl: i64 = client.pttl(lock).await.unwrap();
            let token: Option<String> = client.get(lock).await.unwrap();
            if let Some(token) = token {
                remaining.push((format!("{lock} on node {n} for {pttl} ms"), token));
            }
        }
    }
    remaining
}

/// A console process that is restarted on the same files, with its own proxies to the servers and
/// its own wall clock.
struct RestartableConsole {
    directory: TempDir,
    network: Vec<Proxy>,
    process: tokio::sync::Mutex<Option<ConsoleProcess>>,
    address: Mutex<SocketAddr>,
}

impl RestartableConsole {
    async fn start(number: usize, network: Vec<Proxy>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let console = Self {
            directory,
            network,
            process: tokio::sync::Mutex::new(None),
            address: Mutex::new(([127, 0, 0, 1], 1).into()),
        };
        console.set_clock(0);
        console.configure(number);
        console.spawn().await;
        console
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Sets the offset of its wall clock in seconds.
    fn set_clock(&self, offset: i64) {
        let new = self.file("clock.new");
        std::fs::write(&new, format!("{offset:+}s\n")).unwrap();
        std::fs::rename(new, self.file("clock")).unwrap();
    }

    /// Writes its configuration, with a different `exclude` each time.
    fn configure(&self, revision: usize) {
        let nodes: Vec<String> = self
            .network
            .iter()
            .map(|proxy| format!("{{ url = \"redis://127.0.0.1:{}\" }}", proxy.port()))
            .collect();
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[group]]\nname = \"orders\"\nkind = \"redlock\"\nmax_lease = \"10m\"\nexclude = [\"ignored:{revision}\"]\nnode = [{}]\n",
            nodes.join(", ")
        );
        let new = self.file("new.toml");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.file("lockkeeper.toml")).unwrap();
    }

    async fn spawn(&self) {
        let path = |name: &str| self.file(name).to_str().unwrap().to_owned();
        let (state, clock, config) = (path("state"), path("clock"), path("lockkeeper.toml"));
        let faketime = faketime();
        let environment = [
            ("LD_PRELOAD", faketime.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", &clock),
            ("FAKETIME_CACHE_DURATION", "1"),
            // Only the wall clock is stepped: the kernel's monotonic clock never is.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("XDG_STATE_HOME", &state),
        ];
        let process = ConsoleProcess::start_with_env(&environment, &["--config", &config]).await;
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = process.api.address();
        *self.process.lock().await = Some(process);
    }

    async fn restart(&self, is_killed: bool) {
        let process = self.process.lock().await.take().unwrap();
        if is_killed {
            drop(process);
        } else {
            process.stop().await;
        }
        self.spawn().await;
    }

    async fn stop(&self) {
        self.process.lock().await.take().unwrap().stop().await;
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn restart_nodes(
    nodes: &mut RedisNodes,
    restarts: &tokio::sync::Mutex<()>,
    seed: u64,
    until: Instant,
    counts: &Counts,
    event_log: &EventLog,
) {
    let mut rng = StdRng::seed_from_u64(seed);
    while sleep_until_deadline(&mut rng, 500..4_000, until).await {
        let _no_other_restart = restarts.lock().await;
        let n = rng.random_range(0..nodes.0.len());
        let node: &mut RedisNode = &mut nodes.0[n];
        event_log.record(format_args!("node {n} is killed"));
        node.kill().await;
        sleep_until_deadline(&mut rng, 100..2_000, until).await;
        node.restart().await;
        event_log.record(format_args!("node {n} is up again"));
        increment(&counts.node_restarts);
        // Time for the rollbacks that were pending on this node.
        sleep_until_deadline(&mut rng, 2_500..3_000, until).await;
    }
}

async fn restart_consoles(
    consoles: &[Arc<RestartableConsole>],
    restarts: &tokio::sync::Mutex<()>,
    seed: u64,
    until: Instant,
    counts: &Counts,
    event_log: &EventLog,
) {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_add(1));
    while sleep_until_deadline(&mut rng, 2_000..15_000, until).await {
        let _no_other_restart = restarts.lock().await;
        let is_killed = rng.random_bool(0.25);
        let n = rng.random_range(0..consoles.len());
        let action = if is_killed { "killed" } else { "stopped" };
        event_log.record(format_args!("console {n} is {action}"));
        consoles[n].restart(is_killed).await;
        event_log.record(format_args!("console {n} is up again"));
        increment(&counts.console_restarts);
    }
}

async fn change_latency(
    consoles: &[Arc<RestartableConsole>],
    seed: u64,
    until: Instant,
    counts: &Counts,
) {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_add(2));
    while sleep_until_deadline(&mut rng, 300..5_000, until).await {
        let console = consoles.choose(&mut rng).unwrap();
        // A low maximum at times, so that the shortest leases can be acquired.
        let max_delay_ms = *[3, 10, 30, 100].choose(&mut rng).unwrap();
        for proxy in &console.network {
            let micros = rng.random_range(2_500..=max_delay_ms * 1_000);
            proxy.delay(Duration::from_micros(micros));
        }
        increment(&counts.latencies);
    }
}

async fn step_clocks(
    consoles: &[Arc<RestartableConsole>],
    seed: u64,
    until: Instant,
    counts: &Counts,
) {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_add(3));
    while sleep_until_deadline(&mut rng, 500..6_000, until).await {
        let max_offset = *[1, 60, 3_600].choose(&mut rng).unwrap();
        let offset = rng.random_range(-max_offset..=max_offset);
        consoles.choose(&mut rng).unwrap().set_clock(offset);
        increment(&counts.clock_steps);
    }
}

async fn reload_configs(
    consoles: &[Arc<RestartableConsole>],
    seed: u64,
    until: Instant,
    counts: &Counts,
) {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_add(4));
    let mut revision = CONSOLES;
    while sleep_until_deadline(&mut rng, 2_000..10_000, until).await {
        revision += 1;
        consoles.choose(&mut rng).unwrap().configure(revision);
        increment(&counts.reloads);
    }
}

/// Sleeps for a random time, at most until the deadline. Returns whether time is left.
async fn sleep_until_deadline(
    rng: &mut StdRng,
    millis: std::ops::Range<u64>,
    until: Instant,
) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    sleep(Duration::from_millis(rng.random_range(millis)).min(left)).await;
    Instant::now() < until
}

/// A client that acquires and releases locks until the test is over.
struct SoakClient {
    number: usize,
    consoles: Vec<Arc<RestartableConsole>>,
    sections: Arc<SectionLog>,
    counts: Arc<Counts>,
    event_log: Arc<EventLog>,
    is_over: Arc<AtomicBool>,
}

/// A lock that was granted.
struct Grant<'a> {
    lock: &'a str,
    token: String,
    fence: Option<u64>,
    valid_until: Instant,
    ttl: u64,
}

/// The result of a request.
enum Reply {
    Response(u16, Value),
    /// There was no response: the operation may have been executed.
    Lost,
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Response(status, body) => write!(f, "{status} {body}"),
            Self::Lost => f.write_str("no response"),
        }
    }
}

impl SoakClient {
    fn any_console(&self, rng: &mut StdRng) -> (usize, &RestartableConsole) {
        let n = rng.random_range(0..self.consoles.len());
        (n, &self.consoles[n])
    }

    fn record(&self, token: &str, event: std::fmt::Arguments<'_>) {
        self.event_log.record(format_args!("{token} {event}"));
    }

    async fn run(self, seed: u64) {
        let http = HttpClient::builder(TokioExecutor::new()).build_http();
        let mut rng = StdRng::seed_from_u64(seed ^ (self.number as u64 + 1) << 32);
        while !self.is_over.load(Ordering::Relaxed) {
            self.acquire_and_release(&http, &mut rng).await;
            sleep(Duration::from_millis(rng.random_range(0..60))).await;
        }
    }

    async fn acquire_and_release(&self, http: &Http, rng: &mut StdRng) {
        let (lock, leases) = LOCKS.choose(rng).unwrap();
        let ttl = rng.random_range(leases.clone());
        let wait_ms = if rng.random_bool(0.5) {
            rng.random_range(0..2_000)
        } else {
            0
        };
        let (n, console) = self.any_console(rng);
        // The client chooses the token, so that it can release a lock whose response was lost.
        let token = format!("client-{}-{:016x}", self.number, rng.random::<u64>());
        let sent = Instant::now();
        let body = json!({ "ttl_ms": ttl, "wait_ms": wait_ms, "token": token });
        self.record(
            &token,
            format_args!("requests {lock} from console {n}, {ttl} ms"),
        );
        let reply = post(http, console.address(), lock, "acquire", body).await;
        let received = Instant::now();
        self.record(&token, format_args!("acquire at {n}: {reply}"));
        match reply {
            Reply::Response(201, granted) => {
                increment(&self.counts.granted);
                let validity = granted["validity_ms"].as_u64().unwrap();
                assert!(validity <= ttl, "{granted}");
                // Without waiting, the lease began after the request was sent. With waiting, only
                // the validity in the response is known, less the time that the response may take
                // on a busy machine.
                let valid_until = if wait_ms == 0 {
                    sent + Duration::from_millis(validity.min(ttl - ttl / 100 - 2))
                } else {
                    (received + Duration::from_millis(validity))
                        .checked_sub(Duration::from_millis(50))
                        .unwrap()
                };
                let fence = granted["fencing_token"].as_u64();
                assert!(fence.is_some(), "{granted}");
                let grant = Grant {
                    lock,
                    token,
                    fence,
                    valid_until,
                    ttl,
                };
                self.use_lock(http, rng, grant).await;
            }
            Reply::Response(422, problem) => {
                assert!(ttl < 5_000, "{problem}");
                increment(&self.counts.too_short);
            }
            Reply::Response(409 | 429, _) => increment(&self.counts.rejected),
            Reply::Response(503, _) => {
                increment(&self.counts.rejected);
                // A node that did not reply may have acquired the lock.
                self.release_until_confirmed(http, rng, lock, &token).await;
            }
            Reply::Response(status, body) => panic!("{status} {body}"),
            Reply::Lost => {
                increment(&self.counts.without_response);
                self.release_until_confirmed(http, rng, lock, &token).await;
            }
        }
    }

    async fn use_lock(&self, http: &Http, rng: &mut StdRng, grant: Grant<'_>) {
        let Grant {
            lock,
            token,
            fence,
            valid_until,
            ttl,
        } = grant;
        if let Some(mut section) = self.sections.enter(lock, self.number, fence, valid_until) {
            sleep(Duration::from_millis(rng.random_range(0..30))).await;
            if rng.random_bool(0.2) {
                let (n, console) = self.any_console(rng);
                let sent = Instant::now();
                let body = json!({ "token": token, "ttl_ms": ttl });
                let reply = post(http, console.address(), lock, "extend", body).await;
                self.record(&token, format_args!("extend at {n}: {reply}"));
                if let Reply::Response(200, extended) = reply {
                    let validity = extended["validity_ms"].as_u64().unwrap();
                    let safe = validity.min(ttl - ttl / 100 - 2);
                    section.set_valid_until(
                        (sent + Duration::from_millis(safe)).max(section.valid_until()),
                    );
                }
                sleep(Duration::from_millis(rng.random_range(0..30))).await;
            }
        }
        // Some clients crash instead of releasing; only with short leases, which must expire before
        // the test ends.
        if ttl > 3_000 || rng.random_bool(0.9) {
            self.release_until_confirmed(http, rng, lock, &token).await;
        }
    }

    /// Sends the release until a console confirms that the lock is released or held by another
    /// owner.
    async fn release_until_confirmed(
        &self,
        http: &Http,
        rng: &mut StdRng,
        lock: &str,
        token: &str,
    ) {
        let started_at = Instant::now();
        loop {
            let (n, console) = self.any_console(rng);
            let body = json!({ "token": token });
            let reply = post(http, console.address(), lock, "release", body).await;
            self.record(token, format_args!("release at {n}: {reply}"));
            match reply {
                Reply::Response(200 | 404 | 409, _) => return,
                Reply::Response(429 | 503, _) | Reply::Lost => {}
                Reply::Response(status, body) => panic!("{status} {body}"),
            }
            assert!(
                started_at.elapsed() < 4 * WAIT_TIMEOUT,
                "no console releases {lock}"
            );
            sleep(Duration::from_millis(rng.random_range(50..200))).await;
        }
    }
}

async fn post(http: &Http, console: SocketAddr, lock: &str, operation: &str, body: Value) -> Reply {
    let path = lock_path("orders", lock.as_bytes(), &format!("/{operation}"));
    let request = http::Request::post(format!("http://{console}{path}"))
        .header("content-type", "application/json")
        .body(Full::from(body.to_string()))
        .unwrap();
    let exchange = async {
        let response = http.request(request).await.ok()?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, serde_json::from_slice(&bytes).ok()?))
    };
    match timeout(RESPONSE_TIMEOUT, exchange).await {
        Ok(Some((status, body))) => Reply::Response(status, body),
        Ok(None) | Err(_) => Reply::Lost,
    }
}

/// The path of libfaketime, Debian's library that changes the wall clock of a process.
fn faketime() -> String {
    let directories = std::fs::read_dir("/usr/lib").unwrap();
    let library = directories
        .map(|directory| {
            directory
                .unwrap()
                .path()
                .join("faketime/libfaketimeMT.so.1")
        })
        .find(|library| library.exists());
    let library = library.expect("libfaketime is missing; `make setup` installs it");
    library.to_str().unwrap().to_owned()
}

/// A number from the environment.
fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    Some(
        text.to_str()
            .unwrap()
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number")),
    )
}
