//! What stands by itself on a page, with an edge around it.

use leptos::prelude::*;

/// The look of a card, for an element of another kind.
pub const CARD: &str = "rounded-xl border border-line bg-surface shadow-lift";

/// A part of a page with a heading.
#[component]
pub fn Card(
    /// The id of the heading.
    id: &'static str,
    /// The heading.
    title: &'static str,
    /// What it says.
    children: Children,
) -> impl IntoView {
    view! {
        <section class=format!("{CARD} p-4") aria-labelledby=id>
            <h2 id=id class="mb-2 text-base font-semibold">
                {title}
            </h2>
            {children()}
        </section>
    }
}

/// A part of a page that is folded until somebody opens it.
#[component]
pub fn FoldedCard(
    /// What stands there when it is folded.
    title: &'static str,
    /// What it says.
    children: Children,
) -> impl IntoView {
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5 font-medium">{title}</summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3">{children()}</div>
        </details>
    }
}
