//! One line per group: its nodes, and how much of the keyspace was seen. Of many groups, those that somebody has to know of.

use leptos::prelude::*;

use super::coverage;
use crate::domain::{Environment, GroupKind, GroupView, NodeState, Timestamp};
use crate::ui::format;
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::words::{seen as words, verdicts};

/// So many groups have a line of their own; of more, those with a node that does not answer.
const MOST: usize = 5;

/// Which groups have a line.
#[derive(Clone, PartialEq)]
struct Lined {
    names: Vec<String>,
    /// How many have none.
    others: usize,
    /// How many of those have a node that does not answer.
    troubled: usize,
}

impl Lined {
    fn of(groups: &[GroupView], chosen: Option<&str>) -> Self {
        let is_troubled = |group: &&GroupView| group.nodes_up() < group.nodes.len();
        let mut lined: Vec<&GroupView> = match (chosen, groups.len()) {
            (Some(chosen), _) => groups.iter().filter(|group| group.name == chosen).collect(),
            (None, 0..=MOST) => groups.iter().collect(),
            (None, _) => groups.iter().filter(is_troubled).collect(),
        };
        let troubled = match chosen {
            Some(_) => 0,
            None => lined.len().saturating_sub(MOST),
        };
        lined.truncate(MOST);
        Self {
            names: lined.iter().map(|group| group.name.clone()).collect(),
            others: match chosen {
                Some(_) => 0,
                None => groups.len() - lined.len(),
            },
            troubled,
        }
    }
}

/// A line for each group, or for those of many that somebody has to know of; the only one for the group that was chosen.
#[component]
pub fn NodeStrips(
    /// What is shown.
    query: Memo<Query>,
) -> impl IntoView {
    let live = Live::expect();
    let lined = Memo::new(move |_| {
        let chosen = query.with(|query| query.group.clone());
        live.with_groups(|groups| Lined::of(groups, chosen.as_deref()))
    });
    let names = Memo::new(move |_| lined.with(|lined| lined.names.clone()));
    let others = move || {
        let (others, troubled) = lined.with(|lined| (lined.others, lined.troubled));
        let text = match troubled {
            0 => words::groups_well(others),
            troubled => words::groups_troubled(others, troubled),
        };
        let tone = if troubled > 0 {
            "text-alarm"
        } else {
            "text-muted"
        };
        (others > 0).then(|| {
            view! {
                <p class=tone>
                    {text} " "
                    <Link href=paths::NODES class="text-accent underline underline-offset-2">{words::nodes()}</Link>
                </p>
            }
        })
    };
    view! {
        <div class="flex flex-col gap-1">
            {move || others()}
            {move || names.get().into_iter().map(|name| view! { <NodeStrip name /> }).collect_view()}
        </div>
    }
}

#[component]
fn NodeStrip(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let about = move || {
        let group = group.read();
        let group = group.as_ref()?;
        let words = quorum(group);
        let environment = group.environment;
        Some(view! { <EnvironmentBadge environment /> <span class="max-sm:hidden">{words}</span> })
    };
    let nodes = move || {
        let group = group.read();
        let nodes = group.iter().flat_map(|group| &group.nodes);
        nodes
            .map(|node| (node.name.clone(), node.state, node.since))
            .collect::<Vec<_>>()
    };
    let seen = move || {
        let seen = group
            .read()
            .as_ref()
            .map(|group| coverage::sentence(&group.coverage, live.now.get()));
        seen.unwrap_or_default()
    };
    let node = move |(name, state, since): (String, NodeState, Option<Timestamp>)| {
        let lasts = move || since.map(|since| format::elapsed(since, live.now.get()));
        let away = (state != NodeState::Up).then(|| {
            view! { <span class=state_tone(state).text()>{verdicts::node_state(state)} " " {move || lasts().unwrap_or_default()}</span> }
        });
        view! {
            <li class="inline-flex items-center gap-1">
                <span>{name}</span>
                <StateDot state />
                {away}
            </li>
        }
    };
    view! {
        <div class="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted">
            <span class="inline-flex items-center gap-2">
                <span class="font-medium text-ink wrap-anywhere">{name}</span>
                {move || about()}
            </span>
            <ul aria-label=words::nodes() class="flex flex-wrap items-center gap-x-3">
                {move || nodes().into_iter().map(node).collect_view()}
            </ul>
            // A phone has it on the page of the nodes, and where nothing is found.
            <span class="max-sm:hidden">{move || seen()}</span>
        </div>
    }
}

/// How the nodes of a group serve locks together, in words.
pub fn quorum(group: &GroupView) -> String {
    match group.kind {
        GroupKind::Standalone => words::one_node().to_owned(),
        GroupKind::Sentinel => words::by_sentinels().to_owned(),
        GroupKind::Cluster => words::in_a_cluster().to_owned(),
        GroupKind::Redlock => words::quorum(group.quorum, group.nodes.len()),
    }
}

/// What a group is used for; production stands out.
#[component]
pub fn EnvironmentBadge(
    /// What it is used for.
    environment: Environment,
) -> impl IntoView {
    let tone = match environment {
        Environment::Production => Tone::Warn,
        Environment::Staging | Environment::Development => Tone::Plain,
    };
    let called = verdicts::environment(environment);
    view! { <Badge tone>{called}</Badge> }
}

/// What a node's colour means.
pub fn state_tone(state: NodeState) -> Tone {
    match state {
        NodeState::Up => Tone::Good,
        NodeState::Loading => Tone::Warn,
        NodeState::Down | NodeState::Refused => Tone::Alarm,
    }
}

/// A node's state as a shape: filled while it answers.
#[component]
pub fn StateDot(
    /// The state.
    state: NodeState,
) -> impl IntoView {
    let colour = state_tone(state).text();
    let fill = if state == NodeState::Up {
        "currentColor"
    } else {
        "none"
    };
    view! {
        <svg class=format!("size-3 shrink-0 {colour}") viewBox="0 0 12 12" role="img" aria-label=verdicts::node_state(state)>
            <circle cx="6" cy="6" r="4.25" fill=fill stroke="currentColor" stroke-width="1.5"></circle>
        </svg>
    }
}
