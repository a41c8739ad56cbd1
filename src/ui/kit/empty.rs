//! What stands where a list would stand if there were anything to list.

use leptos::prelude::*;

/// A title, an explanation, and what can be done.
#[component]
pub fn Empty(
    /// What is not there.
    #[prop(into)]
    title: Signal<String>,
    /// Why, and what can be done.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="mx-auto flex max-w-xl flex-col items-center gap-3 px-4 py-14 text-center text-muted">
            <h2 class="text-lg font-semibold text-ink">{title}</h2>
            {children()}
        </div>
    }
}
