//! A modal dialog on the browser's own `<dialog>`: it keeps the focus inside, closes on Escape, and gives the focus back.

use leptos::html;
use leptos::prelude::*;

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
            .then(|| view! { <Opened open labelled_by children /> }.into_any())
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
        }
    });
    view! {
        <dialog
            node_ref=node
            class="max-h-[calc(100dvh-2rem)] w-[min(40rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-0 shadow-high"
            aria-labelledby=labelled_by
            on:close=move |_| open.set(false)
        >
            {children.run(DialogHandle(node))}
        </dialog>
    }
}
