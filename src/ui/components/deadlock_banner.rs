//! A deadlock: its cycle, and the release that resolves it.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::deadlock_resolution::DeadlockResolution;
use crate::ui::i18n::{punctuation, waits as t};
use crate::ui::kit::{Banner, Link, Tone};
use crate::ui::{format, paths};

/// A deadlock cycle, and the release that resolves it.
#[component]
pub fn DeadlockBanner(
    /// The cycle and its resolution.
    resolution: DeadlockResolution,
) -> impl IntoView {
    let mut ids = resolution.cycle.clone();
    // The first lock is repeated at the end, to show that the cycle is closed.
    ids.extend(resolution.cycle.first().cloned());
    let steps: Vec<_> = ids
        .into_iter()
        .enumerate()
        .map(|(n, id)| {
            let arrow = (n > 0).then(|| {
                view! {
                    <span aria-hidden="true">" ← "</span>
                    <span class="sr-only">" " {t::waits_for()} " "</span>
                }
            });
            view! { {arrow} <LockName key=id.key /> }
        })
        .collect();
    let href = paths::lock(&resolution.release);
    let review = href.clone();
    let effect = t::frees(resolution.unblocked_waiters, resolution.remaining_locks);
    view! {
        <div class="mb-3">
            <Banner tone=Tone::Alarm announced=false>
                <p class="font-semibold">{format::capital(t::deadlock())}</p>
                <p>{t::cycle()} {steps}</p>
                <p>
                    {t::suggested_release()}
                    <Link href=href class="rounded font-semibold underline underline-offset-2">
                        <LockName key=resolution.release.key />
                    </Link> {punctuation::full_stop()} {effect} {t::review_first()}
                </p>
                <p class="mt-2">
                    <Link href=review class="inline-flex h-8 items-center rounded-md bg-alarm px-3 font-medium text-on-alarm hover:bg-alarm-strong">
                        {t::review_release()}
                    </Link>
                </p>
            </Banner>
        </div>
    }
}
