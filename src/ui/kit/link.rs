//! A link inside the console that keeps its URL unchanged.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

/// Navigates to another URL of the same page, for example for filters. The history entry is
/// replaced and the scroll position is kept.
pub fn use_replace_address() -> Callback<String> {
    let navigate = StoredValue::new(use_navigate());
    Callback::new(move |address: String| {
        let options = NavigateOptions {
            replace: true,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate.with_value(|navigate| navigate(&address, options));
    })
}

/// A link inside the console. The click handler of the router decodes `%25` before it updates the
/// address bar, which would change lock names; this link passes the URL unchanged.
#[component]
pub fn Link(
    /// The target: a percent-encoded path.
    #[prop(into)]
    href: Signal<String>,
    /// CSS classes.
    #[prop(optional)]
    class: &'static str,
    /// Whether the target is the current view.
    #[prop(into, optional)]
    current: Signal<bool>,
    /// Whether the scroll position is kept.
    #[prop(optional)]
    no_scroll: bool,
    /// The tooltip.
    #[prop(into, optional)]
    title: Option<Signal<String>>,
    /// The content of the link.
    children: Children,
) -> impl IntoView {
    let navigate = use_navigate();
    view! {
        <a
            href=href
            class=class
            title=title
            aria-current=move || current.get().then_some("true")
            on:click=move |event| {
                let opens_elsewhere = event.button() != 0 || event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
                if !opens_elsewhere {
                    event.prevent_default();
                    navigate(&href.get_untracked(), NavigateOptions { scroll: !no_scroll, ..NavigateOptions::default() });
                }
            }
        >
            {children()}
        </a>
    }
}
