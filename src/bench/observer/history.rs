//! 100,000 locks, 1,000 hand-overs and 1,000 renewals per second: what the recorded history costs,
//! and how long its queries take meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::StorageConfig;
use lockkeeper::server::storage::Storage;
use redis::aio::MultiplexedConnection;
use sqlx::Row as _;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::super::BenchError;
use super::super::budgets::{Budget, Limit};
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Console, Server};
use super::{Scale, max_budget};

const HAND_OVERS_PER_SECOND: u32 = 1_000;
/// Renewals of other locks.
const RENEWALS_PER_SECOND: u32 = 1_000;
/// How often each query is measured.
const QUERIES: u32 = 11;
/// A place where no database can be created: the console watches, and records nothing.
const NO_DATABASE: &str = "/proc/lockkeeper.db";
/// Samples of the memory.
const SAMPLES: u32 = 10;

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let duration = Duration::from_secs(scale.history_seconds.into());
    println!(
        "\nhistory: {} locks, {HAND_OVERS_PER_SECOND} hand-overs and {RENEWALS_PER_SECOND} renewals per second, {} s",
        scale.many_locks,
        duration.as_secs()
    );
    let server = Server::start_filled(programs, 0, scale.many_locks).await?;
    let stop = CancellationToken::new();
    let client = server.connect().await?;
    let load = tokio::spawn(hand_over(client, scale.many_locks, stop.clone()));

    let console = start_console(&server, programs, Path::new(NO_DATABASE), scale).await?;
    let without_history = cpu_share(&console, duration.min(Duration::from_secs(60))).await;
    console.stop().await;

    let directory = tempfile::Builder::new()
        .prefix("lockkeeper-bench-history-")
        .tempdir()?;
    let file = directory.path().join("lockkeeper.db");
    let console = start_console(&server, programs, &file, scale).await?;
    let database = Storage::new(&StorageConfig::sqlite(&file), false);
    // The locks that exist at the start are recorded first.
    while count(&database, "history_open_hold").await? < scale.many_locks.into() {
        sleep(Duration::from_millis(100)).await;
    }
    let (holds_before, bytes_before) = (count(&database, "history_hold").await?, size(&file)?);
    let started = Instant::now();
    let (mut shares, mut memory) = (Vec::new(), vec![console.memory()?.0]);
    for _ in 0..SAMPLES {
        shares.push(cpu_share(&console, duration / SAMPLES).await);
        memory.push(console.memory()?.0);
    }
    let measured = started.elapsed().as_secs_f64();
    let with_history = shares.iter().sum::<f64>() / shares.len() as f64;
    let holds = count(&database, "history_hold").await? - holds_before;
    let bytes = size(&file)?.saturating_sub(bytes_before);
    let recorded = with_history - without_history;
    println!(
        "  CPU {:.1} % of a core with the history, {:.1} % without: {:.1} % for the history;\n  \
         memory in MB, at the start and {SAMPLES} times: {}\n  \
         {holds} holds ended, {:.0} per second, {:.0} bytes each; {:.0} MB per hour of this load",
        with_history * 100.0,
        without_history * 100.0,
        recorded * 100.0,
        megabytes(&memory),
        holds as f64 / measured,
        bytes as f64 / holds as f64,
        bytes as f64 / 1e6 / measured * 3_600.0,
    );
    let day_ago = Clock::system().now().plus_millis(-86_400_000);
    let (mut budgets, all) = (Vec::new(), "/api/v1/history?group=default");
    for (name, path) in [
        (
            "one lock's day",
            format!("{all}&key=lock:1&from={day_ago}&limit=10000"),
        ),
        ("one group's hour, 1,000 holds", format!("{all}&limit=1000")),
        (
            "one group's hour, 10,000 holds",
            format!("{all}&limit=10000"),
        ),
    ] {
        let (times, found) = time_query(&console, &path).await?;
        println!(
            "  {name}: median {:.0} ms, at most {:.0} ms ({found} holds)",
            times.median(),
            times.p99()
        );
        let name = format!("history: {name}, median in ms");
        budgets.push(max_budget(name, times.median(), 100.0));
    }
    budgets.push(max_budget(
        "history: % of a core for recording",
        recorded * 100.0,
        15.0,
    ));
    budgets.push(Budget {
        name: "history: hand-overs per second recorded".to_owned(),
        measured: holds as f64 / measured,
        limit: Limit::AtLeast(0.9 * f64::from(HAND_OVERS_PER_SECOND)),
        goal: None,
    });
    stop.cancel();
    load.await??;
    console.stop().await;
    server.stop().await;
    Ok(budgets)
}

async fn start_console(
    server: &Server,
    programs: &Programs,
    database: &Path,
    scale: Scale,
) -> Result<Console, BenchError> {
    let settings = format!("[storage]\nurl = \"sqlite://{}\"", database.display());
    let console = server.start_console_with_group(programs, &settings).await?;
    console.wait_until_listed(scale.many_locks).await?;
    Ok(console)
}

/// The share of a core that the console uses.
async fn cpu_share(console: &Console, duration: Duration) -> f64 {
    let (before, started) = (console.cpu_time(), Instant::now());
    sleep(duration).await;
    (console.cpu_time() - before).as_secs_f64() / started.elapsed().as_secs_f64()
}

/// The rows of a table.
async fn count(database: &Storage, table: &'static str) -> Result<u64, BenchError> {
    let mut db = database.read().await?;
    let count = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
    let count: i64 = sqlx::query(count).fetch_one(&mut *db).await?.try_get(0)?;
    Ok(u64::try_from(count)?)
}

/// The size of the database with its write-ahead log.
fn size(file: &Path) -> Result<u64, BenchError> {
    let log = PathBuf::from(format!("{}-wal", file.display()));
    Ok(std::fs::metadata(file)?.len() + std::fs::metadata(log)?.len())
}

fn megabytes(samples: &[u64]) -> String {
    let texts = samples.iter().map(|bytes| (bytes / 1_000_000).to_string());
    texts.collect::<Vec<_>>().join(", ")
}

/// The times of a query, and the number of holds that it finds.
async fn time_query(console: &Console, path: &str) -> Result<(Latencies, usize), BenchError> {
    let mut times = Vec::new();
    for _ in 0..QUERIES {
        let sent_at = Instant::now();
        console.body(path).await?;
        times.push(sent_at.elapsed());
    }
    let found = console.get(path).await?;
    if found["source"] != "storage" {
        return Err(format!("{path} was not read from the database").into());
    }
    let holds = found["holds"].as_array().map_or(0, Vec::len);
    Ok((Latencies::new(times), holds))
}

/// Gives locks to other owners and renews others until `stop` is cancelled.
async fn hand_over(
    mut client: MultiplexedConnection,
    locks: u32,
    stop: CancellationToken,
) -> Result<(), redis::RedisError> {
    let mut tick = interval(Duration::from_millis(10));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (mut handed_over, mut renewed) = (0_u32, 0_u32);
    while !stop.is_cancelled() {
        tick.tick().await;
        let mut pipe = redis::pipe();
        for _ in 0..HAND_OVERS_PER_SECOND / 100 {
            // Even locks are handed over, odd ones renewed.
            let key = format!("lock:{}", handed_over.wrapping_mul(2) % locks);
            let owner = format!("{:032x}", 1_000_000 + u64::from(handed_over));
            let set = pipe.cmd("SET").arg(key).arg(owner).arg("PX").arg(3_600_000);
            set.ignore();
            handed_over = handed_over.wrapping_add(1);
        }
        for _ in 0..RENEWALS_PER_SECOND / 100 {
            let key = format!("lock:{}", (renewed.wrapping_mul(2) + 1) % locks);
            let lease_ms = 3_600_000 + renewed % 60_000 * 1_000;
            pipe.cmd("PEXPIRE").arg(key).arg(lease_ms).ignore();
            renewed = renewed.wrapping_add(1);
        }
        let () = pipe.query_async(&mut client).await?;
    }
    Ok(())
}
