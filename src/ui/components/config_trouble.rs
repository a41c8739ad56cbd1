//! What is wrong with the configuration file, for those who can mend it: until then everything is as it was before.

use leptos::prelude::*;

use crate::domain::Painted;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::words::frame;

/// A banner with the mistake and its place; nothing where there is none.
#[component]
pub fn ConfigTrouble() -> impl IntoView {
    let live = Live::expect();
    let shown = move || {
        Suspend::new(async move {
            let painted = live.first.answer().await.ok();
            match painted.and_then(|Painted { me, .. }| me.config_trouble) {
                Some(trouble) => view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Alarm announced=false>
                            <p class="font-semibold">{frame::config_trouble()}</p>
                            <p lang="en" class="break-words font-mono text-sm">{trouble}</p>
                            <p>{frame::config_trouble_advice()}</p>
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
