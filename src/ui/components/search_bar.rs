//! Search and group. A real form: it works before the page has woken up, and without JavaScript.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::search_box::SearchBox;
use crate::domain::search::Ask;
use crate::ui::kit::{Icon, Link, Sign, field::CONTROL};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::{Only, Query};
use crate::ui::words::locks as words;

/// More groups than this are not chosen from a menu, but by the beginning of their name.
const MOST_IN_A_MENU: usize = 20;

/// Search in names, owners and fingerprints, the choice of a group, and the filters that are on.
#[component]
pub fn SearchBar(
    /// What is shown now.
    query: Memo<Query>,
) -> impl IntoView {
    let navigate = StoredValue::new(use_navigate());
    let go = Callback::new(move |next: Query| {
        let options = NavigateOptions {
            replace: true,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate.with_value(|navigate| navigate(&next.path(), options));
    });
    let search = Callback::new(move |text: String| {
        go.run(query.with_untracked(|query| query.with_text(text)));
    });
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
            <GroupChoice query go />
            {move || hidden()}
            <noscript>
                <button type="submit">{words::search()}</button>
            </noscript>
            <Chips query />
        </form>
    }
}

#[component]
fn GroupChoice(query: Memo<Query>, go: Callback<Query>) -> impl IntoView {
    let live = Live::expect();
    let groups = Memo::new(move |_| {
        live.with_groups(|groups| {
            let names = groups.iter().map(|group| group.name.clone());
            names.collect::<Vec<_>>()
        })
    });
    let choose = move |group: String| {
        let group = Some(group).filter(|group| !group.is_empty());
        go.run(query.with_untracked(|query| query.with_group(group)));
    };
    let menu = move || {
        let option = |name: String| {
            let is_chosen = {
                let name = name.clone();
                move || query.with(|query| query.group.as_ref() == Some(&name))
            };
            view! { <option value=name.clone() selected=is_chosen>{name.clone()}</option> }
        };
        view! {
            <select
                name="group"
                aria-label=words::group()
                class=format!("{CONTROL} max-w-48")
                on:change=move |event| choose(event_target_value(&event))
            >
                <option value="" selected=move || query.with(|query| query.group.is_none())>{words::all_groups()}</option>
                {groups.get().into_iter().map(option).collect_view()}
            </select>
        }
    };
    let by_name = move || {
        let offers = groups.get().into_iter();
        let offers = offers.map(|name| view! { <option value=name></option> });
        view! {
            <input
                name="group"
                list="groups"
                class=format!("{CONTROL} max-w-48")
                aria-label=words::group()
                placeholder=words::all_groups()
                autocomplete="off"
                value=query.with_untracked(|query| query.group.clone())
                prop:value=move || query.with(|query| query.group.clone().unwrap_or_default())
                on:change=move |event| choose(event_target_value(&event))
            />
            <datalist id="groups">{offers.collect_view()}</datalist>
        }
    };
    move || match groups.with(Vec::len) {
        0 | 1 => ().into_any(),
        2..=MOST_IN_A_MENU => menu().into_any(),
        _ => by_name().into_any(),
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
