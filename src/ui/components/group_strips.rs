//! What pages show of a group and its nodes: kind and quorum, environment, and the state of a node.

use leptos::prelude::*;

use crate::domain::{Environment, GroupKind, GroupView, NodeState};
use crate::ui::i18n::{coverage as t, terms};
use crate::ui::kit::{Badge, Tone};

/// Describes the kind of a group and its quorum.
pub fn quorum_text(group: &GroupView) -> String {
    match group.kind {
        GroupKind::Standalone => t::single_node().to_owned(),
        GroupKind::Sentinel => t::sentinel_primary().to_owned(),
        GroupKind::Cluster => t::cluster().to_owned(),
        GroupKind::Redlock => t::quorum(group.quorum, group.nodes.len()),
        GroupKind::Zookeeper => t::zookeeper(group.nodes.len()),
        GroupKind::Etcd => t::etcd(group.nodes.len()),
        GroupKind::Postgres => t::postgres().to_owned(),
    }
}

/// The environment of a group. It has no colour, which is for what needs attention.
#[component]
pub fn EnvironmentBadge(
    /// The environment of the group.
    environment: Environment,
) -> impl IntoView {
    let label = terms::environment(environment);
    view! { <Badge>{label}</Badge> }
}

/// The colour of a node's state.
pub fn state_tone(state: NodeState) -> Tone {
    match state {
        NodeState::Up => Tone::Good,
        NodeState::Loading => Tone::Warn,
        NodeState::Down | NodeState::Refused => Tone::Alarm,
    }
}

/// A node's state as a shape, filled if the node is up.
#[component]
pub fn StateDot(
    /// The state of the node.
    state: NodeState,
) -> impl IntoView {
    let colour = state_tone(state).text();
    let fill = if state == NodeState::Up {
        "currentColor"
    } else {
        "none"
    };
    view! {
        <svg class=format!("size-3 shrink-0 {colour}") viewBox="0 0 12 12" role="img" aria-label=terms::node_state(state)>
            <circle cx="6" cy="6" r="4.25" fill=fill stroke="currentColor" stroke-width="1.5"></circle>
        </svg>
    }
}
