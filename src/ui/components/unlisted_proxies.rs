//! A warning for administrators about proxies that are not in `trusted_proxies`. All clients behind
//! one count as one client.

use leptos::prelude::*;

use crate::domain::InitialState;
use crate::ui::i18n::nodes as t;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;

/// A banner with the addresses of the proxies. Empty if there are none.
#[component]
pub fn UnlistedProxies() -> impl IntoView {
    let live = Live::expect();
    let content = move || {
        Suspend::new(async move {
            let initial = live.initial.result().await.ok();
            let unlisted = initial.map(|InitialState { user, .. }| user.unlisted_proxies);
            match unlisted.filter(|unlisted| !unlisted.is_empty()) {
                Some(unlisted) => view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Alarm announced=false>
                            <p class="font-semibold">{t::unlisted_proxies()}</p>
                            <p class="break-words font-mono text-sm">{unlisted.join(", ")}</p>
                            <p>{t::unlisted_proxies_advice()}</p>
                        </Banner>
                    </div>
                }
                .into_any(),
                None => ().into_any(),
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || content()}</Transition> }
}
