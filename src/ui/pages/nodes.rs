//! `/nodes`: every node of every group, how it was lately, and what the doctor says.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{
    Checkup, Fault, Finding, GroupPast, GroupView, NodePast, NodeView, NodesTold, Severity,
    Timestamp,
};
use crate::ui::components::coverage;
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::components::find_box::FindBox;
use crate::ui::components::findings::Findings;
use crate::ui::components::loaded::{Answered, OnBoard};
use crate::ui::components::node_card::NodeCard;
use crate::ui::components::node_strip::{EnvironmentBadge, quorum};
use crate::ui::components::unlisted_proxies::UnlistedProxies;
use crate::ui::kit::{Badge, Empty, Link, Tone};
use crate::ui::live::Loading;
use crate::ui::live::{Live, again};
use crate::ui::nodes_query::NodesQuery;
use crate::ui::words::{findings, nodes as words, punctuation};
use crate::ui::{calls, format, paths};

/// How often the doctor is asked.
const EVERY: Duration = Duration::from_secs(10);

/// So many groups are open from the start; of more, those with trouble.
const OPEN: usize = 5;

/// Every node of every group.
#[component]
pub fn NodesPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| NodesQuery::parse(&search.read()));
    let about = Memo::new(move |_| query.with(NodesQuery::search));
    let asked = Loading::new(move || calls::nodes(about.get_untracked()));
    let told = RwSignal::new(None::<NodesTold>);
    again(EVERY, about, calls::nodes, told);
    let show = Callback::new(move |answer: Result<NodesTold, Fault>| {
        let fault = match answer {
            Ok(answer) => {
                told.set(Some(answer));
                None
            }
            Err(fault) => Some(fault),
        };
        let retry = Callback::new(move |()| asked.again());
        view! {
            // The nodes' health comes with the board, whether the doctor can be asked or not.
            {fault.map(|fault| view! { <div class="mb-4"><FaultNotice fault retry /></div> })}
            <Groups query told />
        }
        .into_any()
    });
    view! {
        <Title text=format!("{} · Lockkeeper", words::title()) />
        <h1 class="mb-4 text-xl font-semibold">{words::heading()}</h1>
        <UnlistedProxies />
        <OnBoard>
            <div class="mb-5 flex">
                <FindBox
                    text=Memo::new(move |_| query.with(|query| query.text.clone()))
                    page=paths::NODES
                    label=words::find()
                    hint=words::find_hint()
                    path=Callback::new(|text| NodesQuery::with_text(text).path())
                />
            </div>
            <Answered loading=asked show />
        </OnBoard>
    }
}

#[component]
fn Groups(query: Memo<NodesQuery>, told: RwSignal<Option<NodesTold>>) -> impl IntoView {
    let live = Live::expect();
    let found =
        Memo::new(move |_| live.with_groups(|groups| query.with(|query| query.shown(groups))));
    let names = move || found.with(|(names, _)| names.clone());
    let more = move || {
        let (shown, total) = found.with(|(names, total)| (names.len(), *total));
        let href = query.with(|query| query.with_more().path());
        (shown < total).then(|| {
            view! {
                <p class="flex flex-wrap items-center gap-3 text-muted">
                    {words::groups_shown(shown, total)}
                    <Link href=href stays=true class="font-medium text-accent underline underline-offset-2">
                        {words::more_groups()}
                    </Link>
                </p>
            }
        })
    };
    let nothing = move || {
        found.with(|(names, _)| names.is_empty()).then(|| {
            view! {
                <Empty title=words::nothing_found()>
                    <p>
                        {words::nothing_fits()}
                        <Link href=paths::NODES stays=true class="font-medium text-accent underline underline-offset-2">
                            {words::show_all()}
                        </Link>
                    </p>
                </Empty>
            }
        })
    };
    let asked_at = move || {
        let at = told.with(|told| Some(told.as_ref()?.checkups.first()?.examined_at))?;
        Some(words::asked_at(format::time_of_day(at)))
    };
    view! {
        <div class="flex flex-col gap-8">
            <For each=names key=Clone::clone let:name>
                <Group name told found />
            </For>
            {nothing}
            {more}
            <p class="text-xs text-muted">
                {findings::same_on_command_line()} <code>"lockkeeper check"</code> {punctuation::full_stop()} {asked_at}
            </p>
        </div>
    }
}

#[component]
fn Group(
    name: String,
    told: RwSignal<Option<NodesTold>>,
    found: Memo<(Vec<String>, usize)>,
) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let checkup = Memo::new({
        let name = name.clone();
        move |_| told.with(|told| checkup_of(told.as_ref()?, &name))
    });
    let past = Memo::new({
        let name = name.clone();
        move |_| told.with(|told| past_of(told.as_ref()?, &name))
    });
    let is_open = untrack(|| {
        let is_well = group.with(|group| {
            let group = group.as_ref();
            group.is_none_or(|group| group.nodes_up() == group.nodes.len())
        });
        let is_fit = checkup.with(|checkup| checkup.as_ref().is_none_or(|checkup| checkup.fit));
        found.with(|(names, _)| names.len() <= OPEN) || !is_well || !is_fit
    });
    let summary = move || {
        let checkup = checkup.read();
        let checkup = checkup.as_ref()?;
        let tone = if checkup.fit {
            Tone::Plain
        } else {
            Tone::Alarm
        };
        let words = findings::summary(checkup);
        Some(view! { <Badge tone>{words}</Badge> })
    };
    let nodes = Memo::new(move |_| {
        group.with(|group| {
            let nodes = group.iter().flat_map(|group| &group.nodes);
            nodes.map(|node| node.name.clone()).collect::<Vec<_>>()
        })
    });
    let sentinels = Memo::new(move |_| {
        past.with(|past| {
            past.as_ref()
                .map(|past| past.sentinels.clone())
                .unwrap_or_default()
        })
    });
    let card = move |name: String| {
        let node = node(group, name.clone())?;
        let worst = Memo::new({
            let name = name.clone();
            move |_| checkup.with(|checkup| worst(checkup.as_ref()?, &name))
        });
        let past = Memo::new(move |_| past.with(|past| node_past(past.as_ref()?, &name)));
        Some(view! { <NodeCard node past sentinels group worst /> })
    };
    view! {
        <section aria-label=name.clone()>
            <details open=is_open class="flex flex-col">
                <summary class="rounded-md py-1">
                    <h2 class="inline text-lg font-semibold wrap-anywhere">{name.clone()}</h2>
                    <span class="ms-3 inline-flex flex-wrap items-center gap-x-3 gap-y-1">
                        {move || about(&group.read())}
                        {summary}
                    </span>
                </summary>
                <div class="mt-2 flex flex-col gap-4">
                    <p class="text-muted">{move || seen(&group.read(), live.now.get())}</p>
                    <div class="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
                        <For each=move || nodes.get() key=Clone::clone let:name>
                            {card(name)}
                        </For>
                    </div>
                    <p class="text-muted">
                        {words::patterns()} <code class="font-mono wrap-anywhere text-ink">{move || patterns(&group.read())}</code>
                    </p>
                    <Findings name=name.clone() checkup />
                </div>
            </details>
        </section>
    }
}

/// What kind of group it is, and how many of its nodes can be asked.
fn about(group: &Option<GroupView>) -> Option<impl IntoView + use<>> {
    let group = group.as_ref()?;
    let up = words::up_of(group.nodes_up(), group.nodes.len());
    let kind = quorum(group);
    let read_only = group.read_only.then(|| {
        view! { <Badge title=words::read_only_why()>{words::read_only()}</Badge> }
    });
    let environment = group.environment;
    Some(view! {
        <EnvironmentBadge environment />
        {read_only}
        <span class="text-muted">{kind} {punctuation::comma()} {up}</span>
    })
}

fn seen(group: &Option<GroupView>, now: Timestamp) -> String {
    let Some(coverage) = group.as_ref().map(|group| &group.coverage) else {
        return String::new();
    };
    let over = format::counted(coverage.nodes_reached as usize, "node");
    let matched = format::count(coverage.keys_matched);
    words::nodes_over(coverage::sentence(coverage, now), over, matched)
}

fn patterns(group: &Option<GroupView>) -> String {
    let patterns = group
        .as_ref()
        .map(|group| group.coverage.patterns.join("  "));
    patterns.unwrap_or_default()
}

/// The moment when it was asked changes every time: without it, what says the same is the same.
fn checkup_of(told: &NodesTold, group: &str) -> Option<Checkup> {
    let checkup = told
        .checkups
        .iter()
        .find(|checkup| checkup.group == group)?;
    Some(Checkup {
        examined_at: Timestamp::from_millis(0),
        ..checkup.clone()
    })
}

fn past_of(told: &NodesTold, group: &str) -> Option<GroupPast> {
    told.groups.iter().find(|past| past.group == group).cloned()
}

fn node_past(group: &GroupPast, node: &str) -> Option<NodePast> {
    group.nodes.iter().find(|past| past.node == node).cloned()
}

/// The worst that is found about a node by itself or among others; what is only good to know is not bad.
fn worst(checkup: &Checkup, node: &str) -> Option<Finding> {
    let mut findings = checkup.findings.iter();
    let found = findings.find(|finding| finding.nodes.iter().any(|name| name == node))?;
    (found.severity != Severity::Note).then(|| found.clone())
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
