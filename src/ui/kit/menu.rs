//! A menu in a `<details>` element, which opens without JavaScript.

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::{Icon, IconName};

/// The CSS classes of an entry.
pub const MENU_ENTRY: &str = "flex h-8 items-center rounded-md px-2 whitespace-nowrap hover:bg-sunken aria-[current]:bg-accent-soft";

/// A button that opens a list. A click outside, Escape, and the focus on another element close it.
#[component]
pub fn Menu(
    /// The label of the button.
    #[prop(into)]
    label: Signal<String>,
    /// An icon before the label.
    #[prop(optional)]
    icon: Option<IconName>,
    /// CSS classes of the menu.
    #[prop(default = "")]
    class: &'static str,
    /// CSS classes of the list.
    #[prop(default = "flex-col")]
    list_class: &'static str,
    /// Whether a click on an entry leaves the menu open.
    #[prop(optional)]
    stays_open: bool,
    /// Called with whether the menu is open, when it opens or closes.
    #[prop(optional, into)]
    on_toggle: Option<Callback<bool>>,
    /// The entries.
    children: Children,
) -> impl IntoView {
    let node = NodeRef::<html::Details>::new();
    // A chosen entry may already have replaced the view of the menu.
    let menu = move || node.try_get_untracked().flatten();
    let close = move || {
        if let Some(menu) = menu() {
            menu.set_open(false);
        }
    };
    let contains = move |target: Option<web_sys::EventTarget>| {
        let target = target.and_then(|target| target.dyn_into::<web_sys::Node>().ok());
        menu().is_some_and(|menu| menu.contains(target.as_ref()))
    };
    Effect::new(move || {
        let pressed = window_event_listener(ev::pointerdown, move |event| {
            if !contains(event.target()) {
                close();
            }
        });
        on_cleanup(move || pressed.remove());
    });
    // Without another element, the window lost the focus, or the pointer pressed an empty place.
    let on_focus_out = move |event: ev::FocusEvent| {
        let next = event.related_target();
        if next.is_some() && !contains(next) {
            close();
        }
    };
    let on_key = move |event: ev::KeyboardEvent| {
        if event.key() == "Escape"
            && let Some(menu) = menu().filter(|menu| menu.open())
        {
            event.stop_propagation();
            menu.set_open(false);
            let summary = menu.query_selector("summary").ok().flatten();
            if let Some(summary) =
                summary.and_then(|node| node.dyn_into::<web_sys::HtmlElement>().ok())
            {
                // Fails only if the menu has been removed.
                let _gone = summary.focus();
            }
        }
    };
    let on_click = move |_| {
        if !stays_open {
            close();
        }
    };
    let on_toggle = move |_| {
        if let Some(on_toggle) = on_toggle {
            on_toggle.try_run(menu().is_some_and(|menu| menu.open()));
        }
    };
    view! {
        <details node_ref=node class=format!("menu {class}") on:focusout=on_focus_out on:keydown=on_key on:toggle=on_toggle>
            <summary class="inline-flex h-7 list-none items-center gap-1 rounded-md px-2 whitespace-nowrap hover:bg-sunken hover:text-ink [&_svg]:size-3.5">
                {icon.map(|name| view! { <Icon name /> })}
                {label}
                <Icon name=IconName::Caret />
            </summary>
            <div class=format!("menu-list {list_class}") on:click=on_click>
                {children()}
            </div>
        </details>
    }
}
