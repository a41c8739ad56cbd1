//! Who waits for whom as a tree: the locks that block others at the top, and below each waiter the locks that it holds.

use leptos::prelude::*;

use super::lock_name::LockName;
use super::owner_name::OwnerName;
use crate::domain::{LockId, Owner, WaitedFor, Waiter, Waits, WaitsIn};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The whole picture.
#[component]
pub fn WaitTree(
    /// Who waits for whom.
    waits: Waits,
) -> impl IntoView {
    let roots: Vec<AnyView> = waits
        .roots()
        .into_iter()
        .map(|root| {
            view! {
                <li class="rounded-xl border border-line bg-surface p-4 shadow-lift">
                    {one(&waits, root, &mut Vec::new())}
                </li>
            }
            .into_any()
        })
        .collect();
    view! {
        <ul class="flex flex-col gap-4" aria-label="Locks that block others">
            {roots}
        </ul>
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
                    <ul class="mt-1.5 flex flex-col gap-2 border-s-2 border-line ps-4" aria-label="What it holds meanwhile">
                        {below}
                    </ul>
                }
                .into_any()
            });
            view! { <li><OneWaiter waiter=waiter.clone() />{below}</li> }.into_any()
        })
        .collect();
    way.pop();
    let beyond = (lock.waiting as usize).saturating_sub(lock.waiters.len());
    let beyond = (beyond > 0).then(|| format!("and {} more", format::count(beyond as u64)));
    view! {
        <Blocks lock=lock.clone() />
        <ol class="mt-1.5 flex flex-col gap-1.5 ps-4" aria-label="Who waits for it, in order">
            {waiters}
            {beyond.map(|beyond| view! { <li class="text-muted">{beyond}</li> }.into_any())}
        </ol>
    }
    .into_any()
}

#[component]
fn Blocks(lock: WaitedFor) -> impl IntoView {
    let live = Live::expect();
    let since = lock.held_since;
    let held = move || {
        let ms = live.now.get().since(since?).as_millis();
        let span = format::clock(u64::try_from(ms).unwrap_or(u64::MAX));
        Some(format!("for {span}"))
    };
    let owners: Vec<AnyView> = lock.owners.iter().map(owner).collect();
    let owners = if owners.is_empty() {
        view! { <span class="text-muted">"nobody is seen to hold it"</span> }.into_any()
    } else {
        view! { <span class="text-muted">"held by"</span> {owners} <span class="text-muted tabular-nums">{held}</span> }
            .into_any()
    };
    let blocks = format!("blocks {}", lock.blocks);
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <Named id=lock.lock />
            {owners}
            <span class="text-muted">{blocks}</span>
            {lock.deadlock.then(|| view! { <Deadlock /> }.into_any())}
        </p>
    }
}

fn owner(owner: &Owner) -> AnyView {
    view! { <OwnerName owner=owner.clone() /> }.into_any()
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
            <span class="text-muted">"as above: the circle is closed"</span>
        </p>
    }
}

#[component]
fn Deadlock() -> impl IntoView {
    view! {
        <Badge tone=Tone::Alarm title="Each of these owners waits for the next: none gets on until one gives up its lock">
            "deadlock"
        </Badge>
    }
}

#[component]
fn OneWaiter(waiter: Waiter) -> impl IntoView {
    let live = Live::expect();
    let place = match waiter.waits_in {
        WaitsIn::Console => "waits through this console",
        WaitsIn::RedissonQueue => "waits in Redisson's queue",
    };
    let since = waiter.since;
    let waited = move || {
        let ms = live.now.get().since(since?).as_millis();
        let span = format::clock(u64::try_from(ms).unwrap_or(u64::MAX));
        Some(format!(" for {span}"))
    };
    let until = waiter
        .until
        .map(|until| format!(", until {}", format::time_of_day(until)));
    let label = waiter.label.as_deref().map(format::visible);
    let digits = waiter.fingerprint.as_str()[..8].to_owned();
    let title = format!("fingerprint {}", waiter.fingerprint);
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <span title=title>
                {label.map(|label| view! { <bdi>{label}</bdi> " " }.into_any())}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            <span class="text-muted tabular-nums">{place}{waited}{until}</span>
            {waiter.deadlock.then(|| view! { <Deadlock /> }.into_any())}
        </p>
    }
}
