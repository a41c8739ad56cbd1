//! A hundred thousand locks, five thousand changes a second, and twenty viewers.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::Failure;
use super::super::budgets::{Budget, Limit};
use super::super::servers::Programs;
use super::bed::{Server, renew};
use super::latencies::Latencies;
use super::{Extent, at_most};

/// How many watch.
const VIEWERS: usize = 20;
/// How many changes there are a second.
const CHANGES: u32 = 5_000;
/// What they look at.
const VIEWS: [&str; 4] = [
    "?limit=200",
    "?limit=200&sort=lease",
    "?limit=200&q=99",
    "?limit=200&sort=key&verdict=held",
];

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    let server = Server::full(programs, 0, extent.many_locks).await?;
    let before = {
        let empty = Server::full(programs, 0, 0).await?;
        let console = empty.console(programs).await?;
        let memory = console.memory()?.0;
        console.end().await;
        empty.end().await;
        memory
    };
    let console = server.console(programs).await?;
    console.lists(extent.many_locks).await?;
    let at_rest = console.memory()?.0;

    let long = Duration::from_secs(extent.seconds.into());
    let mut client = server.client().await?;
    let locks = extent.many_locks;
    let changing = tokio::spawn(async move { renew(&mut client, locks, CHANGES, long).await });
    let mut viewers = JoinSet::new();
    for n in 0..VIEWERS {
        let mut events = console.events(VIEWS[n % VIEWS.len()]).await?;
        viewers.spawn(async move {
            let (mut first, mut last, mut told) = (None, 0_u64, 0_u32);
            let began = Instant::now();
            while let Ok(Ok(event)) = timeout(Duration::from_secs(5), events.next()).await {
                if let Some(seq) = event
                    .id
                    .split_once('-')
                    .and_then(|(_, seq)| seq.parse().ok())
                {
                    first.get_or_insert(seq);
                    told += u32::from(last != seq);
                    last = seq;
                }
                if began.elapsed() > long {
                    break;
                }
            }
            let seconds = began.elapsed().as_secs_f64();
            let changes = last.saturating_sub(first.unwrap_or(0)) as f64;
            (f64::from(told) / seconds, changes / seconds)
        });
    }
    let spent = console.spent();
    let mut pages = Vec::new();
    let began = Instant::now();
    while began.elapsed() < long {
        let asked = Instant::now();
        console.get("/api/v1/locks").await?;
        pages.push(asked.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    let busy = (console.spent() - spent).as_secs_f64() / began.elapsed().as_secs_f64();
    changing.await??;
    let (mut updates, mut changes) = (0.0_f64, 0.0_f64);
    while let Some(viewer) = viewers.join_next().await {
        let (told, seen) = viewer?;
        (updates, changes) = (updates.max(told), changes.max(seen));
    }
    let pages = Latencies::of(pages);
    let (memory, peak) = console.memory()?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "\nsize: {locks} locks, {CHANGES} changes a second, {VIEWERS} viewers\n  \
         first page: median {:.1} ms, p99 {:.1} ms; the board took {changes:.0} changes a second; the console kept {:.0} % of a\n  \
         core busy; memory {:.0} MB before, {:.0} MB with the locks ({:.2} kB a lock), {:.0} MB in the end, {:.0} MB at most",
        pages.median(),
        pages.p99(),
        busy * 100.0,
        megabytes(before),
        megabytes(at_rest),
        at_rest.saturating_sub(before) as f64 / 1e3 / f64::from(locks),
        megabytes(memory),
        megabytes(peak),
    );
    console.end().await;
    server.end().await;
    Ok(vec![
        at_most(
            "index: first page of the API, median in ms",
            pages.median(),
            50.0,
        ),
        at_most("index: first page of the API, p99 in ms", pages.p99(), 50.0),
        at_most("index: memory in MB, at most", megabytes(peak), 400.0),
        at_most("index: updates a second to a viewer", updates, 5.1),
        Budget {
            about: "index: changes a second that reach the board".to_owned(),
            measured: changes,
            limit: Limit::AtLeast(0.9 * f64::from(CHANGES)),
            goal: None,
        },
    ])
}
