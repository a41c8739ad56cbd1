//! Metrics of nodes: health, clocks, change detection and scans.

use super::scrape::Scrape;
use crate::domain::{FeedLevel, GroupView, NodeState, NodeView, Timestamp};

/// A metric of every node: name, help text and value.
type NodeMetric = (&'static str, &'static str, fn(&NodeView) -> Option<f64>);

const NODE_METRICS: [NodeMetric; 8] = [
    (
        "lockkeeper_node_up",
        "1 if the node is usable, 0 if not.",
        |node| Some(bool_value(node.state == NodeState::Up)),
    ),
    (
        "lockkeeper_node_quorum_eligible",
        "1 if the node counts for new locks, 0 while it is excluded after a restart that may have lost locks.",
        |node| Some(bool_value(node.quorum_eligible)),
    ),
    (
        "lockkeeper_node_restart_hazard",
        "1 if the node may have lost locks that owners still rely on.",
        |node| Some(bool_value(node.hazard_until.is_some())),
    ),
    (
        "lockkeeper_node_latency_seconds",
        "Round trip time of the last health check.",
        |node| Some(node.latency_ms? / 1000.0),
    ),
    (
        "lockkeeper_node_clock_skew_seconds",
        "Clock of the node minus clock of the console.",
        |node| Some(node.clock_skew_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_node_uptime_seconds",
        "Uptime that the server reports.",
        |node| Some(node.uptime_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_node_missing_permissions",
        "Commands that the console uses and the node's user is not permitted to call.",
        |node| Some(node.missing_permissions.len() as f64),
    ),
    (
        "lockkeeper_node_contention_unavailable",
        "1 if idle times on this node cannot show contention.",
        |node| Some(bool_value(node.contention_unavailable_reason.is_some())),
    ),
];

/// A metric of every group: name, help text and value.
type GroupMetric = (&'static str, &'static str, fn(&GroupView) -> Option<f64>);

const GROUP_METRICS: [GroupMetric; 10] = [
    ("lockkeeper_group_nodes", "Configured nodes.", |group| {
        Some(group.nodes.len() as f64)
    }),
    ("lockkeeper_group_nodes_up", "Usable nodes.", |group| {
        Some(group.nodes_up() as f64)
    }),
    (
        "lockkeeper_group_quorum",
        "Nodes required for a quorum.",
        |group| Some(f64::from(group.quorum)),
    ),
    (
        "lockkeeper_scan_nodes_reached",
        "Nodes with a completed scan pass.",
        |group| Some(f64::from(group.coverage.nodes_reached)),
    ),
    (
        "lockkeeper_scan_keys",
        "Keys considered by the last completed scan pass, all nodes together.",
        |group| Some(group.coverage.keys_seen as f64),
    ),
    (
        "lockkeeper_scan_keys_matched",
        "Keys of the last completed scan pass whose name matched.",
        |group| Some(group.coverage.keys_matched as f64),
    ),
    (
        "lockkeeper_scan_duration_seconds",
        "Duration of the last completed scan pass, on the slowest node.",
        |group| Some(group.coverage.pass_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_scan_call_duration_seconds",
        "Average round trip time of one SCAN call.",
        |group| Some(group.coverage.call_ms? / 1000.0),
    ),
    (
        "lockkeeper_last_scan_timestamp_seconds",
        "Unix time at which the last completed scan pass started, on the node where that is longest ago.",
        |group| Some(unix_seconds(group.coverage.pass_started_at?)),
    ),
    (
        "lockkeeper_last_poll_timestamp_seconds",
        "Unix time at which the known locks were last read from the nodes.",
        |group| Some(unix_seconds(group.last_polled_at?)),
    ),
];

pub(super) fn record(scrape: &Scrape, groups: &[GroupView]) {
    for (name, help, value) in GROUP_METRICS {
        let gauges = scrape.gauges(name, help, &["group"]);
        for group in groups {
            if let Some(value) = value(group) {
                gauges.with_label_values(&[&group.name]).set(value);
            }
        }
    }
    let passes = scrape.counters(
        "lockkeeper_scan_passes_total",
        "Completed scan passes, on the node with the fewest.",
        &["group"],
    );
    for group in groups {
        passes
            .with_label_values(&[&group.name])
            .inc_by(group.coverage.passes.into());
    }
    for (name, help, value) in NODE_METRICS {
        let gauges = scrape.gauges(name, help, &["group", "node"]);
        for (group, node) in each_node(groups) {
            if let Some(value) = value(node) {
                gauges.with_label_values(&[group, &node.name]).set(value);
            }
        }
    }
    let states = scrape.gauges(
        "lockkeeper_node_state",
        "1 for the current state of the node, 0 for the others.",
        &["group", "node", "state"],
    );
    let feeds = scrape.gauges(
        "lockkeeper_node_feed",
        "1 for the change detection in use on the node, 0 for the others.",
        &["group", "node", "feed"],
    );
    for (group, node) in each_node(groups) {
        for state in [
            NodeState::Up,
            NodeState::Down,
            NodeState::Loading,
            NodeState::Refused,
        ] {
            states
                .with_label_values(&[group, &node.name, state.slug()])
                .set(bool_value(node.state == state));
        }
        for level in [FeedLevel::Tracking, FeedLevel::Keyspace, FeedLevel::Poll] {
            feeds
                .with_label_values(&[group, &node.name, level.slug()])
                .set(bool_value(node.feed == level));
        }
    }
}

fn each_node(groups: &[GroupView]) -> impl Iterator<Item = (&str, &NodeView)> {
    groups.iter().flat_map(|group| {
        let nodes = group.nodes.iter();
        nodes.map(|node| (group.name.as_str(), node))
    })
}

/// Seconds since the Unix epoch, as Prometheus' `time()` returns.
pub(super) fn unix_seconds(at: Timestamp) -> f64 {
    at.millis() as f64 / 1000.0
}

fn bool_value(value: bool) -> f64 {
    f64::from(u8::from(value))
}
