//! A prominent message across the page.

use leptos::prelude::*;

use super::{Icon, IconName, Tone};

/// A message across the page, with room for actions.
#[component]
pub fn Banner(
    /// The colour.
    tone: Tone,
    /// Whether screen readers announce it immediately (role `alert`).
    #[prop(default = true)]
    announced: bool,
    /// The message.
    children: Children,
) -> impl IntoView {
    view! {
        <div
            role=announced.then_some("alert")
            class=format!("flex items-start gap-2.5 rounded-lg px-3.5 py-2.5 [&_svg]:mt-0.5 {}", tone.surface())
        >
            <Icon name=IconName::Alert />
            <div class="min-w-0 grow wrap-anywhere">{children()}</div>
        </div>
    }
}
