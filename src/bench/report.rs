//! All measurements as JSON, for comparison with later runs.

use std::time::Duration;

use serde_json::json;

use super::Series;
use super::budgets::{Budget, Limit};
use super::machine::Machine;
use super::round::RoundDuration;

/// Renders the report.
pub fn to_json(
    machine: &Machine,
    round_duration: RoundDuration,
    results: &[Series],
    round_trip: Option<Duration>,
    budgets: &[Budget],
) -> String {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let series = |series: &Series| {
        let rounds = series.rounds.iter().map(|round| {
            json!({
                "pairs_per_second": round.pairs_per_second,
                "p50_ms": millis(round.p50),
                "p99_ms": millis(round.p99),
                "pairs": round.pairs,
                "other_cpus": round.other_cpus,
                "cpu_ms": {
                    "bench": millis(round.cpu_time.bench),
                    "gateway": millis(round.cpu_time.gateway),
                    "servers": millis(round.cpu_time.servers),
                },
            })
        });
        json!({
            "nodes": series.load.nodes,
            "clients": series.load.clients,
            "one_lock": series.load.one_lock,
            "delayed": series.load.delayed,
            "target": series.target.to_string(),
            "rounds": rounds.collect::<Vec<_>>(),
        })
    };
    let budget = |budget: &Budget| {
        let (at_least, at_most) = match budget.limit {
            Limit::AtLeast(limit) => (Some(limit), None),
            Limit::AtMost(limit) => (None, Some(limit)),
        };
        json!({
            "name": budget.name,
            "measured": budget.measured,
            "at_least": at_least,
            "at_most": at_most,
            "goal": budget.goal,
            "met": budget.is_met(),
        })
    };
    let report = json!({
        "machine": {
            "cores": machine.cores,
            "cpu_model": machine.cpu_model,
            "server": machine.server,
            "load_before": machine.load_before,
        },
        "round_ms": millis(round_duration.measured),
        "delayed_ping_ms": round_trip.map(millis),
        "results": results.iter().map(series).collect::<Vec<_>>(),
        "budgets": budgets.iter().map(budget).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}
