//! The locks that one owner waits for.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::{OwnerDetail, OwnerWait};
use crate::ui::i18n::{owner as t, punctuation};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The queues in which the owner waits.
#[component]
pub fn OwnerWaits(
    /// The owner.
    owner: Signal<OwnerDetail>,
) -> impl IntoView {
    let waits = Memo::new(move |_| owner.with(|owner| owner.waits.clone()));
    let unread = Memo::new(move |_| owner.with(|owner| owner.unread_nodes.clone()));
    let list = move || match waits.with(Vec::is_empty) {
        true => view! { <p class="text-muted">{t::waits_for_nothing()}</p> }.into_any(),
        false => {
            let lines = waits.get().into_iter();
            let lines = lines.map(|wait| view! { <WaitLine wait /> }).collect_view();
            view! { <ul class="flex flex-col gap-1">{lines}</ul> }.into_any()
        }
    };
    let unread = move || {
        let unread = unread.get();
        (!unread.is_empty()).then(|| {
            let nodes = format::escape_invisible(&punctuation::list(unread));
            view! { <p class="mt-1 text-xs text-warn">{t::unread_queues(&nodes)}</p> }
        })
    };
    view! {
        <section aria-labelledby="waits-title">
            <h2 id="waits-title" class="mb-2 text-base font-semibold">{t::waits_for()}</h2>
            {move || list()}
            {unread}
        </section>
    }
}

#[component]
fn WaitLine(wait: OwnerWait) -> impl IntoView {
    let live = Live::expect();
    let OwnerWait {
        lock,
        waiter,
        position,
    } = wait;
    let since = waiter.waiting_since;
    let waiting = move || since.map(|since| t::waiting_for(format::elapsed(since, live.now.get())));
    let deadlock = waiter.deadlock.then(|| {
        view! { <Badge tone=Tone::Alarm>{t::deadlock()}</Badge> }
    });
    let group = format::escape_invisible(&lock.group);
    view! {
        <li class="flex flex-wrap items-baseline gap-x-2">
            <Link href=paths::lock(&lock) class="rounded underline-offset-2 hover:underline">
                <LockName key=lock.key max_chars=60 />
            </Link>
            <bdi class="text-xs text-muted">{group}</bdi>
            <span class="text-muted tabular-nums">{t::position(position)} {waiting}</span>
            {deadlock}
        </li>
    }
}
