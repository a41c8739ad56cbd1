//! A bordered section of a page.

use leptos::prelude::*;

/// The CSS classes of a card, for other elements.
pub const CARD: &str = "rounded-xl border border-line bg-surface shadow-lift";

/// A section with a heading.
#[component]
pub fn Card(
    /// The id of the heading.
    id: &'static str,
    /// The heading.
    title: &'static str,
    /// The content.
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

/// A section that is collapsed by default.
#[component]
pub fn FoldedCard(
    /// The summary.
    title: &'static str,
    /// The content.
    children: Children,
) -> impl IntoView {
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5 font-medium">{title}</summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3">{children()}</div>
        </details>
    }
}
