//! Everything that was measured, as JSON: for comparing one day's numbers with another's.

use std::time::Duration;

use serde_json::json;

use super::Cell;
use super::budgets::{Budget, Limit};
use super::machine::Machine;
use super::round::Length;

/// The whole record.
pub fn of(
    machine: &Machine,
    length: Length,
    cells: &[Cell],
    round_trip: Option<Duration>,
    budgets: &[Budget],
) -> String {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let cell = |cell: &Cell| {
        let rounds = cell.rounds.iter().map(|round| {
            json!({
                "pairs_per_second": round.pairs_per_second,
                "p50_ms": millis(round.p50),
                "p99_ms": millis(round.p99),
                "pairs": round.pairs,
                "busy_with_others": round.others,
                "processor_ms": {
                    "here": millis(round.spent.here),
                    "console": millis(round.spent.console),
                    "servers": millis(round.spent.servers),
                },
            })
        });
        json!({
            "nodes": cell.load.nodes,
            "clients": cell.load.clients,
            "one_lock": cell.load.one_lock,
            "delayed": cell.load.delayed,
            "way": cell.way.to_string(),
            "rounds": rounds.collect::<Vec<_>>(),
        })
    };
    let budget = |budget: &Budget| {
        let (at_least, at_most) = match budget.limit {
            Limit::AtLeast(least) => (Some(least), None),
            Limit::AtMost(most) => (None, Some(most)),
        };
        json!({
            "about": budget.about,
            "measured": budget.measured,
            "at_least": at_least,
            "at_most": at_most,
            "goal": budget.goal,
            "met": budget.is_met(),
        })
    };
    let record = json!({
        "machine": {
            "cores": machine.cores,
            "processor": machine.processor,
            "server": machine.server,
            "load_before": machine.load_before,
        },
        "round_ms": millis(length.measured),
        "delayed_ping_ms": round_trip.map(millis),
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "budgets": budgets.iter().map(budget).collect::<Vec<_>>(),
    });
    format!("{record:#}\n")
}
