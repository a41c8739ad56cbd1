//! 100,000 locks, 5,000 changes per second and 20 subscribers: latency of the API and memory.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::BenchError;
use super::super::budgets::{Budget, Limit};
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Server, renew_locks};
use super::{Scale, max_budget};

const SUBSCRIBERS: usize = 20;
/// Lock extensions per second.
const CHANGES: u32 = 5_000;
/// The queries of the subscribers.
const QUERIES: [&str; 4] = [
    "?limit=200",
    "?limit=200&sort=lease",
    "?limit=200&q=99",
    "?limit=200&sort=key&verdict=held",
];

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let server = Server::start_filled(programs, 0, scale.many_locks).await?;
    let memory_without_locks = {
        let empty = Server::start_filled(programs, 0, 0).await?;
        let console = empty.start_console(programs).await?;
        let memory = console.memory()?.0;
        console.stop().await;
        empty.stop().await;
        memory
    };
    let console = server.start_console(programs).await?;
    console.wait_until_listed(scale.many_locks).await?;
    let memory_with_locks = console.memory()?.0;

    let duration = Duration::from_secs(scale.seconds.into());
    let mut client = server.connect().await?;
    let locks = scale.many_locks;
    let renewals =
        tokio::spawn(async move { renew_locks(&mut client, locks, CHANGES, duration).await });
    let mut subscribers = JoinSet::new();
    for n in 0..SUBSCRIBERS {
        let mut events = console.subscribe(QUERIES[n % QUERIES.len()]).await?;
        subscribers.spawn(async move {
            let (mut first, mut last, mut updates) = (None, 0_u64, 0_u32);
            let started = Instant::now();
            while let Ok(Ok(event)) = timeout(Duration::from_secs(5), events.next()).await {
                if let Some(seq) = event
                    .id
                    .split_once('-')
                    .and_then(|(_, seq)| seq.parse().ok())
                {
                    first.get_or_insert(seq);
                    updates += u32::from(last != seq);
                    last = seq;
                }
                if started.elapsed() > duration {
                    break;
                }
            }
            let seconds = started.elapsed().as_secs_f64();
            let changes = last.saturating_sub(first.unwrap_or(0)) as f64;
            (f64::from(updates) / seconds, changes / seconds)
        });
    }
    let cpu_time = console.cpu_time();
    let mut pages = Vec::new();
    let started = Instant::now();
    while started.elapsed() < duration {
        let sent_at = Instant::now();
        console.get("/api/v1/locks").await?;
        pages.push(sent_at.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    let cpu_share = (console.cpu_time() - cpu_time).as_secs_f64() / started.elapsed().as_secs_f64();
    renewals.await??;
    let (mut updates, mut changes) = (0.0_f64, 0.0_f64);
    while let Some(subscriber) = subscribers.join_next().await {
        let (updates_per_second, changes_per_second) = subscriber?;
        updates = updates.max(updates_per_second);
        changes = changes.max(changes_per_second);
    }
    let pages = Latencies::new(pages);
    let (memory, peak) = console.memory()?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "\nlarge index: {locks} locks, {CHANGES} changes per second, {SUBSCRIBERS} subscribers\n  \
         first page: median {:.1} ms, p99 {:.1} ms; the index applied {changes:.0} changes per second; CPU {:.0} % of a core;\n  \
         memory {:.0} MB without locks, {:.0} MB with locks ({:.2} kB per lock), {:.0} MB at the end, {:.0} MB at most",
        pages.median(),
        pages.p99(),
        cpu_share * 100.0,
        megabytes(memory_without_locks),
        megabytes(memory_with_locks),
        memory_with_locks.saturating_sub(memory_without_locks) as f64 / 1e3 / f64::from(locks),
        megabytes(memory),
        megabytes(peak),
    );
    console.stop().await;
    server.stop().await;
    Ok(vec![
        max_budget(
            "index: first page of the API, median in ms",
            pages.median(),
            50.0,
        ),
        max_budget("index: first page of the API, p99 in ms", pages.p99(), 50.0),
        max_budget("index: peak memory in MB", megabytes(peak), 400.0),
        max_budget("index: updates per second to a subscriber", updates, 5.1),
        Budget {
            name: "index: changes per second applied to the index".to_owned(),
            measured: changes,
            limit: Limit::AtLeast(0.9 * f64::from(CHANGES)),
            goal: None,
        },
    ])
}
