//! What is wrong with the configuration, for those who can mend it: a mistake in the file, or credentials that cross a network
//! unencrypted.

use leptos::prelude::*;

use crate::domain::Painted;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::words::frame;

/// A banner for each; nothing where nothing is wrong.
#[component]
pub fn ConfigTrouble() -> impl IntoView {
    let live = Live::expect();
    let shown = move || {
        Suspend::new(async move {
            let painted = live.first.answer().await.ok();
            let me = painted.map(|Painted { me, .. }| me);
            let is_in_clear = me.as_ref().is_some_and(|me| me.is_in_clear);
            let mistake = me.and_then(|me| me.config_trouble).map(|trouble| {
                view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Alarm announced=false>
                            <p class="font-semibold">{frame::config_trouble()}</p>
                            <p lang="en" class="break-words font-mono text-sm">{trouble}</p>
                            <p>{frame::config_trouble_advice()}</p>
                        </Banner>
                    </div>
                }
            });
            let in_clear = is_in_clear.then(|| {
                view! {
                    <div class="mb-4">
                        <Banner tone=Tone::Unsure announced=false>
                            <p class="font-semibold">{frame::in_clear()}</p>
                            <p>{frame::in_clear_advice()}</p>
                        </Banner>
                    </div>
                }
            });
            view! {
                {mistake}
                {in_clear}
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || shown()}</Transition> }
}
