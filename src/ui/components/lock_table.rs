//! The table of locks: which rows, in which order, and what stands there when there are none.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::coverage::WhatWasScanned;
use super::lock_name::Beginnings;
use super::lock_row::LockRow;
use crate::domain::LockId;
use crate::domain::listing::{Order, Sort};
use crate::ui::kit::{Button, Empty, Icon, Link, Sign, Variant};
use crate::ui::live::{Freshness, Live, MOST_ROWS};
use crate::ui::query::Query;

/// The order holds this long after the pointer last moved over the table.
const HOLD_MS: u64 = 8_000;

/// Which rows, in which order.
#[derive(Clone, PartialEq)]
struct Listing {
    query: Query,
    ids: Vec<LockId>,
    /// How many there are, drawn or not.
    total: usize,
    /// How many rows would come or go if the order were not held.
    waiting: usize,
}

/// The table of locks.
#[component]
pub fn LockTable(
    /// What is shown.
    query: Memo<Query>,
    /// Asks for a lock to be acquired.
    #[prop(into)]
    on_acquire: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    let touched = RwSignal::new(None);
    // Rows never jump under the pointer: the order holds while somebody points at the table or moves through it.
    let holding = Memo::new(move |_| {
        touched
            .get()
            .is_some_and(|at| live.now.get().since(at).as_millis() < u128::from(HOLD_MS))
    });
    let listing =
        Memo::new(move |before: Option<&Listing>| list(live, query.get(), holding.get(), before));
    let touch = move || touched.set(Some(live.now.get_untracked()));
    let let_in = move || touched.set(None);
    let beginnings = Memo::new(move |_| {
        listing.with(|listing| Beginnings::of(listing.ids.iter().map(|id| &id.key)))
    });
    let several_groups = Memo::new(move |_| live.with_groups(|groups| groups.len() > 1));
    let is_empty = Memo::new(move |_| listing.with(|listing| listing.ids.is_empty()));
    let blind = Memo::new(move |_| {
        let none_up = live.with_groups(|groups| {
            !groups.is_empty() && groups.iter().all(|group| group.nodes_up() == 0)
        });
        none_up || matches!(live.freshness(), Freshness::Stale(_))
    });

    view! {
        <div class="relative rounded-xl border border-line bg-surface shadow-lift">
            <Waiting count=Signal::derive(move || listing.with(|listing| listing.waiting)) />
            {move || {
                if is_empty.get() {
                    return view! { <Nothing query on_acquire /> }.into_any();
                }
                view! {
                <table
                    role="table"
                    aria-label="Locks"
                    class="lock-table"
                    class=("is-stale", blind)
                    on:pointermove=move |event: ev::PointerEvent| {
                        if event.pointer_type() == "mouse" {
                            touch();
                        }
                    }
                    on:pointerleave=move |_| let_in()
                    on:focusin=move |_| touch()
                    on:focusout=move |_| let_in()
                >
                    <thead role="rowgroup">
                        <tr role="row">
                            <Column query sort=Sort::Attention label="Verdict" />
                            <Column query sort=Sort::Key label="Lock" />
                            {move || {
                                several_groups.get().then(|| view! { <th role="columnheader" scope="col">"Group"</th> }.into_any())
                            }}
                            <Column query sort=Sort::Owner label="Owner" />
                            <Column query sort=Sort::Lease label="Lease" />
                            <Column query sort=Sort::Held label="Held" />
                            <th role="columnheader" scope="col">
                                "Nodes"
                            </th>
                        </tr>
                    </thead>
                    <tbody role="rowgroup">
                        <For each=move || listing.with(|listing| listing.ids.clone()) key=LockId::clone let:id>
                            {live.lock_untracked(&id).map(|lock| view! { <LockRow lock beginnings groups=several_groups /> }.into_any())}
                        </For>
                    </tbody>
                </table>
                }.into_any()
            }}
        </div>
        <div class="mt-2 flex items-center gap-3 text-muted">
            <p role="status">
                {move || {
                    let listing = listing.read();
                    match listing.total > listing.ids.len() && listing.waiting == 0 {
                        true => format!("Showing {} of {}.", listing.ids.len(), listing.total),
                        false => String::new(),
                    }
                }}
            </p>
            {move || {
                let shown = listing.with(|listing| (listing.ids.len(), listing.total));
                (shown.0 < shown.1.min(MOST_ROWS))
                    .then(|| view! { <Button on_press=move |()| live.show_more()>"Show more"</Button> }.into_any())
            }}
        </div>
    }
}

fn list(live: Live, query: Query, holding: bool, before: Option<&Listing>) -> Listing {
    live.with_locks(|locks| {
        let here = locks.values().map(|lock| &**lock);
        let ids: Vec<LockId> = query
            .pick(here)
            .into_iter()
            .map(|lock| lock.id.clone())
            .collect();
        let total = live.total().max(ids.len());
        match before {
            Some(before) if holding && before.query == query && !before.ids.is_empty() => {
                let (old, new) = (in_order(&before.ids), in_order(&ids));
                let missing = |here: &[&LockId], there: &[&LockId]| {
                    let is_missing = |id: &&&LockId| there.binary_search(id).is_err();
                    here.iter().filter(is_missing).count()
                };
                let waiting = missing(&old, &new) + missing(&new, &old);
                Listing {
                    query,
                    ids: before.ids.clone(),
                    total,
                    waiting,
                }
            }
            Some(_) | None => Listing {
                query,
                ids,
                total,
                waiting: 0,
            },
        }
    })
}

fn in_order(ids: &[LockId]) -> Vec<&LockId> {
    let mut ids: Vec<&LockId> = ids.iter().collect();
    ids.sort_unstable();
    ids
}

#[component]
fn Column(query: Memo<Query>, sort: Sort, label: &'static str) -> impl IntoView {
    let navigate = use_navigate();
    let order = move || query.with(|query| (query.sort == sort).then_some(query.order()));
    let aria = move || match order() {
        Some(Order::Desc) => "descending",
        Some(Order::Asc) => "ascending",
        None => "none",
    };
    let sign = move || match order() {
        Some(Order::Desc) => Sign::ArrowDown,
        Some(Order::Asc) => Sign::ArrowUp,
        None => Sign::Sortable,
    };
    view! {
        <th role="columnheader" scope="col" aria-sort=aria>
            <button
                type="button"
                class="inline-flex items-center gap-1 rounded font-medium hover:text-ink [&_svg]:size-3.5"
                class=("text-ink", move || order().is_some())
                title=if sort == Sort::Attention { "What needs a person first" } else { "" }
                on:click=move |_| {
                    let options = NavigateOptions { scroll: false, replace: true, ..NavigateOptions::default() };
                    navigate(&query.with_untracked(|query| query.sorted(sort)).path(), options);
                }
            >
                {label}
                {move || view! { <Icon sign=sign() /> }.into_any()}
            </button>
        </th>
    }
}

/// What is held back while somebody points at the table; leaving the table lets it in.
#[component]
fn Waiting(#[prop(into)] count: Signal<usize>) -> impl IntoView {
    let words = move || match count.get() {
        1 => "1 change waits".to_owned(),
        count => format!("{count} changes wait"),
    };
    view! {
        {move || (count.get() > 0).then(|| view! { <p class="pointer-events-none absolute end-3 -top-3 z-10 rounded-md bg-accent px-2 py-0.5 text-xs font-medium text-on-accent">
                {words()} " until you leave the table"
            </p> }.into_any())}
    }
}

#[component]
fn Nothing(query: Memo<Query>, on_acquire: Callback<()>) -> impl IntoView {
    let shown = move || {
        if query.with(Query::is_filtered) {
            let all = query.with(Query::unfiltered);
            view! {
                <Empty title="No lock matches">
                    <p>"Locks are observed, but none that this search and these filters let through."</p>
                    <Link href=all.path() stays=true class="font-medium text-accent underline underline-offset-2">
                        "Clear filters"
                    </Link>
                </Empty>
            }
            .into_any()
        } else {
            view! {
                <Empty title="No lock is observed">
                    <WhatWasScanned />
                    <Button variant=Variant::Primary on_press=on_acquire>
                        <Icon sign=Sign::Plus />
                        "Acquire a test lock"
                    </Button>
                </Empty>
            }
            .into_any()
        }
    };
    view! { {move || shown()} }
}
