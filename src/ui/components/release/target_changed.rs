//! What became of the lock while somebody decides, where it is not as it was seen.

use leptos::prelude::*;

use super::facts::ReleaseFacts;
use super::standing::Standing;
use super::target::Target;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::words::act as words;

/// The facts that were seen. They stand still once the lock is another's, and the next owner's stand beside them.
#[component]
pub(super) fn TargetFacts(target: Target) -> impl IntoView {
    let next = Memo::new(move |_| target.next());
    let is_past = Memo::new(move |_| *target.standing.read() != Standing::AsSeen);
    let columns = move || match next.with(Option::is_some) {
        true => "grid gap-4 sm:grid-cols-2",
        false => "grid gap-4",
    };
    let title = move || {
        next.with(Option::is_some)
            .then(|| view! { <h3 class="font-medium text-muted">{words::what_you_saw()}</h3> })
    };
    let beside = move || {
        next.get().map(|next| {
            view! {
                <section aria-label=words::now() class="flex flex-col gap-1.5 border-s border-line ps-4">
                    <h3 class="font-medium">{words::now()}</h3>
                    <ReleaseFacts
                        lock=target.current
                        fingerprint=Signal::stored(next)
                        is_past=Signal::stored(false)
                    />
                </section>
            }
        })
    };
    view! {
        <div class=columns>
            <section class="flex flex-col gap-1.5" aria-label=words::what_you_saw()>
                {title}
                <ReleaseFacts lock=target.confirmed fingerprint=target.owner is_past />
            </section>
            {beside}
        </div>
    }
}

/// Says why it cannot be released any more.
#[component]
pub(super) fn TargetChanged(target: Target) -> impl IntoView {
    let live = Live::expect();
    let obstacle = move || {
        target.obstacle(live).map(|why| {
            view! {
                <Banner tone=Tone::Alarm announced=false>
                    <p class="font-semibold">{why}</p>
                    <p>{words::nothing_done()}</p>
                </Banner>
            }
        })
    };
    // Once only, and not with the time that goes on in it.
    let announced = move || match *target.standing.read() {
        Standing::AsSeen => "",
        Standing::Changed { .. } => words::owner_changed(),
        Standing::Again => words::acquired_again(),
        Standing::Gone(_) => words::not_observed(),
    };
    view! {
        <div class="dialog-told">
            {obstacle}
            <span class="sr-only" role="alert">
                {announced}
            </span>
        </div>
    }
}
