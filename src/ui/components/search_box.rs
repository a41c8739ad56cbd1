//! Where a search is typed: it completes what is typed from what was seen, and says what is wrong with it. A combobox as ARIA
//! describes it.

mod completer;

use leptos::prelude::*;

use self::completer::Completer;
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// The box.
#[component]
pub fn SearchBox(
    /// What is shown now.
    query: Memo<Query>,
    /// Takes what was typed.
    #[prop(into)]
    on_search: Callback<String>,
) -> impl IntoView {
    let completer = Completer::new(Live::expect(), on_search);
    let is_open = Memo::new(move |_| completer.is_open());
    let wrong = Memo::new(move |_| {
        let error = query.with(|query| query.search().err())?;
        Some(words::wrong(&error))
    });
    view! {
        <input
            node_ref=completer.field
            type="search"
            id="search"
            name="q"
            role="combobox"
            class=format!("{CONTROL} ps-9")
            aria-label=words::search_label()
            aria-autocomplete="list"
            aria-expanded=move || is_open.get().to_string()
            aria-controls="search-offers"
            aria-activedescendant=move || completer.picked.get().map(option_id)
            aria-invalid=move || wrong.with(Option::is_some).then_some("true")
            aria-describedby="search-wrong"
            placeholder=words::search_hint()
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            value=query.with_untracked(|query| query.text.clone())
            prop:value=move || query.with(|query| query.text.clone())
            on:input=move |event| completer.typed(&event)
            on:keydown=move |event| completer.press(&event)
            on:blur=move |_| completer.close()
        />
        <ul
            id="search-offers"
            role="listbox"
            aria-label=words::completions()
            class="absolute inset-x-0 top-full z-20 mt-1 max-h-72 overflow-y-auto rounded-md border border-line-strong bg-surface p-1 shadow-high"
            hidden=move || !is_open.get()
        >
            {move || {
                let offers = completer.offers().into_iter().enumerate();
                offers.map(|(nth, offer)| view! { <Offer completer nth offer /> }).collect_view()
            }}
        </ul>
        <p id="search-wrong" role="status" class="text-xs font-medium text-alarm not-empty:mt-1.5">
            {move || wrong.get()}
        </p>
    }
}

/// One of the texts that what is typed can be completed to.
#[component]
fn Offer(completer: Completer, nth: usize, offer: String) -> impl IntoView {
    view! {
        <li
            role="option"
            id=option_id(nth)
            class="cursor-pointer rounded px-2 py-1 font-mono aria-selected:bg-accent-soft hover:bg-sunken"
            aria-selected=move || (completer.picked.get() == Some(nth)).to_string()
            // The focus stays in the box.
            on:mousedown=move |event| {
                event.prevent_default();
                completer.take(nth);
            }
        >
            {offer}
        </li>
    }
}

fn option_id(nth: usize) -> String {
    format!("search-offer-{nth}")
}
