//! Copying to the clipboard, also for pages that are not served over TLS.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

use super::{Button, Icon, IconName};
use crate::ui::i18n::shell;

/// A button that copies a text.
#[component]
pub fn CopyButton(
    /// The text to copy.
    #[prop(into)]
    text: Signal<String>,
    /// The label of the button.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let status = RwSignal::new(String::new());
    let node = NodeRef::<html::Span>::new();
    let copy = move || {
        let near = node.get_untracked();
        spawn_local(async move {
            let copied = copy_to_clipboard(&text.get_untracked(), near.as_deref()).await;
            let message = match copied {
                true => shell::copied(),
                false => shell::copy_blocked(),
            };
            status.set(message.to_owned());
        });
    };
    view! {
        <span node_ref=node class="inline-flex items-center">
            <Button on_press=move |()| copy()>
                <Icon name=IconName::Copy />
                {label}
            </Button>
            // An empty status takes no space.
            <span role="status" class="text-xs text-muted" class=("ms-2", move || !status.read().is_empty())>
                {move || status.get()}
            </span>
        </span>
    }
}

/// Copies a text to the clipboard and returns whether that succeeded. `near` is an element in the
/// same dialog as the button.
pub async fn copy_to_clipboard(text: &str, near: Option<&web_sys::HtmlElement>) -> bool {
    if window().is_secure_context() {
        let written = window().navigator().clipboard().write_text(text);
        if JsFuture::from(written).await.is_ok() {
            return true;
        }
    }
    copy_by_selection(text, near).unwrap_or(false)
}

/// The fallback for pages that are not served over TLS, where the clipboard API is unavailable:
/// selects the text and runs the `copy` command.
fn copy_by_selection(text: &str, near: Option<&web_sys::HtmlElement>) -> Option<bool> {
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
        // Selecting the text moved the focus.
        let _gone = focused.focus();
    }
    Some(copied)
}
