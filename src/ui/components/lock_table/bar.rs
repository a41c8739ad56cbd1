//! What stands above the table: how many locks there are, what waits to be let in, and whether the order holds still.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::rows::Rows;
use crate::domain::listing::Sort;
use crate::ui::components::saved_views::SavedViews;
use crate::ui::components::times::Times;
use crate::ui::kit::{Icon, Sign};
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// The line above the table.
#[component]
pub fn TableBar(
    /// What is shown.
    query: Memo<Query>,
    /// The rows.
    rows: Memo<Rows>,
    /// Whether the order holds until somebody lets it go on.
    paused: RwSignal<bool>,
    /// Lets in what waits.
    on_let_in: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let times = Times::expect();
    let waiting = Memo::new(move |_| rows.with(|rows| rows.waiting));
    let total = Memo::new(move |_| rows.with(|rows| rows.total));
    view! {
        <div class="-my-2 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-muted">
            <p>{move || words::counted(total.get())}</p>
            <button
                type="button"
                class="inline-flex h-7 items-center gap-1.5 rounded-md px-2 hover:bg-sunken hover:text-ink aria-pressed:bg-accent-soft"
                aria-pressed=move || if paused.get() { "true" } else { "false" }
                title=words::pause_means()
                on:click=move |_| {
                    paused.update(|paused| *paused = !*paused);
                    if !paused.get_untracked() {
                        on_let_in();
                    }
                }
            >
                {move || if paused.get() { words::resume() } else { words::pause() }}
            </button>
            <SortChoice query />
            <SavedViews query />
            <Switch
                is_on=times.0
                said=words::times()
                on_switch=move |is_on| times.set(is_on)
            />
            <ExportLinks query />
            <span role="status">
                {move || {
                    (waiting.get() > 0)
                        .then(|| {
                            view! {
                                <button
                                    type="button"
                                    class="fixed end-4 bottom-[calc(var(--nav-edge)+1rem)] z-10 inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-on-accent shadow-high hover:bg-accent-strong"
                                    on:click=move |_| on_let_in()
                                >
                                    <Icon sign=Sign::Refresh />
                                    {move || words::waiting(waiting.get())}
                                </button>
                            }
                                .into_any()
                        })
                }}
            </span>
        </div>
    }
}

/// The whole list as a file, as it is filtered and sorted now.
#[component]
fn ExportLinks(query: Memo<Query>) -> impl IntoView {
    let link = move |kind: &'static str, said: &'static str, title: &'static str| {
        view! {
            <a
                href=move || query.with(|query| paths::locks_export(query, kind))
                rel="external"
                download=format!("locks.{kind}")
                title=title
                class="inline-flex h-7 items-center rounded-md px-2 hover:bg-sunken hover:text-ink"
            >
                {said}
            </a>
        }
        .into_any()
    };
    view! {
        <span class="inline-flex">
            {link("csv", "CSV", words::export_csv())}
            {link("json", "JSON", words::export_json())}
        </span>
    }
}

/// The order, where no heading is there to press: on a phone, and for what has no column.
#[component]
fn SortChoice(query: Memo<Query>) -> impl IntoView {
    let navigate = StoredValue::new(use_navigate());
    let choose = move |slug: String| {
        let sort = Sort::from_slug(&slug).unwrap_or_default();
        let next = query.with_untracked(|query| query.by_sort(sort).path());
        let options = NavigateOptions {
            replace: true,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate.with_value(|navigate| navigate(&next, options));
    };
    let option = move |sort: Sort| {
        let is_chosen = move || query.with(|query| query.sort == sort);
        view! { <option value=sort.slug() selected=is_chosen>{words::order(sort)}</option> }
            .into_any()
    };
    view! {
        <select
            aria-label=words::sorted_by()
            class="h-7 rounded-md border border-line bg-surface px-1.5 hover:text-ink"
            on:change=move |event| choose(event_target_value(&event))
        >
            {Sort::ALL.map(option).collect_view()}
        </select>
    }
}

/// Something that is on or off.
#[component]
fn Switch(
    is_on: RwSignal<bool>,
    said: &'static str,
    #[prop(into)] on_switch: Callback<bool>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="inline-flex h-7 items-center rounded-md px-2 hover:bg-sunken hover:text-ink aria-pressed:bg-accent-soft"
            aria-pressed=move || if is_on.get() { "true" } else { "false" }
            on:click=move |_| on_switch.run(!is_on.get_untracked())
        >
            {said}
        </button>
    }
}
