//! Locks that this console kept and lost: whoever relied on one has to know, on whatever page they are.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::{Live, Lost};
use crate::ui::words::frame;
use crate::ui::words::told;
use crate::ui::{format, paths};

/// The lock that was lost last, and how many were before, until that is dismissed.
#[component]
pub fn LostLocks() -> impl IntoView {
    let live = Live::expect();
    let shown = move || {
        live.lost.with(|lost| {
            let latest = lost.last().cloned()?;
            Some(view! { <LatestLost latest before=lost.len() - 1 /> })
        })
    };
    view! { {move || shown()} }
}

#[component]
fn LatestLost(latest: Lost, before: usize) -> impl IntoView {
    let live = Live::expect();
    let Lost { id, label, at, why } = latest;
    let owner = label.map_or_else(String::new, |label| {
        frame::lost_for(format::visible(&label))
    });
    let before = (before > 0).then(|| frame::lost_before(format::counted(before, "lock")));
    let path = paths::lock(&id);
    view! {
        <Banner tone=Tone::Warn>
            <div class="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
                <p class="min-w-0">
                    <Link href=path class="rounded font-semibold underline-offset-2 hover:underline">
                        <LockName key=id.key />
                    </Link>
                    {frame::lost_at(owner, format::time_of_day(at), told::said(&why))}
                    {before}
                </p>
                <Button on_press=move |()| live.lost.set(Vec::new())>{frame::dismiss()}</Button>
            </div>
        </Banner>
    }
}
