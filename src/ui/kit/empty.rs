//! The empty state of a list.

use leptos::prelude::*;

/// An empty state with a title, an explanation and actions.
#[component]
pub fn Empty(
    /// The title.
    #[prop(into)]
    title: Signal<String>,
    /// The explanation and actions.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="mx-auto flex max-w-xl flex-col items-center gap-3 px-4 py-14 text-center text-muted">
            <h2 class="text-lg font-semibold text-ink">{title}</h2>
            {children()}
        </div>
    }
}
