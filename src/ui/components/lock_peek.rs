//! A panel beside the list with the state of the focused lock.

use std::sync::Arc;

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, LeaseProgress};
use super::lock_name::LockName;
use super::node_dots::{NodeDots, node_marks};
use super::owner_name::OwnerName;
use super::verdict_badge::{FlagBadges, VerdictBadge, extra_flags};
use crate::domain::{Demand, Lock, LockId};
use crate::ui::i18n::{lock as lock_texts, locks as t};
use crate::ui::kit::{Icon, IconName, Link};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The panel. Its code is loaded when it is first opened; no lock is requested for it, because the
/// list already has it.
#[component]
pub fn LockPeek(
    /// The lock that is shown; none if the panel is closed.
    id: Signal<Option<LockId>>,
    /// Closes the panel.
    #[prop(into)]
    on_close: Callback<()>,
) -> impl IntoView {
    let is_open = Memo::new(move |_| id.with(Option::is_some));
    let panel = move || {
        is_open
            .get()
            .then(|| lazy_view(move || panel(id, on_close)))
    };
    view! { {move || panel()} }
}

lazy! { dialogs: fn panel(id: Signal<Option<LockId>>, on_close: Callback<()>) -> view! { <PeekPanel id on_close /> } }

#[component]
fn PeekPanel(id: Signal<Option<LockId>>, on_close: Callback<()>) -> impl IntoView {
    let live = Live::expect();
    // The last state stays visible after the lock is gone.
    let lock = Memo::new(move |before: Option<&Option<Arc<Lock>>>| {
        let id = id.get()?;
        let known = before.and_then(Clone::clone);
        live.lock_arc(&id).or(known.filter(|lock| lock.id == id))
    });
    let is_gone = Signal::derive(move || {
        id.with(|id| id.as_ref().is_some_and(|id| live.lock_arc(id).is_none()))
    });
    move || {
        lock.get().map(|lock| {
            view! {
                <aside class="lock-peek" aria-label=t::peek()>
                    <PeekHeader id=lock.id.clone() on_close />
                    <PeekContent lock is_gone />
                </aside>
            }
        })
    }
}

#[component]
fn PeekHeader(id: LockId, on_close: Callback<()>) -> impl IntoView {
    let path = paths::lock(&id);
    let LockId { group, key } = id;
    view! {
        <header class="flex items-start gap-2">
            <h2 class="min-w-0 grow text-base font-semibold wrap-anywhere">
                <Link href=path class="rounded underline-offset-2 hover:underline">
                    <LockName key />
                </Link>
                <span class="block text-xs font-normal text-muted">{group}</span>
            </h2>
            <button type="button" class="rounded p-1 text-muted hover:text-ink" aria-label=t::close_peek() title=t::close_peek() on:click=move |_| on_close.run(())>
                <Icon name=IconName::Cross />
            </button>
        </header>
    }
}

#[component]
fn PeekContent(lock: Arc<Lock>, is_gone: Signal<bool>) -> impl IntoView {
    let live = Live::expect();
    let progress = LeaseProgress::of(&lock);
    let acquired_at = lock.acquired_at;
    let held = move || format::elapsed(acquired_at, live.now.get());
    let last_renewal = lock.renewals.last_at;
    let last_renewal =
        last_renewal.map(|at| move || lock_texts::renewed::last(&format::ago(at, live.now.get())));
    let owners = lock.owners.iter().cloned();
    let owners = owners
        .map(|owner| view! { <div><OwnerName owner is_linked=true /></div> })
        .collect_view();
    let state_lock = Arc::clone(&lock);
    let state = move || lock_texts::verdict(&state_lock, live.now.get());
    let demand = Demand::of(&lock.evidence).map(|demand| {
        view! { <dt>{t::contention_column()}</dt> <dd>{t::demand(demand)}</dd> }
    });
    let gone = move || {
        is_gone
            .get()
            .then(|| view! { <p class="text-muted">{t::not_observed()}</p> })
    };
    view! {
        <p class="flex flex-wrap items-center gap-2" role="status">
            <VerdictBadge verdict=lock.verdict />
            <FlagBadges flags=extra_flags(&lock) evidence=lock.evidence.clone() />
        </p>
        {gone}
        <p class="wrap-anywhere">{state}</p>
        <dl class="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 gap-y-1 [&_dt]:text-muted">
            <dt>{t::owner_column()}</dt>
            <dd>{owners}</dd>
            <dt>{t::lease_column()}</dt>
            <dd><LeaseBar progress=Signal::stored(progress) gone=is_gone /></dd>
            <dt>{t::held_column()}</dt>
            <dd>{held}</dd>
            <dt>{t::renewals_column()}</dt>
            <dd>
                {match lock.renewals.count {
                    0 => t::no_renewals().to_owned(),
                    _ => t::renewals(&lock.renewals),
                }}
                <div>{last_renewal}</div>
            </dd>
            {demand}
            <dt>{t::nodes()}</dt>
            <dd><NodeDots node_marks=node_marks(&lock) /></dd>
        </dl>
    }
}
