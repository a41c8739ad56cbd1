//! The facts of the displayed hold, and the changes since.

use leptos::prelude::*;

use super::super::advice::{AdviceContent, AdviceSource};
use super::facts::ReleaseFacts;
use super::target::TrackedHold;
use super::target_state::TargetState;
use crate::ui::i18n::{advice as advice_text, operations as t};
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;

/// The facts of the displayed hold. If another owner takes the lock, they stop changing and the new
/// owner's facts are shown beside them.
#[component]
pub(super) fn TargetFacts(target: TrackedHold) -> impl IntoView {
    let new_owner = Memo::new(move |_| target.new_owner());
    let is_past = Memo::new(move |_| *target.state.read() != TargetState::Unchanged);
    let columns = move || match new_owner.with(Option::is_some) {
        true => "grid gap-4 sm:grid-cols-2",
        false => "grid gap-4",
    };
    let title = move || {
        new_owner
            .with(Option::is_some)
            .then(|| view! { <h3 class="font-medium text-muted">{t::before()}</h3> })
    };
    let new_facts = move || {
        new_owner.get().map(|new_owner| {
            view! {
                <section aria-label=t::now() class="flex flex-col gap-1.5 border-s border-line ps-4">
                    <h3 class="font-medium">{t::now()}</h3>
                    <ReleaseFacts
                        lock=target.current
                        fingerprint=Signal::stored(new_owner)
                        is_past=Signal::stored(false)
                    />
                </section>
            }
        })
    };
    view! {
        <div class=columns>
            <section class="flex flex-col gap-1.5" aria-label=t::before()>
                {title}
                <ReleaseFacts lock=target.confirmed fingerprint=target.owner is_past />
            </section>
            {new_facts}
        </div>
    }
}

/// The advice for the displayed hold, while it exists.
#[component]
pub(super) fn TargetAdvice(target: TrackedHold, source: AdviceSource) -> impl IntoView {
    let is_present = Memo::new(move |_| *target.state.read() == TargetState::Unchanged);
    let owner = Signal::derive(move || Some(target.owner.get()));
    let advice = source.advice(target.confirmed.into(), owner);
    let content = move || is_present.get().then(|| view! { <AdviceContent advice /> });
    view! { <section aria-label=advice_text::title()>{content}</section> }
}

/// Reports why the hold can no longer be released.
#[component]
pub(super) fn TargetChangedBanner(target: TrackedHold) -> impl IntoView {
    let live = Live::expect();
    let banner = move || {
        target.blocked_reason(live).map(|reason| {
            view! {
                <Banner tone=Tone::Alarm announced=false>
                    <p class="font-semibold">{reason}</p>
                    <p>{t::nothing_changed()}</p>
                </Banner>
            }
        })
    };
    // Announced once. The visible text contains a running time, which would be announced every
    // second.
    let announcement = move || match *target.state.read() {
        TargetState::Unchanged => "",
        TargetState::OwnerChanged { .. } => t::owner_changed(),
        TargetState::Reacquired => t::acquired_again(),
        TargetState::Gone(_) => t::not_observed(),
    };
    view! {
        <div class="dialog-status">
            {banner}
            <span class="sr-only" role="alert">
                {announcement}
            </span>
        </div>
    }
}
