//! Where a search is typed: it completes what is typed from what was seen, and says what is wrong with it. A combobox as ARIA
//! describes it.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;

use crate::domain::owners;
use crate::domain::search::{Completion, Known, complete};
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// So many owners are offered at most, whoever matches first.
const MOST_OWNERS: usize = 200;

/// The box.
#[component]
pub fn SearchBox(
    /// What is shown now.
    query: Memo<Query>,
    /// Takes what was typed.
    #[prop(into)]
    on_search: Callback<String>,
) -> impl IntoView {
    let live = Live::expect();
    let field = NodeRef::<html::Input>::new();
    let completion = RwSignal::new(Completion::default());
    let picked = RwSignal::new(None::<usize>);
    let is_open = Memo::new(move |_| completion.with(|completion| !completion.offers.is_empty()));
    let close = move || {
        completion.set(Completion::default());
        picked.set(None);
    };
    let offer = move |text: &str, cursor: usize| {
        picked.set(None);
        completion.set(complete(text, cursor, &known(live)));
    };
    let typed = move |event: ev::Event| {
        let text = event_target_value(&event);
        offer(&text, cursor(field, &text));
        on_search.run(text);
    };
    let take = move |nth: usize| {
        let Some(input) = field.get_untracked() else {
            return;
        };
        let text = input.value();
        let taken = completion.with_untracked(|completion| {
            let offer = completion.offers.get(nth)?;
            (completion.to <= text.len()).then(|| completion.take(&text, offer))
        });
        let Some((text, at)) = taken else { return };
        input.set_value(&text);
        let place = u32::try_from(text[..at].encode_utf16().count()).unwrap_or(u32::MAX);
        let _not_shown = input.set_selection_range(place, place);
        if text[..at].ends_with(' ') {
            close();
        } else {
            offer(&text, at);
        }
        on_search.run(text);
    };
    let press = move |event: ev::KeyboardEvent| {
        let count = completion.with_untracked(|completion| completion.offers.len());
        let now = picked.get_untracked();
        match (event.key().as_str(), now) {
            ("ArrowDown", _) if count == 0 => {
                let text = event_target_value(&event);
                offer(&text, cursor(field, &text));
            }
            ("ArrowDown", now) => picked.set(Some(now.map_or(0, |now| (now + 1) % count))),
            ("ArrowUp", now) if count > 0 => {
                picked.set(Some(now.filter(|now| *now > 0).unwrap_or(count) - 1));
            }
            ("Enter" | "Tab", Some(now)) if count > 0 => take(now),
            ("Enter", None) => {
                close();
                return;
            }
            ("Escape", _) if count > 0 => close(),
            _ => return,
        }
        event.prevent_default();
    };
    let wrong = Memo::new(move |_| {
        let error = query.with(|query| query.search().err())?;
        Some(words::wrong(&error))
    });
    let offers = move || {
        let offers = completion
            .with(|completion| completion.offers.clone())
            .into_iter();
        offers
            .enumerate()
            .map(|(nth, offer)| {
                view! {
                    <li
                        role="option"
                        id=option_id(nth)
                        class="cursor-pointer rounded px-2 py-1 font-mono aria-selected:bg-accent-soft hover:bg-sunken"
                        aria-selected=move || if picked.get() == Some(nth) { "true" } else { "false" }
                        // The focus stays in the box.
                        on:mousedown=move |event| {
                            event.prevent_default();
                            take(nth);
                        }
                    >
                        {offer}
                    </li>
                }
            })
            .collect_view()
    };
    view! {
        <input
            node_ref=field
            type="search"
            id="search"
            name="q"
            role="combobox"
            class=format!("{CONTROL} ps-9")
            aria-label=words::search_label()
            aria-autocomplete="list"
            aria-expanded=move || if is_open.get() { "true" } else { "false" }
            aria-controls="search-offers"
            aria-activedescendant=move || picked.get().map(option_id)
            aria-invalid=move || wrong.with(Option::is_some).then_some("true")
            aria-describedby="search-wrong"
            placeholder=words::search_hint()
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            value=query.with_untracked(|query| query.text.clone())
            prop:value=move || query.with(|query| query.text.clone())
            on:input=typed
            on:keydown=press
            on:blur=move |_| close()
        />
        <ul
            id="search-offers"
            role="listbox"
            aria-label=words::completions()
            class="absolute inset-x-0 top-full z-20 mt-1 max-h-72 overflow-y-auto rounded-md border border-line-strong bg-surface p-1 shadow-high"
            hidden=move || !is_open.get()
        >
            {move || offers()}
        </ul>
        <p id="search-wrong" role="status" class="text-xs font-medium text-alarm not-empty:mt-1.5">
            {move || wrong.get()}
        </p>
    }
}

fn option_id(nth: usize) -> String {
    format!("search-offer-{nth}")
}

/// Where the cursor stands, in bytes of the text.
fn cursor(field: NodeRef<html::Input>, text: &str) -> usize {
    let input = field.get_untracked();
    let units = input.and_then(|input| input.selection_start().ok().flatten());
    let Some(units) = units.and_then(|units| usize::try_from(units).ok()) else {
        return text.len();
    };
    let mut seen = 0;
    for (at, sign) in text.char_indices() {
        if seen >= units {
            return at;
        }
        seen += sign.len_utf16();
    }
    text.len()
}

/// What was seen, and can therefore be offered.
fn known(live: Live) -> Known {
    untrack(|| {
        let mut known = live.with_groups(|groups| Known {
            groups: groups.iter().map(|group| group.name.clone()).collect(),
            nodes: groups
                .iter()
                .flat_map(|group| &group.nodes)
                .map(|node| node.name.clone())
                .collect(),
            ..Known::default()
        });
        known.formats = live.with_counts(|counts| counts.formats.keys().cloned().collect());
        known.owners = live.with_locks(|locks| {
            let owners = locks.values().flat_map(|lock| &lock.owners);
            let labels = owners.filter_map(|owner| owner.label.as_deref());
            labels.map(|label| owners::host(label).to_owned()).collect()
        });
        for names in [&mut known.nodes, &mut known.owners] {
            names.sort_unstable();
            names.dedup();
            names.truncate(MOST_OWNERS);
        }
        known
    })
}
