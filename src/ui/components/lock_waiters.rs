//! Who waits for one lock, in the order in which they will get it as far as that is known.

use std::time::Duration;

use leptos::prelude::*;

use super::loaded::Loaded;
use crate::domain::{LockId, Waiter, Waits, WaitsIn};
use crate::ui::kit::{Badge, Card, Link, Tone};
use crate::ui::live::Loading;
use crate::ui::live::{Live, again};
use crate::ui::words::lock::{self as words, waiting};
use crate::ui::{calls, format, paths};

/// How often the console is asked.
const EVERY: Duration = Duration::from_secs(2);

/// Those who are seen to wait, and what cannot be seen.
#[component]
pub fn LockWaiters(
    /// Which lock.
    id: LockId,
    /// Who waits for whom.
    asked: Loading<Waits>,
) -> impl IntoView {
    let told = RwSignal::new(None::<Waits>);
    // What is asked does not depend on anything.
    again(EVERY, Memo::new(|_| ()), |()| calls::waits(), told);
    let show = Callback::new(move |waits: Waits| {
        told.set(Some(waits));
        view! { <Shown told id=id.clone() /> }.into_any()
    });
    view! {
        <Card id="waiters" title=words::waits()>
            <Loaded loading=asked show />
        </Card>
    }
}

#[component]
fn Shown(told: RwSignal<Option<Waits>>, id: LockId) -> impl IntoView {
    // The moment it was read changes every time; the lines are drawn again only when something else did.
    let here = Memo::new(move |_| {
        told.with(|told| {
            let waits = told.as_ref()?;
            waits
                .lock(&id)
                .map(|lock| (lock.waiting, lock.waiters.clone()))
        })
    });
    let shown = move || match here.get() {
        None => view! { <p class="text-muted">{waiting::nobody()}</p> }.into_any(),
        Some((all, waiters)) => {
            let beyond = (all as usize).saturating_sub(waiters.len());
            let beyond = (beyond > 0).then(|| {
                let words = waiting::more(beyond);
                view! { <p class="mt-1 text-xs text-muted">{words}</p> }
            });
            let lines = waiters.into_iter().map(|waiter| view! { <Line waiter /> });
            view! {
                <ol class="flex list-decimal flex-col gap-1.5 ps-5">{lines.collect_view()}</ol>
                {beyond}
            }
            .into_any()
        }
    };
    view! {
        {shown}
        <p class="mt-2 text-xs">
            <Link href=paths::WAITS class="underline underline-offset-2">
                {waiting::all()}
            </Link>
        </p>
    }
}

#[component]
fn Line(waiter: Waiter) -> impl IntoView {
    let live = Live::expect();
    let name = match &waiter.label {
        Some(label) => format::shorten(&format::visible(label), 60),
        None => waiter.fingerprint.as_str()[..8].to_owned(),
    };
    let place = match waiter.waits_in {
        WaitsIn::Console => waiting::here(),
        WaitsIn::RedissonQueue => waiting::queue(),
    };
    let since = waiter.since;
    let since = move || since.map(|since| waiting::since(&format::ago(since, live.now.get())));
    let deadlock = waiter
        .deadlock
        .then(|| view! { <Badge tone=Tone::Alarm>{waiting::deadlock()}</Badge> });
    view! {
        <li>
            <bdi class="font-medium wrap-anywhere">{name}</bdi>
            " "
            {deadlock}
            <span class="block text-xs text-muted">{place} {since}</span>
        </li>
    }
}
