//! What watching costs, and how soon and how much of it is seen: promises about the console as an observer.

mod bed;
mod crowd;
mod discovery;
mod lag;
mod latencies;
mod reads;
mod size;
mod steady;

use clap::ValueEnum;

use super::Failure;
use super::budgets::{Budget, Limit};
use super::servers::Programs;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// How long it takes to find ten thousand locks among a million other keys, and what that costs others.
    Discovery,
    /// What the server spends on being watched.
    Steady,
    /// From a change on Redis to its event.
    Lag,
    /// A hundred thousand locks and many viewers.
    Size,
    /// A hundred thousand locks and fifty clients that list and search them.
    Reads,
    /// Thousands of viewers, and thousands who mean no good.
    Viewers,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Extent {
    /// Keys that are no locks.
    others: u32,
    /// Locks among them.
    locks: u32,
    /// Locks of a large index.
    many_locks: u32,
    /// Seconds of each measurement.
    seconds: u32,
    /// Seconds for which thousands watch.
    crowd_seconds: u32,
}

/// Measures, says what came of it, and holds it against what was promised.
pub async fn measure(
    programs: &Programs,
    wanted: &[Section],
    is_quick: bool,
    crowd_seconds: Option<u32>,
) -> Result<Vec<Budget>, Failure> {
    let extent = if is_quick {
        Extent {
            others: 100_000,
            locks: 10_000,
            many_locks: 20_000,
            seconds: 2,
            crowd_seconds: crowd_seconds.unwrap_or(10),
        }
    } else {
        Extent {
            others: 1_000_000,
            locks: 10_000,
            many_locks: 100_000,
            seconds: 15,
            crowd_seconds: crowd_seconds.unwrap_or(60),
        }
    };
    let mut budgets = Vec::new();
    for section in Section::value_variants() {
        if !wanted.is_empty() && !wanted.contains(section) {
            continue;
        }
        super::say(&format!("watching: {section:?}"));
        budgets.extend(match section {
            Section::Discovery => discovery::measure(programs, extent).await?,
            Section::Steady => steady::measure(programs, extent).await?,
            Section::Lag => lag::measure(programs, extent).await?,
            Section::Size => size::measure(programs, extent).await?,
            Section::Reads => reads::measure(programs, extent).await?,
            Section::Viewers => crowd::measure(programs, extent).await?,
        });
    }
    super::say("");
    Ok(budgets)
}

fn at_most(about: impl Into<String>, measured: f64, limit: f64) -> Budget {
    Budget {
        about: about.into(),
        measured,
        limit: Limit::AtMost(limit),
        goal: None,
    }
}
