//! A hundred thousand locks, fifty clients that list and search them without a pause, and changes meanwhile: how old is what they are
//! shown, and is the console's health answered at once?

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::super::Failure;
use super::super::budgets::Budget;
use super::super::servers::Programs;
use super::bed::{Console, Server, renew};
use super::latencies::Latencies;
use super::{Extent, at_most};

/// How many clients list and search.
const CLIENTS: u8 = 50;
/// How many locks are renewed a second.
const CHANGES: u32 = 1_000;
/// What the clients ask for.
const LISTS: [&str; 4] = [
    "/api/v1/locks?limit=100",
    "/api/v1/locks?limit=100&sort=lease",
    "/api/v1/locks?limit=100&q=99",
    "/api/v1/locks?limit=100&by=prefix",
];

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    let server = Server::full(programs, 0, extent.many_locks).await?;
    let console = Arc::new(server.crowded_console(programs, 1_000).await?);
    console.lists(extent.many_locks).await?;
    let long = Duration::from_secs(extent.seconds.into());

    let (mut client, locks) = (server.client().await?, extent.many_locks);
    let renewing = tokio::spawn(async move { renew(&mut client, locks, CHANGES, long).await });
    let mut listing = JoinSet::new();
    for n in 0..CLIENTS {
        let console = Arc::clone(&console);
        // Each has an address of its own: the lists of one client at the same time are limited.
        let client = Ipv4Addr::new(127, 0, 1, n);
        let path = LISTS[usize::from(n) % LISTS.len()];
        listing.spawn(async move { list(&console, client, path, long).await });
    }
    let lags = AbortOnDropHandle::new(tokio::spawn(lags(
        Arc::clone(&console),
        server.client().await?,
        long,
    )));
    let mut health = Vec::new();
    let began = Instant::now();
    while began.elapsed() < long {
        let asked = Instant::now();
        console.text("/healthz").await?;
        health.push(asked.elapsed());
        sleep(Duration::from_millis(20)).await;
    }
    let (mut ages, mut took) = (Vec::new(), Vec::new());
    while let Some(listed) = listing.join_next().await {
        let (age, time) = listed??;
        ages.extend(age);
        took.extend(time);
    }
    let lags = lags.await??;
    renewing.await??;
    let (ages, took) = (Latencies::of(ages), Latencies::of(took));
    let (lags, health) = (Latencies::of(lags), Latencies::of(health));
    println!(
        "\nreads: {locks} locks, {CHANGES} changes a second, {CLIENTS} clients that list and search without a pause\n  \
         {} lists: median {:.0} ms, p99 {:.0} ms; the snapshot they show is {:.0} ms old, p99 {:.0} ms;\n  \
         from a new lock to its event: median {:.1} ms, p99 {:.1} ms; /healthz: median {:.1} ms, p99 {:.1} ms",
        took.count(),
        took.median(),
        took.p99(),
        ages.median(),
        ages.p99(),
        lags.median(),
        lags.p99(),
        health.median(),
        health.p99(),
    );
    if let Some(console) = Arc::into_inner(console) {
        console.end().await;
    }
    server.end().await;
    Ok(vec![
        at_most(
            "reads: age of what lists show, p99 in ms",
            ages.p99(),
            250.0,
        ),
        at_most(
            "reads: from a change to its event, p99 in ms",
            lags.p99(),
            250.0,
        ),
        at_most("reads: /healthz beside them, p99 in ms", health.p99(), 50.0),
    ])
}

/// Lists again and again: how old the snapshots were when they arrived, and how long each answer took.
async fn list(
    console: &Console,
    client: Ipv4Addr,
    path: &str,
    long: Duration,
) -> Result<(Vec<Duration>, Vec<Duration>), Failure> {
    let (mut ages, mut took) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while began.elapsed() < long {
        let asked = Instant::now();
        let listed = console.get_from(client, path).await?;
        took.push(asked.elapsed());
        let observed_at = listed["observed_at"].as_str().ok_or("no observed_at")?;
        let observed_at = Timestamp::try_from(observed_at.to_owned())?;
        ages.push(Clock::real().now().since(observed_at));
    }
    Ok((ages, took))
}

/// Sets a new lock fifty times a second: how long after the server's answer its event came.
async fn lags(
    console: Arc<Console>,
    mut client: redis::aio::MultiplexedConnection,
    long: Duration,
) -> Result<Vec<Duration>, Failure> {
    let mut events = console.events("").await?;
    events.next().await?;
    let setting = AbortOnDropHandle::new(tokio::spawn(async move {
        let (mut set_at, mut tick) = (HashMap::new(), interval(Duration::from_millis(20)));
        let began = Instant::now();
        while began.elapsed() < long {
            tick.tick().await;
            let key = format!("lock:new-{}", set_at.len());
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("x").arg("PX").arg(600_000);
            let () = set.query_async(&mut client).await?;
            set_at.insert(key, Instant::now());
        }
        Ok::<_, redis::RedisError>(set_at)
    }));
    let (mut told_at, began) = (HashMap::new(), Instant::now());
    while began.elapsed() < long + Duration::from_secs(1) {
        let event = events.next().await?;
        if let Some((_, rest)) = event.data.split_once("\"key\":\"lock:new-")
            && let Some((number, _)) = rest.split_once('"')
        {
            told_at
                .entry(format!("lock:new-{number}"))
                .or_insert_with(Instant::now);
        }
    }
    let set_at = setting.await??;
    let lag = |(key, at): (&String, &Instant)| {
        let told: Option<&Instant> = told_at.get(key);
        // One that was never told of is as late as can be.
        told.map_or(long, |told| told.saturating_duration_since(*at))
    };
    Ok(set_at.iter().map(lag).collect())
}
