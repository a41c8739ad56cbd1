//! What stands above the table: how many locks there are, what waits to be let in, and whether the order holds still.

use leptos::prelude::*;
use strum::VariantArray as _;

use super::holding::Holding;
use super::saved_views::SavedViews;
use super::times::Times;
use crate::domain::By;
use crate::domain::listing::Sort;
use crate::ui::kit::{Icon, Link, Sign, use_replace_address};
use crate::ui::query::Query;
use crate::ui::words::{locks as words, rows};

/// Something to press in that line.
const PRESSED: &str = "needs-script inline-flex h-7 items-center rounded-md px-2 hover:bg-sunken hover:text-ink aria-expanded:bg-accent-soft aria-pressed:bg-accent-soft";

/// The line above the table.
#[component]
pub fn TableBar(
    /// What is shown.
    query: Memo<Query>,
    /// How many there are, in words.
    #[prop(into)]
    counted: Signal<String>,
    /// How many changes wait to be let in.
    #[prop(into)]
    waiting: Signal<usize>,
    /// What holds them back.
    holding: Holding,
) -> impl IntoView {
    let paused = holding.paused;
    let on_let_in = move || holding.let_in();
    let times = Times::expect();
    let is_unfolded = RwSignal::new(false);
    view! {
        <div class="-my-2 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-muted">
            <p>{move || counted.get()}</p>
            <SortChoice query />
            // On a phone the rest is one press away, so that the first rows are on the first screen.
            <button
                type="button"
                class=format!("{PRESSED} sm:hidden")
                aria-expanded=move || is_unfolded.get().to_string()
                aria-controls="table-more"
                on:click=move |_| is_unfolded.update(|is_unfolded| *is_unfolded = !*is_unfolded)
            >
                {words::more()}
            </button>
            <div id="table-more" class="table-more" class=("is-unfolded", move || is_unfolded.get())>
            <button
                type="button"
                class=PRESSED
                aria-pressed=move || paused.get().to_string()
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
            <ByChoice query />
            <SavedViews query />
            <button
                type="button"
                class=PRESSED
                aria-pressed=move || times.0.get().to_string()
                on:click=move |_| times.set(!times.0.get_untracked())
            >
                {words::times()}
            </button>
            <ExportLinks query />
            </div>
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
                href=move || query.with(|query| query.export(kind))
                rel="external"
                download=format!("locks.{kind}")
                title=title
                class="inline-flex h-7 items-center rounded-md px-2 hover:bg-sunken hover:text-ink"
            >
                {said}
            </a>
        }
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
    let go = use_replace_address();
    let choose = move |slug: String| {
        let sort = slug.parse::<Sort>().unwrap_or_default();
        go.run(query.with_untracked(|query| query.by_sort(sort).path()));
    };
    let option = move |sort: Sort| {
        let is_chosen = move || query.with(|query| query.sort == sort);
        view! { <option value=sort.slug() selected=is_chosen>{words::order(sort)}</option> }
    };
    view! {
        <select
            aria-label=words::sorted_by()
            class="needs-script h-7 rounded-md border border-line bg-surface px-1.5 hover:text-ink"
            on:change=move |event| choose(event_target_value(&event))
        >
            {Sort::VARIANTS.iter().copied().map(option).collect_view()}
        </select>
    }
}

/// What the rows are bundled by: links, so that they lead somewhere without a script, too.
#[component]
fn ByChoice(query: Memo<Query>) -> impl IntoView {
    let choice = move |by: Option<By>| {
        let href = Signal::derive(move || query.with(|query| query.bundled(by).path()));
        let current = Memo::new(move |_| query.with(|query| query.by == by));
        let (said, title) = match by {
            Some(by) => (rows::by(by), rows::by_means(by)),
            None => (rows::not_grouped(), rows::not_grouped_means()),
        };
        view! {
            <Link
                href
                current
                stays=true
                title=title
                class="inline-flex h-7 items-center rounded-md px-2 hover:bg-sunken hover:text-ink aria-[current]:bg-accent-soft aria-[current]:text-ink"
            >
                {said}
            </Link>
        }
    };
    let all = [None]
        .into_iter()
        .chain(By::VARIANTS.iter().copied().map(Some));
    view! {
        <nav aria-label=rows::group_by() class="flex flex-wrap items-center">
            <span class="me-1" aria-hidden="true">{rows::group_by()}</span>
            {all.map(choice).collect_view()}
        </nav>
    }
}
