//! The nodes in numbers: health, clocks, feeds, and what scanning them costs.

use super::scrape::Scrape;
use crate::domain::{FeedLevel, GroupView, NodeState, NodeView, Timestamp};

/// A metric of every node: its name, what it means, and its value where it has one.
type OfNode = (&'static str, &'static str, fn(&NodeView) -> Option<f64>);

const OF_EACH_NODE: [OfNode; 8] = [
    (
        "lockkeeper_node_up",
        "Whether the node can be used.",
        |node| Some(yes_or_no(node.state == NodeState::Up)),
    ),
    (
        "lockkeeper_node_votes",
        "Whether the node takes part in acquiring new locks; not for a while after a restart that may have made it forget some.",
        |node| Some(yes_or_no(node.votes)),
    ),
    (
        "lockkeeper_node_restart_hazard",
        "Whether the node may have forgotten locks whose owners rely on them.",
        |node| Some(yes_or_no(node.hazard_until.is_some())),
    ),
    (
        "lockkeeper_node_latency_seconds",
        "The last round trip of the health check.",
        |node| Some(node.latency_ms? / 1000.0),
    ),
    (
        "lockkeeper_node_clock_skew_seconds",
        "The node's clock minus the console's.",
        |node| Some(node.clock_skew_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_node_uptime_seconds",
        "How long the server has been running, by its own account.",
        |node| Some(node.uptime_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_node_missing_permissions",
        "Commands that the node's user may not call, though the console would have a use for them.",
        |node| Some(node.missing.len() as f64),
    ),
    (
        "lockkeeper_node_touches_unmeasured",
        "Whether nothing can be told from idle times on this node of who else touches a lock.",
        |node| Some(yes_or_no(node.unmeasured.is_some())),
    ),
];

/// A metric of every group's scan.
type OfGroup = (
    &'static str,
    &'static str,
    fn(&GroupView, Timestamp) -> Option<f64>,
);

const OF_EACH_GROUP: [OfGroup; 10] = [
    (
        "lockkeeper_group_nodes",
        "Nodes that are configured.",
        |group, _| Some(group.nodes.len() as f64),
    ),
    (
        "lockkeeper_group_nodes_up",
        "Nodes that can be used.",
        |group, _| Some(group.nodes_up() as f64),
    ),
    (
        "lockkeeper_group_quorum",
        "How many nodes an owner needs.",
        |group, _| Some(f64::from(group.quorum)),
    ),
    (
        "lockkeeper_scan_nodes_reached",
        "Nodes that a scan has gone over whole.",
        |group, _| Some(f64::from(group.coverage.nodes_reached)),
    ),
    (
        "lockkeeper_scan_keys",
        "Keys that the last whole pass over each node went over.",
        |group, _| Some(group.coverage.keys_seen as f64),
    ),
    (
        "lockkeeper_scan_keys_matched",
        "And how many of them have the name of a lock.",
        |group, _| Some(group.coverage.keys_matched as f64),
    ),
    (
        "lockkeeper_scan_pass_seconds",
        "How long the last whole pass took, on the node where it took longest.",
        |group, _| Some(group.coverage.pass_ms? as f64 / 1000.0),
    ),
    (
        "lockkeeper_scan_call_seconds",
        "How long one SCAN takes on average, the way there and back included.",
        |group, _| Some(group.coverage.call_ms? / 1000.0),
    ),
    (
        "lockkeeper_scan_age_seconds",
        "How long ago the oldest of the last whole passes began.",
        |group, at| Some(at.since(group.coverage.pass_started_at?).as_secs_f64()),
    ),
    (
        "lockkeeper_look_age_seconds",
        "How long ago the known locks were looked at.",
        |group, at| Some(at.since(group.looked_at?).as_secs_f64()),
    ),
];

pub(super) fn read(scrape: &Scrape, groups: &[GroupView], at: Timestamp) {
    for (name, help, value) in OF_EACH_GROUP {
        let gauges = scrape.gauges(name, help, &["group"]);
        for group in groups {
            if let Some(value) = value(group, at) {
                gauges.with_label_values(&[&group.name]).set(value);
            }
        }
    }
    let passes = scrape.counters(
        "lockkeeper_scan_passes_total",
        "Whole passes, on the node with the fewest.",
        &["group"],
    );
    for group in groups {
        passes
            .with_label_values(&[&group.name])
            .inc_by(group.coverage.passes.into());
    }
    for (name, help, value) in OF_EACH_NODE {
        let gauges = scrape.gauges(name, help, &["group", "node"]);
        for (group, node) in each_node(groups) {
            if let Some(value) = value(node) {
                gauges.with_label_values(&[group, &node.name]).set(value);
            }
        }
    }
    let states = scrape.gauges(
        "lockkeeper_node_state",
        "1 for the state that the node is in, 0 for the others.",
        &["group", "node", "state"],
    );
    let feeds = scrape.gauges(
        "lockkeeper_node_feed",
        "1 for the way in which changes on the node are learnt, 0 for the others.",
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
                .set(yes_or_no(node.state == state));
        }
        for level in [FeedLevel::Tracking, FeedLevel::Keyspace, FeedLevel::Poll] {
            feeds
                .with_label_values(&[group, &node.name, level.slug()])
                .set(yes_or_no(node.feed == level));
        }
    }
}

fn each_node(groups: &[GroupView]) -> impl Iterator<Item = (&str, &NodeView)> {
    groups.iter().flat_map(|group| {
        let nodes = group.nodes.iter();
        nodes.map(|node| (group.name.as_str(), node))
    })
}

fn yes_or_no(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}
