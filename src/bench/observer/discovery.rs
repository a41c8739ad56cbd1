//! The first scan pass over a million keys with default settings: when all locks are shown, what the
//! pass costs the server and the console, and what another client notices of it.

use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use redis::aio::MultiplexedConnection;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::round::median;
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Console, Server, fill, server_cpu_seconds};
use super::{Scale, max_budget};

/// Repetitions of each measurement; medians are reported.
const REPEATS: usize = 3;

/// The other client sends this many GET commands per second.
const READS_PER_SECOND: u32 = 1_000;

/// What is measured, and the limits.
struct Case {
    discovery: &'static str,
    /// Locks that this kind of discovery finds, as a share of all.
    finds_all: bool,
    /// Server CPU relative to a bare SCAN.
    max_server_ratio: f64,
    /// Console CPU in seconds per million keys.
    max_console_seconds: f64,
}

const CASES: [Case; 2] = [
    Case {
        discovery: "names",
        finds_all: false,
        max_server_ratio: 3.0,
        max_console_seconds: 1.5,
    },
    Case {
        discovery: "values",
        finds_all: true,
        max_server_ratio: 5.0,
        max_console_seconds: 4.0,
    },
];

/// The figures of one pass.
struct Pass {
    listed_after: f64,
    /// The p99 of another client, relative to the time without console.
    p99_ratio: f64,
    server_ratio: f64,
    console_seconds: f64,
    console_megabytes: f64,
}

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    // Half of the locks have a name that says so; the others only have the token of redis-py.
    let named = scale.locks / 2;
    let server = Server::start_filled(programs, scale.other_keys, named).await?;
    let mut client = server.connect().await?;
    let (name, value) = (|n| format!("order:{n}"), |n| version_1_uuid(n));
    fill(&mut client, named, name, value, Some(3_600_000)).await?;
    println!(
        "\ndiscovery: {} locks among {} other keys, default settings; another client reads {READS_PER_SECOND} keys per second",
        scale.locks, scale.other_keys
    );
    let millions = f64::from(scale.other_keys) / 1e6;
    let mut budgets = Vec::new();
    for case in &CASES {
        let expected = if case.finds_all { 2 * named } else { named };
        let mut passes = Vec::new();
        for _ in 0..REPEATS {
            passes.push(measure_pass(&server, programs, scale, case, expected).await?);
        }
        let median_of = |figure: fn(&Pass) -> f64| median(passes.iter().map(figure));
        let discovery = case.discovery;
        for (name, figure, limit) in [
            (
                "s until all locks are listed",
                median_of(|pass| pass.listed_after),
                10.0,
            ),
            (
                "server CPU relative to a bare SCAN",
                median_of(|pass| pass.server_ratio),
                case.max_server_ratio,
            ),
            (
                "console CPU in s per million keys",
                median_of(|pass| pass.console_seconds) / millions,
                case.max_console_seconds,
            ),
            (
                "p99 of another client relative to no console",
                median_of(|pass| pass.p99_ratio),
                1.25,
            ),
        ] {
            budgets.push(max_budget(
                format!("discovery by {discovery}: {name}"),
                figure,
                limit,
            ));
        }
        println!(
            "  by {discovery}: peak memory {:.0} MB",
            median_of(|pass| pass.console_megabytes)
        );
    }
    server.stop().await;
    Ok(budgets)
}

async fn measure_pass(
    server: &Server,
    programs: &Programs,
    scale: Scale,
    case: &Case,
    expected: u32,
) -> Result<Pass, BenchError> {
    let mut client = server.connect().await?;
    let before = server_cpu_seconds(&mut client).await?;
    scan(&mut client).await?;
    let bare = server_cpu_seconds(&mut client).await? - before;

    let idle = Probe::start(server, scale.other_keys).await?;
    let before = server_cpu_seconds(&mut client).await?;
    let duration = Duration::from_secs(scale.seconds.into()) / 3;
    sleep(duration).await;
    let reads_per_second =
        (server_cpu_seconds(&mut client).await? - before) / duration.as_secs_f64();
    let idle = idle.stop().await?;

    let before = server_cpu_seconds(&mut client).await?;
    let (started, probe) = (
        Instant::now(),
        Probe::start(server, scale.other_keys).await?,
    );
    let group = format!("discovery = \"{}\"", case.discovery);
    let console = server.start_console_with_group(programs, &group).await?;
    console.wait_until_listed(expected).await?;
    let listed_after = started.elapsed().as_secs_f64();
    wait_for_pass(&console).await?;
    let of_reads = reads_per_second * started.elapsed().as_secs_f64();
    let cpu = server_cpu_seconds(&mut client).await? - before - of_reads;
    let during = probe.stop().await?;
    let pass = Pass {
        listed_after,
        p99_ratio: during.p99() / idle.p99(),
        server_ratio: cpu / bare,
        console_seconds: console.cpu_time().as_secs_f64(),
        console_megabytes: console.memory()?.1 as f64 / 1e6,
    };
    println!(
        "  by {}: all listed after {listed_after:.1} s; server CPU {cpu:.2} s (bare SCAN {bare:.2} s), console CPU {:.2} s; \
         the other client: median {:.3} ms, p99 {:.3} ms (without console {:.3} ms, {:.3} ms)",
        case.discovery,
        pass.console_seconds,
        during.median(),
        during.p99(),
        idle.median(),
        idle.p99()
    );
    console.stop().await;
    Ok(pass)
}

/// Waits until the first pass has ended.
async fn wait_for_pass(console: &Console) -> Result<(), BenchError> {
    while console.get("/api/v1/groups").await?["groups"][0]["coverage"]["passes"] == 0 {
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Runs a complete SCAN without processing its results.
async fn scan(client: &mut MultiplexedConnection) -> Result<(), BenchError> {
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("COUNT").arg(1_000);
        let names: Vec<Vec<u8>>;
        (cursor, names) = scan.query_async(client).await?;
        drop(names);
        if cursor == 0 {
            return Ok(());
        }
    }
}

/// A client that reads keys at a fixed rate.
struct Probe {
    stop: CancellationToken,
    reading: tokio::task::JoinHandle<Result<Latencies, redis::RedisError>>,
}

impl Probe {
    async fn start(server: &Server, keys: u32) -> Result<Self, BenchError> {
        let (mut client, stop) = (server.connect().await?, CancellationToken::new());
        let stopped = stop.clone();
        let reading = tokio::spawn(async move {
            let mut tick = interval(Duration::from_secs(1) / READS_PER_SECOND);
            tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let (mut latencies, mut n) = (Vec::new(), 0_u32);
            while !stopped.is_cancelled() {
                tick.tick().await;
                let mut get = redis::cmd("GET");
                get.arg(format!("user:{}:profile", n.wrapping_mul(7_919) % keys));
                let sent_at = Instant::now();
                let _: Option<Vec<u8>> = get.query_async(&mut client).await?;
                latencies.push(sent_at.elapsed());
                n = n.wrapping_add(1);
            }
            Ok(Latencies::new(latencies))
        });
        Ok(Self { stop, reading })
    }

    async fn stop(self) -> Result<Latencies, BenchError> {
        self.stop.cancel();
        Ok(self.reading.await??)
    }
}

/// A token as redis-py makes it: `uuid.uuid1().hex`.
fn version_1_uuid(n: u32) -> String {
    const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;
    let unix_ms = Clock::system().now().millis();
    let ticks = GREGORIAN_TO_UNIX + unix_ms.unsigned_abs() * 10_000 + u64::from(n);
    let (low, mid, high) = (
        ticks & 0xffff_ffff,
        (ticks >> 32) & 0xffff,
        (ticks >> 48) & 0xfff,
    );
    format!(
        "{low:08x}{mid:04x}1{high:03x}9df3{:012x}",
        0x0242_ac11_0000_u64 + u64::from(n)
    )
}
