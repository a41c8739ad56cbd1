//! Warnings about the configuration for administrators: an error in the file, or credentials sent
//! over an unencrypted connection.

use leptos::prelude::*;

use crate::domain::InitialState;
use crate::ui::i18n::shell;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;

/// One banner per warning.
#[component]
pub fn ConfigWarnings() -> impl IntoView {
    let live = Live::expect();
    let content = move || {
        Suspend::new(async move {
            let initial = live.initial.result().await.ok();
            let user = initial.map(|InitialState { user, .. }| user);
            let is_in_clear = user.as_ref().is_some_and(|user| user.is_unencrypted);
            let config_error = user.and_then(|user| user.config_error).map(|message| {
                view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Alarm announced=false>
                            <p class="font-semibold">{shell::config_error()}</p>
                            <p lang="en" class="break-words font-mono text-sm">{message}</p>
                            <p>{shell::config_error_advice()}</p>
                        </Banner>
                    </div>
                }
            });
            let in_clear = is_in_clear.then(|| {
                view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Unsure announced=false>
                            <p class="font-semibold">{shell::unencrypted()}</p>
                            <p>{shell::unencrypted_advice()}</p>
                        </Banner>
                    </div>
                }
            });
            view! {
                {config_error}
                {in_clear}
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || content()}</Transition> }
}
