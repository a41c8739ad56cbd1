//! Links to the explanations on the help page.

use leptos::prelude::*;

use crate::ui::i18n::{punctuation, shell};
use crate::ui::paths;

/// A question mark beside the name of a topic.
#[component]
pub fn HelpLink(
    /// The id of the explanation.
    anchor: &'static str,
    /// The topic.
    topic: &'static str,
) -> impl IntoView {
    view! {
        <a
            href=help_path(anchor)
            rel="external"
            class="inline-flex size-6 items-center justify-center rounded-full align-middle text-xs font-medium text-faint hover:bg-sunken hover:text-ink"
            title=shell::what_is_this()
            aria-label=punctuation::labelled(topic, shell::what_is_this())
        >
            "?"
        </a>
    }
}

/// A badge that links to its explanation.
#[component]
pub fn ExplainedBadge(
    /// The id of the explanation.
    #[prop(into)]
    anchor: String,
    /// The badge.
    children: Children,
) -> impl IntoView {
    view! {
        <a href=help_path(&anchor) rel="external" class="rounded decoration-dotted underline-offset-2 hover:underline" title=shell::what_is_this()>
            {children()}
        </a>
    }
}

fn help_path(anchor: &str) -> String {
    format!("{}#{anchor}", paths::HELP)
}
