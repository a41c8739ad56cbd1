//! The token of a lock acquired in the console. It is revealed once, to the clipboard, and never
//! displayed.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::LockId;
use crate::ui::calls;
use crate::ui::i18n::errors::sentence;
use crate::ui::i18n::operations::mine as t;
use crate::ui::kit::copy::copy_to_clipboard;
use crate::ui::kit::{Button, Icon, IconName};

/// A button that copies the token once.
#[component]
pub fn CopyToken(
    /// The lock whose token is copied.
    id: LockId,
    /// Whether the token can still be revealed.
    available: bool,
) -> impl IntoView {
    let is_revealed = RwSignal::new(!available);
    let status = RwSignal::new(String::new());
    // If the clipboard refused the token, it is kept for another press: the server reveals it only
    // once.
    let token = StoredValue::new(None::<String>);
    let button = NodeRef::<html::Span>::new();
    let disabled_reason = Signal::derive(move || {
        is_revealed
            .get()
            .then(|| t::token_already_copied().to_owned())
    });
    let copy = move || {
        let id = id.clone();
        let anchor = button.get_untracked();
        spawn_local(async move {
            if token.with_value(Option::is_none) {
                match calls::reveal_token(id).await {
                    Ok(secret) => token.set_value(Some(secret)),
                    Err(error) => return status.set(sentence(&error)),
                }
            }
            let secret = token.get_value().unwrap_or_default();
            if copy_to_clipboard(&secret, anchor.as_deref()).await {
                token.set_value(None);
                is_revealed.set(true);
                status.set(t::token_copied().to_owned());
            } else {
                status.set(t::token_not_copied().to_owned());
            }
        });
    };
    view! {
        <span node_ref=button class="contents">
            <Button disabled_reason on_press=move |()| copy()>
                <Icon name=IconName::Copy />
                {t::copy_token()}
            </Button>
            <span role="status" class="basis-full text-xs text-muted empty:hidden">
                {status}
            </span>
        </span>
    }
}
