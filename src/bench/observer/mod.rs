//! Benchmarks of the console as an observer: the load that it adds to Redis, and the latency of its
//! events and API.

mod busy_cache;
mod discovery;
mod history;
mod lag;
mod large_index;
mod latencies;
mod lock_services;
mod overhead;
mod reads;
mod server;
mod subscribers;

use std::time::Instant;

use clap::ValueEnum;

use super::BenchError;
use super::budgets::{Budget, Limit};
use super::testbed::Programs;

/// A benchmark of the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// The first scan pass over a million keys, and its effect on other clients.
    Discovery,
    /// The CPU time that observation adds to a Redis server.
    Overhead,
    /// 50,000 writes per second of a cache beside 1,000 locks.
    BusyCache,
    /// The latency from a change on Redis to its event.
    Lag,
    /// 100,000 locks and 20 subscribers.
    LargeIndex,
    /// 100,000 locks and 50 clients that list and search them.
    Reads,
    /// 100,000 locks and 1,000 hand-overs per second: the cost of the recorded history.
    History,
    /// ZooKeeper, etcd and PostgreSQL: listing, latency and the cost of polling. Not part of --quick.
    LockServices,
    /// Thousands of subscribers, abusive clients and idle streams.
    Subscribers,
}

/// The size of the data and the duration of the measurements.
#[derive(Clone, Copy)]
struct Scale {
    /// Keys that are not locks.
    other_keys: u32,
    locks: u32,
    /// Locks of the benchmarks with a large index.
    many_locks: u32,
    /// Seconds of each measurement.
    seconds: u32,
    /// Seconds of the benchmark with a busy cache.
    busy_seconds: u32,
    /// Seconds of the benchmark with thousands of subscribers.
    subscriber_seconds: u32,
    /// Seconds of the benchmark of the recorded history.
    history_seconds: u32,
    /// Changes in each lock service whose latency is measured.
    service_changes: u32,
}

/// Runs the selected benchmarks, prints their results and returns their budgets.
pub async fn measure(
    programs: &Programs,
    sections: &[Section],
    is_quick: bool,
    busy_seconds: Option<u32>,
    subscriber_seconds: Option<u32>,
    history_seconds: Option<u32>,
) -> Result<Vec<Budget>, BenchError> {
    let scale = if is_quick {
        Scale {
            other_keys: 100_000,
            locks: 10_000,
            many_locks: 20_000,
            seconds: 2,
            busy_seconds: busy_seconds.unwrap_or(3),
            subscriber_seconds: subscriber_seconds.unwrap_or(3),
            history_seconds: history_seconds.unwrap_or(3),
            service_changes: 24,
        }
    } else {
        Scale {
            other_keys: 1_000_000,
            locks: 10_000,
            many_locks: 100_000,
            seconds: 15,
            busy_seconds: busy_seconds.unwrap_or(60),
            subscriber_seconds: subscriber_seconds.unwrap_or(60),
            history_seconds: history_seconds.unwrap_or(60),
            service_changes: 200,
        }
    };
    let mut budgets = Vec::new();
    for section in Section::value_variants() {
        let is_selected = if sections.is_empty() {
            // The servers of other services take long to start.
            !(is_quick && *section == Section::LockServices)
        } else {
            sections.contains(section)
        };
        if !is_selected {
            continue;
        }
        super::report_progress(&format!("observer: {section:?}"));
        let started = Instant::now();
        budgets.extend(match section {
            Section::Discovery => discovery::measure(programs, scale).await?,
            Section::Overhead => overhead::measure(programs, scale).await?,
            Section::BusyCache => busy_cache::measure(programs, scale).await?,
            Section::Lag => lag::measure(programs, scale).await?,
            Section::LargeIndex => large_index::measure(programs, scale).await?,
            Section::Reads => reads::measure(programs, scale).await?,
            Section::History => history::measure(programs, scale).await?,
            Section::LockServices => lock_services::measure(programs, scale).await?,
            Section::Subscribers => subscribers::measure(programs, scale).await?,
        });
        println!("  ({:.0} s)", started.elapsed().as_secs_f64());
    }
    super::report_progress("");
    Ok(budgets)
}

/// A budget with an upper limit.
fn max_budget(name: impl Into<String>, measured: f64, limit: f64) -> Budget {
    Budget {
        name: name.into(),
        measured,
        limit: Limit::AtMost(limit),
        goal: None,
    }
}
