//! Locks whose auto-renewal failed. Reported on every page, because their users may still rely on
//! them.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::ui::i18n::reasons;
use crate::ui::i18n::shell;
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::{Live, LostLock};
use crate::ui::{format, paths};

/// The last lost lock and the number of earlier ones, until the user dismisses them.
#[component]
pub fn LostLocks() -> impl IntoView {
    let live = Live::expect();
    let content = move || {
        live.lost_locks.with(|lost| {
            let latest = lost.last().cloned()?;
            Some(view! { <LostLockBanner latest earlier=lost.len() - 1 /> })
        })
    };
    view! { {move || content()} }
}

#[component]
fn LostLockBanner(latest: LostLock, earlier: usize) -> impl IntoView {
    let live = Live::expect();
    let LostLock {
        id,
        label,
        at,
        reason,
    } = latest;
    let reason = reasons::clause(&reason);
    let sentence = move || {
        let (time, reason) = (format::time_of_day(at), reason.clone());
        match &label {
            Some(label) => shell::lost_at_for(format::escape_invisible(label), time, reason),
            None => shell::lost_at(time, reason),
        }
    };
    let earlier = (earlier > 0).then(|| shell::lost_before(earlier));
    let path = paths::lock(&id);
    view! {
        <Banner tone=Tone::Warn>
            <div class="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
                <p class="min-w-0">
                    <Link href=path class="rounded font-semibold underline-offset-2 hover:underline">
                        <LockName key=id.key />
                    </Link>
                    {sentence}
                    {earlier}
                </p>
                <Button on_press=move |()| live.lost_locks.set(Vec::new())>{shell::dismiss()}</Button>
            </div>
        </Banner>
    }
}
