//! What somebody should know before they release a lock.

use leptos::prelude::*;

use super::super::lock_facts::renewed;
use super::super::owner_name::grouped;
use crate::domain::{Fingerprint, Lock};
use crate::ui::format::{self, LeaseWords};
use crate::ui::live::Live;
use crate::ui::words::{act as words, libraries, punctuation};

/// Owner, age, renewals, lease, and what the library does next; kept up to date while the dialog is open.
#[component]
pub fn ReleaseFacts(
    /// The lock, as up to date as it is known.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Whose hold would be released.
    #[prop(into)]
    fingerprint: Signal<Fingerprint>,
    /// They are what was seen before, and change no more.
    #[prop(into)]
    is_past: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    let at = move || match is_past.get() {
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
        let label = owner.and_then(|owner| owner.label.as_deref().map(format::visible));
        label.unwrap_or_else(|| words::no_label().to_owned())
    };
    let held = move || {
        let (lock, now) = (lock.read(), at());
        let span = format::elapsed(lock.acquired_at, now);
        words::held_and_renewals(&span, &renewed(&lock.renewals, now))
    };
    let ends = move || {
        let lock = lock.read();
        let outlives = lock.format.outlives_its_lease();
        match format::lease(lock.lease, outlives, at()) {
            LeaseWords::None => words::never_expires().to_owned(),
            LeaseWords::Left(left) => words::expires_in(&punctuation::before_a_word(&left)),
            LeaseWords::Over => words::lease_over().to_owned(),
            LeaseWords::Past(since) => words::past_its_time(&since),
        }
    };
    let library = move || {
        let format = lock.read().format;
        punctuation::told(format.slug(), libraries::after_release(format))
    };
    let watched = move || {
        let lock = lock.read();
        let span = format::countdown(lock.watch_ms(at()));
        if lock.format.may_come_back() {
            words::watched_may_come_back(&span)
        } else {
            words::watched(&span)
        }
    };
    view! {
        <dl
            class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 [&_dd]:wrap-anywhere [&_dt]:text-muted"
            class:text-muted=move || is_past.get()
        >
            <dt>{words::owner()}</dt>
            <dd>
                <bdi>{move || owner()}</bdi>
            </dd>
            <dt>{words::fingerprint()}</dt>
            <dd class="font-mono select-all">{move || grouped(&fingerprint.read())}</dd>
            <dt>{words::held_for()}</dt>
            <dd>{move || held()}</dd>
            <dt>{words::lease()}</dt>
            <dd class="font-medium">{move || ends()}</dd>
            <dt>{words::this_library()}</dt>
            <dd>{move || library()}</dd>
            <dt>{words::afterwards()}</dt>
            <dd>{move || watched()}</dd>
        </dl>
    }
}
