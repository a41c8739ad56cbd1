//! The search field with completion and syntax errors. An ARIA combobox.

mod completer;

use std::time::Duration;

use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::*;

use self::completer::Completer;
use crate::ui::i18n::locks as t;
use crate::ui::kit::controlled::control_value;
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// A syntax error is shown if the user has not typed for this long.
const TYPING_PAUSE: Duration = Duration::from_millis(500);

/// The search field.
#[component]
pub fn SearchBox(
    /// The current query.
    query: Memo<LocksQuery>,
    /// Called with the text on every change.
    #[prop(into)]
    on_search: Callback<String>,
) -> impl IntoView {
    let completer = Completer::new(Live::expect(), query, on_search);
    let text = Memo::new(move |_| query.with(|query| query.text.clone()));
    control_value(completer.field, text, move |text| on_search.run(text));
    let is_open = Memo::new(move |_| completer.is_open());
    // While the user types, or chooses a suggestion, the text is not complete.
    let typing = RwSignal::new(None::<TimeoutHandle>);
    let stop_typing = move || {
        // The page may have been left since the timer was started.
        if let Some(Some(timer)) = typing.try_update(Option::take) {
            timer.clear();
        }
    };
    let start_typing = move || {
        stop_typing();
        let timer = set_timeout_with_handle(stop_typing, TYPING_PAUSE).ok();
        typing.set(timer);
    };
    let error = Memo::new(move |_| {
        if typing.with(Option::is_some) || is_open.get() {
            return None;
        }
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
            value=text.get_untracked()
            on:input=move |event| {
                start_typing();
                completer.handle_input(&event);
            }
            on:keydown=move |event| completer.handle_key(&event)
            on:blur=move |_| {
                stop_typing();
                completer.leave();
            }
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
        // Below the field, over the page: the page does not move.
        <p id="search-error" role="status" class="absolute inset-x-0 top-full z-10 mt-1 rounded-md bg-alarm-soft px-2.5 py-1 text-xs font-medium text-alarm shadow-high empty:hidden">
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
