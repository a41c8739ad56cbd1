//! Rules about reachability, latency, change detection and server versions.

use std::time::Duration;

use super::{GroupFacts, NodeFacts, Rule, finding_about_group, finding_about_nodes};
use crate::domain::finding::{Finding, FindingKind, ObservedFact, Severity};
use crate::domain::{FeedLevel, NodeState};
use crate::server::config::ChangeDetection;

pub(super) const RULES: &[Rule] = &[
    check_quorum,
    check_reachable,
    check_latency,
    check_change_detection,
    check_unused_notifications,
    check_version,
];

/// The rules that apply to services other than Redis too.
pub(super) const SERVICE_RULES: &[Rule] = &[check_reachable, check_latency];

/// A round trip may take `command_timeout` divided by this.
const TIMEOUT_DIVISOR: u32 = 4;

fn check_quorum(facts: &GroupFacts<'_>) -> Option<Finding> {
    let (up, all, quorum) = (facts.nodes_up().count(), facts.nodes.len(), facts.quorum);
    if up >= quorum || all < 2 {
        return None;
    }
    let kind = FindingKind::NoQuorum { up, all, quorum };
    Some(finding_about_group(kind, Severity::Error, Vec::new()))
}

fn check_reachable(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = unavailable_where(facts, |node| node.view.state != NodeState::Up);
    finding_about_nodes(FindingKind::NodeUnreachable, Severity::Error, affected)
}

/// The nodes that meet a condition which makes them unavailable, each with its state.
pub(super) fn unavailable_where<'a>(
    facts: &'a GroupFacts<'_>,
    is_affected: impl Fn(&NodeFacts) -> bool,
) -> Vec<(&'a NodeFacts, ObservedFact)> {
    let describe = |node: &NodeFacts| ObservedFact::Unavailable {
        state: node.view.state,
        address: node.view.address.clone(),
        reason: node.view.reason.clone(),
    };
    let affected = facts.nodes.iter().filter(|node| is_affected(node));
    affected.map(|node| (node, describe(node))).collect()
}

fn check_latency(facts: &GroupFacts<'_>) -> Option<Finding> {
    let command_timeout = facts.config.command_timeout;
    let max_round_trip = command_timeout / TIMEOUT_DIVISOR;
    let describe = |node: &NodeFacts| {
        let round_trip = Duration::from_secs_f64(node.view.latency_ms? / 1e3);
        (round_trip > max_round_trip).then_some(ObservedFact::RoundTrip(round_trip))
    };
    let affected = facts
        .nodes_up()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    let kind = FindingKind::SlowNode { command_timeout };
    finding_about_nodes(kind, Severity::Warning, affected)
}

fn check_change_detection(facts: &GroupFacts<'_>) -> Option<Finding> {
    if facts.config.change_detection == ChangeDetection::Poll {
        return None;
    }
    // Without a reason change detection has not been tried yet.
    let describe = |node: &NodeFacts| {
        let reason = node.view.feed_reason.clone()?;
        (node.view.feed == FeedLevel::Poll).then_some(ObservedFact::Polled(reason))
    };
    let affected = facts
        .nodes_up()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    let finding = finding_about_nodes(FindingKind::NoChangeFeed, Severity::Note, affected)?;
    Some(finding.with_commands(["CONFIG SET notify-keyspace-events KA"]))
}

fn check_unused_notifications(facts: &GroupFacts<'_>) -> Option<Finding> {
    const SETTING: &str = "notify-keyspace-events";
    let describe = |node: &NodeFacts| {
        let flags = node.report.as_ref().ok()?.config_setting(SETTING)?;
        (node.view.feed == FeedLevel::Tracking && !flags.is_empty())
            .then(|| ObservedFact::setting(SETTING, flags))
    };
    let affected = facts
        .nodes_up()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    let kind = FindingKind::UnusedKeyspaceNotifications;
    let finding = finding_about_nodes(kind, Severity::Note, affected)?;
    Some(finding.with_commands(["CONFIG SET notify-keyspace-events \"\""]))
}

fn check_version(facts: &GroupFacts<'_>) -> Option<Finding> {
    let describe = |node: &NodeFacts| {
        let version = node.view.version.as_deref()?;
        let is_old =
            node.view.server.as_deref() == Some("redis") && parse_version(version)? < (6, 2);
        is_old.then(|| ObservedFact::ServerVersion(version.to_owned()))
    };
    let affected = facts
        .nodes_up()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    finding_about_nodes(FindingKind::OldVersion, Severity::Warning, affected)
}

/// Major and minor version.
pub(super) fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}
