//! To the clipboard: the button, and the way that also works where the page is not served over TLS.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

use super::{Button, Icon, Sign};
use crate::ui::words::frame;

/// A button that copies a text.
#[component]
pub fn CopyButton(
    /// What is copied.
    #[prop(into)]
    text: Signal<String>,
    /// What the button says.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let said = RwSignal::new(String::new());
    let node = NodeRef::<html::Span>::new();
    let copy = move || {
        let near = node.get_untracked();
        spawn_local(async move {
            let copied = to_clipboard(&text.get_untracked(), near.as_deref()).await;
            let words = match copied {
                true => frame::copied(),
                false => frame::cannot_copy(),
            };
            said.set(words.to_owned());
        });
    };
    view! {
        <span node_ref=node class="inline-flex items-center gap-2">
            <Button on_press=move |()| copy()>
                <Icon sign=Sign::Copy />
                {label}
            </Button>
            <span role="status" class="text-xs text-muted">
                {move || said.get()}
            </span>
        </span>
    }
}

/// Puts a text on the clipboard; `near` is an element in the same dialog as the button. Tells whether it worked.
pub async fn to_clipboard(text: &str, near: Option<&web_sys::HtmlElement>) -> bool {
    if window().is_secure_context() {
        let written = window().navigator().clipboard().write_text(text);
        if JsFuture::from(written).await.is_ok() {
            return true;
        }
    }
    by_selection(text, near).unwrap_or(false)
}

/// The old way, for pages that are not served over TLS: select the text and ask the browser to copy the selection.
fn by_selection(text: &str, near: Option<&web_sys::HtmlElement>) -> Option<bool> {
    let area: web_sys::HtmlTextAreaElement = document()
        .create_element("textarea")
        .ok()?
        .dyn_into()
        .ok()?;
    area.set_value(text);
    area.set_class_name("fixed size-px opacity-0");
    area.set_attribute("aria-hidden", "true").ok()?;
    match near {
        Some(near) => near.append_child(&area).ok()?,
        None => document().body()?.append_child(&area).ok()?,
    };
    let focused = document().active_element();
    area.select();
    let copied = document()
        .dyn_into::<web_sys::HtmlDocument>()
        .ok()?
        .exec_command("copy")
        .unwrap_or(false);
    area.remove();
    if let Some(focused) =
        focused.and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
    {
        // The focus goes back to where the person was.
        let _gone = focused.focus();
    }
    Some(copied)
}
