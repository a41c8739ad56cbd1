//! `/nodes`: every node of every group, and what the doctor says of them.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;

use crate::domain::{Checkup, GroupView, NodeView};
use crate::ui::calls;
use crate::ui::components::coverage;
use crate::ui::components::findings::Findings;
use crate::ui::components::loaded::{Loaded, Loading, OnBoard};
use crate::ui::components::node_card::NodeCard;
use crate::ui::components::node_strip::{EnvironmentBadge, quorum};
use crate::ui::format;
use crate::ui::kit::Badge;
use crate::ui::live::{Live, again};

/// How often the doctor is asked.
const EVERY: Duration = Duration::from_secs(10);

/// Every node of every group.
#[component]
pub fn NodesPage() -> impl IntoView {
    let live = Live::expect();
    let names = Memo::new(move |_| {
        live.with_groups(|groups| {
            groups
                .iter()
                .map(|group| group.name.clone())
                .collect::<Vec<_>>()
        })
    });
    let asked = Loading::new(calls::checkups);
    let told = RwSignal::new(None::<Vec<Checkup>>);
    again(EVERY, calls::checkups, told);
    let show = Callback::new(move |checkups: Vec<Checkup>| {
        told.set(Some(checkups));
        view! { <Findings told /> }.into_any()
    });
    view! {
        <Title text="Nodes · Lockkeeper" />
        <h1 class="sr-only">"Nodes"</h1>
        <OnBoard>
            <div class="flex flex-col gap-8">
                {move || names.get().into_iter().map(|name| view! { <Group name /> }.into_any()).collect_view()}
            </div>
            <Loaded loading=asked show />
        </OnBoard>
    }
}

#[component]
fn Group(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let about = move || {
        let group = group.read();
        let group = group.as_ref()?;
        let (up, all) = (group.nodes_up(), group.nodes.len());
        let words = format!("{}, {up} of {all} up", quorum(group));
        let read_only = group.read_only.then(|| {
            view! { <Badge title="acts are refused by the configuration">"read-only"</Badge> }
                .into_any()
        });
        let environment = group.environment;
        Some(view! { <EnvironmentBadge environment /> {read_only} <span class="text-muted">{words}</span> }.into_any())
    };
    let nodes = Memo::new(move |_| {
        group.with(|group| {
            group
                .iter()
                .flat_map(|group| &group.nodes)
                .map(|node| node.name.clone())
                .collect::<Vec<_>>()
        })
    });
    let patterns = move || {
        let group = group.read();
        group
            .as_ref()
            .map(|group| group.coverage.patterns.join("  "))
            .unwrap_or_default()
    };
    let seen = move || {
        let group = group.read();
        let Some(coverage) = group.as_ref().map(|group| &group.coverage) else {
            return String::new();
        };
        let over = format::counted(coverage.nodes_reached as usize, "node");
        let matched = format::count(coverage.keys_matched);
        format!(
            "{}, over {over}, {matched} matched",
            coverage::sentence(coverage, live.now.get())
        )
    };
    view! {
        <section class="flex flex-col gap-3" aria-label=name.clone()>
            <header class="flex flex-wrap items-center gap-x-3 gap-y-1">
                <h2 class="text-lg font-semibold">{name.clone()}</h2>
                {move || about()}
                <span class="text-muted">{move || seen()}</span>
            </header>
            <div class="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
                {move || {
                    let cards = nodes.get().into_iter().filter_map(|name| node(group, name));
                    cards.map(|node| view! { <NodeCard node /> }.into_any()).collect_view()
                }}
            </div>
            <p class="text-muted">"Patterns: " <code class="font-mono wrap-anywhere text-ink">{move || patterns()}</code></p>
        </section>
    }
}

/// One node of a group, kept up to date; as it was last where the group does not have it any more.
fn node(group: Memo<Option<GroupView>>, name: String) -> Option<Memo<NodeView>> {
    let find = move |group: &Option<GroupView>| {
        group
            .as_ref()?
            .nodes
            .iter()
            .find(|node| node.name == name)
            .cloned()
    };
    let first = group.with_untracked(&find)?;
    Some(Memo::new(move |before: Option<&NodeView>| {
        group
            .with(&find)
            .unwrap_or_else(|| before.unwrap_or(&first).clone())
    }))
}
