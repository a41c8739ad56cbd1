//! `/nodes`: the nodes of all groups with their health history and the findings of the doctor.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{
    DiagnosisView, GroupKind, GroupNodeHistory, GroupView, NodeHistory, NodeView, NodesReport,
    OperationError, Timestamp,
};
use crate::ui::components::coverage;
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::components::findings::Findings;
use crate::ui::components::group_strips::{EnvironmentBadge, quorum_text};
use crate::ui::components::node_row::{NodeRow, column_titles};
use crate::ui::components::page_search::PageSearch;
use crate::ui::components::prefix_table::PrefixSection;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceResultView};
use crate::ui::components::unlisted_proxies::UnlistedProxies;
use crate::ui::i18n::{findings, nodes as t, punctuation};
use crate::ui::kit::{Badge, Empty, Link, Tone};
use crate::ui::live::ServerResource;
use crate::ui::live::{Live, poll};
use crate::ui::nodes_query::NodesQuery;
use crate::ui::{calls, format, paths};

/// The polling interval for health history and findings.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Up to this many groups are expanded initially. With more groups, only those with problems are.
const MAX_OPEN_GROUPS: usize = 5;

/// The nodes page.
#[component]
pub fn NodesPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| NodesQuery::parse(&search.read()));
    let query_string = Memo::new(move |_| query.with(NodesQuery::query_string));
    let resource = ServerResource::new(move || calls::nodes(query_string.get_untracked()));
    let report = RwSignal::new(None::<NodesReport>);
    poll(POLL_INTERVAL, query_string, calls::nodes, report);
    let show = Callback::new(move |answer: Result<NodesReport, OperationError>| {
        let fault = match answer {
            Ok(answer) => {
                report.set(Some(answer));
                None
            }
            Err(fault) => Some(fault),
        };
        let retry = Callback::new(move |()| resource.refetch());
        view! {
            // The node states are part of the index, so they are shown even if this request fails.
            {fault.map(|fault| view! { <div class="mb-4"><ErrorNotice error=fault retry /></div> })}
            <Groups query report />
        }
        .into_any()
    });
    view! {
        <Title text=format!("{} · Lockkeeper", t::title()) />
        <h1 class="mb-4 text-xl font-semibold">{t::heading()}</h1>
        <UnlistedProxies />
        <AwaitSnapshot>
            <div class="mb-5 flex">
                <PageSearch
                    text=Memo::new(move |_| query.with(|query| query.text.clone()))
                    page=paths::NODES
                    label=t::find()
                    hint=t::find_hint()
                    path=Callback::new(|text| NodesQuery::with_text(text).path())
                />
            </div>
            <ResourceResultView loading=resource show />
        </AwaitSnapshot>
    }
}

#[component]
fn Groups(query: Memo<NodesQuery>, report: RwSignal<Option<NodesReport>>) -> impl IntoView {
    let live = Live::expect();
    let found = Memo::new(move |_| {
        live.with_groups(|groups| query.with(|query| query.visible_groups(groups)))
    });
    let names = move || found.with(|(names, _)| names.clone());
    let more = move || {
        let (shown, total) = found.with(|(names, total)| (names.len(), *total));
        let href = query.with(|query| query.with_next_page().path());
        (shown < total).then(|| {
            view! {
                <p class="flex flex-wrap items-center gap-3 text-muted">
                    {t::groups_shown(shown, total)}
                    <Link href=href no_scroll=true class="font-medium text-accent underline underline-offset-2">
                        {t::more_groups()}
                    </Link>
                </p>
            }
        })
    };
    let nothing = move || {
        found.with(|(names, _)| names.is_empty()).then(|| {
            view! {
                <Empty title=t::no_match()>
                    <p>
                        {t::no_match_hint()}
                        <Link href=paths::NODES no_scroll=true class="font-medium text-accent underline underline-offset-2">
                            {t::show_all()}
                        </Link>
                    </p>
                </Empty>
            }
        })
    };
    let checked_at = move || {
        let at = report.with(|report| Some(report.as_ref()?.diagnoses.first()?.checked_at))?;
        Some(t::checked_at(format::time_of_day(at)))
    };
    view! {
        <div class="flex flex-col gap-8">
            <For each=names key=Clone::clone let:name>
                <Group name report found />
            </For>
            {nothing}
            {more}
            <p class="text-xs text-muted">
                {findings::command_line_hint()} <code>"lockkeeper check"</code> {punctuation::full_stop()} {checked_at}
            </p>
        </div>
    }
}

#[component]
fn Group(
    name: String,
    report: RwSignal<Option<NodesReport>>,
    found: Memo<(Vec<String>, usize)>,
) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let checkup = Memo::new({
        let name = name.clone();
        move |_| report.with(|report| checkup_for(report.as_ref()?, &name))
    });
    let history = Memo::new({
        let name = name.clone();
        move |_| report.with(|report| group_history(report.as_ref()?, &name))
    });
    let is_open = untrack(|| {
        let is_well = group.with(|group| {
            let group = group.as_ref();
            group.is_none_or(|group| group.nodes_up() == group.nodes.len())
        });
        let is_fit = checkup.with(|checkup| checkup.as_ref().is_none_or(|checkup| checkup.healthy));
        found.with(|(names, _)| names.len() <= MAX_OPEN_GROUPS) || !is_well || !is_fit
    });
    let summary = move || {
        let checkup = checkup.read();
        let checkup = checkup.as_ref()?;
        let tone = if checkup.healthy {
            Tone::Plain
        } else {
            Tone::Alarm
        };
        let label = findings::summary(checkup);
        // The findings of an expanded group have the same heading.
        Some(view! { <span class="group-open:hidden"><Badge tone>{label}</Badge></span> })
    };
    let nodes = Memo::new(move |_| {
        group.with(|group| {
            let nodes = group.iter().flat_map(|group| &group.nodes);
            nodes.map(|node| node.name.clone()).collect::<Vec<_>>()
        })
    });
    let sentinels = Memo::new(move |_| {
        history.with(|history| {
            history
                .as_ref()
                .map(|history| history.sentinels.clone())
                .unwrap_or_default()
        })
    });
    let slowest_us =
        Memo::new(move |_| history.with(|history| history.as_ref().map_or(0, slowest_round_trip)));
    let row = move |name: String| {
        let node = node_memo(group, name.clone())?;
        let history =
            Memo::new(move |_| history.with(|history| node_history(history.as_ref()?, &name)));
        Some(view! { <NodeRow node history sentinels group diagnosis=checkup slowest_us /> })
    };
    // Prefixes limit the change feeds of Redis.
    let is_redis = Memo::new(move |_| {
        let kind = group.with(|group| group.as_ref().map(|group| group.kind));
        kind.is_none_or(GroupKind::is_redis)
    });
    let headings = column_titles()
        .map(|title| view! { <span>{title}</span> })
        .collect_view();
    let prefix_group = StoredValue::new(name.clone());
    view! {
        <section aria-label=name.clone()>
            <details open=is_open class="group flex flex-col">
                <summary class="rounded-md py-1">
                    <h2 class="inline text-lg font-semibold wrap-anywhere">{name.clone()}</h2>
                    <span class="ms-3 inline-flex flex-wrap items-center gap-x-3 gap-y-1">
                        {move || group_facts(&group.read())}
                        {summary}
                    </span>
                </summary>
                <div class="mt-2 flex flex-col gap-4">
                    <Findings name=name.clone() diagnosis=checkup />
                    <div class="node-table">
                        <div class="node-cells node-head" aria-hidden="true">{headings}</div>
                        <For each=move || nodes.get() key=Clone::clone let:name>
                            {row(name)}
                        </For>
                    </div>
                    <p class="text-muted">
                        {move || coverage_text(&group.read(), live.now.get())} {punctuation::full_stop()} {t::patterns()} <code class="font-mono wrap-anywhere text-ink">{move || patterns_text(&group.read())}</code>
                    </p>
                    {move || is_redis.get().then(|| view! { <PrefixSection group=prefix_group.get_value() /> })}
                </div>
            </details>
        </section>
    }
}

/// The kind of the group, and the number of nodes that are up.
fn group_facts(group: &Option<GroupView>) -> Option<impl IntoView + use<>> {
    let group = group.as_ref()?;
    let up = t::up_of(group.nodes_up(), group.nodes.len());
    let kind = quorum_text(group);
    let read_only = group.read_only.then(|| {
        view! { <Badge title=t::read_only_why()>{t::read_only()}</Badge> }
    });
    let environment = group.environment;
    Some(view! {
        <EnvironmentBadge environment />
        {read_only}
        <span class="text-muted">{kind} {punctuation::comma()} {up}</span>
    })
}

fn coverage_text(group: &Option<GroupView>, now: Timestamp) -> String {
    let Some(coverage) = group.as_ref().map(|group| &group.coverage) else {
        return String::new();
    };
    let over = format::node_count(coverage.nodes_reached as usize);
    let matched = format::count(coverage.keys_matched);
    format::capital(&t::nodes_over(
        coverage::coverage_sentence(coverage, now),
        over,
        matched,
    ))
}

fn patterns_text(group: &Option<GroupView>) -> String {
    let patterns = group
        .as_ref()
        .map(|group| group.coverage.patterns.join("  "));
    patterns.unwrap_or_default()
}

/// The checkup without its time, which changes with every check, so that equal findings compare as
/// equal.
fn checkup_for(report: &NodesReport, group: &str) -> Option<DiagnosisView> {
    let checkup = report
        .diagnoses
        .iter()
        .find(|checkup| checkup.group == group)?;
    Some(DiagnosisView {
        checked_at: Timestamp::from_millis(0),
        ..checkup.clone()
    })
}

fn group_history(report: &NodesReport, group: &str) -> Option<GroupNodeHistory> {
    report
        .groups
        .iter()
        .find(|history| history.group == group)
        .cloned()
}

fn node_history(group: &GroupNodeHistory, node: &str) -> Option<NodeHistory> {
    group
        .nodes
        .iter()
        .find(|history| history.node == node)
        .cloned()
}

/// The longest round trip to a node of the group in the last hour, in microseconds.
fn slowest_round_trip(group: &GroupNodeHistory) -> u32 {
    let minutes = group.nodes.iter().flat_map(|node| node.timeline.minutes());
    minutes
        .filter_map(|minute| minute.slowest_us)
        .max()
        .unwrap_or(0)
}

/// One node of a group, updated live; the last known state if the node was removed from the group.
fn node_memo(group: Memo<Option<GroupView>>, name: String) -> Option<Memo<NodeView>> {
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
