//! The facts to check before a lock is released.

use leptos::prelude::*;

use super::super::owner_name::format_fingerprint;
use crate::domain::{Fingerprint, Lock};
use crate::ui::format::{self, LeaseWords};
use crate::ui::i18n::{operations as t, punctuation};
use crate::ui::live::Live;

/// Owner, age, lease and the time of the watch afterwards. Updated while the dialog is open. The
/// advice has the other facts.
#[component]
pub fn ReleaseFacts(
    /// The lock's current state.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The owner whose hold would be released.
    #[prop(into)]
    fingerprint: Signal<Fingerprint>,
    /// Whether the facts are about an earlier hold. They do not change then.
    #[prop(into)]
    is_past: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    let as_of = move || match is_past.get() {
        true => lock.read().observed_at,
        false => live.now.get(),
    };
    let owner = move || {
        let lock = lock.read();
        let fingerprint = fingerprint.read();
        let owner = lock
            .owners
            .iter()
            .find(|owner| owner.fingerprint == *fingerprint);
        let label = owner.and_then(|owner| owner.label.as_deref().map(format::escape_invisible));
        label.unwrap_or_else(|| t::no_label().to_owned())
    };
    let held = move || {
        let (lock, now) = (lock.read(), as_of());
        format::elapsed(lock.acquired_at, now)
    };
    let lease = move || {
        let lock = lock.read();
        let outlives = lock.format.outlives_lease();
        match format::lease(lock.lease, outlives, as_of()) {
            LeaseWords::None => t::never_expires().to_owned(),
            LeaseWords::Session => t::ends_with_session().to_owned(),
            LeaseWords::Left(left) => t::expires_in(&punctuation::before_word(&left)),
            LeaseWords::Over => t::lease_over().to_owned(),
            LeaseWords::Past(since) => t::expired_since(&since),
        }
    };
    let watch_period = move || {
        let lock = lock.read();
        let span = format::countdown(lock.release_watch_ms(as_of()));
        if lock.format.may_reacquire() {
            t::watched_may_come_back(&span)
        } else {
            t::watched(&span)
        }
    };
    view! {
        <dl
            class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 [&_dd]:wrap-anywhere [&_dt]:text-muted"
            class:text-muted=move || is_past.get()
        >
            <dt>{t::owner()}</dt>
            <dd>
                <bdi>{move || owner()}</bdi>
            </dd>
            <dt>{t::fingerprint()}</dt>
            <dd class="font-mono select-all">{move || format_fingerprint(&fingerprint.read())}</dd>
            <dt>{t::held_for()}</dt>
            <dd>{move || held()}</dd>
            <dt>{t::lease()}</dt>
            <dd class="font-medium">{move || lease()}</dd>
            <dt>{t::after_release()}</dt>
            <dd>{move || watch_period()}</dd>
        </dl>
    }
}
