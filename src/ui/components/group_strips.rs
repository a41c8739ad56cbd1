//! One line per group with its nodes and its scan coverage. If there are many groups, only those
//! with a problem are listed.

use leptos::prelude::*;

use super::coverage;
use crate::domain::{Environment, GroupKind, GroupView, NodeState, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{coverage as t, terms};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::paths;

/// The number of groups that are listed. If there are more groups, only those with an unreachable
/// node are listed.
const MAX_GROUPS: usize = 5;

/// The groups that are listed.
#[derive(Clone, PartialEq)]
struct ListedGroups {
    names: Vec<String>,
    /// The number of groups that are not listed.
    others: usize,
    /// How many of those have an unreachable node.
    unhealthy: usize,
}

impl ListedGroups {
    fn of(groups: &[GroupView], chosen: Option<&str>) -> Self {
        let is_unhealthy = |group: &&GroupView| group.nodes_up() < group.nodes.len();
        let mut listed: Vec<&GroupView> = match (chosen, groups.len()) {
            (Some(chosen), _) => groups.iter().filter(|group| group.name == chosen).collect(),
            (None, 0..=MAX_GROUPS) => groups.iter().collect(),
            (None, _) => groups.iter().filter(is_unhealthy).collect(),
        };
        let unhealthy = match chosen {
            Some(_) => 0,
            None => listed.len().saturating_sub(MAX_GROUPS),
        };
        listed.truncate(MAX_GROUPS);
        Self {
            names: listed.iter().map(|group| group.name.clone()).collect(),
            others: match chosen {
                Some(_) => 0,
                None => groups.len() - listed.len(),
            },
            unhealthy,
        }
    }
}

/// A line per listed group, or only the line of the selected group.
#[component]
pub fn GroupStrips(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let live = Live::expect();
    let listed = Memo::new(move |_| {
        let chosen = query.with(|query| query.group.clone());
        live.with_groups(|groups| ListedGroups::of(groups, chosen.as_deref()))
    });
    let names = Memo::new(move |_| listed.with(|listed| listed.names.clone()));
    let others = move || {
        let (others, unhealthy) = listed.with(|listed| (listed.others, listed.unhealthy));
        let text = match unhealthy {
            0 => t::other_groups_reachable(others),
            unhealthy => t::other_groups_unreachable(others, unhealthy),
        };
        let tone = if unhealthy > 0 {
            "text-alarm"
        } else {
            "text-muted"
        };
        (others > 0).then(|| {
            view! {
                <p class=tone>
                    {text} " "
                    <Link href=paths::NODES class="text-accent underline underline-offset-2">{t::nodes()}</Link>
                </p>
            }
        })
    };
    view! {
        <div class="flex flex-col gap-1">
            {move || others()}
            {move || names.get().into_iter().map(|name| view! { <GroupStrip name /> }).collect_view()}
        </div>
    }
}

#[component]
fn GroupStrip(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let description = move || {
        let group = group.read();
        let group = group.as_ref()?;
        let text = quorum_text(group);
        let environment = group.environment;
        Some(view! { <EnvironmentBadge environment /> <span class="max-sm:hidden">{text}</span> })
    };
    let nodes = move || {
        let group = group.read();
        let nodes = group.iter().flat_map(|group| &group.nodes);
        nodes
            .map(|node| (node.name.clone(), node.state, node.since))
            .collect::<Vec<_>>()
    };
    let scan_coverage = move || {
        let scan_coverage = group
            .read()
            .as_ref()
            .map(|group| coverage::coverage_sentence(&group.coverage, live.now.get()));
        scan_coverage.unwrap_or_default()
    };
    let node = move |(name, state, since): (String, NodeState, Option<Timestamp>)| {
        let duration = move || since.map(|since| format::elapsed(since, live.now.get()));
        let problem = (state != NodeState::Up).then(|| {
            view! { <span class=state_tone(state).text()>{terms::node_state(state)} " " {move || duration().unwrap_or_default()}</span> }
        });
        view! {
            <li class="inline-flex items-center gap-1">
                <span>{name}</span>
                <StateDot state />
                {problem}
            </li>
        }
    };
    view! {
        <div class="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted">
            <span class="inline-flex items-center gap-2">
                <span class="font-medium text-ink wrap-anywhere">{name}</span>
                {move || description()}
            </span>
            <ul aria-label=t::nodes() class="flex flex-wrap items-center gap-x-3">
                {move || nodes().into_iter().map(node).collect_view()}
            </ul>
            // Phones show the coverage on the nodes page and in empty tables.
            <span class="max-sm:hidden">{move || scan_coverage()}</span>
        </div>
    }
}

/// Describes the kind of a group and its quorum.
pub fn quorum_text(group: &GroupView) -> String {
    match group.kind {
        GroupKind::Standalone => t::single_node().to_owned(),
        GroupKind::Sentinel => t::sentinel_primary().to_owned(),
        GroupKind::Cluster => t::cluster().to_owned(),
        GroupKind::Redlock => t::quorum(group.quorum, group.nodes.len()),
    }
}

/// The environment of a group. Production is highlighted.
#[component]
pub fn EnvironmentBadge(
    /// The environment of the group.
    environment: Environment,
) -> impl IntoView {
    let tone = match environment {
        Environment::Production => Tone::Warn,
        Environment::Staging | Environment::Development => Tone::Plain,
    };
    let label = terms::environment(environment);
    view! { <Badge tone>{label}</Badge> }
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
