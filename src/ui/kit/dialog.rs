//! A modal dialog based on `<dialog>`: it traps the focus, closes on Escape and on the back button,
//! and restores the focus.

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

/// The state of the history entry of an open dialog.
const HISTORY_STATE: &str = "dialog";

/// A handle that closes its dialog.
#[derive(Clone, Copy)]
pub struct DialogHandle(NodeRef<html::Dialog>);

impl DialogHandle {
    /// Closes the dialog, as Escape does.
    pub fn close(self) {
        if let Some(dialog) = self.0.get_untracked() {
            dialog.close();
        }
    }
}

/// A modal dialog that exists while `open` is set. Its content is created each time it opens.
///
/// The heading (`h2`) must come first and the row of actions (a `div` next to it, or in a `form`
/// next to it) last: both stay visible if the dialog is higher than the window (`style/main.css`).
#[component]
pub fn Dialog(
    /// Whether the dialog is open; set to false when the user closes it.
    open: RwSignal<bool>,
    /// The id of the heading, which labels the dialog.
    labelled_by: &'static str,
    /// Creates the content from the handle that closes the dialog.
    children: Callback<DialogHandle, AnyView>,
) -> impl IntoView {
    let shown = move || {
        open.get()
            .then(|| view! { <OpenDialog open labelled_by children /> })
    };
    view! { {move || shown()} }
}

#[component]
fn OpenDialog(
    open: RwSignal<bool>,
    labelled_by: &'static str,
    children: Callback<DialogHandle, AnyView>,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    // Effects run when the content is in the page, so that the browser finds the autofocus element.
    Effect::new(move || {
        if let Some(dialog) = node.get()
            && !dialog.open()
        {
            // Fails only if the dialog has been removed from the page.
            let _gone = dialog.show_modal();
            push_history_entry();
        }
    });
    // The back button closes the dialog and stays on the page.
    let going_back = window_event_listener(ev::popstate, move |_| {
        if !is_dialog_entry() {
            DialogHandle(node).close();
        }
    });
    on_cleanup(move || going_back.remove());
    let closed = move || {
        open.set(false);
        pop_history_entry();
    };
    view! {
        <dialog
            node_ref=node
            class="max-h-[calc(100dvh-2rem)] w-[min(40rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-0 shadow-high"
            aria-labelledby=labelled_by
            on:close=move |_| closed()
        >
            {children.run(DialogHandle(node))}
        </dialog>
    }
}

/// Pushes a history entry for the dialog.
fn push_history_entry() {
    if !is_dialog_entry()
        && let Ok(history) = window().history()
    {
        // The URL does not change.
        let _full = history.push_state_with_url(&JsValue::from_str(HISTORY_STATE), "", None);
    }
}

/// Pops the history entry, unless the page has navigated or another dialog is open.
fn pop_history_entry() {
    let is_alone = matches!(document().query_selector("dialog[open]"), Ok(None));
    if is_dialog_entry()
        && is_alone
        && let Ok(history) = window().history()
    {
        let _none = history.back();
    }
}

fn is_dialog_entry() -> bool {
    let state = window().history().and_then(|history| history.state());
    state.is_ok_and(|state| state.as_string().as_deref() == Some(HISTORY_STATE))
}
