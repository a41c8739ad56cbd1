//! Copying the name of a lock.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::LockKey;
use crate::ui::i18n::locks as t;
use crate::ui::kit::copy::copy_to_clipboard;
use crate::ui::kit::{Icon, IconName};

/// A button that copies the lock's name. In a row, it is visible on hover and focus.
#[component]
pub fn CopyName(
    /// The name.
    key: LockKey,
    /// Whether the button is always visible.
    #[prop(optional)]
    is_visible: bool,
) -> impl IntoView {
    const IN_ROW: &str =
        "opacity-0 focus:opacity-100 group-hover:opacity-100 group-focus-within:opacity-100";
    let visibility = if is_visible { "needs-script" } else { IN_ROW };
    let status = RwSignal::new("");
    let copy = move |_| {
        let text = key.text().into_owned();
        spawn_local(async move {
            let is_copied = copy_to_clipboard(&text, None).await;
            status.try_set(if is_copied {
                t::copied()
            } else {
                t::copy_blocked()
            });
        });
    };
    view! {
        <button
            type="button"
            class=format!("shrink-0 rounded p-0.5 text-faint hover:text-ink {visibility}")
            aria-label=t::copy_name()
            title=t::copy_name()
            on:click=copy
        >
            <Icon name=IconName::Copy />
        </button>
        <span role="status" class="shrink-0 text-xs text-muted">{move || status.get()}</span>
    }
}
