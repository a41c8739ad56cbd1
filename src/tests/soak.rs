//! Everything at once, on the executable: consoles that are restarted, reload their configuration and whose clocks are set,
//! servers that are killed and come back with or without their data, a network of 5 to 200 ms, and clients that hold locks
//! from 50 ms to ten minutes over the JSON API.
//!
//! `LOCKKEEPER_SOAK_SECONDS` is for how long (`make soak`; without it nothing is run), `LOCKKEEPER_SEED` repeats the choices of an earlier run. What
//! must hold: the clients' own record of their critical sections has no overlap, fencing tokens rise, and at the end no key
//! is left on any node.

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
use crate::support::PATIENCE;
use crate::support::process::Process;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};
use crate::support::sections::{Sections, assert_sound};

type Http = HttpClient<HttpConnector, Full<hyper::body::Bytes>>;

const CONSOLES: usize = 2;
const CLIENTS: usize = 24;
/// Longer than any answer takes, waiting included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The locks, and the leases that their clients ask for, in milliseconds: 50 ms to 10 minutes.
const LOCKS: [(&str, std::ops::Range<u64>); 6] = [
    ("lock:shortest", 50..400),
    ("lock:short", 300..3_000),
    ("lock:medium", 2_000..20_000),
    ("lock:medium-other", 2_000..20_000),
    ("lock:long", 20_000..600_000),
    ("lock:long-other", 60_000..600_001),
];

/// What happened when, to be printed if something is left: the changes, and what came of each token's requests.
struct Journal {
    began: Instant,
    lines: Mutex<Vec<String>>,
}

impl Journal {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            lines: Mutex::default(),
        }
    }

    fn write(&self, what: impl std::fmt::Display) {
        let line = format!("{:9.3} {what}", self.began.elapsed().as_secs_f64());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }

    /// The lines that name this token, among the changes that came within some lines of them.
    fn of(&self, token: &str) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let first = lines.iter().position(|line| line.contains(token));
        let last = lines.iter().rposition(|line| line.contains(token));
        let (Some(first), Some(last)) = (first, last) else {
            return format!("{token} was never sent");
        };
        let around = first.saturating_sub(200)..lines.len().min(last + 200);
        let told = lines[around]
            .iter()
            .filter(|line| line.contains(token) || !line.contains("client-"));
        told.fold(String::new(), |text, line| text + line + "\n")
    }
}

/// What happened, to be printed at the end.
#[derive(Default)]
struct Counts {
    reloads: AtomicUsize,
    clock_steps: AtomicUsize,
    node_restarts: AtomicUsize,
    console_restarts: AtomicUsize,
    latencies: AtomicUsize,
    granted: AtomicUsize,
    refused: AtomicUsize,
    unanswered: AtomicUsize,
    too_short: AtomicUsize,
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_clients_hold_a_lock_while_consoles_clocks_servers_and_networks_change() {
    let seed = number("LOCKKEEPER_SEED").unwrap_or_else(rand::random);
    let Some(seconds) = number("LOCKKEEPER_SOAK_SECONDS") else {
        eprintln!("a soak runs with `make soak`");
        return;
    };
    eprintln!("LOCKKEEPER_SEED={seed} LOCKKEEPER_SOAK_SECONDS={seconds}");

    // Three keep every write, two lose everything when they restart: a majority always remembers.
    let (kept, forgetful) =
        tokio::join!(RedisNodes::start_with(3, &PERSISTENT), RedisNodes::start(2));
    let mut nodes = RedisNodes(kept.0.into_iter().chain(forgetful.0).collect());
    let counts = Arc::new(Counts::default());
    let journal = Arc::new(Journal::new());
    let mut consoles = Vec::new();
    for n in 0..CONSOLES {
        consoles.push(Arc::new(Console::start(n, nodes.proxies().await).await));
    }
    let sections = Arc::new(Sections::default());
    let until = Instant::now() + Duration::from_secs(seconds);
    let is_over = Arc::new(AtomicBool::new(false));

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client {
                number,
                consoles: consoles.clone(),
                sections: Arc::clone(&sections),
                counts: Arc::clone(&counts),
                journal: Arc::clone(&journal),
                is_over: Arc::clone(&is_over),
            };
            tokio::spawn(client.live(seed))
        })
        .collect();
    // A restart of a console and one of a server never meet: what a console still has to take back on a server that is down
    // is known to nobody else.
    let restarts = tokio::sync::Mutex::new(());
    let changes = async {
        tokio::join!(
            restart_nodes(&mut nodes, &restarts, seed, until, &counts, &journal),
            restart_consoles(&consoles, &restarts, seed, until, &counts, &journal),
            change_latency(&consoles, seed, until, &counts),
            step_clocks(&consoles, seed, until, &counts),
            reload(&consoles, seed, until, &counts),
        );
    };
    changes.await;
    for console in &consoles {
        console.network.iter().for_each(Proxy::heal);
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }

    assert_sound(&sections.all(), &format!("seed {seed}"));
    let began = Instant::now();
    loop {
        let left = locks_left(&nodes).await;
        if left.is_empty() {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "seed {seed}: still there:\n{}",
            left.iter().fold(String::new(), |text, (what, token)| {
                format!("{text}{what}\n{}", journal.of(token))
            })
        );
        sleep(Duration::from_millis(100)).await;
    }
    let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    eprintln!(
        "{seconds} s: {} sections, {} grants, {} refusals, {} leases too short for the network, {} requests without an answer; \
         {} reloads, {} clock steps, {} restarts of nodes, {} of consoles, {} changes of latency; clean after {:?}",
        sections.all().len(),
        read(&counts.granted),
        read(&counts.refused),
        read(&counts.too_short),
        read(&counts.unanswered),
        read(&counts.reloads),
        read(&counts.clock_steps),
        read(&counts.node_restarts),
        read(&counts.console_restarts),
        read(&counts.latencies),
        began.elapsed(),
    );
    assert!(read(&counts.granted) > 0, "nobody was given any lock");
    for console in consoles {
        console.end().await;
    }
}

/// The locks that are still there, node by node, with their tokens.
async fn locks_left(nodes: &RedisNodes) -> Vec<(String, String)> {
    let mut left = Vec::new();
    for (n, node) in nodes.0.iter().enumerate() {
        let mut client = node.client().await;
        for (lock, _) in LOCKS {
            let pttl: i64 = client.pttl(lock).await.unwrap();
            let token: Option<String> = client.get(lock).await.unwrap();
            if let Some(token) = token {
                left.push((format!("{lock} on node {n} for {pttl} ms"), token));
            }
        }
    }
    left
}

/// A console as a process, which is restarted on the same files, with its own way to the servers and its own wall clock.
struct Console {
    folder: TempDir,
    network: Vec<Proxy>,
    process: tokio::sync::Mutex<Option<Process>>,
    address: Mutex<SocketAddr>,
}

impl Console {
    async fn start(number: usize, network: Vec<Proxy>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let console = Self {
            folder,
            network,
            process: tokio::sync::Mutex::new(None),
            address: Mutex::new(([127, 0, 0, 1], 1).into()),
        };
        console.set_clock(0);
        console.configure(number);
        console.begin().await;
        console
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sets its wall clock this many seconds off.
    fn set_clock(&self, offset: i64) {
        let new = self.file("clock.new");
        std::fs::write(&new, format!("{offset:+}s\n")).unwrap();
        std::fs::rename(new, self.file("clock")).unwrap();
    }

    /// Writes its configuration, a little different each time.
    fn configure(&self, change: usize) {
        let nodes: Vec<String> = self
            .network
            .iter()
            .map(|proxy| format!("{{ url = \"redis://127.0.0.1:{}\" }}", proxy.port()))
            .collect();
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[group]]\nname = \"orders\"\nkind = \"redlock\"\nlongest_lease = \"10m\"\nignore = [\"ignored:{change}\"]\nnode = [{}]\n",
            nodes.join(", ")
        );
        let new = self.file("new.toml");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.file("lockkeeper.toml")).unwrap();
    }

    async fn begin(&self) {
        let path = |name: &str| self.file(name).to_str().unwrap().to_owned();
        let (state, clock, config) = (path("state"), path("clock"), path("lockkeeper.toml"));
        let faketime = faketime();
        let environment = [
            ("LD_PRELOAD", faketime.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", &clock),
            ("FAKETIME_CACHE_DURATION", "1"),
            // The kernel's monotonic clock is never set; only the wall clock is.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("XDG_STATE_HOME", &state),
        ];
        let process = Process::serve_in(&environment, &["--config", &config]).await;
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = process.person.address();
        *self.process.lock().await = Some(process);
    }

    async fn restart(&self, is_killed: bool) {
        let process = self.process.lock().await.take().unwrap();
        if is_killed {
            drop(process);
        } else {
            process.stop().await;
        }
        self.begin().await;
    }

    async fn end(&self) {
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
    journal: &Journal,
) {
    let mut dice = StdRng::seed_from_u64(seed);
    while pause(&mut dice, 500..4_000, until).await {
        let _alone = restarts.lock().await;
        let n = dice.random_range(0..nodes.0.len());
        let node: &mut RedisNode = &mut nodes.0[n];
        journal.write(format_args!("node {n} is killed"));
        node.kill().await;
        pause(&mut dice, 100..2_000, until).await;
        node.restart().await;
        journal.write(format_args!("node {n} is back"));
        add(&counts.node_restarts);
        // What could not be taken back meanwhile is taken back now.
        pause(&mut dice, 2_500..3_000, until).await;
    }
}

async fn restart_consoles(
    consoles: &[Arc<Console>],
    restarts: &tokio::sync::Mutex<()>,
    seed: u64,
    until: Instant,
    counts: &Counts,
    journal: &Journal,
) {
    let mut dice = StdRng::seed_from_u64(seed.wrapping_add(1));
    while pause(&mut dice, 2_000..15_000, until).await {
        let _alone = restarts.lock().await;
        let is_killed = dice.random_bool(0.25);
        let n = dice.random_range(0..consoles.len());
        let how = if is_killed { "killed" } else { "stopped" };
        journal.write(format_args!("console {n} is {how}"));
        consoles[n].restart(is_killed).await;
        journal.write(format_args!("console {n} is back"));
        add(&counts.console_restarts);
    }
}

async fn change_latency(consoles: &[Arc<Console>], seed: u64, until: Instant, counts: &Counts) {
    let mut dice = StdRng::seed_from_u64(seed.wrapping_add(2));
    while pause(&mut dice, 300..5_000, until).await {
        let console = consoles.choose(&mut dice).unwrap();
        // Now and then all are near, so that the shortest leases have a chance.
        let slowest = *[3, 10, 30, 100].choose(&mut dice).unwrap();
        for proxy in &console.network {
            let micros = dice.random_range(2_500..=slowest * 1_000);
            proxy.delay(Duration::from_micros(micros));
        }
        add(&counts.latencies);
    }
}

async fn step_clocks(consoles: &[Arc<Console>], seed: u64, until: Instant, counts: &Counts) {
    let mut dice = StdRng::seed_from_u64(seed.wrapping_add(3));
    while pause(&mut dice, 500..6_000, until).await {
        let furthest = *[1, 60, 3_600].choose(&mut dice).unwrap();
        let offset = dice.random_range(-furthest..=furthest);
        consoles.choose(&mut dice).unwrap().set_clock(offset);
        add(&counts.clock_steps);
    }
}

async fn reload(consoles: &[Arc<Console>], seed: u64, until: Instant, counts: &Counts) {
    let mut dice = StdRng::seed_from_u64(seed.wrapping_add(4));
    let mut change = CONSOLES;
    while pause(&mut dice, 2_000..10_000, until).await {
        change += 1;
        consoles.choose(&mut dice).unwrap().configure(change);
        add(&counts.reloads);
    }
}

/// Lets some time pass, no more than is left; whether any is left then.
async fn pause(dice: &mut StdRng, millis: std::ops::Range<u64>, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    sleep(Duration::from_millis(dice.random_range(millis)).min(left)).await;
    Instant::now() < until
}

/// One that needs the locks again and again.
struct Client {
    number: usize,
    consoles: Vec<Arc<Console>>,
    sections: Arc<Sections>,
    counts: Arc<Counts>,
    journal: Arc<Journal>,
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

/// What a request came to.
enum Reply {
    Answered(u16, Value),
    /// Nobody knows what came of it.
    Lost,
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answered(status, body) => write!(f, "{status} {body}"),
            Self::Lost => f.write_str("no answer"),
        }
    }
}

impl Client {
    fn any_console(&self, dice: &mut StdRng) -> (usize, &Console) {
        let n = dice.random_range(0..self.consoles.len());
        (n, &self.consoles[n])
    }

    fn tell(&self, token: &str, what: std::fmt::Arguments<'_>) {
        self.journal.write(format_args!("{token} {what}"));
    }

    async fn live(self, seed: u64) {
        let http = HttpClient::builder(TokioExecutor::new()).build_http();
        let mut dice = StdRng::seed_from_u64(seed ^ (self.number as u64 + 1) << 32);
        while !self.is_over.load(Ordering::Relaxed) {
            self.take_a_turn(&http, &mut dice).await;
            sleep(Duration::from_millis(dice.random_range(0..60))).await;
        }
    }

    async fn take_a_turn(&self, http: &Http, dice: &mut StdRng) {
        let (lock, leases) = LOCKS.choose(dice).unwrap();
        let ttl = dice.random_range(leases.clone());
        let waits = if dice.random_bool(0.5) {
            dice.random_range(0..2_000)
        } else {
            0
        };
        let (n, console) = self.any_console(dice);
        // A token of its own, so that a lock whose grant was lost on the way can still be given back.
        let token = format!("client-{}-{:016x}", self.number, dice.random::<u64>());
        let sent = Instant::now();
        let body = json!({ "ttl_ms": ttl, "wait_ms": waits, "token": token });
        self.tell(
            &token,
            format_args!("asks console {n} for {lock}, {ttl} ms"),
        );
        let reply = post(http, console.address(), lock, "acquire", body).await;
        let answered = Instant::now();
        self.tell(&token, format_args!("acquire at {n}: {reply}"));
        match reply {
            Reply::Answered(201, granted) => {
                add(&self.counts.granted);
                let validity = granted["validity_ms"].as_u64().unwrap();
                assert!(validity <= ttl, "{granted}");
                // Without waiting the lease began after the request was sent. With it only the answer's own figure is known,
                // less what the answer may have been under way on a busy machine.
                let valid_until = if waits == 0 {
                    sent + Duration::from_millis(validity.min(ttl - ttl / 100 - 2))
                } else {
                    (answered + Duration::from_millis(validity))
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
                self.work(http, dice, grant).await;
            }
            Reply::Answered(422, refusal) => {
                assert!(ttl < 5_000, "{refusal}");
                add(&self.counts.too_short);
            }
            Reply::Answered(409 | 429, _) => add(&self.counts.refused),
            Reply::Answered(503, _) => {
                add(&self.counts.refused);
                // A node that did not answer may have given it.
                self.give_back(http, dice, lock, &token).await;
            }
            Reply::Answered(status, body) => panic!("{status} {body}"),
            Reply::Lost => {
                add(&self.counts.unanswered);
                self.give_back(http, dice, lock, &token).await;
            }
        }
    }

    async fn work(&self, http: &Http, dice: &mut StdRng, grant: Grant<'_>) {
        let Grant {
            lock,
            token,
            fence,
            valid_until,
            ttl,
        } = grant;
        if let Some(mut inside) = self.sections.enter(lock, self.number, fence, valid_until) {
            sleep(Duration::from_millis(dice.random_range(0..30))).await;
            if dice.random_bool(0.2) {
                let (n, console) = self.any_console(dice);
                let sent = Instant::now();
                let body = json!({ "token": token, "ttl_ms": ttl });
                let reply = post(http, console.address(), lock, "extend", body).await;
                self.tell(&token, format_args!("extend at {n}: {reply}"));
                if let Reply::Answered(200, extended) = reply {
                    let validity = extended["validity_ms"].as_u64().unwrap();
                    let safe = validity.min(ttl - ttl / 100 - 2);
                    inside.extended((sent + Duration::from_millis(safe)).max(inside.valid_until()));
                }
                sleep(Duration::from_millis(dice.random_range(0..30))).await;
            }
        }
        // Some crash instead of giving it back; the lease has to end it, so only where that is soon.
        if ttl > 3_000 || dice.random_bool(0.9) {
            self.give_back(http, dice, lock, &token).await;
        }
    }

    /// Asks for the release until somebody answers that the nodes have it no more, as a careful client does.
    async fn give_back(&self, http: &Http, dice: &mut StdRng, lock: &str, token: &str) {
        let began = Instant::now();
        loop {
            let (n, console) = self.any_console(dice);
            let body = json!({ "token": token });
            let reply = post(http, console.address(), lock, "release", body).await;
            self.tell(token, format_args!("release at {n}: {reply}"));
            match reply {
                Reply::Answered(200 | 404 | 409, _) => return,
                Reply::Answered(429 | 503, _) | Reply::Lost => {}
                Reply::Answered(status, body) => panic!("{status} {body}"),
            }
            assert!(began.elapsed() < 4 * PATIENCE, "no console releases {lock}");
            sleep(Duration::from_millis(dice.random_range(50..200))).await;
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
    match timeout(ANSWER_TIMEOUT, exchange).await {
        Ok(Some((status, body))) => Reply::Answered(status, body),
        Ok(None) | Err(_) => Reply::Lost,
    }
}

/// Debian's library that shifts what a process reads from the wall clock.
fn faketime() -> String {
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let library = folders
        .map(|folder| folder.unwrap().path().join("faketime/libfaketimeMT.so.1"))
        .find(|library| library.exists());
    let library = library.expect("libfaketime is missing; `make setup` installs it");
    library.to_str().unwrap().to_owned()
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    Some(
        text.to_str()
            .unwrap()
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}
