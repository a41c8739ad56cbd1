//! 100,000 locks that change while fifty clients list and search them continuously: the age of the
//! listed snapshots, the lag of events, and the latency of the health check.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Console, Server, renew_locks};
use super::{Scale, max_budget};

const CLIENTS: u8 = 50;
/// Lock extensions per second.
const CHANGES: u32 = 1_000;
/// The requests of the clients.
const LISTS: [&str; 4] = [
    "/api/v1/locks?limit=100",
    "/api/v1/locks?limit=100&sort=lease",
    "/api/v1/locks?limit=100&q=99",
    "/api/v1/locks?limit=100&group_by=prefix",
];

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let server = Server::start_filled(programs, 0, scale.many_locks).await?;
    let console = Arc::new(server.start_console_with_limits(programs, 1_000).await?);
    console.wait_until_listed(scale.many_locks).await?;
    let duration = Duration::from_secs(scale.seconds.into());

    let (mut client, locks) = (server.connect().await?, scale.many_locks);
    let renewals =
        tokio::spawn(async move { renew_locks(&mut client, locks, CHANGES, duration).await });
    let mut readers = JoinSet::new();
    for n in 0..CLIENTS {
        let console = Arc::clone(&console);
        // Each client has its own address, because concurrent lists per client are limited.
        let client = Ipv4Addr::new(127, 0, 1, n);
        let path = LISTS[usize::from(n) % LISTS.len()];
        readers.spawn(async move { read_lists(&console, client, path, duration).await });
    }
    let lags = AbortOnDropHandle::new(tokio::spawn(measure_lags(
        Arc::clone(&console),
        server.connect().await?,
        duration,
    )));
    let mut health_latencies = Vec::new();
    let started = Instant::now();
    while started.elapsed() < duration {
        let sent_at = Instant::now();
        console.body("/healthz").await?;
        health_latencies.push(sent_at.elapsed());
        sleep(Duration::from_millis(20)).await;
    }
    let (mut ages, mut latencies) = (Vec::new(), Vec::new());
    while let Some(response) = readers.join_next().await {
        let (client_ages, client_latencies) = response??;
        ages.extend(client_ages);
        latencies.extend(client_latencies);
    }
    let lags = lags.await??;
    renewals.await??;
    let (ages, latencies) = (Latencies::new(ages), Latencies::new(latencies));
    let (lags, health_latencies) = (Latencies::new(lags), Latencies::new(health_latencies));
    println!(
        "\nreads: {locks} locks, {CHANGES} changes per second, {CLIENTS} clients that list and search continuously\n  \
         {} lists: median {:.0} ms, p99 {:.0} ms; age of their snapshots: median {:.0} ms, p99 {:.0} ms;\n  \
         event lag: median {:.1} ms, p99 {:.1} ms; /healthz: median {:.1} ms, p99 {:.1} ms",
        latencies.count(),
        latencies.median(),
        latencies.p99(),
        ages.median(),
        ages.p99(),
        lags.median(),
        lags.p99(),
        health_latencies.median(),
        health_latencies.p99(),
    );
    if let Some(console) = Arc::into_inner(console) {
        console.stop().await;
    }
    server.stop().await;
    Ok(vec![
        max_budget(
            "reads: age of listed snapshots, p99 in ms",
            ages.p99(),
            250.0,
        ),
        max_budget("reads: event lag, p99 in ms", lags.p99(), 250.0),
        max_budget("reads: /healthz, p99 in ms", health_latencies.p99(), 50.0),
    ])
}

/// Lists locks continuously. Returns the ages of the snapshots at their arrival, and the latencies
/// of the responses.
async fn read_lists(
    console: &Console,
    client: Ipv4Addr,
    path: &str,
    duration: Duration,
) -> Result<(Vec<Duration>, Vec<Duration>), BenchError> {
    let (mut ages, mut latencies) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < duration {
        let sent_at = Instant::now();
        let response = console.get_from(client, path).await?;
        latencies.push(sent_at.elapsed());
        let observed_at = response["observed_at"].as_str().ok_or("no observed_at")?;
        let observed_at = Timestamp::try_from(observed_at.to_owned())?;
        ages.push(Clock::system().now().since(observed_at));
    }
    Ok((ages, latencies))
}

/// Writes fifty new locks per second. Returns the latencies from the reply of Redis to the event.
async fn measure_lags(
    console: Arc<Console>,
    mut client: redis::aio::MultiplexedConnection,
    duration: Duration,
) -> Result<Vec<Duration>, BenchError> {
    let mut events = console.subscribe("").await?;
    events.next().await?;
    let writer = AbortOnDropHandle::new(tokio::spawn(async move {
        let (mut written_at, mut tick) = (HashMap::new(), interval(Duration::from_millis(20)));
        let started = Instant::now();
        while started.elapsed() < duration {
            tick.tick().await;
            let key = format!("lock:new-{}", written_at.len());
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("x").arg("PX").arg(600_000);
            let () = set.query_async(&mut client).await?;
            written_at.insert(key, Instant::now());
        }
        Ok::<_, redis::RedisError>(written_at)
    }));
    let (mut received_at, started) = (HashMap::new(), Instant::now());
    while started.elapsed() < duration + Duration::from_secs(1) {
        let event = events.next().await?;
        if let Some((_, rest)) = event.data.split_once("\"key\":\"lock:new-")
            && let Some((number, _)) = rest.split_once('"')
        {
            received_at
                .entry(format!("lock:new-{number}"))
                .or_insert_with(Instant::now);
        }
    }
    let written_at = writer.await??;
    let lag = |(key, at): (&String, &Instant)| {
        let received: Option<&Instant> = received_at.get(key);
        // A missing event counts as the maximum lag.
        received.map_or(duration, |received| received.saturating_duration_since(*at))
    };
    Ok(written_at.iter().map(lag).collect())
}
