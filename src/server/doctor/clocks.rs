//! Rules about clocks: differences between nodes and this console, and steps.

use std::time::Duration;

use super::{GroupFacts, NodeFacts, Rule, finding_about_group, finding_about_nodes};
use crate::domain::finding::{Finding, FindingEvidence, FindingKind, ObservedFact, Severity};
use crate::server::stores::redis::nodes::health::ClockStep;

pub(super) const RULES: &[Rule] = &[
    check_node_clocks,
    check_console_clock,
    check_node_clock_steps,
    check_console_clock_step,
];

/// Clocks synchronised by NTP differ by far less.
const MAX_SKEW_MS: i64 = 1_000;

/// Steps of all nodes within this window are attributed to the console's clock, which they are
/// measured against.
const SAME_STEP_WINDOW: Duration = Duration::from_secs(3);

/// How far a node's clock is ahead of this console's, in milliseconds. Half a round trip is
/// subtracted: the measurement is not more precise.
fn skew_beyond_latency_ms(node: &NodeFacts) -> Option<i64> {
    let skew = node.view.clock_skew_ms?;
    let uncertainty = Duration::from_secs_f64(node.view.latency_ms.unwrap_or(0.0) / 2e3);
    let uncertainty_ms = i64::try_from(uncertainty.as_millis()).unwrap_or(i64::MAX);
    Some(skew.signum() * (skew.abs() - uncertainty_ms).max(0))
}

/// The usable nodes with their skews in milliseconds, and the median skew.
fn node_skews<'a>(facts: &'a GroupFacts<'_>) -> Option<(Vec<(&'a NodeFacts, i64)>, i64)> {
    let all: Vec<_> = facts
        .nodes_up()
        .filter_map(|node| Some((node, skew_beyond_latency_ms(node)?)))
        .collect();
    let mut sorted: Vec<i64> = all.iter().map(|(_, ahead)| *ahead).collect();
    sorted.sort_unstable();
    // With two clocks that differ there is no majority, so the console's clock is the reference.
    let middle = match sorted.as_slice() {
        [] => return None,
        [low, high] if high - low > MAX_SKEW_MS => 0,
        all => all[all.len() / 2],
    };
    Some((all, middle))
}

fn check_node_clocks(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (clocks, middle) = node_skews(facts)?;
    // A single node can only be compared with the console.
    let reference = if clocks.len() == 1 { 0 } else { middle };
    let affected = clocks
        .into_iter()
        .filter(|(_, ahead_ms)| (ahead_ms - reference).abs() > MAX_SKEW_MS)
        .map(|(node, ahead_ms)| (node, ObservedFact::ClockSkew { ahead_ms }))
        .collect();
    finding_about_nodes(FindingKind::ClockSkew, Severity::Warning, affected)
}

fn check_console_clock(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (clocks, middle) = node_skews(facts)?;
    if clocks.len() < 2 || middle.abs() <= MAX_SKEW_MS {
        return None;
    }
    let describe = |(node, ahead_ms): (&NodeFacts, i64)| {
        FindingEvidence::about(&*node.view.name, ObservedFact::ClockSkew { ahead_ms })
    };
    let evidence = clocks.into_iter().map(describe).collect();
    let kind = FindingKind::ConsoleClockSkew;
    Some(finding_about_group(kind, Severity::Warning, evidence))
}

/// The nodes whose clocks stepped within the longest lease, and whether the console's clock stepped
/// instead.
fn recent_clock_steps<'a>(facts: &'a GroupFacts<'_>) -> (Vec<(&'a NodeFacts, ClockStep)>, bool) {
    let since = |step: &ClockStep| facts.now.since(step.at);
    let steps: Vec<_> = facts
        .reporting_nodes()
        .filter_map(|(node, report)| Some((node, report.clock_step?)))
        .filter(|(_, step)| since(step) <= facts.max_lease())
        .collect();
    let all_at_once = steps.windows(2).all(|two| {
        let (first, second) = (two[0].1, two[1].1);
        let apart_ms = first.at.millis_since(second.at).unsigned_abs();
        u128::from(apart_ms) <= SAME_STEP_WINDOW.as_millis()
            && (first.by_ms < 0) == (second.by_ms < 0)
    });
    let is_ours = steps.len() > 1 && steps.len() == facts.nodes_up().count() && all_at_once;
    (steps, is_ours)
}

fn check_node_clock_steps(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (steps, is_ours) = recent_clock_steps(facts);
    if is_ours {
        return None;
    }
    let ahead = steps.iter().any(|(_, step)| step.by_ms > 0);
    let severity = if ahead {
        Severity::Error
    } else {
        Severity::Warning
    };
    let affected = steps
        .into_iter()
        .map(|(node, step)| (node, observed_step(step)))
        .collect();
    finding_about_nodes(FindingKind::ClockJump, severity, affected)
}

fn check_console_clock_step(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (steps, is_ours) = recent_clock_steps(facts);
    if !is_ours {
        return None;
    }
    let describe = |(node, step): (&NodeFacts, ClockStep)| {
        FindingEvidence::about(&*node.view.name, observed_step(step))
    };
    let evidence = steps.into_iter().map(describe).collect();
    let kind = FindingKind::ConsoleClockJump;
    Some(finding_about_group(kind, Severity::Note, evidence))
}

fn observed_step(step: ClockStep) -> ObservedFact {
    ObservedFact::ClockStep {
        by_ms: step.by_ms,
        at: step.at,
    }
}
