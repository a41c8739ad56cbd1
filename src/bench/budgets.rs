//! Performance budgets and whether the measurements meet them.

use std::fmt::Write as _;

use super::Series;
use super::load::{Load, Target};
use super::round::Round;
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
    for clients in [1, 16, 64] {
        add(
            format!("HTTP, {}: pairs/s relative to webdis", load(1, clients)),
            ratio(
                results,
                load(1, clients),
                (Target::Http, Target::Webdis),
                pairs,
            ),
            Limit::AtLeast(0.75),
            Some(1.0),
        );
    }
    for (clients, min_ratio) in [(1, 0.7), (16, 0.5)] {
        add(
            format!("HTTP, {}: pairs/s relative to rslock", load(5, clients)),
            ratios_to_rslock(results, load(5, clients), Target::Http, pairs).min_by(f64::total_cmp),
            Limit::AtLeast(min_ratio),
            None,
        );
    }
    for (clients, max_ratio) in [(1, 1.05), (16, 1.1)] {
        let load = Load {
            delayed: true,
            ..load(5, clients)
        };
        add(
            format!("HTTP, {load}: median relative to rslock"),
            ratios_to_rslock(results, load, Target::Http, p50).max_by(f64::total_cmp),
            Limit::AtMost(max_ratio),
            None,
        );
    }
    let delayed = results.iter().find(|series| {
        series.load.delayed && series.load.clients == 1 && series.target == Target::Code
    });
    add(
        "locking code, 5 nodes with 2 ms delay: median relative to two round trips".into(),
        delayed.map(|series| series.median(p50) / TWO_ROUND_TRIPS),
        Limit::AtMost(1.15),
        None,
    );
    for (nodes, clients) in [(1, 1), (1, 16), (5, 1), (5, 16)] {
        let ratio_to_faster = ratios_to_rslock(results, load(nodes, clients), Target::Code, pairs)
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

/// The ratios of a value to both ways of using rslock.
fn ratios_to_rslock(
    results: &[Series],
    load: Load,
    target: Target,
    value: fn(&Round) -> f64,
) -> impl Iterator<Item = f64> {
    [Target::Rslock, Target::RslockShared]
        .into_iter()
        .filter_map(move |reference| ratio(results, load, (target, reference), value))
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
