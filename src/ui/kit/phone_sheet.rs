//! Controls that a phone shows in a sheet at its lower edge, in reach of the thumb. Wider windows,
//! and pages without JavaScript, show them in place.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;

use super::{Icon, IconName};

/// A button that opens the sheet, and the sheet. Both exist on phones only.
#[component]
pub fn PhoneSheet(
    /// The id of the sheet.
    id: &'static str,
    /// The label of the button, which is also the heading of the sheet.
    #[prop(into)]
    label: Signal<String>,
    /// CSS classes of the button.
    class: &'static str,
    /// The label of the button that closes the sheet.
    close_label: &'static str,
    /// The controls.
    children: Children,
) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let opener = NodeRef::<html::Button>::new();
    let close = move || {
        is_open.set(false);
        if let Some(opener) = opener.get_untracked() {
            // Fails only if the button has been removed.
            let _gone = opener.focus();
        }
    };
    let handle_key = move |event: ev::KeyboardEvent| {
        if event.key() == "Escape" && is_open.get_untracked() {
            event.stop_propagation();
            close();
        }
    };
    view! {
        <button
            node_ref=opener
            type="button"
            class=format!("needs-script sm:hidden aria-expanded:bg-accent-soft {class}")
            aria-expanded=move || is_open.get().to_string()
            aria-controls=id
            on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)
            on:keydown=handle_key
        >
            {label}
        </button>
        <div id=id class="phone-sheet" class=("is-open", move || is_open.get()) on:keydown=handle_key>
            <div class="phone-sheet-head">
                <span class="font-semibold text-ink">{label}</span>
                <button type="button" class="inline-flex size-9 items-center justify-center rounded-md text-muted" on:click=move |_| close()>
                    <Icon name=IconName::Cross />
                    <span class="sr-only">{close_label}</span>
                </button>
            </div>
            {children()}
        </div>
    }
}
