//! What is promised, and whether the measurement kept it.

use std::fmt::Write as _;

use super::Cell;
use super::table::{p50, pairs, ratio};
use super::work::{Load, Way};

/// Two round trips to nodes that are 2 ms away, in seconds.
const TWO_ROUND_TRIPS: f64 = 0.008;

/// One promise.
pub struct Budget {
    /// What is promised.
    pub about: String,
    /// What was measured.
    pub measured: f64,
    /// What it must not pass.
    pub limit: Limit,
    /// What would be better still.
    pub goal: Option<f64>,
}

/// On which side to stay.
#[derive(Clone, Copy)]
pub enum Limit {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
}

impl Budget {
    /// Whether it was kept.
    pub fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(least) => self.measured >= least,
            Limit::AtMost(most) => self.measured <= most,
        }
    }
}

/// Every promise that this measurement says something about.
pub fn of(cells: &[Cell]) -> Vec<Budget> {
    let mut budgets = Vec::new();
    let mut promise = |about: String, measured: Option<f64>, limit, goal| {
        budgets.extend(measured.map(|measured| Budget {
            about,
            measured,
            limit,
            goal,
        }));
    };
    let load = |nodes, clients| Load {
        nodes,
        clients,
        one_lock: false,
        delayed: false,
    };
    let http = (Way::Http, Way::Raw);
    promise(
        "HTTP, one node, 64 connections: pairs/s of raw".into(),
        ratio(cells, load(1, 64), http, pairs),
        Limit::AtLeast(0.5),
        Some(0.62),
    );
    promise(
        "HTTP, one node, 1 connection: latency of raw".into(),
        ratio(cells, load(1, 1), http, p50),
        Limit::AtMost(1.4),
        None,
    );
    let delayed = cells
        .iter()
        .find(|cell| cell.load.delayed && cell.way == Way::Code);
    promise(
        "locking code, 5 nodes 2 ms away: median of the 8 ms of two round trips".into(),
        delayed.map(|cell| cell.median(p50) / TWO_ROUND_TRIPS),
        Limit::AtMost(1.15),
        None,
    );
    for (nodes, clients) in [(1, 1), (1, 16), (5, 1), (5, 16)] {
        let better = [Way::Rslock, Way::RslockShared]
            .iter()
            .filter_map(|&peer| ratio(cells, load(nodes, clients), (Way::Code, peer), pairs))
            .min_by(f64::total_cmp);
        promise(
            format!("locking code, {}: pairs/s of rslock", load(nodes, clients)),
            better,
            Limit::AtLeast(1.0),
            None,
        );
    }
    budgets
}

/// A line for each.
pub fn in_words(budgets: &[Budget]) -> String {
    let mut words = String::from("\nbudgets\n");
    for budget in budgets {
        let (sign, limit) = match budget.limit {
            Limit::AtLeast(least) => ("≥", least),
            Limit::AtMost(most) => ("≤", most),
        };
        let verdict = if budget.is_met() { "met" } else { "MISSED" };
        let goal = budget
            .goal
            .map_or(String::new(), |goal| format!(" (goal {goal:.2})"));
        writeln!(
            words,
            "  {:<78}{:>6.2} {sign} {limit:.2}{goal}: {verdict}",
            budget.about, budget.measured
        )
        .expect("infallible");
    }
    words
}
