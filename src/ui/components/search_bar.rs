//! Search and group. A real form: it works before the page has woken up, and without JavaScript.

use leptos::prelude::*;

use super::group_choice::GroupChoice;
use super::search_box::SearchBox;
use crate::domain::search::Ask;
use crate::ui::kit::{Icon, Link, Sign, use_replace_address};
use crate::ui::paths;
use crate::ui::query::{Only, Query};
use crate::ui::words::locks as words;

/// Search in names, owners and fingerprints, the choice of a group, and the filters that are on.
#[component]
pub fn SearchBar(
    /// What is shown now.
    query: Memo<Query>,
) -> impl IntoView {
    let go = use_replace_address();
    let search = move |text: String| {
        go.run(query.with_untracked(|query| query.with_text(text).path()));
    };
    let chosen = Memo::new(move |_| query.with(|query| query.group.clone()));
    let choose = move |group: Option<String>| {
        go.run(query.with_untracked(|query| query.with_group(group).path()));
    };
    let hidden = move || {
        let fields = query
            .with(Query::fields)
            .into_iter()
            .filter(|(name, _)| !matches!(*name, "q" | "group"));
        fields
            .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
            .collect_view()
    };
    view! {
        <form role="search" action=paths::LOCKS method="get" class="flex grow flex-wrap items-center gap-2 max-sm:contents" on:submit=move |event| event.prevent_default()>
            <span class="relative min-w-52 max-w-2xl grow max-sm:basis-full">
                <span class="pointer-events-none absolute start-2.5 top-0 flex h-9 items-center text-faint">
                    <Icon sign=Sign::Search />
                </span>
                <SearchBox query on_search=search />
            </span>
            <GroupChoice chosen on_choose=choose />
            {move || hidden()}
            <noscript>
                <button type="submit">{words::search()}</button>
            </noscript>
            <Chips query />
        </form>
    }
}

/// The filters that are on, each with the way to take it off.
#[component]
fn Chips(query: Memo<Query>) -> impl IntoView {
    let chips = move || {
        let query = query.get();
        let mut chips = Vec::new();
        if query.only != Only::Everything {
            chips.push((
                words::only(query.only),
                query.with_only(Only::Everything).path(),
            ));
        }
        if let Some(group) = &query.group {
            chips.push((words::only_group(group), query.with_group(None).path()));
        }
        if let Ok(search) = query.search() {
            for (nth, term) in search.terms.iter().enumerate() {
                // Plain words are in the box, to be read as they were typed.
                if !matches!(term.ask, Ask::Text(_)) {
                    let without = search.without(nth).to_string();
                    chips.push((term.to_string(), query.with_text(without).path()));
                }
            }
        }
        chips
    };
    let shown = move || {
        chips()
            .into_iter()
            .map(|(said, without)| {
                view! {
                    <Link
                        href=without
                        stays=true
                        title=words::take_off()
                        class="inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-line bg-accent-soft ps-2.5 pe-1.5 text-ink hover:border-line-strong"
                    >
                        <span class="truncate">{said}</span>
                        <span class="sr-only">{words::and_take_off()}</span>
                        <Icon sign=Sign::Cross />
                    </Link>
                }
            })
            .collect_view()
    };
    view! { {move || shown()} }
}
