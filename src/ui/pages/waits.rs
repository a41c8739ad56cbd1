//! `/waits`: who waits for whom.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{Timestamp, Waits};
use crate::ui::calls;
use crate::ui::components::loaded::{Loaded, Loading, OnBoard};
use crate::ui::components::search_bar::SearchBar;
use crate::ui::components::wait_tree::WaitTree;
use crate::ui::format;
use crate::ui::kit::{Banner, Empty, Link, Tone};
use crate::ui::live::again;
use crate::ui::paths;
use crate::ui::query::Query;

/// How often the console is asked.
const EVERY: Duration = Duration::from_secs(2);

/// Who waits for whom.
#[component]
pub fn WaitsPage() -> impl IntoView {
    let asked = Loading::new(calls::waits);
    let told = RwSignal::new(None::<Waits>);
    again(EVERY, calls::waits, told);
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| Query::parse(search)));
    let show = Callback::new(move |waits: Waits| {
        told.set(Some(waits));
        view! { <Shown told query /> }.into_any()
    });
    view! {
        <Title text="Waits · Lockkeeper" />
        <h1 class="mb-4 text-xl font-semibold">"Who waits for whom"</h1>
        <OnBoard>
            <div class="mb-4 flex">
                <SearchBar query page=paths::WAITS />
            </div>
            <Loaded loading=asked show />
        </OnBoard>
    }
}

#[component]
fn Shown(told: RwSignal<Option<Waits>>, query: Memo<Query>) -> impl IntoView {
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
        Some(format!("Read at {}.", format::time_of_day(at)))
    };
    let drawn = move || {
        let waits = picture.get()?;
        let beyond = (!waits.unread.is_empty()).then(|| {
            let nodes = waits.unread.join(", ");
            view! { <Unread nodes /> }.into_any()
        });
        let cut = waits.is_cut.then(|| {
            view! { <p class="mt-3 text-muted">"There are more fair locks than are asked about at once: others may wait."</p> }
                .into_any()
        });
        let narrowed =
            query.with(|query| waits.narrowed(query.group.as_deref(), query.text.trim()));
        let tree = match (waits.locks.is_empty(), narrowed.locks.is_empty()) {
            (true, _) => view! { <NobodyWaits /> }.into_any(),
            (false, true) => view! { <NothingFound /> }.into_any(),
            (false, false) => view! { <WaitTree waits=narrowed /> }.into_any(),
        };
        Some(view! { {beyond} {tree} {cut} }.into_any())
    };
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted">
            "Only Redisson's fair queues and this console's own waiters tell who waits. " {read_at}
        </p>
    }
}

#[component]
fn Unread(nodes: String) -> impl IntoView {
    view! {
        <div class="mb-4">
            <Banner tone=Tone::Unsure>
                <p>{format!("Queues could not be read on {nodes}: others may wait there.")}</p>
            </Banner>
        </div>
    }
}

#[component]
fn NothingFound() -> impl IntoView {
    view! {
        <Empty title="Nothing found">
            <p>
                "Somebody waits, but no lock, owner or waiter that this search lets through. "
                <Link href=paths::WAITS.to_owned() stays=true class="font-medium text-accent underline underline-offset-2">
                    "Show all"
                </Link>
            </p>
        </Empty>
    }
}

#[component]
fn NobodyWaits() -> impl IntoView {
    view! {
        <Empty title="No waiting observed">
            <p>
                "Only Redisson's fair queues and this console's own waiters tell who waits. Other clients try again and again: on a lock's page, contention says whether that was noticed."
            </p>
        </Empty>
    }
}
