//! A link inside the console whose address is taken as it is.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

/// Goes to another address of the same page, in the place of this one in the browser's history, without scrolling: for filters and
/// the like.
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

/// A link inside the console. The router's own click handler decodes `%25` before it writes the address bar, which makes
/// another name of it; this one hands the address over untouched.
#[component]
pub fn Link(
    /// Where it leads: a path, percent-encoded.
    #[prop(into)]
    href: Signal<String>,
    /// How it looks.
    #[prop(optional)]
    class: &'static str,
    /// Whether it leads to what is shown now.
    #[prop(into, optional)]
    current: Signal<bool>,
    /// Whether the page stays where it is scrolled to.
    #[prop(optional)]
    stays: bool,
    /// What hovering says.
    #[prop(into, optional)]
    title: Option<String>,
    /// The words of the link.
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
                let elsewhere = event.button() != 0 || event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
                if !elsewhere {
                    event.prevent_default();
                    navigate(&href.get_untracked(), NavigateOptions { scroll: !stays, ..NavigateOptions::default() });
                }
            }
        >
            {children()}
        </a>
    }
}
