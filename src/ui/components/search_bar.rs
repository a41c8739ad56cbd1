//! The search and the group filter. An HTML form, so that it works before hydration and without
//! JavaScript.

use leptos::prelude::*;

use super::group_select::GroupSelect;
use super::search_box::SearchBox;
use crate::domain::search::Predicate;
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Icon, IconName, Link, use_replace_address};
use crate::ui::live::Live;
use crate::ui::locks_query::{LocksQuery, StatusFilter};
use crate::ui::paths;

/// The search in names, owners and fingerprints, the group filter, and the active filters.
#[component]
pub fn SearchBar(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let go = use_replace_address();
    let search = move |text: String| {
        go.run(query.with_untracked(|query| query.with_text(text).path()));
    };
    let chosen = Memo::new(move |_| query.with(LocksQuery::selected_group));
    let choose = move |group: Option<String>| {
        go.run(query.with_untracked(|query| query.with_selected_group(group).path()));
    };
    let hidden = move || {
        let fields = query
            .with(LocksQuery::fields)
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
                    <Icon name=IconName::Search />
                </span>
                <SearchBox query on_search=search />
            </span>
            <GroupSelect chosen on_choose=choose />
            {move || hidden()}
            <noscript>
                <button type="submit">{t::search()}</button>
            </noscript>
            <FilterChips query />
        </form>
    }
}

/// The active filters as links that remove them.
#[component]
fn FilterChips(query: Memo<LocksQuery>) -> impl IntoView {
    let live = Live::expect();
    let has_group_menu = Memo::new(move |_| live.with_groups(|groups| groups.len() > 1));
    let chips = move || {
        let query = query.get();
        let mut chips = Vec::new();
        if query.status != StatusFilter::All {
            chips.push((
                t::status_filter(query.status),
                query.with_status(StatusFilter::All).path(),
            ));
        }
        // The menu of groups shows a single group, if it exists.
        let only_group = query.selected_group().filter(|_| has_group_menu.get());
        if let Some(group) = &query.group
            && only_group.as_ref() != Some(group)
        {
            chips.push((t::only_group(group), query.with_group(None).path()));
        }
        if let Ok(search) = query.parse_search() {
            for (nth, term) in search.terms.iter().enumerate() {
                // Plain words need no chip: the search box shows them.
                let is_shown = matches!(term.predicate, Predicate::Text(_))
                    || (only_group.is_some() && term.single_group() == only_group.as_deref());
                if !is_shown {
                    let without = search.without_term(nth).to_string();
                    chips.push((term.to_string(), query.with_text(without).path()));
                }
            }
        }
        chips
    };
    let content = move || {
        chips()
            .into_iter()
            .map(|(label, without)| {
                view! {
                    <Link
                        href=without
                        no_scroll=true
                        title=t::remove_filter()
                        class="inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-line bg-accent-soft ps-2.5 pe-1.5 text-ink hover:border-line-strong"
                    >
                        <span class="truncate">{label}</span>
                        <span class="sr-only">{t::remove_filter_suffix()}</span>
                        <Icon name=IconName::Cross />
                    </Link>
                }
            })
            .collect_view()
    };
    view! { {move || content()} }
}
