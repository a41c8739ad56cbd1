//! The latency of the API and the memory with 2,000 subscribers and 1,000 changes per second; with
//! incomplete requests and large bodies in addition; and with 10,000 idle streams.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::BenchError;
use super::super::budgets::{Budget, Limit};
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Console, Server, renew_locks};
use super::{Scale, max_budget};

const SUBSCRIBERS: usize = 2_000;
/// Lock extensions per second.
const CHANGES: u32 = 1_000;
const IDLE_STREAMS: usize = 10_000;
/// Clients that send a request byte by byte and never complete it.
const INCOMPLETE_REQUESTS: usize = 2_000;
/// Clients that send bodies of 1 MiB continuously.
const LARGE_BODY_CLIENTS: usize = 8;
/// Above the number of all clients.
const MAX_CONNECTIONS: u32 = 16_000;
/// The queries of subscribers. In addition, every fiftieth subscribes to all events.
const QUERIES: [&str; 4] = [
    "?limit=200",
    "?limit=200&sort=lease",
    "?limit=200&q=99",
    "?limit=200&sort=key&verdict=held",
];
/// The start of an event that every stream receives every two seconds.
const PING: &[u8] = b"event: ping";
/// The time within which every subscriber must receive its snapshot.
const START_TIMEOUT: Duration = Duration::from_mins(3);
/// How long the abusive clients run.
const ABUSE_DURATION: Duration = Duration::from_secs(30);
/// A query that matches no lock.
const NO_MATCH_QUERY: &str = "?limit=200&q=no-such-lock";

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let server = Server::start_filled(programs, 0, scale.locks).await?;
    let console = server
        .start_console_with_limits(programs, MAX_CONNECTIONS)
        .await?;
    console.wait_until_listed(scale.locks).await?;
    let seconds = Duration::from_secs(scale.subscriber_seconds.into());
    let mut budgets = Vec::new();

    let mut client = server.connect().await?;
    let locks = scale.locks;
    let total = START_TIMEOUT + seconds + 2 * ABUSE_DURATION;
    let renewals =
        tokio::spawn(async move { renew_locks(&mut client, locks, CHANGES, total).await });
    let mut subscribers = JoinSet::new();
    let states: Vec<Arc<SubscriberState>> = (0..SUBSCRIBERS).map(|_| Arc::default()).collect();
    let started = Instant::now();
    for (n, state) in states.iter().enumerate() {
        let query = if n % 50 == 0 {
            ""
        } else {
            QUERIES[n % QUERIES.len()]
        };
        subscribers.spawn(subscribe(
            console.address(),
            query.to_owned(),
            Arc::clone(state),
        ));
        if n % 100 == 99 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    while !states
        .iter()
        .all(|state| state.is_initialized.load(Ordering::Relaxed))
    {
        if started.elapsed() > START_TIMEOUT {
            return Err("some subscribers received no snapshot in time".into());
        }
        sleep(Duration::from_millis(100)).await;
    }
    let initialized_after = started.elapsed();
    let (cpu_time, memory) = (console.cpu_time(), console.memory()?);
    let before: Vec<u64> = states.iter().map(|state| state.bytes()).collect();
    let (pages, sizes) = measure_reads(&console, seconds).await?;
    let cpu_share = (console.cpu_time() - cpu_time).as_secs_f64() / seconds.as_secs_f64();
    let received = states.iter().zip(before);
    let received = received.map(|(state, before)| state.bytes() - before);
    let min_received = received.min();
    let quarter = sizes.len() / 4;
    let (early, late) = (
        max(&sizes[quarter..2 * quarter.max(1)]),
        max(&sizes[3 * quarter..]),
    );
    println!(
        "\nsubscribers: {SUBSCRIBERS} subscribers, {CHANGES} changes per second, {} s\n  API: median {:.1} ms, p99 {:.1} ms of {} responses; CPU {:.0} % of a core; \
         each subscriber received at least {} kB; all received their snapshot within {:.1} s; memory {:.0} MB then (peak {:.0} MB), {early:.0} MB in the second quarter, {late:.0} MB in the last",
        seconds.as_secs(),
        pages.median(),
        pages.p99(),
        pages.count(),
        cpu_share * 100.0,
        min_received.unwrap_or(0) / 1000,
        initialized_after.as_secs_f64(),
        memory.0 as f64 / 1e6,
        memory.1 as f64 / 1e6,
    );
    budgets.push(max_budget(
        "subscribers: API with 2,000 subscribers, p99 in ms",
        pages.p99(),
        100.0,
    ));
    budgets.push(max_budget(
        "subscribers: memory in the last quarter, in % of the second quarter",
        late / early * 100.0,
        110.0,
    ));
    budgets.push(Budget {
        name: "subscribers: minimum received by a subscriber in kB".to_owned(),
        measured: min_received.unwrap_or(0) as f64 / 1e3,
        limit: Limit::AtLeast(1.0),
        goal: None,
    });

    let mut abusers = JoinSet::new();
    for n in 0..INCOMPLETE_REQUESTS {
        abusers.spawn(send_incomplete_requests(console.address(), n));
    }
    for _ in 0..LARGE_BODY_CLIENTS {
        abusers.spawn(send_large_bodies(console.address()));
    }
    let (pages, sizes) = measure_reads(&console, seconds.min(ABUSE_DURATION)).await?;
    abusers.shutdown().await;
    subscribers.shutdown().await;
    renewals.abort();
    println!(
        "\nsubscribers: the same with {INCOMPLETE_REQUESTS} incomplete requests and {LARGE_BODY_CLIENTS} clients that send bodies of 1 MiB\n  API: median {:.1} ms, p99 {:.1} ms; peak memory {:.0} MB",
        pages.median(),
        pages.p99(),
        max(&sizes),
    );
    budgets.push(max_budget(
        "subscribers: API with 2,000 subscribers and 2,000 incomplete requests, p99 in ms",
        pages.p99(),
        100.0,
    ));

    let mut idle = JoinSet::new();
    let state = Arc::<SubscriberState>::default();
    let memory_before = console.memory()?.0 as f64 / 1e6;
    for n in 0..IDLE_STREAMS {
        idle.spawn(subscribe(
            console.address(),
            NO_MATCH_QUERY.to_owned(),
            Arc::clone(&state),
        ));
        if n % 200 == 199 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    let cpu_time = console.cpu_time();
    let duration = seconds.min(Duration::from_secs(30));
    let (pages, sizes) = measure_reads(&console, duration).await?;
    let cpu_share = (console.cpu_time() - cpu_time).as_secs_f64() / duration.as_secs_f64();
    let is_responding = console.get("/api/v1/groups").await.is_ok();
    idle.shutdown().await;
    println!(
        "\nsubscribers: {IDLE_STREAMS} idle streams\n  API: median {:.1} ms, p99 {:.1} ms; CPU {:.0} % of a core; memory {memory_before:.0} MB before, {:.0} MB at most ({:.1} kB per stream)",
        pages.median(),
        pages.p99(),
        cpu_share * 100.0,
        max(&sizes),
        (max(&sizes) - memory_before) * 1e3 / IDLE_STREAMS as f64,
    );
    budgets.push(max_budget(
        "subscribers: API with 10,000 idle streams, p99 in ms",
        pages.p99(),
        100.0,
    ));
    if !is_responding {
        return Err("the console does not respond".into());
    }
    console.stop().await;
    server.stop().await;
    Ok(budgets)
}

fn max(sizes: &[f64]) -> f64 {
    sizes.iter().copied().fold(f64::NAN, f64::max)
}

/// Lists locks ten times a second. Returns the latencies, and the console's memory in MB at each
/// list.
async fn measure_reads(
    console: &Console,
    duration: Duration,
) -> Result<(Latencies, Vec<f64>), BenchError> {
    let (mut pages, mut sizes) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < duration {
        let sent_at = Instant::now();
        console.get("/api/v1/locks").await?;
        pages.push(sent_at.elapsed());
        sizes.push(console.memory()?.0 as f64 / 1e6);
        sleep(Duration::from_millis(100)).await;
    }
    Ok((Latencies::new(pages), sizes))
}

/// What a subscriber has received.
#[derive(Default)]
struct SubscriberState {
    bytes: AtomicU64,
    /// The snapshot is complete.
    is_initialized: AtomicBool,
}

impl SubscriberState {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Opens an event stream and counts the bytes received.
async fn subscribe(address: SocketAddr, query: String, state: Arc<SubscriberState>) {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return;
    };
    let request = format!("GET /api/v1/events{query} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return;
    }
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        state.bytes.fetch_add(n as u64, Ordering::Relaxed);
        // The first ping follows the snapshot. If a read splits it, a later one is detected.
        let is_ping = |bytes: &[u8]| bytes == PING;
        if !state.is_initialized.load(Ordering::Relaxed)
            && buffer[..n].windows(PING.len()).any(is_ping)
        {
            state.is_initialized.store(true, Ordering::Relaxed);
        }
    }
}

/// Sends the start of a request, then one byte per second. Reconnects when the console closes the
/// connection.
async fn send_incomplete_requests(address: SocketAddr, n: usize) {
    let head: &[u8] = if n.is_multiple_of(2) {
        b"GET /api/v1/locks HTTP/1.1\r\nhost: localhost\r\nx-one: "
    } else {
        b"POST /api/v1/groups/default/locks/a/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n{"
    };
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else {
            sleep(Duration::from_secs(1)).await;
            continue;
        };
        let mut is_open = stream.write_all(head).await.is_ok();
        while is_open {
            sleep(Duration::from_secs(1)).await;
            is_open = stream.write_all(b" ").await.is_ok();
        }
    }
}

/// Sends bodies of 1 MiB continuously.
async fn send_large_bodies(address: SocketAddr) {
    let body = vec![b' '; 1 << 20];
    let head = format!(
        "POST /api/v1/groups/default/locks/a/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(head.as_bytes()).await.is_ok()
            && stream.write_all(&body).await.is_ok()
        {
            let mut response = Vec::new();
            let _ignored = stream.read_to_end(&mut response).await;
        }
        sleep(Duration::from_millis(100)).await;
    }
}
