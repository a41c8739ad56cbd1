//! Buttons that copy the URL of a page of the console.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::ui::i18n::shell;
use crate::ui::kit::CopyButton;
use crate::ui::kit::copy::copy_to_clipboard;

/// The URL of a path of this console. Browser only.
pub fn page_url(path: &str) -> String {
    // The origin of a page that was loaded over HTTP is always known.
    window().location().origin().unwrap_or_default() + path
}

/// A button that copies a URL.
#[component]
pub fn CopyLink(
    /// The path of the page. It is read when the button is pressed.
    #[prop(into)]
    path: Signal<String>,
) -> impl IntoView {
    let text = Signal::derive(move || page_url(&path.get()));
    view! { <CopyButton text label=shell::copy_link() /> }
}

/// Copies the URL of the current page when it is first shown, and shows the result.
#[component]
pub fn CopiedPageLink() -> impl IntoView {
    let status = RwSignal::new("");
    // Effects run in the browser only.
    Effect::new(move || {
        spawn_local(async move {
            let location = window().location().href().unwrap_or_default();
            let message = match copy_to_clipboard(&location, None).await {
                true => shell::copied(),
                false => shell::copy_blocked(),
            };
            status.try_set(message);
        });
    });
    view! { <span class="text-xs text-muted">{status}</span> }
}
