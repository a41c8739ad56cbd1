//! Search and group. A real form: it works before the page has woken up, and without JavaScript.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::ui::kit::{Icon, Link, Sign, field::CONTROL};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::{Only, Query};

/// Search in names, owners and fingerprints, the choice of a group, and the filters that are on.
#[component]
pub fn SearchBar(
    /// What is shown now.
    query: Memo<Query>,
    /// The page that is searched.
    #[prop(default = paths::LOCKS)]
    page: &'static str,
) -> impl IntoView {
    let live = Live::expect();
    let groups = Memo::new(move |_| {
        live.with_groups(|groups| {
            groups
                .iter()
                .map(|group| group.name.clone())
                .collect::<Vec<_>>()
        })
    });
    let navigate = StoredValue::new(use_navigate());
    let go = move |next: Query| {
        let options = NavigateOptions {
            replace: true,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate.with_value(|navigate| navigate(&next.path_on(page), options));
    };
    let hidden = move || {
        let fields = query
            .with(Query::fields)
            .into_iter()
            .filter(|(name, _)| !matches!(*name, "q" | "group"));
        fields
            .map(|(name, value)| view! { <input type="hidden" name=name value=value /> }.into_any())
            .collect_view()
    };
    view! {
        <form role="search" action=page method="get" class="flex grow flex-wrap items-center gap-2" on:submit=move |event| event.prevent_default()>
            <span class="relative min-w-52 max-w-md grow">
                <span class="pointer-events-none absolute inset-y-0 start-2.5 flex items-center text-faint">
                    <Icon sign=Sign::Search />
                </span>
                <input
                    type="search"
                    name="q"
                    class=format!("{CONTROL} ps-9")
                    aria-label="Search locks, owners, fingerprints"
                    placeholder="Lock, owner or fingerprint"
                    autocomplete="off"
                    spellcheck="false"
                    value=query.with_untracked(|query| query.text.clone())
                    prop:value=move || query.with(|query| query.text.clone())
                    on:input=move |event| go(query.with_untracked(|query| query.with_text(event_target_value(&event))))
                />
            </span>
            {move || {
                (groups.with(Vec::len) > 1)
                    .then(|| {
                        view! {
                            <select
                                name="group"
                                aria-label="Group"
                                class=format!("{CONTROL} max-w-48")
                                on:change=move |event| {
                                    let group = Some(event_target_value(&event)).filter(|group| !group.is_empty());
                                    go(query.with_untracked(|query| query.with_group(group)));
                                }
                            >
                                <option value="" selected=move || query.with(|query| query.group.is_none())>"All groups"</option>
                                {groups
                                    .get()
                                    .into_iter()
                                    .map(|name| {
                                        let is_chosen = {
                                            let name = name.clone();
                                            move || query.with(|query| query.group.as_ref() == Some(&name))
                                        };
                                        view! { <option value=name.clone() selected=is_chosen>{name.clone()}</option> }
                                    })
                                    .collect_view()}
                            </select>
                        }.into_any()
                    })
            }}
            {move || hidden()}
            <noscript>
                <button type="submit">"Search"</button>
            </noscript>
            <Chips query page />
        </form>
    }
}

/// The filters that are on, each with the way to take it off.
#[component]
fn Chips(query: Memo<Query>, page: &'static str) -> impl IntoView {
    let chips = move || {
        let query = query.get();
        let mut chips = Vec::new();
        if query.only != Only::Everything {
            chips.push((
                query.only.words(),
                query.with_only(Only::Everything).path_on(page),
            ));
        }
        if let Some(group) = &query.group {
            chips.push((
                format!("group {group}"),
                query.with_group(None).path_on(page),
            ));
        }
        chips
    };
    let shown = move || {
        chips()
            .into_iter()
            .map(|(words, without)| {
                view! {
                    <Link
                        href=without
                        stays=true
                        title="take this filter off"
                        class="inline-flex h-7 items-center gap-1 rounded-full border border-line bg-accent-soft ps-2.5 pe-1.5 text-ink hover:border-line-strong"
                    >
                        {words}
                        <span class="sr-only">", take this filter off"</span>
                        <Icon sign=Sign::Cross />
                    </Link>
                }.into_any()
            })
            .collect_view()
    };
    view! { {move || shown()} }
}
