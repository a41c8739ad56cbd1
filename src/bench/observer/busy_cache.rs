//! A server that is mostly a cache: 50,000 writes per second with an expiry, under 200 prefixes,
//! beside 1,000 locks. What observing it costs, and whether a lock is missed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Server, server_cpu_seconds};
use super::{Scale, max_budget};

const LOCKS: u32 = 1_000;
const WRITES_PER_SECOND: u32 = 50_000;
const PREFIXES: u32 = 200;
/// Entries with each prefix.
const ENTRIES: u32 = 2_000;

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let duration = Duration::from_secs(scale.busy_seconds.into());
    println!(
        "\nbusy cache: {WRITES_PER_SECOND} SET per second with expiry under {PREFIXES} prefixes, {LOCKS} locks, {} s",
        duration.as_secs()
    );
    let server = Server::start_filled(programs, 0, LOCKS).await?;
    let stop = CancellationToken::new();
    let writing = tokio::spawn(write_cache(server.connect().await?, stop.clone()));
    let mut client = server.connect().await?;
    let alone = cpu_share(&mut client, duration.min(Duration::from_secs(15))).await?;
    let console = server.start_console(programs).await?;
    console.wait_until_listed(LOCKS).await?;
    let mut events = console.subscribe("").await?;
    events.next().await?;
    let (acquiring, started) = (
        tokio::spawn(acquire_locks(server.connect().await?, duration)),
        Instant::now(),
    );
    let (before, console_before) = (server_cpu_seconds(&mut client).await?, console.cpu_time());
    let mut received_at = HashMap::new();
    while started.elapsed() < duration + Duration::from_secs(1) {
        let Ok(event) = tokio::time::timeout(Duration::from_secs(1), events.next()).await else {
            continue;
        };
        let event = event?;
        if event.name != "change" {
            continue;
        }
        let change: Value = serde_json::from_str(&event.data)?;
        if change["type"] == "appeared"
            && let Some(key) = change["lock"]["key"].as_str()
        {
            received_at
                .entry(key.to_owned())
                .or_insert_with(Instant::now);
        }
    }
    let elapsed = started.elapsed().as_secs_f64();
    let observed = (server_cpu_seconds(&mut client).await? - before) / elapsed;
    let console_share = (console.cpu_time() - console_before).as_secs_f64() / elapsed;
    let acquired_at = acquiring.await??;
    let lag =
        |(key, at): (&String, &Instant)| Some(received_at.get(key)?.saturating_duration_since(*at));
    let lags: Vec<Duration> = acquired_at.iter().filter_map(lag).collect();
    let missed = acquired_at.len() - lags.len();
    let lags = Latencies::new(lags);
    stop.cancel();
    let writes = writing.await??;
    println!(
        "  {:.0} writes per second; server {:.1} % of a core unobserved, {:.1} % observed; console {:.1} %, peak {:.0} MB\n  \
         {} new locks under the prefix of others: {missed} missed, lag median {:.1} ms, p99 {:.1} ms",
        writes,
        alone * 100.0,
        observed * 100.0,
        console_share * 100.0,
        console.memory()?.1 as f64 / 1e6,
        acquired_at.len(),
        lags.median(),
        lags.p99()
    );
    console.stop().await;
    server.stop().await;
    Ok(vec![
        max_budget("busy cache: locks missed", missed as f64, 0.0),
        max_budget("busy cache: p99 lag of a new lock in ms", lags.p99(), 250.0),
    ])
}

/// The share of a core that the server uses.
async fn cpu_share(
    client: &mut MultiplexedConnection,
    duration: Duration,
) -> Result<f64, BenchError> {
    let (before, started) = (server_cpu_seconds(client).await?, Instant::now());
    sleep(duration).await;
    Ok((server_cpu_seconds(client).await? - before) / started.elapsed().as_secs_f64())
}

/// Writes entries until `stop` is cancelled. Returns the writes per second.
async fn write_cache(
    mut client: MultiplexedConnection,
    stop: CancellationToken,
) -> Result<f64, redis::RedisError> {
    let mut tick = interval(Duration::from_millis(10));
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (started, mut n) = (Instant::now(), 0_u32);
    while !stop.is_cancelled() {
        tick.tick().await;
        let mut pipe = redis::pipe();
        for _ in 0..WRITES_PER_SECOND / 100 {
            let (prefix, entry) = (n % PREFIXES, n / PREFIXES % ENTRIES);
            pipe.cmd("SET")
                .arg(format!("view{prefix}:{entry}"))
                .arg(format!("{{\"id\":{entry},\"price\":{n}}}"))
                .arg("EX")
                .arg(60)
                .ignore();
            n = n.wrapping_add(1);
        }
        let () = pipe.query_async(&mut client).await?;
    }
    Ok(f64::from(n) / started.elapsed().as_secs_f64())
}

/// Acquires ten locks per second. Returns when each was acquired.
async fn acquire_locks(
    mut client: MultiplexedConnection,
    duration: Duration,
) -> Result<HashMap<String, Instant>, redis::RedisError> {
    let mut tick = interval(Duration::from_millis(100));
    let (started, mut acquired_at) = (Instant::now(), HashMap::new());
    while started.elapsed() < duration {
        tick.tick().await;
        let key = format!("lock:new-{}", acquired_at.len());
        let mut set = redis::cmd("SET");
        set.arg(&key).arg("owner-1").arg("NX").arg("PX").arg(30_000);
        let () = set.query_async(&mut client).await?;
        acquired_at.insert(key, Instant::now());
    }
    Ok(acquired_at)
}
