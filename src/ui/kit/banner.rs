//! A sentence across the page that must not be missed.

use leptos::prelude::*;

use super::{Icon, Sign, Tone};

/// A sentence across the page, with room for what can be done about it.
#[component]
pub fn Banner(
    /// What its colour means.
    tone: Tone,
    /// Whether a screen reader says it at once.
    #[prop(default = true)]
    announced: bool,
    /// The sentence.
    children: Children,
) -> impl IntoView {
    view! {
        <div
            role=announced.then_some("alert")
            class=format!("flex items-start gap-2.5 rounded-lg px-3.5 py-2.5 [&_svg]:mt-0.5 {}", tone.surface())
        >
            <Icon sign=Sign::Alert />
            <div class="min-w-0 grow wrap-anywhere">{children()}</div>
        </div>
    }
}
