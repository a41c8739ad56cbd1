//! Performance budgets and whether the measurements meet them.

use std::fmt::Write as _;

use super::Series;
use super::load::{Load, Target};
use super::table::{p50, pairs, ratio};

/// Two round trips to nodes with a one-way delay of 2 ms, in seconds.
const TWO_ROUND_TRIPS: f64 = 0.008;

/// A performance budget and its measurement.
pub struct Budget {
    pub name: String,
    pub measured: f64,
    pub limit: Limit,
    /// A value beyond the limit that is aimed for but not required.
    pub goal: Option<f64>,
}

/// The bound of a budget.
#[derive(Clone, Copy)]
pub enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Budget {
    pub fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(limit) => self.measured >= limit,
            Limit::AtMost(limit) => self.measured <= limit,
        }
    }
}

/// The budgets of acquire and release that were measured.
pub fn evaluate(results: &[Series]) -> Vec<Budget> {
    let mut budgets = Vec::new();
    let mut add = |name: String, measured: Option<f64>, limit, goal| {
        budgets.extend(measured.map(|measured| Budget {
            name,
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
    let http = (Target::Http, Target::Raw);
    add(
        "HTTP, one node, 64 connections: pairs/s relative to raw".into(),
        ratio(results, load(1, 64), http, pairs),
        Limit::AtLeast(0.5),
        Some(0.62),
    );
    add(
        "HTTP, one node, 1 connection: latency relative to raw".into(),
        ratio(results, load(1, 1), http, p50),
        Limit::AtMost(1.4),
        None,
    );
    let delayed = results
        .iter()
        .find(|series| series.load.delayed && series.target == Target::Code);
    add(
        "locking code, 5 nodes with 2 ms delay: median relative to two round trips".into(),
        delayed.map(|series| series.median(p50) / TWO_ROUND_TRIPS),
        Limit::AtMost(1.15),
        None,
    );
    for (nodes, clients) in [(1, 1), (1, 16), (5, 1), (5, 16)] {
        let ratio_to_faster = [Target::Rslock, Target::RslockShared]
            .iter()
            .filter_map(|&target| {
                ratio(results, load(nodes, clients), (Target::Code, target), pairs)
            })
            .min_by(f64::total_cmp);
        add(
            format!(
                "locking code, {}: pairs/s relative to rslock",
                load(nodes, clients)
            ),
            ratio_to_faster,
            Limit::AtLeast(1.0),
            None,
        );
    }
    budgets
}

/// Renders a line for each budget.
pub fn render(budgets: &[Budget]) -> String {
    let mut text = String::from("\nbudgets\n");
    for budget in budgets {
        let (sign, limit) = match budget.limit {
            Limit::AtLeast(limit) => ("≥", limit),
            Limit::AtMost(limit) => ("≤", limit),
        };
        let verdict = if budget.is_met() { "met" } else { "MISSED" };
        let goal = budget
            .goal
            .map_or(String::new(), |goal| format!(" (goal {goal:.2})"));
        writeln!(
            text,
            "  {:<78}{:>6.2} {sign} {limit:.2}{goal}: {verdict}",
            budget.name, budget.measured
        )
        .expect("infallible");
    }
    text
}
