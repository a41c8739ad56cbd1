//! Finding ten thousand locks among a million other keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::index::Index;
use lockkeeper::server::nodes::Group;
use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::Failure;
use super::super::budgets::Budget;
use super::super::round::median;
use super::super::servers::Programs;
use super::bed::{Server, processor};
use super::latencies::Latencies;
use super::{Extent, at_most};

/// How often each is measured.
const REPEATS: usize = 3;

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    let server = Server::full(programs, extent.others, extent.locks).await?;
    let mut client = server.client().await?;
    let (mut walls, mut spent) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    println!(
        "\ndiscovery: {} locks among {} other keys, nothing held back",
        extent.locks, extent.others
    );
    for (which, patterns) in [&["lock:*"][..], &[][..]].into_iter().enumerate() {
        for _ in 0..REPEATS {
            let before = processor(&mut client).await?;
            let bare = scan(&mut client, patterns.first().copied()).await?;
            let between = processor(&mut client).await?;
            let ours = list(&server, extent.locks, patterns).await?;
            let after = processor(&mut client).await?;
            walls[which].push((bare.as_secs_f64(), ours.as_secs_f64()));
            spent[which].push((between - before, after - between));
        }
        let middle =
            |pairs: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| median(pairs.iter().map(of));
        println!(
            "  {:<28} bare SCAN {:.2} s, {:.2} s of the server; all listed {:.2} s, {:.2} s of the server",
            if patterns.is_empty() {
                "the usual patterns"
            } else {
                "one pattern"
            },
            middle(&walls[which], |pair| pair.0),
            middle(&spent[which], |pair| pair.0),
            middle(&walls[which], |pair| pair.1),
            middle(&spent[which], |pair| pair.1),
        );
    }
    let ratio = |pairs: &[(f64, f64)]| median(pairs.iter().map(|(bare, ours)| ours / bare));
    let mut budgets = Vec::new();
    for (which, patterns) in ["one pattern", "the usual patterns"].iter().enumerate() {
        budgets.push(at_most(
            format!("discovery, {patterns}: wall time of a bare SCAN"),
            ratio(&walls[which]),
            1.3,
        ));
        budgets.push(at_most(
            format!("discovery, {patterns}: server's processor time of a bare SCAN"),
            ratio(&spent[which]),
            1.1,
        ));
    }

    let long = Duration::from_secs(extent.seconds.into()) / 3;
    let mut rises = Vec::new();
    for _ in 0..REPEATS {
        let alone = others(&mut client, extent.others, long).await?;
        let console = server.console(programs).await?;
        let scanned = others(&mut client, extent.others, long).await?;
        console.end().await;
        println!(
            "  another client, within the budget: median {:.3} ms, p99 {:.3} ms; alone {:.3} ms, {:.3} ms",
            scanned.median(),
            scanned.p99(),
            alone.median(),
            alone.p99()
        );
        rises.push(scanned.p99() / alone.p99());
    }
    budgets.push(at_most(
        "discovery within the budget: another client's p99 of what it has alone",
        median(rises),
        1.1,
    ));
    server.end().await;
    Ok(budgets)
}

/// A loop of SCAN and nothing else.
async fn scan(
    client: &mut MultiplexedConnection,
    pattern: Option<&str>,
) -> Result<Duration, Failure> {
    let began = Instant::now();
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("COUNT").arg(1_000);
        if let Some(pattern) = pattern {
            scan.arg("MATCH").arg(pattern);
        }
        let names: Vec<Vec<u8>>;
        (cursor, names) = scan.query_async(client).await?;
        drop(names);
        if cursor == 0 {
            return Ok(began.elapsed());
        }
    }
}

/// From a group whose nodes are there to all its locks on the board.
async fn list(server: &Server, locks: u32, patterns: &[&str]) -> Result<Duration, Failure> {
    let url = RedisUrl::parse(&format!("redis://127.0.0.1:{}", server.port))?;
    let mut config = GroupConfig::new("default", [url]);
    config.scan_share_percent = 100;
    if !patterns.is_empty() {
        config.keys = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    }
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let group = Group::start(config, Clock::real(), stop.clone());
    group.first_attempts().await;
    let began = Instant::now();
    let index = Index::start(&[Arc::clone(&group)], Clock::real(), &stop, &tasks);
    let mut latest = index.stream().latest();
    let is_whole = || {
        let index = index.snapshot();
        let passes = index.groups().first().map(|group| group.coverage.passes);
        index.lock_count() == locks as usize && passes.is_some_and(|passes| passes > 0)
    };
    let all = || index.snapshot().lock_count() == locks as usize;
    let mut took = None;
    while took.is_none() || !is_whole() {
        latest.changed().await?;
        if took.is_none() && all() {
            took = Some(began.elapsed());
        }
    }
    stop.cancel();
    took.ok_or_else(|| "not all locks were listed".into())
}

/// How long somebody waits who reads one key after another.
async fn others(
    client: &mut MultiplexedConnection,
    keys: u32,
    long: Duration,
) -> Result<Latencies, Failure> {
    let began = Instant::now();
    let mut took = Vec::new();
    let mut n = 0_u32;
    while began.elapsed() < long {
        let asked = Instant::now();
        let mut get = redis::cmd("GET");
        get.arg(format!("user:{}:profile", n.wrapping_mul(7_919) % keys));
        let _: Option<Vec<u8>> = get.query_async(client).await?;
        took.push(asked.elapsed());
        n = n.wrapping_add(1);
    }
    Ok(Latencies::of(took))
}
