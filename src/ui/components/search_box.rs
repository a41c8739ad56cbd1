//! The search field with completion and syntax errors. An ARIA combobox.

mod completer;

use leptos::prelude::*;

use self::completer::Completer;
use crate::ui::i18n::locks as t;
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// The search field.
#[component]
pub fn SearchBox(
    /// The current query.
    query: Memo<LocksQuery>,
    /// Called with the text on every change.
    #[prop(into)]
    on_search: Callback<String>,
) -> impl IntoView {
    let completer = Completer::new(Live::expect(), on_search);
    let is_open = Memo::new(move |_| completer.is_open());
    let error = Memo::new(move |_| {
        let error = query.with(|query| query.parse_search().err())?;
        Some(t::search_error(&error))
    });
    view! {
        <input
            node_ref=completer.field
            type="search"
            id="search"
            name="q"
            role="combobox"
            class=format!("{CONTROL} ps-9")
            aria-label=t::search_label()
            aria-autocomplete="list"
            aria-expanded=move || is_open.get().to_string()
            aria-controls="search-suggestions"
            aria-activedescendant=move || completer.selected.get().map(option_id)
            aria-invalid=move || error.with(Option::is_some).then_some("true")
            aria-describedby="search-error"
            placeholder=t::search_hint()
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            value=query.with_untracked(|query| query.text.clone())
            prop:value=move || query.with(|query| query.text.clone())
            on:input=move |event| completer.handle_input(&event)
            on:keydown=move |event| completer.handle_key(&event)
            on:blur=move |_| completer.close()
        />
        <ul
            id="search-suggestions"
            role="listbox"
            aria-label=t::suggestions()
            class="absolute inset-x-0 top-full z-20 mt-1 max-h-72 overflow-y-auto rounded-md border border-line-strong bg-surface p-1 shadow-high"
            hidden=move || !is_open.get()
        >
            {move || {
                let suggestions = completer.suggestions().into_iter().enumerate();
                suggestions.map(|(nth, suggestion)| view! { <Suggestion completer nth suggestion /> }).collect_view()
            }}
        </ul>
        <p id="search-error" role="status" class="text-xs font-medium text-alarm not-empty:mt-1.5">
            {move || error.get()}
        </p>
    }
}

/// One suggestion.
#[component]
fn Suggestion(completer: Completer, nth: usize, suggestion: String) -> impl IntoView {
    view! {
        <li
            role="option"
            id=option_id(nth)
            class="cursor-pointer rounded px-2 py-1 font-mono aria-selected:bg-accent-soft hover:bg-sunken"
            aria-selected=move || (completer.selected.get() == Some(nth)).to_string()
            // Prevents the field from losing the focus.
            on:mousedown=move |event| {
                event.prevent_default();
                completer.accept(nth);
            }
        >
            {suggestion}
        </li>
    }
}

fn option_id(nth: usize) -> String {
    format!("search-suggestion-{nth}")
}
