//! `/waits`: the lock waits.

use std::collections::BTreeSet;
use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::wait_graph_layout::GraphDrawing;
use crate::domain::{LockId, Timestamp, WaitForGraph, WaitGraphLayout};
use crate::ui::components::group_select::GroupSelect;
use crate::ui::components::page_search::PageSearch;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::components::wait_graph::WaitGraph;
use crate::ui::components::wait_tree::WaitTree;
use crate::ui::i18n::waits as t;
use crate::ui::kit::{Banner, Empty, Link, Tone, use_replace_address};
use crate::ui::live::ServerResource;
use crate::ui::live::{Live, poll};
use crate::ui::waits_query::{WaitFilter, WaitsQuery};
use crate::ui::{calls, format, paths};

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The lock waits page.
#[component]
pub fn WaitsPage() -> impl IntoView {
    let resource = ServerResource::new(calls::waits);
    let data = RwSignal::new(None::<WaitForGraph>);
    poll(POLL_INTERVAL, Memo::new(|_| ()), |()| calls::waits(), data);
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| WaitsQuery::parse(search)));
    let show = Callback::new(move |waits: WaitForGraph| {
        data.set(Some(waits));
        view! { <WaitsContent data query /> }.into_any()
    });
    let with_text = Callback::new(move |text| {
        let query = query.get_untracked();
        WaitsQuery { text, ..query }.path()
    });
    let go = use_replace_address();
    let chosen = Memo::new(move |_| query.with(|query| query.group.clone()));
    let choose = move |group| {
        let query = query.get_untracked();
        go.run(WaitsQuery { group, ..query }.path());
    };
    view! {
        <Title text=format!("{} · Lockkeeper", t::title()) />
        <h1 class="mb-4 text-xl font-semibold">{t::heading()}</h1>
        <AwaitSnapshot>
            <div class="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
                <PageSearch
                    text=Memo::new(move |_| query.with(|query| query.text.clone()))
                    page=paths::WAITS
                    label=t::find()
                    hint=t::find_hint()
                    path=with_text
                >
                    <GroupSelect chosen on_choose=choose />
                    {move || hidden_fields(&query.read())}
                </PageSearch>
                <nav aria-label=t::filter() class="flex flex-wrap gap-1">
                    <FilterLink query filter=WaitFilter::All label=t::everything() />
                    <FilterLink query filter=WaitFilter::Deadlocks label=t::only_deadlocks() />
                    <FilterLink query filter=WaitFilter::Queues label=t::only_queues() />
                    <FilterLink query filter=WaitFilter::Console label=t::only_console() />
                </nav>
            </div>
            <ResourceView loading=resource show />
        </AwaitSnapshot>
    }
}

/// The fields of the URL without search text and group, as hidden form fields.
fn hidden_fields(query: &WaitsQuery) -> impl IntoView + use<> {
    let fields = query
        .fields()
        .into_iter()
        .filter(|(name, _)| *name != "group");
    fields
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view()
}

/// A link that applies a filter.
#[component]
fn FilterLink(query: Memo<WaitsQuery>, filter: WaitFilter, label: &'static str) -> impl IntoView {
    let class = "rounded-md px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    let href = Signal::derive(move || {
        let query = query.get();
        WaitsQuery { filter, ..query }.path()
    });
    view! {
        <Link href class no_scroll=true current=Signal::derive(move || query.with(|query| query.filter == filter))>
            {label}
        </Link>
    }
}

#[component]
fn WaitsContent(data: RwSignal<Option<WaitForGraph>>, query: Memo<WaitsQuery>) -> impl IntoView {
    let live = Live::expect();
    // The time changes with every poll. It is left out here, so that unchanged waits are not
    // rendered again.
    let picture = Memo::new(move |_| {
        data.with(|data| {
            let waits = data.as_ref()?;
            let observed_at = Timestamp::from_millis(0);
            Some(WaitForGraph {
                observed_at,
                ..waits.clone()
            })
        })
    });
    let read_at = move || {
        let at = data.with(|data| data.as_ref().map(|waits| waits.observed_at))?;
        let age = format::ago(at, live.now.get());
        Some(t::read_at(format::time_of_day(at), age))
    };
    let drawn = move || {
        let waits = picture.get()?;
        let beyond = (!waits.unread_nodes.is_empty()).then(|| {
            let nodes = waits.unread_nodes.join(", ");
            view! { <UnreadNodes nodes /> }
        });
        let cut = waits
            .truncated
            .then(|| view! { <p class="mt-3 text-muted">{t::truncated()}</p> });
        let narrowed = query.with(|query| query.apply(&waits));
        let tree = match (waits.locks.is_empty(), narrowed.locks.is_empty()) {
            (true, _) => view! { <NoWaits /> }.into_any(),
            (false, true) => view! { <NoMatchingWaits /> }.into_any(),
            (false, false) => view! { <Waits graph=narrowed /> }.into_any(),
        };
        Some(view! { {beyond} {tree} {cut} })
    };
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted tabular-nums">{t::visible_waiters_note()} {read_at}</p>
    }
}

/// The picture, and the list.
#[component]
fn Waits(graph: WaitForGraph) -> impl IntoView {
    let layout = WaitGraphLayout::of(&graph);
    let drawn = layout.drawings.iter().flat_map(GraphDrawing::locks);
    let drawn_locks: BTreeSet<LockId> = drawn.cloned().collect();
    view! {
        <WaitGraph graph=graph.clone() layout />
        <h2 class="mb-2 text-base font-semibold">{t::list()}</h2>
        <WaitTree graph drawn_locks />
    }
}

#[component]
fn UnreadNodes(nodes: String) -> impl IntoView {
    view! {
        <div class="mb-4">
            <Banner tone=Tone::Unsure>
                <p>{t::unread_queues(&nodes)}</p>
            </Banner>
        </div>
    }
}

#[component]
fn NoMatchingWaits() -> impl IntoView {
    view! {
        <Empty title=t::no_match()>
            <p>
                {t::no_match_hint()}
                <Link href=paths::WAITS no_scroll=true class="font-medium text-accent underline underline-offset-2">
                    {t::show_all()}
                </Link>
            </p>
        </Empty>
    }
}

/// The empty state, which lists the visible and the invisible waiters.
#[component]
fn NoWaits() -> impl IntoView {
    view! {
        <Empty title=t::no_waits()>
            <div class="flex flex-col gap-2 text-start">
                <h3 class="font-medium text-ink">{t::visible_waiters()}</h3>
                <ul class="list-disc ps-5">
                    <li>{t::visible_service_queues()}</li>
                    <li>{t::visible_redisson_queues()}</li>
                    <li>{t::visible_console_waiters()}</li>
                </ul>
                <h3 class="font-medium text-ink">{t::invisible_waiters()}</h3>
                <ul class="list-disc ps-5">
                    <li>{t::invisible_retrying()}</li>
                    <li>{t::invisible_subscribers()}</li>
                </ul>
                <p>{t::see_contention()}</p>
            </div>
        </Empty>
    }
}
