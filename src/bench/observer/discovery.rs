//! The discovery of 10,000 locks among a million other keys, compared with a bare SCAN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::index::Index;
use lockkeeper::server::nodes::Group;
use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::round::median;
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::{Server, server_cpu_seconds};
use super::{Scale, max_budget};

/// Repetitions of each measurement; medians are reported.
const REPEATS: usize = 3;

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let server = Server::start_filled(programs, scale.other_keys, scale.locks).await?;
    let mut client = server.connect().await?;
    let (mut wall_times, mut cpu_times) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    println!(
        "\ndiscovery: {} locks among {} other keys, without scan budget",
        scale.locks, scale.other_keys
    );
    for (case, patterns) in [&["lock:*"][..], &[][..]].into_iter().enumerate() {
        for _ in 0..REPEATS {
            let before = server_cpu_seconds(&mut client).await?;
            let bare = scan(&mut client, patterns.first().copied()).await?;
            let between = server_cpu_seconds(&mut client).await?;
            let listed = list_locks(&server, scale.locks, patterns).await?;
            let after = server_cpu_seconds(&mut client).await?;
            wall_times[case].push((bare.as_secs_f64(), listed.as_secs_f64()));
            cpu_times[case].push((between - before, after - between));
        }
        let median_of =
            |pairs: &[(f64, f64)], part: fn(&(f64, f64)) -> f64| median(pairs.iter().map(part));
        println!(
            "  {:<28} bare SCAN {:.2} s (server CPU {:.2} s); all locks listed {:.2} s (server CPU {:.2} s)",
            if patterns.is_empty() {
                "default patterns"
            } else {
                "one pattern"
            },
            median_of(&wall_times[case], |pair| pair.0),
            median_of(&cpu_times[case], |pair| pair.0),
            median_of(&wall_times[case], |pair| pair.1),
            median_of(&cpu_times[case], |pair| pair.1),
        );
    }
    let ratio = |pairs: &[(f64, f64)]| median(pairs.iter().map(|(bare, listed)| listed / bare));
    let mut budgets = Vec::new();
    for (case, patterns) in ["one pattern", "default patterns"].iter().enumerate() {
        budgets.push(max_budget(
            format!("discovery, {patterns}: wall time relative to a bare SCAN"),
            ratio(&wall_times[case]),
            1.3,
        ));
        budgets.push(max_budget(
            format!("discovery, {patterns}: server CPU time relative to a bare SCAN"),
            ratio(&cpu_times[case]),
            1.1,
        ));
    }

    let duration = Duration::from_secs(scale.seconds.into()) / 3;
    let mut ratios = Vec::new();
    for _ in 0..REPEATS {
        let alone = measure_reads(&mut client, scale.other_keys, duration).await?;
        let console = server.start_console(programs).await?;
        let scanned = measure_reads(&mut client, scale.other_keys, duration).await?;
        console.stop().await;
        println!(
            "  another client with the default scan budget: median {:.3} ms, p99 {:.3} ms; without console {:.3} ms, {:.3} ms",
            scanned.median(),
            scanned.p99(),
            alone.median(),
            alone.p99()
        );
        ratios.push(scanned.p99() / alone.p99());
    }
    budgets.push(max_budget(
        "discovery with the default scan budget: p99 of another client relative to no console",
        median(ratios),
        1.1,
    ));
    server.stop().await;
    Ok(budgets)
}

/// Runs a complete SCAN without processing its results.
async fn scan(
    client: &mut MultiplexedConnection,
    pattern: Option<&str>,
) -> Result<Duration, BenchError> {
    let started = Instant::now();
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
            return Ok(started.elapsed());
        }
    }
}

/// The time from the start of the index to the first snapshot with all locks.
async fn list_locks(
    server: &Server,
    locks: u32,
    patterns: &[&str],
) -> Result<Duration, BenchError> {
    let url = RedisUrl::parse(&format!("redis://127.0.0.1:{}", server.port))?;
    let mut config = GroupConfig::new("default", [url]);
    config.scan_budget_percent = 100;
    if !patterns.is_empty() {
        config.keys = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    }
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let group = Group::start(config, Clock::system(), stop.clone());
    group.wait_for_first_attempts().await;
    let started = Instant::now();
    let index = Index::start(&[Arc::clone(&group)], Clock::system(), &stop, &tasks);
    let mut latest = index.stream().latest();
    let is_complete = || {
        let index = index.snapshot();
        let passes = index.groups().first().map(|group| group.coverage.passes);
        index.lock_count() == locks as usize && passes.is_some_and(|passes| passes > 0)
    };
    let has_all_locks = || index.snapshot().lock_count() == locks as usize;
    let mut listed_after = None;
    while listed_after.is_none() || !is_complete() {
        latest.changed().await?;
        if listed_after.is_none() && has_all_locks() {
            listed_after = Some(started.elapsed());
        }
    }
    stop.cancel();
    listed_after.ok_or_else(|| "not all locks were listed".into())
}

/// The latencies of a client that reads keys in sequence.
async fn measure_reads(
    client: &mut MultiplexedConnection,
    keys: u32,
    duration: Duration,
) -> Result<Latencies, BenchError> {
    let started = Instant::now();
    let mut latencies = Vec::new();
    let mut n = 0_u32;
    while started.elapsed() < duration {
        let sent_at = Instant::now();
        let mut get = redis::cmd("GET");
        get.arg(format!("user:{}:profile", n.wrapping_mul(7_919) % keys));
        let _: Option<Vec<u8>> = get.query_async(client).await?;
        latencies.push(sent_at.elapsed());
        n = n.wrapping_add(1);
    }
    Ok(Latencies::new(latencies))
}
