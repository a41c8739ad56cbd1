//! The wait-for graph as a tree: locks that block others are the roots, and each waiter has the
//! locks that it holds below it.

use std::collections::BTreeSet;

use leptos::prelude::*;

use super::deadlock_banner::DeadlockBanner;
use super::lock_name::LockName;
use super::owner_name::OwnerName;
use crate::domain::{BlockingLock, LockId, Owner, WaitForGraph, WaitQueue, Waiter};
use crate::ui::i18n::waits as t;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The tree.
#[component]
pub fn WaitTree(
    /// The wait-for graph.
    graph: WaitForGraph,
    /// The locks of the picture, which has the resolutions of their deadlocks.
    drawn_locks: BTreeSet<LockId>,
) -> impl IntoView {
    let roots: Vec<_> = graph
        .roots()
        .into_iter()
        .map(|root| {
            let is_drawn = drawn_locks.contains(&root.lock);
            let resolution = (!is_drawn).then(|| graph.resolve_deadlock(&root.lock));
            let resolution = resolution.flatten();
            view! {
                <li class=format!("p-4 {CARD}")>
                    {resolution.map(|resolution| view! { <DeadlockBanner resolution /> })}
                    {lock_node(&graph, root, &mut Vec::new())}
                </li>
            }
        })
        .collect();
    view! {
        <ul class="flex flex-col gap-4" aria-label=t::blocking_locks()>
            {roots}
        </ul>
    }
}

/// Renders a lock, its waiters and the locks that they hold. `path` has the locks above: a cycle is
/// rendered only once.
fn lock_node<'a>(
    graph: &'a WaitForGraph,
    lock: &'a BlockingLock,
    path: &mut Vec<&'a LockId>,
) -> AnyView {
    path.push(&lock.lock);
    let waiters: Vec<AnyView> = lock
        .waiters
        .iter()
        .map(|waiter| {
            let held_locks: Vec<AnyView> = waiter
                .held_locks
                .iter()
                .filter_map(|id| graph.lock(id))
                .map(|held| {
                    let content = if path.contains(&&held.lock) {
                        view! { <RepeatedLock id=held.lock.clone() /> }.into_any()
                    } else {
                        lock_node(graph, held, path)
                    };
                    view! { <li>{content}</li> }.into_any()
                })
                .collect();
            let held_locks = (!held_locks.is_empty()).then(|| {
                view! {
                    <ul class="mt-1.5 flex flex-col gap-2 border-s-2 border-line ps-4" aria-label=t::also_holds()>
                        {held_locks}
                    </ul>
                }
            });
            view! { <li><TreeWaiter waiter=waiter.clone() />{held_locks}</li> }.into_any()
        })
        .collect();
    path.pop();
    let more = (lock.waiter_count as usize).saturating_sub(lock.waiters.len());
    let more = (more > 0).then(|| t::and_more(format::count(more as u64)));
    view! {
        <BlockingLockLine lock=lock.clone() />
        <ol class="mt-1.5 flex flex-col gap-1.5 ps-4" aria-label=t::waiters_in_order()>
            {waiters}
            {more.map(|more| view! { <li class="text-muted">{more}</li> })}
        </ol>
    }
    .into_any()
}

#[component]
fn BlockingLockLine(lock: BlockingLock) -> impl IntoView {
    let live = Live::expect();
    let since = lock.held_since;
    let held = move || Some(t::held_for(format::elapsed(since?, live.now.get())));
    let owners = if lock.owners.is_empty() {
        view! { <span class="text-muted">{t::no_owner_observed()}</span> }.into_any()
    } else {
        let owner = |owner: &Owner| view! { <OwnerName owner=owner.clone() is_linked=true /> };
        let owners = lock.owners.iter().map(owner).collect_view();
        view! { <span class="text-muted">{t::held_by()}</span> {owners} <span class="text-muted tabular-nums">{held}</span> }
            .into_any()
    };
    let blocks = t::blocks(lock.blocked_waiter_count);
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <LockLink id=lock.lock />
            {owners}
            <span class="text-muted">{blocks}</span>
            {lock.deadlock.then(|| view! { <DeadlockBadge /> })}
        </p>
    }
}

#[component]
fn LockLink(id: LockId) -> impl IntoView {
    let group = id.group.clone();
    view! {
        <Link href=paths::lock(&id) class="rounded font-semibold underline-offset-2 hover:underline">
            <LockName key=id.key />
        </Link>
        <span class="text-xs text-muted">{group}</span>
    }
}

/// A lock that is already on the path.
#[component]
fn RepeatedLock(id: LockId) -> impl IntoView {
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <LockLink id />
            <span class="text-muted">{t::cycle_closes()}</span>
        </p>
    }
}

#[component]
fn DeadlockBadge() -> impl IntoView {
    view! {
        <Badge tone=Tone::Alarm title=t::deadlock_description()>{t::deadlock()}</Badge>
    }
}

#[component]
fn TreeWaiter(waiter: Waiter) -> impl IntoView {
    let live = Live::expect();
    let (queue, source) = match waiter.queue {
        WaitQueue::Console => (t::waits_console(), t::source_console()),
        WaitQueue::RedissonQueue => (t::waits_queue(), t::source_queue()),
        WaitQueue::Service => (t::waits_service(), t::source_service()),
    };
    let since = waiter.waiting_since;
    let waited = move || Some(t::waited_for(format::elapsed(since?, live.now.get())));
    let until = waiter
        .expires_at
        .map(|until| move || t::until(format::time_of_day(until)));
    let label = waiter.label.as_deref().map(format::escape_invisible);
    let digits = waiter.fingerprint.short().to_owned();
    let title = t::fingerprint(waiter.fingerprint.as_str());
    view! {
        <p class="flex flex-wrap items-baseline gap-x-2">
            <span title=title>
                {label.map(|label| view! { <bdi>{label}</bdi> " " })}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            <span class="text-muted tabular-nums">{queue}{waited}{until}</span>
            <span class="text-xs text-faint">{source}</span>
            {waiter.deadlock.then(|| view! { <DeadlockBadge /> })}
        </p>
    }
}
