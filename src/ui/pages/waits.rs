//! `/waits`: who waits for whom.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{Timestamp, Waits};
use crate::ui::components::find_box::FindBox;
use crate::ui::components::group_choice::GroupChoice;
use crate::ui::components::loaded::{Loaded, OnBoard};
use crate::ui::components::wait_tree::WaitTree;
use crate::ui::kit::{Banner, Empty, Link, Tone, use_replace_address};
use crate::ui::live::Loading;
use crate::ui::live::{Live, again};
use crate::ui::waits_query::{WaitsQuery, Which};
use crate::ui::words::waits as words;
use crate::ui::{calls, format, paths};

/// How often the console is asked.
const EVERY: Duration = Duration::from_secs(2);

/// Who waits for whom.
#[component]
pub fn WaitsPage() -> impl IntoView {
    let asked = Loading::new(calls::waits);
    let told = RwSignal::new(None::<Waits>);
    again(EVERY, Memo::new(|_| ()), |()| calls::waits(), told);
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| WaitsQuery::parse(search)));
    let show = Callback::new(move |waits: Waits| {
        told.set(Some(waits));
        view! { <Shown told query /> }.into_any()
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
        <Title text=format!("{} · Lockkeeper", words::title()) />
        <h1 class="mb-4 text-xl font-semibold">{words::heading()}</h1>
        <OnBoard>
            <div class="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
                <FindBox
                    text=Memo::new(move |_| query.with(|query| query.text.clone()))
                    page=paths::WAITS
                    label=words::find()
                    hint=words::find_hint()
                    path=with_text
                >
                    <GroupChoice chosen on_choose=choose />
                    {move || hidden(&query.read())}
                </FindBox>
                <nav aria-label=words::which() class="flex flex-wrap gap-1">
                    <Only query which=Which::Everything words=words::everything() />
                    <Only query which=Which::Deadlocks words=words::only_deadlocks() />
                    <Only query which=Which::Queues words=words::only_queues() />
                    <Only query which=Which::Console words=words::only_console() />
                </nav>
            </div>
            <Loaded loading=asked show />
        </OnBoard>
    }
}

/// What the address says beside search and group, for the form.
fn hidden(query: &WaitsQuery) -> impl IntoView + use<> {
    let fields = query
        .fields()
        .into_iter()
        .filter(|(name, _)| *name != "group");
    fields
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view()
}

/// A filter.
#[component]
fn Only(query: Memo<WaitsQuery>, which: Which, words: &'static str) -> impl IntoView {
    let class = "rounded-md px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    let href = Signal::derive(move || {
        let query = query.get();
        WaitsQuery { which, ..query }.path()
    });
    view! {
        <Link href class stays=true current=Signal::derive(move || query.with(|query| query.which == which))>
            {words}
        </Link>
    }
}

#[component]
fn Shown(told: RwSignal<Option<Waits>>, query: Memo<WaitsQuery>) -> impl IntoView {
    let live = Live::expect();
    // The moment it was read changes every time; the picture is drawn again only when something else did.
    let picture = Memo::new(move |_| {
        told.with(|told| {
            let waits = told.as_ref()?;
            let observed_at = Timestamp::from_millis(0);
            Some(Waits {
                observed_at,
                ..waits.clone()
            })
        })
    });
    let read_at = move || {
        let at = told.with(|told| told.as_ref().map(|waits| waits.observed_at))?;
        let age = format::ago(at, live.now.get());
        Some(words::read_at(format::time_of_day(at), age))
    };
    let drawn = move || {
        let waits = picture.get()?;
        let beyond = (!waits.unread.is_empty()).then(|| {
            let nodes = waits.unread.join(", ");
            view! { <Unread nodes /> }
        });
        let cut = waits
            .is_cut
            .then(|| view! { <p class="mt-3 text-muted">{words::is_cut()}</p> });
        let narrowed = query.with(|query| query.narrow(&waits));
        let tree = match (waits.locks.is_empty(), narrowed.locks.is_empty()) {
            (true, _) => view! { <NobodyWaits /> }.into_any(),
            (false, true) => view! { <NothingFound /> }.into_any(),
            (false, false) => view! { <WaitTree waits=narrowed /> }.into_any(),
        };
        Some(view! { {beyond} {tree} {cut} })
    };
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted tabular-nums">{words::only_these()} {read_at}</p>
    }
}

#[component]
fn Unread(nodes: String) -> impl IntoView {
    view! {
        <div class="mb-4">
            <Banner tone=Tone::Unsure>
                <p>{words::unread(&nodes)}</p>
            </Banner>
        </div>
    }
}

#[component]
fn NothingFound() -> impl IntoView {
    view! {
        <Empty title=words::nothing_found()>
            <p>
                {words::nothing_fits()}
                <Link href=paths::WAITS stays=true class="font-medium text-accent underline underline-offset-2">
                    {words::show_all()}
                </Link>
            </p>
        </Empty>
    }
}

/// Nobody is seen to wait: what could have been seen, and what not.
#[component]
fn NobodyWaits() -> impl IntoView {
    view! {
        <Empty title=words::nobody()>
            <div class="flex flex-col gap-2 text-start">
                <h3 class="font-medium text-ink">{words::could_be_seen()}</h3>
                <ul class="list-disc ps-5">
                    <li>{words::seen_queue()}</li>
                    <li>{words::seen_console()}</li>
                </ul>
                <h3 class="font-medium text-ink">{words::not_seen()}</h3>
                <ul class="list-disc ps-5">
                    <li>{words::not_seen_polls()}</li>
                    <li>{words::not_seen_counts()}</li>
                </ul>
                <p>{words::see_contention()}</p>
            </div>
        </Empty>
    }
}
