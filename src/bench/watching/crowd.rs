//! Two thousand viewers while a thousand locks change a second; thousands of requests that never end and bodies that are too large
//! beside them; then ten thousand streams on which nothing happens. Others get their pages meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::Failure;
use super::super::budgets::{Budget, Limit};
use super::super::servers::Programs;
use super::bed::{Console, Server, renew};
use super::latencies::Latencies;
use super::{Extent, at_most};

/// How many watch.
const VIEWERS: usize = 2_000;
/// How many locks change a second.
const CHANGES: u32 = 1_000;
/// How many streams are open on which nothing happens.
const IDLE: usize = 10_000;
/// How many begin a request and never end it.
const HALF: usize = 2_000;
/// How many send a body of a megabyte again and again.
const LARGE: usize = 8;
/// Everybody together, and room for some more.
const CONNECTIONS: u32 = 16_000;
/// What viewers look at; one in fifty hears everything.
const VIEWS: [&str; 4] = [
    "?limit=200",
    "?limit=200&sort=lease",
    "?limit=200&q=99",
    "?limit=200&sort=key&verdict=held",
];
/// What every viewer is told every two seconds.
const PING: &[u8] = b"event: ping";
/// When every viewer should have got its first picture of the board.
const ALL_BEGIN_WITHIN: Duration = Duration::from_mins(3);
/// How long the ill-behaved are there, beside the viewers.
const ILL_BEHAVED: Duration = Duration::from_secs(30);
/// Nobody has a lock of this name.
const NOTHING: &str = "?limit=200&q=no-such-lock";

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    let server = Server::full(programs, 0, extent.locks).await?;
    let console = server.crowded_console(programs, CONNECTIONS).await?;
    console.lists(extent.locks).await?;
    let seconds = Duration::from_secs(extent.crowd_seconds.into());
    let mut budgets = Vec::new();

    let mut client = server.client().await?;
    let locks = extent.locks;
    let whole = ALL_BEGIN_WITHIN + seconds + 2 * ILL_BEHAVED;
    let changing = tokio::spawn(async move { renew(&mut client, locks, CHANGES, whole).await });
    let mut viewers = JoinSet::new();
    let heard: Vec<Arc<Heard>> = (0..VIEWERS).map(|_| Arc::default()).collect();
    let began = Instant::now();
    for (n, heard) in heard.iter().enumerate() {
        let query = if n % 50 == 0 {
            ""
        } else {
            VIEWS[n % VIEWS.len()]
        };
        viewers.spawn(listen(
            console.address(),
            query.to_owned(),
            Arc::clone(heard),
        ));
        if n % 100 == 99 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    while !heard
        .iter()
        .all(|heard| heard.everything.load(Ordering::Relaxed))
    {
        if began.elapsed() > ALL_BEGIN_WITHIN {
            return Err("some viewers never got what there was when they came".into());
        }
        sleep(Duration::from_millis(100)).await;
    }
    let all_there = began.elapsed();
    let (spent, warm) = (console.spent(), console.memory()?);
    let before: Vec<u64> = heard.iter().map(|heard| heard.bytes()).collect();
    let (pages, sizes) = ask(&console, seconds).await?;
    let busy = (console.spent() - spent).as_secs_f64() / seconds.as_secs_f64();
    let least = heard.iter().zip(before);
    let least = least.map(|(heard, before)| heard.bytes() - before).min();
    let quarter = sizes.len() / 4;
    let (early, late) = (
        most(&sizes[quarter..2 * quarter.max(1)]),
        most(&sizes[3 * quarter..]),
    );
    println!(
        "\nviewers: {VIEWERS} viewers, {CHANGES} changes a second, {} s\n  API: median {:.1} ms, p99 {:.1} ms of {} answers; the console kept {:.0} % of a core busy; \
         each viewer heard at least {} kB; all had their first picture after {:.1} s; memory {:.0} MB then ({:.0} MB at most before), {early:.0} MB in the second quarter, {late:.0} MB in the last",
        seconds.as_secs(),
        pages.median(),
        pages.p99(),
        pages.count(),
        busy * 100.0,
        least.unwrap_or(0) / 1000,
        all_there.as_secs_f64(),
        warm.0 as f64 / 1e6,
        warm.1 as f64 / 1e6,
    );
    budgets.push(at_most(
        "viewers: API beside 2,000 viewers, p99 in ms",
        pages.p99(),
        100.0,
    ));
    budgets.push(at_most(
        "viewers: memory in the last quarter, in % of the second",
        late / early * 100.0,
        110.0,
    ));
    budgets.push(Budget {
        about: "viewers: kB that each of them heard, at least".to_owned(),
        measured: least.unwrap_or(0) as f64 / 1e3,
        limit: Limit::AtLeast(1.0),
        goal: None,
    });

    let mut bad = JoinSet::new();
    for n in 0..HALF {
        bad.spawn(never_end(console.address(), n));
    }
    for _ in 0..LARGE {
        bad.spawn(send_too_much(console.address()));
    }
    let (pages, sizes) = ask(&console, seconds.min(ILL_BEHAVED)).await?;
    bad.shutdown().await;
    viewers.shutdown().await;
    changing.abort();
    println!(
        "\nviewers: {HALF} requests that never end and {LARGE} clients with bodies of a megabyte, beside those viewers and changes\n  API: median {:.1} ms, p99 {:.1} ms; memory at most {:.0} MB",
        pages.median(),
        pages.p99(),
        most(&sizes),
    );
    budgets.push(at_most(
        "viewers: API beside 2,000 viewers and 2,000 half requests, p99 in ms",
        pages.p99(),
        100.0,
    ));

    let mut idle = JoinSet::new();
    let heard = Arc::<Heard>::default();
    let rest = console.memory()?.0 as f64 / 1e6;
    for n in 0..IDLE {
        idle.spawn(listen(
            console.address(),
            NOTHING.to_owned(),
            Arc::clone(&heard),
        ));
        if n % 200 == 199 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    let spent = console.spent();
    let long = seconds.min(Duration::from_secs(30));
    let (pages, sizes) = ask(&console, long).await?;
    let busy = (console.spent() - spent).as_secs_f64() / long.as_secs_f64();
    let open = console.get("/api/v1/groups").await.is_ok();
    idle.shutdown().await;
    println!(
        "\nviewers: {IDLE} streams on which nothing happens\n  API: median {:.1} ms, p99 {:.1} ms; the console kept {:.0} % of a core busy; memory {rest:.0} MB before, at most {:.0} MB ({:.1} kB a stream)",
        pages.median(),
        pages.p99(),
        busy * 100.0,
        most(&sizes),
        (most(&sizes) - rest) * 1e3 / IDLE as f64,
    );
    budgets.push(at_most(
        "viewers: API beside 10,000 idle streams, p99 in ms",
        pages.p99(),
        100.0,
    ));
    if !open {
        return Err("the console answers no more".into());
    }
    console.end().await;
    server.end().await;
    Ok(budgets)
}

fn most(sizes: &[f64]) -> f64 {
    sizes.iter().copied().fold(f64::NAN, f64::max)
}

/// Asks for a list of locks ten times a second, and for the console's memory (in MB) meanwhile.
async fn ask(console: &Console, long: Duration) -> Result<(Latencies, Vec<f64>), Failure> {
    let (mut pages, mut sizes) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while began.elapsed() < long {
        let asked = Instant::now();
        console.get("/api/v1/locks").await?;
        pages.push(asked.elapsed());
        sizes.push(console.memory()?.0 as f64 / 1e6);
        sleep(Duration::from_millis(100)).await;
    }
    Ok((Latencies::of(pages), sizes))
}

/// What one viewer heard.
#[derive(Default)]
struct Heard {
    bytes: AtomicU64,
    /// All that there was when it came.
    everything: AtomicBool,
}

impl Heard {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Takes in whatever the stream brings, and counts it.
async fn listen(address: SocketAddr, query: String, heard: Arc<Heard>) {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return;
    };
    let question = format!("GET /api/v1/events{query} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    if stream.write_all(question.as_bytes()).await.is_err() {
        return;
    }
    let mut told = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = stream.read(&mut told).await {
        heard.bytes.fetch_add(n as u64, Ordering::Relaxed);
        // The first comes after the snapshot; one that is cut in two by a read is followed by others.
        let is_ping = |bytes: &[u8]| bytes == PING;
        if !heard.everything.load(Ordering::Relaxed) && told[..n].windows(PING.len()).any(is_ping) {
            heard.everything.store(true, Ordering::Relaxed);
        }
    }
}

/// Sends the beginning of a request, then a letter a second; anew when it is hung up on.
async fn never_end(address: SocketAddr, n: usize) {
    let beginning: &[u8] = if n.is_multiple_of(2) {
        b"GET /api/v1/locks HTTP/1.1\r\nhost: localhost\r\nx-one: "
    } else {
        b"POST /api/v1/groups/default/locks/a/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n{"
    };
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else {
            sleep(Duration::from_secs(1)).await;
            continue;
        };
        let mut going = stream.write_all(beginning).await.is_ok();
        while going {
            sleep(Duration::from_secs(1)).await;
            going = stream.write_all(b" ").await.is_ok();
        }
    }
}

/// Sends bodies of a megabyte.
async fn send_too_much(address: SocketAddr) {
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
            let mut answer = Vec::new();
            let _however_it_ends = stream.read_to_end(&mut answer).await;
        }
        sleep(Duration::from_millis(100)).await;
    }
}
