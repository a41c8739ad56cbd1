//! Who waits for whom as a tree: the locks that block others at the top, and below each waiter the locks that it holds.

use leptos::prelude::*;

use super::lock_name::LockName;
use super::owner_name::OwnerName;
use crate::domain::way_out::WayOut;
use crate::domain::{LockId, Owner, WaitedFor, Waiter, Waits, WaitsIn};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Banner, Link, Tone};
use crate::ui::live::Live;
use crate::ui::words::{punctuation, waits as words};
use crate::ui::{format, paths};

/// The whole picture.
#[component]
pub fn WaitTree(
    /// Who waits for whom.
    waits: Waits,
) -> impl IntoView {
    let roots: Vec<_> = waits
        .roots()
        .into_iter()
        .map(|root| {
            let out = waits.way_out(&root.lock);
            view! {
                <li class=format!("p-4 {CARD}")>
                    {out.map(|out| view! { <Out out /> })}
                    {one(&waits, root, &mut Vec::new())}
                </li>
            }
        })
        .collect();
    view! {
        <ul class="flex flex-col gap-4" aria-label=words::tree()>
            {roots}
        </ul>
    }
}

/// A circle as such, and the shortest way out of it.
#[component]
fn Out(out: WayOut) -> impl IntoView {
    let mut ids = out.circle.clone();
    // Drawn closed: the first once more at the end.
    ids.extend(out.circle.first().cloned());
    let steps: Vec<_> = ids
        .into_iter()
        .enumerate()
        .map(|(n, id)| {
            let arrow = (n > 0).then(|| {
                view! {
                    <span aria-hidden="true">" ← "</span>
                    <span class="sr-only">" " {words::waits_for()} " "</span>
                }
            });
            view! { {arrow} <LockName key=id.key /> }
        })
        .collect();
    let href = paths::lock(&out.release);
    let frees = words::frees(out.frees, out.leaves);
    view! {
        <div class="mb-3">
            <Banner tone=Tone::Alarm announced=false>
                <p class="font-semibold">{words::deadlock()}</p>
                <p>{words::circle()} {steps}</p>
                <p>
                    {words::way_out()}
                    <Link href=href class="rounded font-semibold underline underline-offset-2">
                        <LockName key=out.release.key />
                    </Link> {punctuation::full_stop()} {frees} {words::asks_first()}
                </p>
            </Banner>
        </div>
    }
}

/// A lock, who waits for it, and what hangs on them. `way` are the locks above: a circle is not gone round twice.
fn one<'a>(waits: &'a Waits, lock: &'a WaitedFor, way: &mut Vec<&'a LockId>) -> AnyView {
    way.push(&lock.lock);
    let waiters: Vec<AnyView> = lock
        .waiters
        .iter()
        .map(|waiter| {
            let below: Vec<AnyView> = waiter
                .holds
                .iter()
                .filter_map(|id| waits.lock(id))
                .map(|held| {
                    let shown = if way.contains(&&held.lock) {
                        view! { <Again id=held.lock.clone() /> }.into_any()
                    } else {
                        one(waits, held, way)
                    };
                    view! { <li>{shown}</li> }.into_any()
                })
                .collect();
            let below = (!below.is_empty()).then(|| {
                view! {
                    <ul class="mt-1.5 flex flex-col gap-2 border-s-2 border-line ps-4" aria-label=words::holds_meanwhile()>
                        {below}
                    </ul>
                }
            });
            view! { <li><OneWaiter waiter=waiter.clone() />{below}</li> }.into_any()
        })
        .collect();
    way.pop();
    let beyond = (lock.waiting as usize).saturating_sub(lock.waiters.len());
    let beyond = (beyond > 0).then(|| words::and_more(format::count(beyond as u64)));
    view! {
        <Blocks lock=lock.clone() />
        <ol class="mt-1.5 flex flex-col gap-1.5 ps-4" aria-label=words::in_order()>
            {waiters}
            {beyond.map(|beyond| view! { <li class="text-muted">{beyond}</li> })}
        </ol>
    }
    .into_any()
}

#[component]
fn Blocks(lock: WaitedFor) -> impl IntoView {
    let live = Live::expect();
    let since = lock.held_since;
    let held = move || Some(words::held_for(format::elapsed(since?, live.now.get())));
    let owners = if lock.owners.is_empty() {
        view! { <span class="text-muted">{words::nobody_seen()}</span> }.into_any()
    } else {
        let owner = |owner: &Owner| view! { <OwnerName owner=owner.clone() /> };
        let owners = lock.owners.iter().map(owner).collect_view();
        view! { <span class="text-muted">{words::held_by()}</span> {owners} <span class="text-muted tabular-nums">{held}</span> }
            .into_any()
    };
    let blocks = words::blocks(lock.blocks);
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <Named id=lock.lock />
            {owners}
            <span class="text-muted">{blocks}</span>
            {lock.deadlock.then(|| view! { <Deadlock /> })}
        </p>
    }
}

#[component]
fn Named(id: LockId) -> impl IntoView {
    let group = id.group.clone();
    view! {
        <Link href=paths::lock(&id) class="rounded font-semibold underline-offset-2 hover:underline">
            <LockName key=id.key />
        </Link>
        <span class="text-xs text-muted">{group}</span>
    }
}

/// A lock that stands further up already.
#[component]
fn Again(id: LockId) -> impl IntoView {
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <Named id />
            <span class="text-muted">{words::closed()}</span>
        </p>
    }
}

#[component]
fn Deadlock() -> impl IntoView {
    view! {
        <Badge tone=Tone::Alarm title=words::deadlock_why()>{words::deadlock()}</Badge>
    }
}

#[component]
fn OneWaiter(waiter: Waiter) -> impl IntoView {
    let live = Live::expect();
    let (place, source) = match waiter.waits_in {
        WaitsIn::Console => (words::waits_console(), words::source_console()),
        WaitsIn::RedissonQueue => (words::waits_queue(), words::source_queue()),
    };
    let since = waiter.since;
    let waited = move || Some(words::waited_for(format::elapsed(since?, live.now.get())));
    let until = waiter
        .until
        .map(|until| words::until(format::time_of_day(until)));
    let label = waiter.label.as_deref().map(format::visible);
    let digits = waiter.fingerprint.as_str()[..8].to_owned();
    let title = words::fingerprint(waiter.fingerprint.as_str());
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <span title=title>
                {label.map(|label| view! { <bdi>{label}</bdi> " " })}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            <span class="text-muted tabular-nums">{place}{waited}{until}</span>
            <span class="text-xs text-faint">{source}</span>
            {waiter.deadlock.then(|| view! { <Deadlock /> })}
        </p>
    }
}
