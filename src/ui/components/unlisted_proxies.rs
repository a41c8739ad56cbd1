//! Who calls for others and is not listed as a proxy, for those who can list it: everybody behind it is one client until then.

use leptos::prelude::*;

use crate::domain::Painted;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::words::nodes as words;

/// A banner with the addresses; nothing where there are none.
#[component]
pub fn UnlistedProxies() -> impl IntoView {
    let live = Live::expect();
    let shown = move || {
        Suspend::new(async move {
            let painted = live.first.answer().await.ok();
            let unlisted = painted.map(|Painted { me, .. }| me.unlisted_proxies);
            match unlisted.filter(|unlisted| !unlisted.is_empty()) {
                Some(unlisted) => view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Alarm announced=false>
                            <p class="font-semibold">{words::unlisted_proxies()}</p>
                            <p class="break-words font-mono text-sm">{unlisted.join(", ")}</p>
                            <p>{words::unlisted_proxies_advice()}</p>
                        </Banner>
                    </div>
                }
                .into_any(),
                None => ().into_any(),
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || shown()}</Transition> }
}
