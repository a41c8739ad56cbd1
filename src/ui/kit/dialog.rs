//! A modal dialog on the browser's own `<dialog>`: it keeps the focus inside, closes on Escape and on the way back, and gives the
//! focus back.

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

/// What marks the step of the browser's history that a dialog stands for.
const MARK: &str = "dialog";

/// Closes the dialog that it was handed to.
#[derive(Clone, Copy)]
pub struct DialogHandle(NodeRef<html::Dialog>);

impl DialogHandle {
    /// Closes it as Escape would.
    pub fn close(self) {
        if let Some(dialog) = self.0.get_untracked() {
            dialog.close();
        }
    }
}

/// A modal dialog, there while `open` is set. What is inside is built anew each time it opens.
///
/// Its heading, an `h2`, comes first, and its row of actions, a `div` beside it or in a `form` beside it, last: both stay in sight where it
/// is higher than the window (`style/main.css`).
#[component]
pub fn Dialog(
    /// Whether it is open; set to false when the person closes it.
    open: RwSignal<bool>,
    /// The id of the heading inside, which names the dialog.
    labelled_by: &'static str,
    /// What is inside, given the handle that closes it.
    children: Callback<DialogHandle, AnyView>,
) -> impl IntoView {
    let shown = move || {
        open.get()
            .then(|| view! { <Opened open labelled_by children /> })
    };
    view! { {move || shown()} }
}

#[component]
fn Opened(
    open: RwSignal<bool>,
    labelled_by: &'static str,
    children: Callback<DialogHandle, AnyView>,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    // By the time an effect runs the content is in the page, so that the browser finds the control that wants the focus.
    Effect::new(move || {
        if let Some(dialog) = node.get()
            && !dialog.open()
        {
            // Fails only for a dialog that is not in the page any more.
            let _gone = dialog.show_modal();
            step_in();
        }
    });
    // Whoever goes back wants to leave the dialog, not the page below it.
    let going_back = window_event_listener(ev::popstate, move |_| {
        if !is_inside() {
            DialogHandle(node).close();
        }
    });
    on_cleanup(move || going_back.remove());
    let closed = move || {
        open.set(false);
        step_out();
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

/// Makes a dialog a step of the browser's history.
fn step_in() {
    if !is_inside()
        && let Ok(history) = window().history()
    {
        // The same address: only the way back is another.
        let _full = history.push_state_with_url(&JsValue::from_str(MARK), "", None);
    }
}

/// Takes the step back, unless the page has gone on to another one or another dialog stands there.
fn step_out() {
    let is_alone = matches!(document().query_selector("dialog[open]"), Ok(None));
    if is_inside()
        && is_alone
        && let Ok(history) = window().history()
    {
        let _none = history.back();
    }
}

fn is_inside() -> bool {
    let state = window().history().and_then(|history| history.state());
    state.is_ok_and(|state| state.as_string().as_deref() == Some(MARK))
}
