//! The token of a lock acquired here: handed out once, to the clipboard, never to the screen.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::LockId;
use crate::ui::calls;
use crate::ui::kit::copy::to_clipboard;
use crate::ui::kit::{Button, Icon, Sign};
use crate::ui::words::act::mine as words;
use crate::ui::words::faults::sentence;

/// The button that copies a token once.
#[component]
pub fn CopyToken(
    /// Which lock.
    id: LockId,
    /// Whether it can still be taken.
    available: bool,
) -> impl IntoView {
    let taken = RwSignal::new(!available);
    let said = RwSignal::new(String::new());
    // A token that was taken and could not be copied waits here for another press: there is no second one.
    let token = StoredValue::new(None::<String>);
    let node = NodeRef::<html::Span>::new();
    let why_not = Signal::derive(move || taken.get().then(|| words::token_handed_out().to_owned()));
    let press = move || {
        let id = id.clone();
        let near = node.get_untracked();
        spawn_local(async move {
            if token.with_value(Option::is_none) {
                match calls::take_token(id).await {
                    Ok(secret) => token.set_value(Some(secret)),
                    Err(fault) => return said.set(sentence(&fault)),
                }
            }
            let secret = token.get_value().unwrap_or_default();
            if to_clipboard(&secret, near.as_deref()).await {
                token.set_value(None);
                taken.set(true);
                said.set(words::token_copied().to_owned());
            } else {
                said.set(words::token_not_copied().to_owned());
            }
        });
    };
    view! {
        <span node_ref=node class="contents">
            <Button why_not on_press=move |()| press()>
                <Icon sign=Sign::Copy />
                {words::copy_token()}
            </Button>
            <span role="status" class="basis-full text-xs text-muted empty:hidden">
                {said}
            </span>
        </span>
    }
}
